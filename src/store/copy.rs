//! Copying a whole library from one store to another: every table with its numbers, cards and
//! prompts. What was written is read again, and compared by count and hash of every row.

mod cards;
mod cell;
mod plan;
mod prompts;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub(super) use cell::{Cell, Digest, Format};
pub(super) use plan::{Column, Shape};
pub(super) use prompts::PromptFiles;

use super::{StoreLimits, StoreUrl, postgres::Postgres, private, sqlite::Sqlite};
use crate::domain::{Error, Progress, Result};

/// Rows that are read and written at once.
pub(super) const AT_ONCE: usize = 500;

/// The highest numbers that a store gave, by table. `items` and `changes` are among them.
pub(super) type Numbers = BTreeMap<String, i64>;

/// Takes a batch of rows of a table.
pub(super) type Sink<'a> = &'a mut dyn FnMut(&Shape, Vec<Vec<Cell>>) -> Result<()>;

/// Writes into the tables of a store, inside one transaction.
pub(super) trait Insert {
    /// Adds rows of a table, whose columns are those of the shape.
    fn rows(&mut self, table: &Shape, rows: &[Vec<Cell>]) -> Result<()>;

    /// Makes the store go on counting after these numbers.
    fn numbers(&mut self, numbers: &Numbers) -> Result<()>;
}

/// The tables of a store.
pub(super) trait Tables {
    /// Every table that holds durable state, but those that belong to this kind of store alone.
    fn shapes(&self) -> Result<Vec<Shape>>;

    /// Gives the rows of these tables, as of one moment, and the numbers given so far.
    fn export(&self, tables: &[Shape], sink: Sink<'_>) -> Result<Numbers>;

    /// Runs `work` in one transaction: all of what it writes, or none.
    fn import(&self, work: &mut dyn FnMut(&mut dyn Insert) -> Result<()>) -> Result<()>;
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Copied {
    /// Rows by table, those without rows left out.
    pub tables: BTreeMap<String, u64>,
    /// Cards.
    pub cards: u64,
    /// Prompts of the user's.
    pub prompts: u64,
    /// Earlier states of the prompts.
    pub prompt_backups: u64,
}

/// One side of a copy.
enum Side {
    Sqlite { database: Box<Sqlite>, directory: PathBuf },
    Postgres(Box<Postgres>),
}

impl Side {
    fn open(url: &StoreUrl, limits: StoreLimits, is_source: bool) -> Result<Self> {
        Ok(match url {
            StoreUrl::Sqlite(directory) => {
                let path = directory.join("notewell.db");
                if is_source && !path.exists() {
                    return Err(Error::invalid_params(format!(
                        "there is no library in `{}`: it has no file `notewell.db`",
                        directory.display()
                    )));
                }
                if !is_source {
                    refuse_files(directory)?;
                }
                private::make_private(directory)?;
                let database = Box::new(Sqlite::open(&path)?);
                Self::Sqlite { database, directory: directory.clone() }
            }
            StoreUrl::Postgres(address) => {
                let server = Postgres::open(address, limits.timeout, limits.readers)?;
                Self::Postgres(Box::new(server))
            }
        })
    }

    fn tables(&self) -> &dyn Tables {
        match self {
            Self::Sqlite { database, .. } => &**database,
            Self::Postgres(database) => &**database,
        }
    }
}

/// Refuses a directory with cards or prompts: they would be mixed with those that come.
fn refuse_files(directory: &Path) -> Result<()> {
    for name in ["cards.db", "prompts/user.jsonl"] {
        let path = directory.join(name);
        if path.exists() {
            return Err(Error::conflict(format!(
                "the target is not empty: `{}` exists; name another directory. Nothing was copied",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Copies a library into an empty store. An error leaves the target without rows, or says what is
/// in it.
pub fn copy(
    from: &StoreUrl,
    to: &StoreUrl,
    limits: StoreLimits,
    progress: &dyn Progress,
) -> Result<Copied> {
    if from == to {
        return Err(Error::invalid_params("source and target are the same store"));
    }
    let source = Side::open(from, limits, true)?;
    let target = Side::open(to, limits, false)?;
    let tables = plan::common(source.tables().shapes()?, target.tables().shapes()?)?;
    refuse_rows(&target, &tables)?;
    let copied = copy_tables(&source, &target, &tables, progress)?;
    compare_tables(&target, &tables, &copied, progress)?;
    let incomplete = |mut error: Error| {
        error.message +=
            "; the tables were copied and the rest was not: remove the target and try again";
        error
    };
    let cards = cards::copy(&source, &target, progress).map_err(incomplete)?;
    let files = PromptFiles::read(&source).map_err(incomplete)?;
    files.write(&target).map_err(incomplete)?;
    if !PromptFiles::read(&target).map_err(incomplete)?.is_same(&files) {
        return Err(incomplete(Error::damaged("the prompts of the target are not the same")));
    }
    let tables = copied.into_iter().map(|(table, digest)| (table, digest.rows));
    Ok(Copied {
        tables: tables.filter(|(_, rows)| *rows > 0).collect(),
        cards,
        prompts: files.count(),
        prompt_backups: files.backups.len() as u64,
    })
}

/// Refuses a target that has rows.
fn refuse_rows(target: &Side, tables: &[Shape]) -> Result<()> {
    let mut known = None;
    target.tables().export(tables, &mut |table, rows| {
        if !rows.is_empty() && known.is_none() {
            known = Some(table.name.clone());
        }
        Ok(())
    })?;
    match known {
        None => Ok(()),
        Some(table) => Err(Error::conflict(format!(
            "the target is not empty: its table `{table}` has rows; name an empty directory, or another library with `?library=NAME`. Nothing was copied"
        ))),
    }
}

type Digests = BTreeMap<String, Digest>;

fn copy_tables(
    source: &Side,
    target: &Side,
    tables: &[Shape],
    progress: &dyn Progress,
) -> Result<Digests> {
    let mut digests = Digests::new();
    let mut done = 0;
    target.tables().import(&mut |insert| {
        digests.clear();
        done = 0;
        let numbers = source.tables().export(tables, &mut |table, rows| {
            if progress.stopped() {
                return Err(Error::invalid_request("interrupted; nothing was copied"));
            }
            digests.entry(table.name.clone()).or_default().add_all(table, &rows);
            done += rows.len() as u64;
            progress.report(done, None, &format!("copying {}", table.name));
            match table.is_derived() {
                true => Ok(()),
                false => insert.rows(table, &rows),
            }
        })?;
        insert.numbers(&numbers)
    })?;
    Ok(digests)
}

/// Reads the target and compares it with what was read from the source.
fn compare_tables(
    target: &Side,
    tables: &[Shape],
    expected: &Digests,
    progress: &dyn Progress,
) -> Result<()> {
    let mut digests = Digests::new();
    let total = expected.values().map(|digest| digest.rows).sum();
    let mut done = 0;
    target.tables().export(tables, &mut |table, rows| {
        digests.entry(table.name.clone()).or_default().add_all(table, &rows);
        done += rows.len() as u64;
        progress.report(done, Some(total), "comparing");
        Ok(())
    })?;
    for table in tables {
        let digest = |digests: &Digests| digests.get(&table.name).copied().unwrap_or_default();
        let (source, copy) = (digest(expected), digest(&digests));
        if source != copy {
            return Err(Error::damaged(format!(
                "the table `{}` of the target is not that of the source ({} and {} rows); remove the target and try again",
                table.name, copy.rows, source.rows
            )));
        }
    }
    Ok(())
}
