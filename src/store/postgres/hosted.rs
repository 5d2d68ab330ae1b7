//! Files of hosted vaults. A transaction that writes holds the library's row, so nobody else writes
//! between a check and the step that it is for.

use tokio_postgres::Row;

use super::{
    Postgres, connection::Connection, fault::Fault, items::lookup, pages, revisions,
    transaction::Transaction,
};
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

impl Hosted for Postgres {
    fn stat(&self, vault: &str, path: &str) -> Result<Option<HostedFile>> {
        self.read(|db| Ok(find(db, vault, path)?.map(|(_, file)| file)))
    }

    fn list(&self, vault: &str, folder: &str) -> Result<Vec<HostedFile>> {
        self.read(|db| {
            db.query(
                &format!(
                    "SELECT {FILE} FROM hosted_files f WHERE f.vault = $1 AND f.folder = $2
                     ORDER BY f.path"
                ),
                &[&vault, &folder],
            )?
            .iter()
            .map(|row| file(row, 0))
            .collect()
        })
    }

    fn below(&self, vault: &str, folder: &str) -> Result<Vec<HostedFile>> {
        let (from, to) = range_below(folder);
        self.read(|db| {
            db.query(
                &format!(
                    "SELECT {FILE} FROM hosted_files f
                     WHERE f.vault = $1 AND f.path >= $2 AND f.path < $3 ORDER BY f.path"
                ),
                &[&vault, &from, &to],
            )?
            .iter()
            .map(|row| file(row, 0))
            .collect()
        })
    }

