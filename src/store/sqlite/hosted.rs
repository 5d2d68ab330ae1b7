//! Files of hosted vaults, in the library's database.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{Sqlite, items::lookup, pages, revisions};
use crate::{
    domain::{Error, Kind, Result, Timestamp},
    store::{
        hosted::{
            Expected, FileStep, Hosted, HostedFile, HostedLimits, HostedUsage, HostedWrite,
            MAX_VAULT_PROPERTY_BYTES, Property, PropertyUsage, TRASH, folder_of, range_below,
            refusal,
        },
        revisions::{NewChange, Revision},
    },
    vault::read::hash,
};

const FILE: &str = "f.path, f.size, f.mtime_ns, f.created_ns, f.hash";

/// Why a transaction ends without a change.
pub(super) enum Stop {
    Refused(Error),
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Hosted for Sqlite {
    fn stat(&self, vault: &str, path: &str) -> Result<Option<HostedFile>> {
        self.read(|db| find(db, vault, path).map(|found| found.map(|(_, file)| file)))
    }

    fn list(&self, vault: &str, folder: &str) -> Result<Vec<HostedFile>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {FILE} FROM hosted_files f WHERE f.vault = ?1 AND f.folder = ?2
                 ORDER BY f.path"
            ))?
            .query_map([vault, folder], |row| file(row, 0))?
            .collect()
        })
    }

    fn below(&self, vault: &str, folder: &str) -> Result<Vec<HostedFile>> {
        let (from, to) = range_below(folder);
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {FILE} FROM hosted_files f
                 WHERE f.vault = ?1 AND f.path >= ?2 AND f.path < ?3 ORDER BY f.path"
            ))?
            .query_map([vault, &from, &to], |row| file(row, 0))?
            .collect()
        })
    }

    fn read(&self, vault: &str, path: &str) -> Result<Option<(HostedFile, Vec<u8>)>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {FILE}, c.data FROM hosted_files f
                 JOIN hosted_contents c ON c.file = f.id WHERE f.vault = ?1 AND f.path = ?2"
            ))?
            .query_row([vault, path], |row| Ok((file(row, 0)?, row.get(5)?)))
            .optional()
        })
    }

    fn usage(&self, vault: &str) -> Result<HostedUsage> {
        self.read(|db| usage(db, vault))
    }

    fn write(
        &self,
        write: &HostedWrite<'_>,
        change: &mut NewChange,
        revisions: &mut [Revision],
    ) -> Result<()> {
        let id = self.refusable(|tx| {
            let mut grows = false;
            for step in write.steps {
                grows |= step.grows();
                take(tx, write.vault, step)?;
            }
            if grows {
                make_room(tx, write.vault, write.limits)?;
            }
            pages::apply(tx, write.pages)?;
            for revision in revisions.iter_mut().filter(|revision| revision.pid.is_none()) {
                let known = lookup(tx, Kind::Page, revision.key_after())?;
                revision.pid = known.map(|item| item.pid);
            }
            Ok(revisions::record(tx, change, revisions)?)
        })?;
        change.id = id;
        Ok(())
    }

    fn properties(&self, vault: &str, path: &str) -> Result<Vec<Property>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT p.namespace, p.name, p.xml FROM hosted_properties p
                 JOIN hosted_files f ON f.id = p.file
                 WHERE f.vault = ?1 AND f.path = ?2 ORDER BY p.namespace, p.name",
            )?
            .query_map([vault, path], |row| {
                Ok(Property { namespace: row.get(0)?, name: row.get(1)?, xml: row.get(2)? })
            })?
            .collect()
        })
    }

    fn has_properties(&self, vault: &str) -> Result<bool> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT 1 FROM hosted_properties p JOIN hosted_files f ON f.id = p.file
                 WHERE f.vault = ?1 LIMIT 1",
            )?
            .exists([vault])
        })
    }

    fn set_properties(&self, vault: &str, path: &str, changes: &[(Property, bool)]) -> Result<()> {
        self.refusable(|tx| {
            let (id, _) = find(tx, vault, path)?.ok_or_else(|| refusal::absent(path))?;
            let before = property_usage(tx, id)?;
            for (property, is_set) in changes {
                match is_set {
                    true => tx
                        .prepare_cached(
                            "INSERT OR REPLACE INTO hosted_properties (file, namespace, name, xml)
                             VALUES (?1, ?2, ?3, ?4)",
                        )?
                        .execute(params![id, property.namespace, property.name, property.xml])?,
                    false => tx
                        .prepare_cached(
                            "DELETE FROM hosted_properties
                             WHERE file = ?1 AND namespace = ?2 AND name = ?3",
                        )?
                        .execute(params![id, property.namespace, property.name])?,
                };
            }
            let after = property_usage(tx, id)?;
            count_properties(tx, vault, after.bytes as i64 - before.bytes as i64)?;
            match changes.iter().any(|(_, is_set)| *is_set) {
                true => check_properties(tx, vault, path, after),
                false => Ok(()),
            }
        })
    }

    fn delete_files(&self, vault: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute("DELETE FROM hosted_files WHERE vault = ?1", [vault])?;
            tx.execute("DELETE FROM hosted_usage WHERE vault = ?1", [vault])
        })
        .map(drop)
    }
}

