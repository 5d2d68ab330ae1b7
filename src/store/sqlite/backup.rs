//! Copies of a database as of one moment, made while others write to it.

use std::{fs::File, path::Path};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{MIGRATIONS, fault};
use crate::domain::{Error, Progress, Result, error::Doing};

/// Pages that are copied between two reports.
const PAGES_AT_ONCE: i32 = 2_000;

/// A database as of the moment at which this was taken. Writers go on meanwhile.
pub struct Snapshot {
    connection: Connection,
    name: String,
    /// Whether the database keeps a write-ahead log. The copy is one file without it.
    pub wal: bool,
}

impl Snapshot {
    /// Begins to read the database.
    pub fn take(path: &Path) -> Result<Self> {
        let name = format!("`{}`", path.display());
        let begin = || {
            // Not read-only: the first reader of a write-ahead log has to make its index.
            let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(super::cards::LOCK_WAIT)?;
            let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
            connection.execute_batch("BEGIN")?;
            // The first read decides on the moment.
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
            Ok((connection, mode == "wal"))
        };
        let (connection, wal) = begin().map_err(|error| fault::explain(error, &name, "read it"))?;
        Ok(Self { connection, name, wal })
    }

    /// Writes the copy, checks it, and leaves it on the disk as a single file.
    pub fn copy_to(&self, target: &Path, progress: &dyn Progress) -> Result<()> {
        let shown = format!("`{}`", target.display());
        let copy = || {
            let mut connection = Connection::open(target)?;
            {
                let backup = Backup::new(&self.connection, &mut connection)?;
                loop {
                    let step = backup.step(PAGES_AT_ONCE)?;
                    let state = backup.progress();
                    let (left, total) =
                        (state.remaining.max(0) as u64, state.pagecount.max(0) as u64);
                    progress.report(
                        total.saturating_sub(left),
                        Some(total),
                        "copying pages of the database",
                    );
                    match step {
                        StepResult::Done => break,
                        StepResult::More => {}
                        _ => std::thread::sleep(std::time::Duration::from_millis(5)),
                    }
                }
            }
            connection.pragma_update(None, "journal_mode", "delete")?;
            fault::damage(&connection)
        };
        let damage = copy().map_err(|error| {
            fault::explain(error, &shown, format_args!("copy {} to it", self.name))
        })?;
        if let Some(first) = damage.first() {
            return Err(Error::damaged(format!(
                "{} is damaged: {}; no backup of it was made. `notewell doctor` says how to restore it",
                self.name,
                first.replace('\n', " ")
            )));
        }
        let file = File::options().write(true).open(target).doing(format_args!("open {shown}"))?;
        file.sync_all().doing(format_args!("sync {shown}"))
    }
}

/// Checks that a copy of `notewell.db` can be opened by this version.
pub fn check_version(copy: &Path) -> Result<()> {
    let name = format!("`{}`", copy.display());
    let read = || {
        let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
    };
    let version = read().map_err(|error| fault::explain(error, &name, "read it"))?;
    if version > MIGRATIONS.len() as i64 {
        return Err(Error::invalid_request(format!(
            "the backup was made by a newer Notewell (schema {version}, this one knows {}); update Notewell. Nothing was changed",
            MIGRATIONS.len()
        )));
    }
    Ok(())
}

/// Gives a database its write-ahead log back.
pub fn set_wal(path: &Path) -> Result<()> {
    let set = || Connection::open(path)?.pragma_update(None, "journal_mode", "wal");
    set().map_err(|error| fault::explain(error, &format!("`{}`", path.display()), "open it"))
}

/// Ends the write-ahead log of a database that nobody else has open, so that the file alone is the
/// whole of it. `false` when another process has it open.
pub fn settle(path: &Path) -> Result<bool> {
    let name = format!("`{}`", path.display());
    let end = || {
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(std::time::Duration::from_millis(500))?;
        connection.pragma_update(None, "journal_mode", "delete")
    };
    match end() {
        Ok(()) => Ok(true),
        Err(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                Ok(false)
            }
            // It is moved as it is: what can be read of it stays beside it.
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Ok(true)
            }
            _ => Err(fault::explain(error, &name, "open it")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Silent;

    fn count(path: &Path) -> i64 {
        let connection = Connection::open(path).unwrap();
        connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_copy_is_the_database_at_the_moment_of_the_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let writer = Connection::open(&from).unwrap();
        writer.pragma_update(None, "journal_mode", "wal").unwrap();
        writer
            .execute_batch("CREATE TABLE t (x TEXT); INSERT INTO t VALUES ('да'), ('はい')")
            .unwrap();
        let snapshot = Snapshot::take(&from).unwrap();
        assert!(snapshot.wal);
        writer.execute_batch("INSERT INTO t VALUES ('later')").unwrap();
        snapshot.copy_to(&to, &Silent).unwrap();
        assert_eq!((count(&to), count(&from)), (2, 3));
        assert!(!folder.path().join("b.db-wal").exists(), "one file");
        assert!(!settle(&from).unwrap(), "somebody has it open");
        drop((snapshot, writer));
        assert!(settle(&from).unwrap());
        set_wal(&to).unwrap();
        assert_eq!(count(&to), 2);
    }
}
