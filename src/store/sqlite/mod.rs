//! The embedded database: one SQLite file in the data directory, in WAL mode, so that several
//! processes read while one writes. One connection of ours writes, as many read as requests may run at once.

mod audit;
mod backup;
mod bookmarks;
pub mod cards;
mod copy;
mod fault;
mod hosted;
mod items;
mod ledger;
mod mirror;
mod oauth;
mod opening;
mod pages;
mod payments;
mod reports;
mod revisions;
mod sessions;
mod tasks;
mod tokens;
mod usage;
mod users;
mod version;

#[cfg(target_env = "musl")]
mod allocator;

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

#[cfg(target_env = "musl")]
pub use allocator::use_jemalloc;
pub use backup::{Snapshot, check_version, set_wal, settle};
pub use fault::quick_check;
pub use mirror::{OF_ITEMS, WHOLE};
pub use version::{SchemaVersion, newest_schema, schema_version};

use crate::{
    domain::{Pid, Result},
    store::Caches,
};

/// How messages call the file.
const DATABASE: &str = "the library's database";

/// The migrations, in order. Their numbers and names are the same for every database.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_start.sql"),
    include_str!("../../../migrations/sqlite/0002_bookmarks.sql"),
    include_str!("../../../migrations/sqlite/0003_reports.sql"),
    include_str!("../../../migrations/sqlite/0004_vault_state.sql"),
    include_str!("../../../migrations/sqlite/0005_library.sql"),
    include_str!("../../../migrations/sqlite/0006_revisions.sql"),
    include_str!("../../../migrations/sqlite/0007_accounts.sql"),
    include_str!("../../../migrations/sqlite/0008_oauth.sql"),
    include_str!("../../../migrations/sqlite/0009_market.sql"),
    include_str!("../../../migrations/sqlite/0010_authors.sql"),
    include_str!("../../../migrations/sqlite/0011_hosted.sql"),
    include_str!("../../../migrations/sqlite/0012_tasks.sql"),
    include_str!("../../../migrations/sqlite/0013_teams.sql"),
    include_str!("../../../migrations/sqlite/0014_property_bytes.sql"),
];

/// `notewell.db`.
pub struct Sqlite {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    /// How many idle readers are kept.
    max_readers: usize,
    /// Writers outside this database: one at a time.
    turn: Mutex<()>,
    /// The name of the log is durable; it stays while this is open.
    is_named: AtomicBool,
}

impl Sqlite {
    /// Opens the database and migrates it.
    pub fn open(path: &Path) -> Result<Self> {
        let writer = opening::open(path)?;
        // Readers are opened on first use: a process that only probes never needs them.
        Ok(Self {
            path: path.to_path_buf(),
            writer: Mutex::new(writer),
            readers: Mutex::new(Vec::new()),
            max_readers: 1,
            turn: Mutex::default(),
            is_named: AtomicBool::new(false),
        })
    }

    /// Keeps up to `readers` connections for reading.
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.max_readers = readers;
        self
    }

    /// Runs one write transaction: durable when this returns.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // The log is there since the database was first read, and stays while the writer is open.
        if !self.is_named.load(Ordering::Relaxed) {
            fault::sync_names(&self.path, DATABASE)?;
            self.is_named.store(true, Ordering::Relaxed);
        }
        Self::transact(&mut writer, work)
    }

    /// Runs one write transaction that every process sees at once, and that a power cut may take
    /// away until the next durable one. For what is worth nothing without a later write.
    fn write_lightly<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let light = Light::begin(&mut writer)
            .map_err(|error| fault::explain(error, DATABASE, "write to it"))?;
        Self::transact(light.0, work)
    }

    fn transact<T>(
        writer: &mut Connection,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        // IMMEDIATE: a lock that is taken late fails instead of waiting.
        writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            })
            .map_err(|error| fault::explain(error, DATABASE, "write to it"))
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let connection = self.take_reader()?;
        let value = work(&connection).map_err(|error| fault::explain(error, DATABASE, "read it"));
        let mut readers = self.lock_readers();
        if readers.len() < self.max_readers {
            readers.push(connection);
        }
        value
    }

    /// Reads the rows of `pids` with one statement, in the order asked for. `select` begins the
    /// statement, given the table of wanted numbers (`wanted.value`) to join with.
    fn read_many<T>(
        &self,
        pids: &[Pid],
        select: impl FnOnce(&str) -> String,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        if pids.is_empty() {
            return Ok(Vec::new());
        }
        let numbers: Vec<String> = pids.iter().map(|pid| pid.0.to_string()).collect();
        let statement = select("json_each(?1) wanted") + " ORDER BY wanted.key";
        self.read(|db| {
            db.prepare_cached(&statement)?
                .query_map([format!("[{}]", numbers.join(","))], row)?
                .collect()
        })
    }

    fn take_reader(&self) -> Result<Connection> {
        if let Some(connection) = self.lock_readers().pop() {
            return Ok(connection);
        }
        opening::connect(&self.path)
    }

    fn lock_readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caches for Sqlite {
    /// Closes the idle readers, each of which holds pages and prepared statements, and frees the pages
    /// of the writer.
    fn release(&self) {
        drop(std::mem::take(&mut *self.lock_readers()));
        // Somebody who writes now needs them.
        if let Ok(writer) = self.writer.try_lock() {
            shrink(&writer);
        }
    }
}

