//! A commit that the disk did not confirm. SQLite takes it back, but its frames stay in the log, and
//! whoever opens the file after a crash takes them for a commit. Emptying the log makes sure that the
//! change did not happen.

use std::{fs::File, io, path::Path};

use super::{DATABASE, Inner, fail, fault, locked};
use crate::domain::{Error, Result, error::Doing};

impl Inner {
    /// The error of a commit that the disk did not confirm: taken back for certain, if it was written
    /// to the log alone and that can be emptied now.
    pub(super) fn unconfirmed(&mut self, error: Error, what: &str, is_in_log: bool) -> Error {
        self.has_unconfirmed = true;
        if !is_in_log || !self.has_log() {
            return error;
        }
        match self.settle() {
            Ok(()) => Error::storage(format!(
                "the disk did not confirm a write to {DATABASE}, so it was taken back and nothing was changed; check the disk, then try again (could not {what})"
            ))
            .with_source(error),
            Err(_) => error,
        }
    }

    /// Whether commits go to a write-ahead log. Otherwise a commit is the removal of a journal.
    fn has_log(&self) -> bool {
        let mode = "PRAGMA journal_mode";
        let mode: rusqlite::Result<String> = self.connection.query_row(mode, [], |row| row.get(0));
        mode.is_ok_and(|mode| mode == "wal")
    }

    /// The path of the file, where it has one.
    fn path(&self) -> Option<&Path> {
        self.connection.path().map(Path::new).filter(|path| path.is_absolute())
    }

    /// Makes the names of the file and its log durable, once.
    pub(super) fn sync_names(&mut self) -> Result<()> {
        if self.is_named || !self.has_log() {
            return Ok(());
        }
        if let Some(path) = self.path() {
            fault::sync_names(path, DATABASE)?;
        }
        self.is_named = true;
        Ok(())
    }

    /// Makes a commit durable that removed its journal.
    pub(super) fn sync_commit(&self) -> Result<()> {
        match self.path().filter(|_| !self.is_named) {
            Some(path) => fault::sync_commit(path, DATABASE),
            None => Ok(()),
        }
    }

    /// Makes sure that no commit which failed can come back.
    pub(super) fn settle(&mut self) -> Result<()> {
        if !self.has_unconfirmed {
            return Ok(());
        }
        let empty = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self
            .connection
            .query_row(empty, [], |row| row.get(0))
            .map_err(|error| fail(error, "empty its log"))?;
        if busy != 0 {
            return Err(locked());
        }
        let log = self.connection.path().map(|path| format!("{path}-wal"));
        match log.map(|log| File::options().write(true).open(log)) {
            // Its new length has to be durable.
            Some(Ok(log)) => log.sync_all().doing("sync the log of the cards")?,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).doing("sync the log of the cards");
            }
            _ => {}
        }
        self.has_unconfirmed = false;
        Ok(())
    }
}
