//! The contents of revisions: each stored once, under its hash, compressed.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::{
    domain::Error,
    store::{
        compression::{compress, decompress},
        postgres::{connection::Connection, fault::Fault, transaction::Transaction, value},
    },
};

type Hash = [u8; 32];

/// Damaged contents that `damage` names before it stops.
const MAX_NAMED: usize = 20;
/// Compressed bytes after which a statement that writes contents ends.
const STATEMENT_BYTES: usize = 4 << 20;
/// Contents that one statement reads.
const BATCH: i64 = 32;

/// Stores contents, unless they are there already, and returns the number of each.
pub(super) fn put<'a>(
    tx: &mut Transaction<'_>,
    contents: impl Iterator<Item = Option<&'a [u8]>>,
) -> Result<Vec<Option<i64>>, Fault> {
    let hashed: Vec<Option<(Hash, &[u8])>> = contents
        .map(|content| content.map(|content| (Sha256::digest(content).into(), content)))
        .collect();
    let mut missing: HashMap<Hash, &[u8]> = hashed.iter().flatten().copied().collect();
    let mut numbers: HashMap<Hash, i64> = HashMap::new();
    if !missing.is_empty() {
        let hashes: Vec<&[u8]> = missing.keys().map(|hash| &hash[..]).collect();
        let known = tx.query("SELECT hash, id FROM contents WHERE hash = ANY ($1)", &[&hashes])?;
        for row in &known {
            let hash = value::hash(row, 0)?;
            missing.remove(&hash);
            numbers.insert(hash, row.try_get(1)?);
        }
    }
    let (mut hashes, mut data, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut missing = missing.into_iter().peekable();
    while let Some((hash, content)) = missing.next() {
        let compressed = compress(content)
            .map_err(|error| Error::internal(format!("could not compress a content: {error}")))?;
        bytes += compressed.len();
        hashes.push(hash.to_vec());
        data.push(compressed);
        if bytes < STATEMENT_BYTES && missing.peek().is_some() {
            continue;
        }
        let rows = tx.query(
            "INSERT INTO contents (hash, data) SELECT * FROM unnest($1::bytea[], $2::bytea[])
             RETURNING hash, id",
            &[&hashes, &data],
        )?;
        for row in &rows {
            numbers.insert(value::hash(row, 0)?, row.try_get(1)?);
        }
        hashes.clear();
        data.clear();
        bytes = 0;
    }
    let number = |content: &Option<(Hash, &[u8])>| match content {
        None => Ok(None),
        Some((hash, _)) => match numbers.get(hash) {
            Some(number) => Ok(Some(*number)),
            None => Err(Error::internal("a content of the journal was not stored").into()),
        },
    };
    hashed.iter().map(number).collect()
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
