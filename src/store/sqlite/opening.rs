//! Opening the database. Processes that start at the same moment take turns: creating the file,
//! switching it to WAL mode and migrating it are done by one of them at a time.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, config::DbConfig};

use super::{DATABASE, MIGRATIONS, fault, version};
use crate::domain::{Error, Result, error::Doing};

/// How long a connection waits for another one before it reports `database is locked`.
const BUSY: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(10);
/// "Nwll": tells our file from any other SQLite file.
const APPLICATION_ID: i32 = 0x4e77_6c6c;

/// Opens the database and brings its schema up to date.
pub(super) fn open(path: &Path) -> Result<Connection> {
    let _turn = take_turn(path);
    let mut connection = connect(path)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Waits until no other process opens this database. `None` where there is no lock to be had (a
/// read-only or full disk): SQLite's own locks then decide alone.
pub(super) fn take_turn(path: &Path) -> Option<File> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(name).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Opens one connection to a database that exists or is being created.
///
/// SQLite does not call the busy handler while it switches a file to WAL mode or while the last
/// connection of another process removes the log, so a busy answer is retried here.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    let deadline = Instant::now() + BUSY;
    loop {
        match try_connect(path) {
            Ok(connection) => return Ok(connection),
            Err(error) if is_busy(&error) && Instant::now() < deadline => thread::sleep(RETRY),
            Err(error) => return Err(fault::explain_opening(error, DATABASE, path)),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn try_connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" {
        connection.pragma_update(None, "journal_mode", "wal")?;
    }
    // FULL: a commit is on the disk when it is acknowledged, also after a power cut.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// Keeps prepared statements, each with one plan for every value.
///
/// Without that guarantee SQLite compiles a kept statement again whenever a parameter that the plan
/// could depend on gets a value: nearly every join, at every use.
pub(super) fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Brings the schema up to date. A newer version's file is refused before anything is written.
fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    let found = schema_version(connection).doing("read the database's version")?;
    let newest = MIGRATIONS.len();
    if found == newest {
        return Ok(());
    }
    if found > newest {
        let writer = version::written_by(path, u32::try_from(found).unwrap_or(u32::MAX));
        let writer = writer.map_or(String::new(), |version| format!(", {version}"));
        return Err(Error::invalid_request(format!(
            "`{}` was written by a newer Notewell{writer} (schema {found}, this one knows {newest}); update Notewell, or point `--data` at another directory. Nothing was changed",
            path.display()
        )));
    }
    // Another process may have migrated while we waited for the lock: look again inside it.
    connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .and_then(|transaction| {
            let version = schema_version(&transaction)?;
            for (number, sql) in MIGRATIONS.iter().enumerate().skip(version) {
                transaction.execute_batch(sql)?;
                transaction.pragma_update(None, "user_version", (number + 1) as i64)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.commit()
        })
        .doing(format_args!("bring `{}` up to date", path.display()))?;
    version::sign(path);
    Ok(())
}

fn schema_version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).map(|v| v as usize)
}
