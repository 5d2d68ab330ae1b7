//! Reading values of rows.

use std::str::FromStr;

use tokio_postgres::Row;

use super::fault::Fault;
use crate::domain::{Error, Timestamp};

/// A word of a closed set.
pub(super) fn parse<T: FromStr<Err = Error>>(row: &Row, column: usize) -> Result<T, Fault> {
    row.try_get::<_, String>(column)?.parse().map_err(Fault::Refused)
}

/// A moment, where there is one.
pub(super) fn moment(row: &Row, column: usize) -> Result<Option<Timestamp>, Fault> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp))
}

/// A SHA-256.
pub(super) fn hash(row: &Row, column: usize) -> Result<[u8; 32], Fault> {
    to_hash(row.try_get(column)?)
}

/// A SHA-256, where there is one.
pub(super) fn optional_hash(row: &Row, column: usize) -> Result<Option<[u8; 32]>, Fault> {
    row.try_get::<_, Option<Vec<u8>>>(column)?.map(to_hash).transpose()
}

fn to_hash(bytes: Vec<u8>) -> Result<[u8; 32], Fault> {
    <[u8; 32]>::try_from(bytes).map_err(|bytes| {
        let what = format!("a hash in the database has {} bytes instead of 32", bytes.len());
        Fault::Refused(Error::damaged(what))
    })
}

/// A limit on rows.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
