//! The contents of revisions: each stored once, under its hash, compressed.

use sha2::{Digest, Sha256};

use crate::{
    domain::Error,
    store::{
        compression::{compress, decompress},
        postgres::{connection::Connection, fault::Fault, transaction::Transaction},
    },
};

/// Damaged contents that `damage` names before it stops.
const MAX_NAMED: usize = 20;
/// Contents that one statement reads.
const BATCH: i64 = 32;

/// Stores a content, unless it is there already, and returns its number.
pub(super) fn put(tx: &mut Transaction<'_>, content: Option<&[u8]>) -> Result<Option<i64>, Fault> {
    let Some(content) = content else { return Ok(None) };
    let hash: [u8; 32] = Sha256::digest(content).into();
    let known = tx.query_opt("SELECT id FROM contents WHERE hash = $1", &[&&hash[..]])?;
    if let Some(row) = known {
        return Ok(Some(row.try_get(0)?));
    }
    let data = compress(content)
        .map_err(|error| Error::internal(format!("could not compress a content: {error}")))?;
    let row = tx.query_one(
        "INSERT INTO contents (hash, data) VALUES ($1, $2) RETURNING id",
        &[&&hash[..], &data],
    )?;
    Ok(Some(row.try_get(0)?))
}

/// The content of what was stored.
pub(super) fn get(data: Option<&[u8]>) -> Result<Option<Vec<u8>>, Fault> {
    let read = data.map(decompress).transpose();
    read.map_err(|error| {
        Fault::Refused(Error::damaged(format!(
            "a stored content cannot be read: {error}; run `notewell doctor`"
        )))
    })
}

/// Deletes those of these contents that no revision has any more.
pub(super) fn delete_unused(tx: &mut Transaction<'_>, ids: &[i64]) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    tx.execute(
        "DELETE FROM contents c WHERE c.id = ANY($1)
         AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.before = c.id)
         AND NOT EXISTS (SELECT 1 FROM revisions r WHERE r.after = c.id)",
        &[&ids],
    )?;
    Ok(())
}

/// What is wrong with the stored contents.
pub(super) fn damage(db: &mut Connection) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    let mut after = i64::MIN;
    loop {
        let rows = db.query(
            "SELECT id, hash, data FROM contents WHERE id > $1 ORDER BY id LIMIT $2",
            &[&after, &BATCH],
        )?;
        for row in &rows {
            after = row.try_get(0)?;
            let (hash, data): (&[u8], &[u8]) = (row.try_get(1)?, row.try_get(2)?);
            if !decompress(data).is_ok_and(|content| Sha256::digest(content)[..] == *hash) {
                found.push(format!("the stored content {after} cannot be read"));
            }
            if found.len() == MAX_NAMED {
                return Ok(found);
            }
        }
        if rows.is_empty() {
            return Ok(found);
        }
    }
}
