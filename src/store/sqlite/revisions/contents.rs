//! The contents of revisions: each stored once, under its hash, compressed.

use rusqlite::{Connection, OptionalExtension, Transaction, params, types::Type};
use sha2::{Digest, Sha256};

use crate::store::compression::{compress, decompress};

/// Damaged contents that `damage` names before it stops.
const MAX_NAMED: usize = 20;

/// Stores a content, unless it is there already, and returns its number.
pub(super) fn put(tx: &Transaction<'_>, content: Option<&[u8]>) -> rusqlite::Result<Option<i64>> {
    let Some(content) = content else { return Ok(None) };
    let hash: [u8; 32] = Sha256::digest(content).into();
    let known = tx
        .prepare_cached("SELECT id FROM contents WHERE hash = ?1")?
        .query_row([&hash[..]], |row| row.get(0))
        .optional()?;
    if known.is_some() {
        return Ok(known);
    }
    let data = compress(content)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    tx.prepare_cached("INSERT INTO contents (hash, data) VALUES (?1, ?2)")?
        .execute(params![&hash[..], data])?;
    Ok(Some(tx.last_insert_rowid()))
}

pub(super) fn get(db: &Connection, id: Option<i64>) -> rusqlite::Result<Option<Vec<u8>>> {
    let Some(id) = id else { return Ok(None) };
    let data: Vec<u8> = db
        .prepare_cached("SELECT data FROM contents WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    decompress(&data)
        .map(Some)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(error)))
}

/// Deletes those of these contents that no revision has any more.
pub(super) fn delete_unused(tx: &Transaction<'_>, ids: &[i64]) -> rusqlite::Result<()> {
    let mut delete = tx.prepare_cached(
        "DELETE FROM contents WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM revisions WHERE before = ?1)
         AND NOT EXISTS (SELECT 1 FROM revisions WHERE after = ?1)",
    )?;
    ids.iter().try_for_each(|id| delete.execute([id]).map(drop))
}

/// What is wrong with the stored contents.
pub(super) fn damage(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare("SELECT id, hash, data FROM contents")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, hash): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let sound = decompress(row.get_ref(2)?.as_blob()?)
            .is_ok_and(|content| Sha256::digest(content)[..] == hash[..]);
        if !sound {
            found.push(format!("the stored content {id} cannot be read"));
        }
        if found.len() == MAX_NAMED {
            break;
        }
    }
    Ok(found)
}
