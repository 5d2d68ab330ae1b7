//! What a failure of SQLite means to the person who has to act on it.

use std::{fmt::Display, path::Path};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::domain::{Error, Result};

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
    let told = match error.sqlite_error_code() {
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
        Some(ErrorCode::ConstraintViolation) => Error::invalid_request(format!(
            "could not {what}: a rule of {database} forbids it ({error})"
        )),
        _ => Error::internal(format!("could not {what}: {error}")),
    };
    told.with_source(error)
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
