//! The database file behind the cards: opening it, and noticing when another file takes its place
//! (a migration, a restored backup) or when it is gone.

use std::{
    fs::Metadata,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::{super::opening, DATABASE, fail, fault, layout};
use crate::domain::{Error, Result, error::Doing};

/// Where the database is, and how it is opened.
#[derive(Debug, Clone)]
pub struct CardFile {
    /// The database file.
    pub path: PathBuf,
    /// The file is ours; otherwise Memento made it and may have it open.
    pub own: bool,
    /// How long a statement waits for another program's lock.
    pub wait: Duration,
}

/// Which file a path led to: the same path may lead to another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl CardFile {
    /// The file at the path now. An absent or empty one is damage: a database always has a header.
    pub fn id(&self) -> Result<FileId> {
        let shown = self.path.display();
        match std::fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() == 0 => {
                Err(Error::damaged(format!("the cards' database `{shown}` is empty (0 bytes)")))
            }
            Ok(metadata) => Ok(FileId::of(&metadata)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::damaged(format!("the cards' database `{shown}` is not there")))
            }
            Err(error) => Err(error).doing(format_args!("look at `{shown}`")),
        }
    }

    /// Makes a file of our own with Memento's table where there is none.
    pub fn make(&self) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)
                .doing(format_args!("make the folder `{}`", folder.display()))?;
        }
        let connection = connect(&self.path, OpenFlags::default(), self.wait)?;
        let make = || {
            // WAL lets readers go on while one writes.
            connection.pragma_update(None, "journal_mode", "wal")?;
            let table: Option<i64> = connection
                .query_row("SELECT 1 FROM sqlite_master WHERE name = 'Note'", [], |row| row.get(0))
                .optional()?;
            if table.is_none() { connection.execute_batch(layout::SCHEMA) } else { Ok(()) }
        };
        make().map_err(|error| {
            fail(error, format_args!("make the cards' database `{}`", self.path.display()))
        })
    }

    /// Opens the file that is there. Nothing is created, and its journal mode stays.
    pub fn open(&self) -> Result<Connection> {
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
        let connection = connect(&self.path, flags, self.wait)?;
        // FULL makes each commit reach the disk. EXTRA also syncs the folder when a rollback
        // journal goes, which is the commit in the mode that Memento uses.
        let level = if self.own { "full" } else { "extra" };
        connection
            .pragma_update(None, "synchronous", level)
            .map_err(|error| fail(error, format_args!("open `{}`", self.path.display())))?;
        Ok(connection)
    }
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Self(metadata.dev(), metadata.ino())
        }
        // Elsewhere an open file cannot be replaced.
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Self(0, 0)
        }
    }
}

fn connect(path: &Path, flags: OpenFlags, wait: Duration) -> Result<Connection> {
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(wait)?;
        opening::keep_statements(&connection)?;
        // Reading the schema tells a database from another file.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        Ok(connection)
    };
    open().map_err(|error| fault::explain_opening(error, DATABASE, path))
}