impl Sqlite {
    /// Runs one write transaction that may refuse; then nothing changes.
    pub(super) fn refusable<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Stop>,
    ) -> Result<T> {
        let mut refused = None;
        let done = self.write(|tx| {
            work(tx).map_err(|stop| match stop {
                Stop::Failed(error) => error,
                Stop::Refused(error) => {
                    refused = Some(error);
                    // Any error rolls back; this one is not reported.
                    rusqlite::Error::QueryReturnedNoRows
                }
            })
        });
        match refused {
            Some(error) => Err(error),
            None => done,
        }
    }
}

fn take(tx: &Transaction<'_>, vault: &str, step: &FileStep) -> std::result::Result<(), Stop> {
    match step {
        FileStep::Check { path, expected } => {
            let known = find(tx, vault, path.as_str())?;
            let file = known.as_ref().map(|(_, file)| file);
            Ok(refusal::check(path.as_str(), file, *expected)?)
        }
        FileStep::Put { path, bytes, mtime_ns, expected } => {
            put(tx, vault, path.as_str(), bytes, *mtime_ns, *expected)
        }
        FileStep::Folder { path } => {
            if find(tx, vault, path.as_str())?.is_some() {
                return Err(refusal::exists(path.as_str()).into());
            }
            make_folders(tx, vault, path.as_str())
        }
        FileStep::Remove { path, expected } => remove(tx, vault, path.as_str(), *expected),
        FileStep::Move { from, to, expected } => {
            rename(tx, vault, from.as_str(), to.as_str(), *expected)
        }
        FileStep::Copy { from, to, expected } => {
            copy(tx, vault, from.as_str(), to.as_str(), *expected)
        }
    }
}

fn put(
    tx: &Transaction<'_>,
    vault: &str,
    path: &str,
    bytes: &[u8],
    mtime_ns: i64,
    expected: Expected,
) -> std::result::Result<(), Stop> {
    let known = find(tx, vault, path)?;
    refusal::check(path, known.as_ref().map(|(_, file)| file), expected)?;
    let size = bytes.len() as i64;
    let id = match known {
        Some((_, file)) if file.is_folder() => return Err(refusal::is_a_folder(path).into()),
        Some((id, file)) => {
            tx.prepare_cached(
                "UPDATE hosted_files SET hash = ?2, size = ?3, mtime_ns = ?4, changed = ?5
                 WHERE id = ?1",
            )?
            .execute(params![id, hash(bytes), size, mtime_ns, Timestamp::now().0])?;
            count(tx, vault, 0, size - file.size as i64)?;
            id
        }
        None => {
            make_folders(tx, vault, folder_of(path))?;
            count(tx, vault, 1, size)?;
            insert(tx, vault, path, Some(hash(bytes)), size, mtime_ns)?
        }
    };
    tx.prepare_cached("INSERT OR REPLACE INTO hosted_contents (file, data) VALUES (?1, ?2)")?
        .execute(params![id, bytes])?;
    Ok(())
}

fn insert(
    tx: &Transaction<'_>,
    vault: &str,
    path: &str,
    hash: Option<[u8; 32]>,
    size: i64,
    mtime_ns: i64,
) -> rusqlite::Result<i64> {
    let now = Timestamp::now().0;
    tx.prepare_cached(
        "INSERT INTO hosted_files
           (vault, path, folder, hash, size, mtime_ns, created_ns, changed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        vault,
        path,
        folder_of(path),
        hash,
        size,
        mtime_ns,
        now.saturating_mul(1_000_000),
        now
    ])?;
    Ok(tx.last_insert_rowid())
}

