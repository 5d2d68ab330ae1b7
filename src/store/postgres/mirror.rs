//! What a replica reads: where the library stands, the change log, and the rows of what changed.

use std::time::Duration;

use tokio_postgres::{Row, types::Type};

use super::{Postgres, connection::Connection, fault::Fault};
use crate::{
    domain::{Error, Pid, Result},
    store::replica::{Batch, Cell, CopiedCard, Pulse, Rows},
};

/// Pages whose texts are read at once.
const TEXTS_AT_ONCE: usize = 50;

/// How long the one row may take. Every search waits for it, and goes on without it.
const PULSE_LIMIT: Duration = Duration::from_secs(2);

/// A table and the columns that are wanted of it.
type Wanted = (&'static str, Vec<String>);

/// The text of a page with its hash.
type PageText = (Pid, Vec<u8>, Vec<u8>);

impl Postgres {
    /// Where the library stands: one row, found by its key.
    pub fn pulse(&self) -> Result<Pulse> {
        self.read(|db| {
            let sql = "SELECT head, state FROM libraries WHERE id = $1";
            let row = db.within(PULSE_LIMIT, |db| db.query_one(sql, &[&self.library]))?;
            Ok(Pulse { head: row.try_get(0)?, state: row.try_get(1)? })
        })
    }

    /// The log after a position, with the rows of its items as of one moment.
    pub fn batch(&self, after: i64, limit: usize, tables: &[Wanted]) -> Result<Batch> {
        self.snapshot(|db| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let changes = db.query(
                "SELECT c.pid, i.kind FROM changes c JOIN items i ON i.pid = c.pid
                 WHERE c.seq > $1 ORDER BY c.seq LIMIT $2",
                &[&after, &limit],
            )?;
            let mut pids: Vec<i64> = Vec::with_capacity(changes.len());
            let mut kinds: Vec<&str> = Vec::new();
            for row in &changes {
                pids.push(row.try_get(0)?);
                kinds.push(row.try_get(1)?);
            }
            let mut batch =
                Batch { after, pids: vec![], tables: vec![], texts: vec![], cards: vec![] };
            if pids.is_empty() {
                return Ok(batch);
            }
            for (table, columns) in tables {
                let kind = match *table {
                    "pages" => Some("page"),
                    "bookmarks" | "topics" => Some("bookmark"),
                    _ => None,
                };
                if kind.is_none_or(|kind| kinds.contains(&kind)) {
                    batch.tables.push(rows(db, table, columns, Some(&pids))?);
                }
            }
            if kinds.contains(&"page") {
                batch.texts = texts(db, &pids)?;
            }
            if kinds.contains(&"card") {
                batch.cards = cards(db, &pids)?;
            }
            batch.pids = pids.into_iter().map(Pid).collect();
            Ok(batch)
        })
    }

    /// The small tables, with the [`Pulse::state`] that they have.
    pub fn whole(&self, tables: &[Wanted]) -> Result<(i64, Vec<Rows>)> {
        self.snapshot(|db| {
            let row =
                db.query_one("SELECT state FROM libraries WHERE id = $1", &[&self.library])?;
            let read = tables.iter().map(|(table, columns)| rows(db, table, columns, None));
            let read = read.collect::<Result<_, Fault>>()?;
            Ok((row.try_get(0)?, read))
        })
    }
}

/// The rows of a table: those of some items, or all.
fn rows(
    db: &mut Connection,
    table: &'static str,
    columns: &[String],
    pids: Option<&Vec<i64>>,
) -> Result<Rows, Fault> {
    let names: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let select = format!("SELECT {} FROM {table}", names.join(", "));
    let read = match pids {
        Some(pids) => db.query(&format!("{select} WHERE pid = ANY ($1)"), &[pids])?,
        None => db.query(&select, &[])?,
    };
    let rows = read.iter().map(cells).collect::<Result<_, Fault>>()?;
    Ok(Rows { table, columns: columns.to_vec(), rows })
}

/// The texts of pages whose vault is in this database.
fn texts(db: &mut Connection, pids: &[i64]) -> Result<Vec<PageText>, Fault> {
    let mut texts = Vec::new();
    for pids in pids.chunks(TEXTS_AT_ONCE) {
        let rows = db.query(
            "SELECT p.pid, f.hash, c.data FROM pages p
             JOIN hosted_files f ON f.vault = p.vault AND f.path = p.path
             JOIN hosted_contents c ON c.file = f.id
             WHERE p.pid = ANY ($1) AND f.hash = p.hash",
            &[&pids],
        )?;
        for row in &rows {
            texts.push((Pid(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?));
        }
    }
    Ok(texts)
}

/// The cards in this database, with their images.
fn cards(db: &mut Connection, pids: &[i64]) -> Result<Vec<CopiedCard>, Fault> {
    let mut cards = Vec::new();
    for pids in pids.chunks(TEXTS_AT_ONCE) {
        let rows = db.query(
            "SELECT c.id, c.body, c.images, c.image_count, c.unpinned, c.place, c.age, i.pid,
                    c.archived, c.reminder, c.labels, c.folded, c.stamp
             FROM items i JOIN cards c ON c.id = i.key
             WHERE i.pid = ANY ($1) AND i.kind = 'card'",
            &[&pids],
        )?;
        for row in &rows {
            cards.push(CopiedCard {
                row: super::cards::row(row)?,
                pid: Pid(row.try_get(7)?),
                archived: row.try_get(8)?,
                reminder: row.try_get(9)?,
                labels: row.try_get(10)?,
                folded: row.try_get(11)?,
                stamp: row.try_get(12)?,
            });
        }
    }
    Ok(cards)
}

fn cells(row: &Row) -> Result<Vec<Cell>, Fault> {
    let cell = |(at, column): (usize, &tokio_postgres::Column)| {
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map(Cell::Integer),
            Type::INT4 => {
                row.try_get::<_, Option<i32>>(at)?.map(|number| Cell::Integer(number.into()))
            }
            Type::BOOL => row.try_get::<_, Option<bool>>(at)?.map(|yes| Cell::Integer(yes.into())),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Cell::Bytes),
            Type::TEXT => row.try_get::<_, Option<String>>(at)?.map(Cell::Text),
            ref other => {
                return Err(Fault::Refused(Error::internal(format!(
                    "the column `{}` has the type `{other}`, which replicas do not copy",
                    column.name()
                ))));
            }
        };
        Ok(cell.unwrap_or(Cell::Null))
    };
    row.columns().iter().enumerate().map(cell).collect()
}