    fn read(&self, vault: &str, path: &str) -> Result<Option<(HostedFile, Vec<u8>)>> {
        self.read(|db| {
            let row = db.query_opt(
                &format!(
                    "SELECT {FILE}, c.data FROM hosted_files f
                     JOIN hosted_contents c ON c.lib = f.lib AND c.file = f.id
                     WHERE f.vault = $1 AND f.path = $2"
                ),
                &[&vault, &path],
            )?;
            row.map(|row| Ok((file(&row, 0)?, row.try_get(5)?))).transpose()
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
        let id = self.write(|tx| {
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
            revisions::record(tx, change, revisions)
        })?;
        change.id = id;
        Ok(())
    }

    fn properties(&self, vault: &str, path: &str) -> Result<Vec<Property>> {
        self.read(|db| {
            db.query(
                "SELECT p.namespace, p.name, p.xml FROM hosted_properties p
                 JOIN hosted_files f ON f.lib = p.lib AND f.id = p.file
                 WHERE f.vault = $1 AND f.path = $2 ORDER BY p.namespace, p.name",
                &[&vault, &path],
            )?
            .iter()
            .map(|row| {
                Ok(Property {
                    namespace: row.try_get(0)?,
                    name: row.try_get(1)?,
                    xml: row.try_get(2)?,
                })
            })
            .collect()
        })
    }

    fn has_properties(&self, vault: &str) -> Result<bool> {
        self.read(|db| {
            let row = db.query_opt(
                "SELECT 1 FROM hosted_properties p
                 JOIN hosted_files f ON f.lib = p.lib AND f.id = p.file
                 WHERE f.vault = $1 LIMIT 1",
                &[&vault],
            )?;
            Ok(row.is_some())
        })
    }

    fn set_properties(&self, vault: &str, path: &str, changes: &[(Property, bool)]) -> Result<()> {
        self.write(|tx| {
            let (id, _) = find(tx, vault, path)?.ok_or_else(|| refusal::absent(path))?;
            let before = property_usage(tx, id)?;
            for (property, is_set) in changes {
                match is_set {
                    true => tx.execute(
                        "INSERT INTO hosted_properties (file, namespace, name, xml)
                         VALUES ($1, $2, $3, $4)
                         ON CONFLICT (lib, file, namespace, name) DO UPDATE SET xml = $4",
                        &[&id, &property.namespace, &property.name, &property.xml],
                    )?,
                    false => tx.execute(
                        "DELETE FROM hosted_properties
                         WHERE file = $1 AND namespace = $2 AND name = $3",
                        &[&id, &property.namespace, &property.name],
                    )?,
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
            tx.execute("DELETE FROM hosted_files WHERE vault = $1", &[&vault])?;
            tx.execute("DELETE FROM hosted_usage WHERE vault = $1", &[&vault])?;
            Ok(())
        })
    }
}

fn take(tx: &mut Transaction<'_>, vault: &str, step: &FileStep) -> Result<(), Fault> {
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
    tx: &mut Transaction<'_>,
    vault: &str,
    path: &str,
    bytes: &[u8],
    mtime_ns: i64,
    expected: Expected,
) -> Result<(), Fault> {
    let known = find(tx, vault, path)?;
    refusal::check(path, known.as_ref().map(|(_, file)| file), expected)?;
    let size = bytes.len() as i64;
    let id = match known {
        Some((_, file)) if file.is_folder() => return Err(refusal::is_a_folder(path).into()),
        Some((id, file)) => {
            tx.execute(
                "UPDATE hosted_files SET hash = $2, size = $3, mtime_ns = $4, changed = $5
                 WHERE id = $1",
                &[&id, &hash(bytes).as_slice(), &size, &mtime_ns, &Timestamp::now().0],
            )?;
            count(tx, vault, 0, size - file.size as i64)?;
            id
        }
        None => {
            make_folders(tx, vault, folder_of(path))?;
            count(tx, vault, 1, size)?;
            insert(tx, vault, path, Some(hash(bytes)), size, mtime_ns)?
        }
    };
    tx.execute(
        "INSERT INTO hosted_contents (file, data) VALUES ($1, $2)
         ON CONFLICT (lib, file) DO UPDATE SET data = $2",
        &[&id, &bytes],
    )?;
    Ok(())
}

fn insert(
    tx: &mut Transaction<'_>,
    vault: &str,
    path: &str,
    hash: Option<[u8; 32]>,
    size: i64,
    mtime_ns: i64,
) -> Result<i64, Fault> {
    let now = Timestamp::now().0;
    let row = tx.query_one(
        "INSERT INTO hosted_files
           (vault, path, folder, hash, size, mtime_ns, created_ns, changed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
        &[
            &vault,
            &path,
            &folder_of(path),
            &hash.as_ref().map(<[u8; 32]>::as_slice),
            &size,
            &mtime_ns,
            &now.saturating_mul(1_000_000),
            &now,
        ],
    )?;
    Ok(row.try_get(0)?)
}

/// Makes a folder and those above it, as far as they are missing.
fn make_folders(tx: &mut Transaction<'_>, vault: &str, path: &str) -> Result<(), Fault> {
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
    count(tx, vault, 1, 0)
}

fn remove(
    tx: &mut Transaction<'_>,
    vault: &str,
    path: &str,
    expected: Expected,
) -> Result<(), Fault> {
    let (id, file) = find(tx, vault, path)?.ok_or_else(|| refusal::absent(path))?;
    refusal::check(path, Some(&file), expected)?;
    let inside = "SELECT 1 FROM hosted_files WHERE vault = $1 AND folder = $2 LIMIT 1";
    if tx.query_opt(inside, &[&vault, &path])?.is_some() {
        return Err(refusal::not_empty(path).into());
    }
    drop_properties(tx, vault, id)?;
    tx.execute("DELETE FROM hosted_files WHERE id = $1", &[&id])?;
    count(tx, vault, -1, -(file.size as i64))
}

fn rename(
    tx: &mut Transaction<'_>,
    vault: &str,
    from: &str,
    to: &str,
    expected: Expected,
) -> Result<(), Fault> {
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
    tx.execute(
        "UPDATE hosted_files SET path = $2, folder = $3, changed = $4 WHERE id = $1",
        &[&id, &to, &folder_of(to), &now],
    )?;
    let (first, last) = range_below(from);
    let rest = i32::try_from(from.chars().count() + 1)
        .map_err(|_| Error::internal("a path is too long"))?;
    tx.execute(
        "UPDATE hosted_files SET path = $4::text || substr(path, $5),
           folder = $4::text || substr(folder, $5), changed = $6
         WHERE vault = $1 AND path >= $2 AND path < $3",
        &[&vault, &first, &last, &to, &rest, &now],
    )?;
    Ok(())
}

fn copy(
    tx: &mut Transaction<'_>,
    vault: &str,
    from: &str,
    to: &str,
    expected: Expected,
) -> Result<(), Fault> {
    let (id, source) = find(tx, vault, from)?.ok_or_else(|| refusal::absent(from))?;
    if source.is_folder() {
        return Err(refusal::is_a_folder(from).into());
    }
    let row = tx.query_one("SELECT data FROM hosted_contents WHERE file = $1", &[&id])?;
    let data: Vec<u8> = row.try_get(0)?;
    put(tx, vault, to, &data, source.mtime_ns, expected)?;
    let (copied, _) = find(tx, vault, to)?.ok_or_else(|| refusal::absent(to))?;
    drop_properties(tx, vault, copied)?;
    tx.execute(
        "INSERT INTO hosted_properties (file, namespace, name, xml)
         SELECT $2::bigint, namespace, name, xml FROM hosted_properties WHERE file = $1",
        &[&id, &copied],
    )?;
    let usage = property_usage(tx, copied)?;
    count_properties(tx, vault, usage.bytes as i64)?;
    match usage.count {
        0 => Ok(()),
        _ => check_properties(tx, vault, to, usage),
    }
}

fn property_usage(tx: &mut Transaction<'_>, file: i64) -> Result<PropertyUsage, Fault> {
    let row = tx.query_one(
        "SELECT count(*), coalesce(sum(octet_length(xml) + octet_length(name)
           + octet_length(namespace)), 0)::bigint
         FROM hosted_properties WHERE file = $1",
        &[&file],
    )?;
    let number = |at: usize| row.try_get::<_, i64>(at).map(|number| number.max(0) as u64);
    Ok(PropertyUsage { count: number(0)?, bytes: number(1)? })
}

/// Refuses more properties than a file and its vault may have, after the oldest files of the trash
/// lost theirs.
fn check_properties(
    tx: &mut Transaction<'_>,
    vault: &str,
    path: &str,
    of_file: PropertyUsage,
) -> Result<(), Fault> {
    refusal::check_properties(path, of_file)?;
    loop {
        let bytes = usage(tx, vault)?.property_bytes;
        if bytes <= MAX_VAULT_PROPERTY_BYTES {
            return Ok(());
        }
        let (from, to) = range_below(TRASH);
        let oldest = tx.query_opt(
            "SELECT f.id FROM hosted_files f WHERE f.vault = $1 AND f.path >= $2 AND f.path < $3
               AND EXISTS (SELECT 1 FROM hosted_properties p WHERE p.lib = f.lib AND p.file = f.id)
             ORDER BY f.changed, f.id LIMIT 1",
            &[&vault, &from, &to],
        )?;
        match oldest {
            Some(row) => drop_properties(tx, vault, row.try_get(0)?)?,
            None => return Err(refusal::full_of_properties(vault).into()),
        }
    }
}

fn drop_properties(tx: &mut Transaction<'_>, vault: &str, file: i64) -> Result<(), Fault> {
    let dropped = property_usage(tx, file)?;
    tx.execute("DELETE FROM hosted_properties WHERE file = $1", &[&file])?;
    count_properties(tx, vault, -(dropped.bytes as i64))
}

/// Refuses what does not fit, after the oldest files of the trash made room.
fn make_room(tx: &mut Transaction<'_>, vault: &str, limits: HostedLimits) -> Result<(), Fault> {
    loop {
        let usage = usage(tx, vault)?;
        if limits.allow(usage) {
            return Ok(());
        }
        let (from, to) = range_below(TRASH);
        let oldest = tx.query_opt(
            "SELECT path FROM hosted_files
             WHERE vault = $1 AND path >= $2 AND path < $3 AND hash IS NOT NULL
             ORDER BY changed, id LIMIT 1",
            &[&vault, &from, &to],
        )?;
        match oldest {
            Some(row) => remove(tx, vault, row.try_get(0)?, Expected::Any)?,
            None => return Err(refusal::full(vault, usage, limits).into()),
        }
    }
}

fn usage(db: &mut Connection, vault: &str) -> Result<HostedUsage, Fault> {
    let select = "SELECT files, bytes, property_bytes FROM hosted_usage WHERE vault = $1";
    let Some(row) = db.query_opt(select, &[&vault])? else { return Ok(HostedUsage::default()) };
    let number = |at: usize| row.try_get::<_, i64>(at).map(|number| number.max(0) as u64);
    Ok(HostedUsage { files: number(0)?, bytes: number(1)?, property_bytes: number(2)? })
}

fn count(tx: &mut Transaction<'_>, vault: &str, files: i64, bytes: i64) -> Result<(), Fault> {
    tx.execute(
        "INSERT INTO hosted_usage (vault, files, bytes) VALUES ($1, $2, $3)
         ON CONFLICT (lib, vault) DO UPDATE
           SET files = hosted_usage.files + $2, bytes = hosted_usage.bytes + $3",
        &[&vault, &files, &bytes],
    )?;
    Ok(())
}

fn count_properties(tx: &mut Transaction<'_>, vault: &str, bytes: i64) -> Result<(), Fault> {
    if bytes != 0 {
        let add = "UPDATE hosted_usage SET property_bytes = property_bytes + $2 WHERE vault = $1";
        tx.execute(add, &[&vault, &bytes])?;
    }
    Ok(())
}

fn find(db: &mut Connection, vault: &str, path: &str) -> Result<Option<(i64, HostedFile)>, Fault> {
    let row = db.query_opt(
        &format!("SELECT f.id, {FILE} FROM hosted_files f WHERE f.vault = $1 AND f.path = $2"),
        &[&vault, &path],
    )?;
    row.map(|row| Ok((row.try_get(0)?, file(&row, 1)?))).transpose()
}

/// The file whose columns start at `from`.
fn file(row: &Row, from: usize) -> Result<HostedFile, Fault> {
    let hash: Option<Vec<u8>> = row.try_get(from + 4)?;
    let hash = hash.map(|hash| {
        hash.try_into().map_err(|_| Error::damaged("a hosted file's hash has a wrong length"))
    });
    Ok(HostedFile {
        path: row.try_get(from)?,
        size: row.try_get::<_, i64>(from + 1)?.max(0) as u64,
        mtime_ns: row.try_get(from + 2)?,
        created_ns: row.try_get(from + 3)?,
        hash: hash.transpose()?,
    })
}