/// Makes a folder and those above it, as far as they are missing.
fn make_folders(tx: &Transaction<'_>, vault: &str, path: &str) -> std::result::Result<(), Stop> {
    if path.is_empty() {
        return Ok(());
    }
    match find(tx, vault, path)? {
        Some((_, file)) if file.is_folder() => return Ok(()),
        Some(_) => return Err(refusal::not_a_folder(path).into()),
        None => {}
    }
    make_folders(tx, vault, folder_of(path))?;
    let now = Timestamp::now().0.saturating_mul(1_000_000);
    insert(tx, vault, path, None, 0, now)?;
    Ok(count(tx, vault, 1, 0)?)
}

fn remove(
    tx: &Transaction<'_>,
    vault: &str,
    path: &str,
    expected: Expected,
) -> std::result::Result<(), Stop> {
    let (id, file) = find(tx, vault, path)?.ok_or_else(|| refusal::absent(path))?;
    refusal::check(path, Some(&file), expected)?;
    let is_empty = !tx
        .prepare_cached("SELECT 1 FROM hosted_files WHERE vault = ?1 AND folder = ?2")?
        .exists([vault, path])?;
    if !is_empty {
        return Err(refusal::not_empty(path).into());
    }
    drop_properties(tx, vault, id)?;
    tx.prepare_cached("DELETE FROM hosted_files WHERE id = ?1")?.execute([id])?;
    Ok(count(tx, vault, -1, -(file.size as i64))?)
}

fn rename(
    tx: &Transaction<'_>,
    vault: &str,
    from: &str,
    to: &str,
    expected: Expected,
) -> std::result::Result<(), Stop> {
    let (id, file) = find(tx, vault, from)?.ok_or_else(|| refusal::absent(from))?;
    refusal::check(from, Some(&file), expected)?;
    if find(tx, vault, to)?.is_some() {
        return Err(refusal::exists(to).into());
    }
    if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
        return Err(refusal::into_itself(from).into());
    }
    make_folders(tx, vault, folder_of(to))?;
    let now = Timestamp::now().0;
    tx.prepare_cached(
        "UPDATE hosted_files SET path = ?2, folder = ?3, changed = ?4 WHERE id = ?1",
    )?
    .execute(params![id, to, folder_of(to), now])?;
    let (first, last) = range_below(from);
    tx.prepare_cached(
        "UPDATE hosted_files SET path = ?4 || substr(path, ?5), folder = ?4 || substr(folder, ?5),
           changed = ?6
         WHERE vault = ?1 AND path >= ?2 AND path < ?3",
    )?
    .execute(params![vault, first, last, to, from.chars().count() as i64 + 1, now])?;
    Ok(())
}

fn copy(
    tx: &Transaction<'_>,
    vault: &str,
    from: &str,
    to: &str,
    expected: Expected,
) -> std::result::Result<(), Stop> {
    let (id, source) = find(tx, vault, from)?.ok_or_else(|| refusal::absent(from))?;
    if source.is_folder() {
        return Err(refusal::is_a_folder(from).into());
    }
    let data: Vec<u8> = tx
        .prepare_cached("SELECT data FROM hosted_contents WHERE file = ?1")?
        .query_row([id], |row| row.get(0))?;
    put(tx, vault, to, &data, source.mtime_ns, expected)?;
    let (copied, _) = find(tx, vault, to)?.ok_or_else(|| refusal::absent(to))?;
    drop_properties(tx, vault, copied)?;
    tx.prepare_cached(
        "INSERT INTO hosted_properties (file, namespace, name, xml)
         SELECT ?2, namespace, name, xml FROM hosted_properties WHERE file = ?1",
    )?
    .execute([id, copied])?;
    let usage = property_usage(tx, copied)?;
    count_properties(tx, vault, usage.bytes as i64)?;
    match usage.count {
        0 => Ok(()),
        _ => check_properties(tx, vault, to, usage),
    }
}

fn property_usage(db: &Connection, file: i64) -> rusqlite::Result<PropertyUsage> {
    db.prepare_cached(
        "SELECT count(*), coalesce(sum(length(xml) + length(CAST(name AS BLOB))
           + length(CAST(namespace AS BLOB))), 0)
         FROM hosted_properties WHERE file = ?1",
    )?
    .query_row([file], |row| {
        let number = |at| row.get::<_, i64>(at).map(|number| number.max(0) as u64);
        Ok(PropertyUsage { count: number(0)?, bytes: number(1)? })
    })
}

