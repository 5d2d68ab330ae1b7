//! What a failure of SQLite means to the person who has to act on it.

use std::{fmt::Display, io, path::Path};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{
    domain::{Error, Result},
    vault::{folder_of, sync_folder},
};

/// How `quick_check` names rows that break a rule of their table.
const RULES_OF_ROWS: [&str; 5] = [
    "NULL value in ",
    "CHECK constraint failed",
    "TEXT value in ",
    "NUMERIC value in ",
    "non-unique entry in ",
];

/// Turns a failure of SQLite into a sentence: `database` is the file as people know it ("the
/// cards' database"), `what` the attempt that failed ("add the card").
pub fn explain(error: rusqlite::Error, database: &str, what: impl Display) -> Error {
    let described = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::storage(format!(
            "{database} is locked by another program; try again (could not {what})"
        )),
        Some(ErrorCode::DiskFull) => Error::disk_full(what),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::damaged(format!(
            "{database} is damaged: {error}; put it back from a backup, and run `notewell doctor` (could not {what})"
        )),
        Some(ErrorCode::ReadOnly) => Error::invalid_request(format!(
            "could not {what}: {database} is read-only; give this user the right to write it"
        )),
        // What was written may be read back from the log by the next process that opens it.
        Some(ErrorCode::SystemIoFailure) if is_sync(&error) => unconfirmed(database, what),
        Some(ErrorCode::SystemIoFailure) => Error::storage(format!(
            "could not {what}: the disk failed ({error}); check it and its log, then try again"
        )),
        Some(ErrorCode::ConstraintViolation) => Error::invalid_request(format!(
            "could not {what}: a rule of {database} forbids it ({error})"
        )),
        _ => Error::internal(format!("could not {what}: {error}")),
    };
    described.with_source(error)
}

/// The error of a write of which the disk did not say that it is durable.
fn unconfirmed(database: &str, what: impl Display) -> Error {
    Error::storage(format!(
        "the disk did not confirm a write to {database}: after a restart the change may or may not be there; check the disk, then check for the change before you repeat it (could not {what})"
    ))
}

/// Makes the names of a database and its log durable, before a change is written to them. SQLite syncs
/// their folder too, and says nothing when that fails.
pub fn sync_names(path: &Path, database: &str) -> Result<()> {
    sync_folder(folder_of(path)).map_err(|error| {
        Error::storage(format!(
            "the disk did not confirm the names of the files of {database}, so nothing was changed; check the disk, then try again"
        ))
        .with_source(error)
    })
}

/// Makes the commit durable that the removal of a journal is.
pub fn sync_commit(path: &Path, database: &str) -> Result<()> {
    sync_folder(folder_of(path))
        .map_err(|error| unconfirmed(database, "sync its folder").with_source(error))
}

/// Turns a failure to open a database file into a sentence. SQLite says only that it cannot; the
/// file itself, or another one made beside it as its log would be, says why.
pub fn explain_opening(error: rusqlite::Error, database: &str, path: &Path) -> Error {
    let what = format!("open `{}`", path.display());
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return explain(error, database, what);
    }
    if let Some(cause) = refusal(path).filter(|_| path.exists()) {
        return Error::storage(format!(
            "could not {what}: {cause}; {database} has to be a file that this account may read and write"
        ))
        .with_source(error);
    }
    let folder = folder_of(path);
    match tempfile::NamedTempFile::new_in(folder) {
        Err(cause) => Error::unwritable(folder, what, cause),
        Ok(_) => explain(error, database, what),
    }
}

/// Why this account may not read and write a file.
///
/// The file is not opened for that: to close it would end the locks that another connection of this
/// process has on it.
#[cfg(unix)]
fn refusal(path: &Path) -> Option<io::Error> {
    use rustix::fs::{Access, access};
    if path.is_dir() {
        return Some(io::ErrorKind::IsADirectory.into());
    }
    access(path, Access::READ_OK | Access::WRITE_OK).err().map(io::Error::from)
}

/// Why this account may not read and write a file.
#[cfg(not(unix))]
fn refusal(path: &Path) -> Option<io::Error> {
    std::fs::File::options().read(true).write(true).open(path).err()
}

/// Whether the disk refused to make something durable that was written.
pub fn is_sync(error: &rusqlite::Error) -> bool {
    let codes = [rusqlite::ffi::SQLITE_IOERR_FSYNC, rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC];
    error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code))
}

/// Whether what the disk refused to make durable is in a file, such as the log, and not a name.
pub fn is_sync_of_log(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_FSYNC)
}

/// What `PRAGMA quick_check` finds wrong with a database file; empty when it is sound.
///
/// Rows that break a rule of their own table (a NULL where none is allowed) are not damage: other
/// programs make them, and they can be read.
pub fn quick_check(path: &Path) -> Result<Vec<String>> {
    let open = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let check = || {
        let connection = Connection::open_with_flags(path, open)?;
        connection.busy_timeout(super::cards::LOCK_WAIT)?;
        damage(&connection)
    };
    match check() {
        Ok(found) => Ok(found),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Ok(vec![error.to_string()])
            }
            _ => Err(explain(error, &format!("`{}`", path.display()), "check it")),
        },
    }
}

/// The same for an open connection.
pub fn damage(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA quick_check(20)")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut found = Vec::new();
    for line in lines {
        let line = line?;
        if line != "ok" && !RULES_OF_ROWS.iter().any(|start| line.starts_with(start)) {
            found.push(line);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_write_that_the_disk_did_not_confirm_is_no_word_of_nothing_changed() {
        let message = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            explain(error, "the database", "add the card").message
        };
        let unconfirmed = message(ffi::SQLITE_IOERR_FSYNC);
        assert!(unconfirmed.contains("may or may not be there"), "{unconfirmed}");
        assert!(!unconfirmed.contains("nothing was changed"), "{unconfirmed}");
        let failed = message(ffi::SQLITE_IOERR_WRITE);
        assert!(failed.starts_with("could not add the card: the disk failed"), "{failed}");
        assert!(message(ffi::SQLITE_FULL).contains("nothing was changed"));
    }
}
