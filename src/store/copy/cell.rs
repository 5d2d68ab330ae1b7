//! Values of rows, and the hash that tells whether two tables have the same rows.

use sha2::{Digest as _, Sha256};

use super::Shape;
use crate::domain::{Error, Result};

/// How a column keeps its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Format {
    Integer,
    Boolean,
    Real,
    Text,
    Bytes,
}

/// A value. A flag is 0 or 1.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::store) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// What stands between a key that was given up and the number of its item: NUL in SQLite, which
/// PostgreSQL cannot keep.
const RETIRED_KEY_MARK: [char; 2] = ['\0', '\u{1}'];

impl Cell {
    /// The value as SQLite keeps it.
    pub(in crate::store) fn for_sqlite(&self, table: &Shape, column: usize) -> Self {
        match self {
            Self::Text(text) if table.is_key_of_items(column) => {
                Self::Text(text.replace(RETIRED_KEY_MARK[1], "\0"))
            }
            other => other.clone(),
        }
    }

    /// The value as PostgreSQL keeps it.
    pub(in crate::store) fn for_postgres(&self, table: &Shape, column: usize) -> Result<Self> {
        match self {
            Self::Text(text) if table.is_key_of_items(column) => {
                Ok(Self::Text(text.replace(RETIRED_KEY_MARK[0], "\u{1}")))
            }
            Self::Text(text) if text.contains('\0') => Err(Error::invalid_request(format!(
                "the column `{}` of the table `{}` contains the character NUL, which PostgreSQL cannot keep; remove it, and copy again. Nothing was copied",
                table.columns[column].name, table.name
            ))),
            other => Ok(other.clone()),
        }
    }

    fn hash(&self, hash: &mut Sha256) {
        let bytes: (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Integer(number) => (1, &number.to_le_bytes()),
            Self::Real(number) => (2, &number.to_bits().to_le_bytes()),
            Self::Text(text) => (3, text.as_bytes()),
            Self::Bytes(bytes) => (4, bytes),
        };
        hash.update([bytes.0]);
        hash.update((bytes.1.len() as u64).to_le_bytes());
        hash.update(bytes.1);
    }
}

/// The number of rows, and the sum of their hashes: the same for the same rows in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::store) struct Digest {
    pub(in crate::store) rows: u64,
    sum: [u64; 4],
}

impl Digest {
    /// Adds rows of a table.
    pub(in crate::store) fn add_all(&mut self, table: &Shape, rows: &[Vec<Cell>]) {
        for row in rows {
            let mut hash = Sha256::new();
            for (column, cell) in row.iter().enumerate() {
                // The same text on both sides.
                cell.for_sqlite(table, column).hash(&mut hash);
            }
            self.add(&hash.finalize().into());
        }
    }

    /// Adds the hash of one thing.
    pub(in crate::store) fn add(&mut self, hash: &[u8; 32]) {
        self.rows += 1;
        for (sum, part) in self.sum.iter_mut().zip(hash.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*part));
        }
    }
}
