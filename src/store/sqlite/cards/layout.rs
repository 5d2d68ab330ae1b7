//! Which columns the `Note` table at hand has. Ours is made as Prisma makes Memento's; somebody
//! else's is taken as it is and never migrated.

use rusqlite::Connection;

use crate::domain::{Error, Result};

/// Memento's table, for a file of our own.
pub const SCHEMA: &str = r#"
CREATE TABLE IF NOT EXISTS "Note" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "title" TEXT,
    "content" TEXT NOT NULL,
    "color" TEXT NOT NULL DEFAULT 'default',
    "isPinned" BOOLEAN NOT NULL DEFAULT false,
    "isArchived" BOOLEAN NOT NULL DEFAULT false,
    "type" TEXT NOT NULL DEFAULT 'text',
    "checkItems" TEXT,
    "labels" TEXT,
    "images" TEXT,
    "reminder" DATETIME,
    "isReminderDone" BOOLEAN NOT NULL DEFAULT false,
    "reminderRecurrence" TEXT,
    "reminderLocation" TEXT,
    "isMarkdown" BOOLEAN NOT NULL DEFAULT false,
    "size" TEXT NOT NULL DEFAULT 'small',
    "embedding" TEXT,
    "userId" TEXT,
    "order" INTEGER NOT NULL DEFAULT 0,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL
);
"#;

/// The columns we know, in the order in which `row::read` expects them.
pub const COLUMNS: [&str; 21] = [
    "id",
    "title",
    "content",
    "color",
    "type",
    "checkItems",
    "labels",
    "images",
    "isPinned",
    "isArchived",
    "reminder",
    "isReminderDone",
    "reminderRecurrence",
    "reminderLocation",
    "isMarkdown",
    "size",
    "embedding",
    "userId",
    "order",
    "createdAt",
    "updatedAt",
];

/// The columns of the table at hand.
#[derive(Debug, Clone)]
pub struct Layout {
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    /// It must be given a value when a row is made.
    required: bool,
}

impl Layout {
    pub fn read(connection: &Connection) -> Result<Self> {
        let columns = connection
            .prepare_cached(r#"PRAGMA table_info("Note")"#)
            .and_then(|mut statement| {
                let column = |row: &rusqlite::Row<'_>| {
                    let (not_null, default): (bool, Option<String>) = (row.get(3)?, row.get(4)?);
                    Ok(Column { name: row.get(1)?, required: not_null && default.is_none() })
                };
                statement.query_map([], column)?.collect::<rusqlite::Result<Vec<_>>>()
            })
            .map_err(|error| super::fail(error, "read the columns of its table"))?;
        let layout = Self { columns };
        for needed in ["id", "content"] {
            if !layout.has(needed) {
                let what = if layout.columns.is_empty() {
                    "has no table `Note`".to_owned()
                } else {
                    format!("has a table `Note` without the column `{needed}`")
                };
                return Err(Error::damaged(format!(
                    "the cards' database {what}; point `[cards] database` at Memento's SQLite file"
                )));
            }
        }
        Ok(layout)
    }

    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Columns that a new row must fill and that we know nothing of.
    pub fn unknown_required(&self) -> Vec<&str> {
        let known = |name: &str| COLUMNS.iter().any(|known| known.eq_ignore_ascii_case(name));
        self.columns
            .iter()
            .filter(|column| column.required && !known(&column.name))
            .map(|column| column.name.as_str())
            .collect()
    }

    pub fn is_required(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.required && column.name.eq_ignore_ascii_case(name))
    }

    /// A column's name for SQL, or NULL where the table has none.
    pub fn quoted(&self, name: &str) -> String {
        if self.has(name) { format!("\"{name}\"") } else { "NULL".to_owned() }
    }

    /// Every known column, in the order of [`COLUMNS`]. `images` may be left in the database: then
    /// only their number comes back.
    pub fn select(&self, with_images: bool) -> String {
        let column = |name: &&str| {
            match *name {
            "images" if !with_images && self.has("images") => {
                r#"CASE WHEN "images" IS NULL THEN NULL WHEN json_valid("images") THEN json_array_length("images") ELSE 0 END"#.to_owned()
            }
            name => self.quoted(name),
        }
        };
        COLUMNS.iter().map(column).collect::<Vec<_>>().join(", ")
    }
}