/// Refuses more properties than a file and its vault may have, after the oldest files of the trash
/// lost theirs.
fn check_properties(
    tx: &Transaction<'_>,
    vault: &str,
    path: &str,
    of_file: PropertyUsage,
) -> std::result::Result<(), Stop> {
    refusal::check_properties(path, of_file)?;
    loop {
        let bytes = usage(tx, vault)?.property_bytes;
        if bytes <= MAX_VAULT_PROPERTY_BYTES {
            return Ok(());
        }
        let (from, to) = range_below(TRASH);
        let oldest: Option<i64> = tx
            .prepare_cached(
                "SELECT f.id FROM hosted_files f WHERE f.vault = ?1 AND f.path >= ?2 AND f.path < ?3
                   AND EXISTS (SELECT 1 FROM hosted_properties p WHERE p.file = f.id)
                 ORDER BY f.changed, f.id LIMIT 1",
            )?
            .query_row([vault, &from, &to], |row| row.get(0))
            .optional()?;
        match oldest {
            Some(file) => drop_properties(tx, vault, file)?,
            None => return Err(refusal::full_of_properties(vault).into()),
        }
    }
}

fn drop_properties(tx: &Transaction<'_>, vault: &str, file: i64) -> rusqlite::Result<()> {
    let dropped = property_usage(tx, file)?;
    tx.prepare_cached("DELETE FROM hosted_properties WHERE file = ?1")?.execute([file])?;
    count_properties(tx, vault, -(dropped.bytes as i64))
}

/// Refuses what does not fit, after the oldest files of the trash made room.
fn make_room(
    tx: &Transaction<'_>,
    vault: &str,
    limits: HostedLimits,
) -> std::result::Result<(), Stop> {
    loop {
        let usage = usage(tx, vault)?;
        if limits.allow(usage) {
            return Ok(());
        }
        let (from, to) = range_below(TRASH);
        let oldest: Option<String> = tx
            .prepare_cached(
                "SELECT path FROM hosted_files
                 WHERE vault = ?1 AND path >= ?2 AND path < ?3 AND hash IS NOT NULL
                 ORDER BY changed, id LIMIT 1",
            )?
            .query_row([vault, &from, &to], |row| row.get(0))
            .optional()?;
        match oldest {
            Some(path) => remove(tx, vault, &path, Expected::Any)?,
            None => return Err(refusal::full(vault, usage, limits).into()),
        }
    }
}

fn usage(db: &Connection, vault: &str) -> rusqlite::Result<HostedUsage> {
    let known = db
        .prepare_cached("SELECT files, bytes, property_bytes FROM hosted_usage WHERE vault = ?1")?
        .query_row([vault], |row| {
            let number = |at| row.get::<_, i64>(at).map(|number| number.max(0) as u64);
            Ok(HostedUsage { files: number(0)?, bytes: number(1)?, property_bytes: number(2)? })
        })
        .optional()?;
    Ok(known.unwrap_or_default())
}

fn count(tx: &Transaction<'_>, vault: &str, files: i64, bytes: i64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO hosted_usage (vault, files, bytes) VALUES (?1, ?2, ?3)
         ON CONFLICT (vault) DO UPDATE SET files = files + ?2, bytes = bytes + ?3",
    )?
    .execute(params![vault, files, bytes])
    .map(drop)
}

fn count_properties(tx: &Transaction<'_>, vault: &str, bytes: i64) -> rusqlite::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    tx.prepare_cached(
        "UPDATE hosted_usage SET property_bytes = property_bytes + ?2 WHERE vault = ?1",
    )?
    .execute(params![vault, bytes])
    .map(drop)
}

fn find(db: &Connection, vault: &str, path: &str) -> rusqlite::Result<Option<(i64, HostedFile)>> {
    db.prepare_cached(&format!(
        "SELECT f.id, {FILE} FROM hosted_files f WHERE f.vault = ?1 AND f.path = ?2"
    ))?
    .query_row([vault, path], |row| Ok((row.get(0)?, file(row, 1)?)))
    .optional()
}

/// The file whose columns start at `from`.
fn file(row: &Row<'_>, from: usize) -> rusqlite::Result<HostedFile> {
    Ok(HostedFile {
        path: row.get(from)?,
        size: row.get::<_, i64>(from + 1)?.max(0) as u64,
        mtime_ns: row.get(from + 2)?,
        created_ns: row.get(from + 3)?,
        hash: row.get(from + 4)?,
    })
}
