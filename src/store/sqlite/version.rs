//! The version of a database's schema, read without bringing it up to date, and the program that
//! wrote it.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use super::{MIGRATIONS, fault};
use crate::{
    domain::{Result, error::Doing},
    vault,
};

/// Where SQLite keeps `user_version` in a file, as a big-endian number.
const HEADER_FIELD: u64 = 60;

/// A schema beside the newest one that this program knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The number in the file; 0 for an empty one.
    pub found: u32,
    /// The newest number that this program knows.
    pub known: u32,
    /// The version of the program that brought the file to this schema, where it left its name.
    pub written_by: Option<String>,
}

/// The newest schema that this program knows.
pub fn newest_schema() -> u32 {
    MIGRATIONS.len() as u32
}

/// Reads the version of `notewell.db`; `None` where there is no file. Nothing is migrated.
pub fn schema_version(path: &Path) -> Result<Option<SchemaVersion>> {
    if !path.try_exists().doing(format_args!("open `{}`", path.display()))? {
        return Ok(None);
    }
    let read = || {
        // Not read-only: the first reader of a write-ahead log has to make its index.
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(super::cards::LOCK_WAIT)?;
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
    };
    let found = match read() {
        Ok(found) => found,
        // A folder that this account may not write to has no place for that index.
        Err(error) => in_header(path)
            .ok_or_else(|| fault::explain(error, &format!("`{}`", path.display()), "read it"))?,
    };
    let written_by = written_by(path, found);
    Ok(Some(SchemaVersion { found, known: newest_schema(), written_by }))
}

fn in_header(path: &Path) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let mut magic = [0; 16];
    file.read_exact(&mut magic).ok()?;
    let mut number = [0; 4];
    file.seek(SeekFrom::Start(HEADER_FIELD)).ok()?;
    file.read_exact(&mut number).ok()?;
    (&magic == b"SQLite format 3\0").then(|| u32::from_be_bytes(number))
}

/// The file beside a library's database that names the program which last changed its schema.
/// Other databases have none.
fn note(path: &Path) -> Option<PathBuf> {
    (path.file_name()? == "notewell.db").then(|| path.with_file_name("written-by"))
}

/// Leaves this program's version beside a database whose schema it has just changed.
pub(super) fn sign(path: &Path) {
    let Some(note) = note(path) else { return };
    let text = format!("{} {}\n", env!("CARGO_PKG_VERSION"), MIGRATIONS.len());
    if let Err(error) = vault::replace(&note, text.as_bytes()) {
        tracing::debug!(%error, "an older program will not be able to name this version");
    }
}

/// The version of the program that brought a database to `schema`.
pub(super) fn written_by(path: &Path, schema: u32) -> Option<String> {
    let text = std::fs::read_to_string(note(path)?).ok()?;
    let (version, number) = text.trim().split_once(' ')?;
    let is_version = version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    (number.parse() == Ok(schema) && is_version && version.len() < 40).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::Sqlite;

    #[test]
    fn a_version_is_read_and_nothing_is_migrated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notewell.db");
        assert_eq!(schema_version(&path).unwrap(), None);
        assert!(!path.exists());
        let old = Connection::open(&path).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        let version = schema_version(&path).unwrap().unwrap();
        assert_eq!((version.found, version.written_by), (1, None));
        drop(old);
        assert_eq!(in_header(&path), Some(1));

        drop(Sqlite::open(&path).unwrap());
        let version = schema_version(&path).unwrap().unwrap();
        assert_eq!(version.found, version.known);
        assert_eq!(version.written_by.as_deref(), Some(env!("CARGO_PKG_VERSION")));
        assert_eq!(written_by(&path, 1), None, "the note is about another schema");
    }
}