/// Frees the prepared statements and the pages of a connection.
fn shrink(connection: &Connection) {
    connection.flush_prepared_statement_cache();
    if let Err(error) = connection.release_memory() {
        tracing::debug!(%error, "the database keeps its pages in memory");
    }
}

/// A connection whose commits are not synced; they are again when this is dropped.
struct Light<'a>(&'a mut Connection);

impl<'a> Light<'a> {
    fn begin(writer: &'a mut Connection) -> rusqlite::Result<Self> {
        let light = Self(writer);
        light.0.pragma_update(None, "synchronous", "normal")?;
        Ok(light)
    }
}

impl Drop for Light<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.pragma_update(None, "synchronous", "full") {
            tracing::error!(%error, "writes may not survive a power cut until the next start");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_synced_again_after_a_light_one() {
        let dir = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&dir.path().join("notewell.db")).unwrap();
        let level = |db: &Connection| {
            db.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        let (normal, full) = (1, 2);
        assert_eq!(level(&database.writer.lock().unwrap()), full);
        assert_eq!(database.write_lightly(|tx| Ok(level(tx))).unwrap(), normal);
        assert_eq!(level(&database.writer.lock().unwrap()), full);
        assert!(database.write_lightly(|tx| tx.execute("nonsense", [])).is_err());
        assert_eq!(level(&database.writer.lock().unwrap()), full);
        assert_eq!(database.write(|tx| Ok(level(tx))).unwrap(), full);
    }

    #[test]
    fn a_kept_statement_is_compiled_once() {
        let dir = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&dir.path().join("notewell.db")).unwrap();
        let join = "SELECT c.data FROM hosted_files f JOIN hosted_contents c ON c.file = f.id
                    WHERE f.vault = ?1 AND f.path = ?2";
        let again = database.read(|db| {
            for path in ["a.md", "b.md", "c.md"] {
                assert!(!db.prepare_cached(join)?.exists(["notes", path])?);
            }
            Ok(db.prepare_cached(join)?.get_status(rusqlite::StatementStatus::RePrepare))
        });
        assert_eq!(again.unwrap(), 0);
    }

    #[test]
    fn a_database_at_rest_keeps_no_readers() {
        let dir = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&dir.path().join("notewell.db")).unwrap().with_readers(4);
        let version = || {
            database.read(|db| db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)))
        };
        let before = version().unwrap();
        assert_eq!(database.lock_readers().len(), 1);
        database.release();
        assert_eq!(database.lock_readers().len(), 0);
        assert_eq!(version().unwrap(), before);
        // While somebody writes, the writer is left alone.
        let written = database.write(|_| {
            database.release();
            Ok(1)
        });
        assert_eq!(written.unwrap(), 1);
    }

    #[test]
    fn a_newer_file_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notewell.db");
        drop(Sqlite::open(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        drop(connection);
        let before = std::fs::read(&path).unwrap();
        let error = Sqlite::open(&path).err().unwrap();
        assert!(error.message.contains("newer Notewell"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
