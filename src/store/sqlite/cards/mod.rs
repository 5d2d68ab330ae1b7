//! Cards in Memento's own SQLite table, in a file of ours or in the one its web app uses.
//!
//! In somebody else's file we run no migration, change no setting that stays in it, and touch no
//! column that was not asked for. Every write is one short transaction that takes the write lock
//! first, so that a row cannot change between being read and being written.

mod cuid;
mod cursor;
mod dates;
mod fold;
mod layout;
mod row;
mod snapshot;
mod texts;
mod write;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};

pub use cuid::id_of;
use dates::DateForm;
use layout::Layout;
use snapshot::{Entry, Key, Snapshot};

use crate::{
    domain::{
        Card, Error, Result, Timestamp,
        card::{CardChange, NewCard},
        error::Doing,
    },
    store::cards::{
        CardPage, CardQuery, Cards, Flag, Images, Imported, MAX_PAGE_BYTES, no_such_card,
    },
};

/// How long a call waits for another program's transaction before it says so.
const BUSY: Duration = Duration::from_secs(10);

pub struct SqliteCards {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    connection: Connection,
    layout: Layout,
    /// The schema that `layout` was read from.
    schema_version: i64,
    snapshot: Snapshot,
    /// The forms of dates seen in this transaction, by column.
    forms: RefCell<HashMap<&'static str, DateForm>>,
    /// The state of the database that `snapshot` shows; `None` when it must be read again.
    seen: Option<i64>,
}

impl SqliteCards {
    /// Opens a file of our own, making it with Memento's table when it is not there.
    pub fn open_own(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .doing(format_args!("make the folder `{}`", folder.display()))?;
        }
        let connection = connect(path, OpenFlags::default())?;
        // WAL lets readers go on while one writes; FULL makes each commit reach the disk.
        connection
            .pragma_update(None, "journal_mode", "wal")
            .and_then(|()| connection.pragma_update(None, "synchronous", "full"))
            .and_then(|()| {
                let made: Option<i64> = connection
                    .query_row("SELECT 1 FROM sqlite_master WHERE name = 'Note'", [], |row| {
                        row.get(0)
                    })
                    .optional()?;
                if made.is_none() { connection.execute_batch(layout::SCHEMA) } else { Ok(()) }
            })
            .map_err(|error| {
                fail(error, format_args!("make the card database `{}`", path.display()))
            })?;
        Self::with(path, connection)
    }

    /// Opens a file that another program made and may have open. Its journal mode stays.
    pub fn open_existing(path: &Path) -> Result<Self> {
        if !path.is_file() {
            return Err(Error::internal(format!(
                "the card database `{}` is not there; correct `[cards] database` or leave it out",
                path.display()
            )));
        }
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
        let connection = connect(path, flags)?;
        // EXTRA also syncs the folder when a rollback journal goes: the commit is then on the disk.
        connection
            .pragma_update(None, "synchronous", "extra")
            .map_err(|error| fail(error, format_args!("open `{}`", path.display())))?;
        Self::with(path, connection)
    }

    fn with(path: &Path, connection: Connection) -> Result<Self> {
        let layout = Layout::read(&connection)?;
        let schema_version = schema_version(&connection)?;
        let inner = Inner {
            connection,
            layout,
            schema_version,
            snapshot: Snapshot::default(),
            forms: RefCell::default(),
            seen: None,
        };
        Ok(Self { path: path.to_path_buf(), inner: Mutex::new(inner) })
    }

    fn lock(&self) -> Result<MutexGuard<'_, Inner>> {
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| {
            let mut inner = PoisonError::into_inner(poisoned);
            inner.seen = None;
            inner
        });
        let version = schema_version(&inner.connection)?;
        if version != inner.schema_version {
            inner.layout = Layout::read(&inner.connection)?;
            inner.schema_version = version;
            inner.seen = None;
        }
        Ok(inner)
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Reading the schema is what tells a database from another file.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        Ok(connection)
    };
    open().map_err(|error| fail(error, format_args!("open the card database `{}`", path.display())))
}

fn schema_version(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached("PRAGMA schema_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| fail(error, "read the card database"))
}

/// Tells the caller what they can act on: a lock, a file that is read-only, a rule of the table.
fn fail(error: rusqlite::Error, what: impl std::fmt::Display) -> Error {
    let message = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            return Error::limit(format!(
                "could not {what}: another program holds the card database; try again in a moment"
            ))
            .with_source(error);
        }
        Some(ErrorCode::ReadOnly) => "the file is read-only; give this user the right to write it",
        Some(ErrorCode::ConstraintViolation) => "a rule of its table `Note` forbids it",
        Some(ErrorCode::DiskFull) => "the disk is full; make room and try again",
        Some(ErrorCode::NotADatabase) => "the file is not a SQLite database",
        _ => return Error::internal(format!("could not {what}: {error}")).with_source(error),
    };
    let text = format!("could not {what}: {message} ({error})");
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::ConstraintViolation) => Error::invalid_request(text),
        _ => Error::internal(text),
    }
    .with_source(error)
}

impl Inner {
    /// Brings the snapshot up to what the database holds now.
    fn refresh(&mut self) -> Result<()> {
        let mut refresh = || {
            let version = data_version(&self.connection)?;
            if self.seen != Some(version) {
                self.snapshot.refresh(&self.connection, &self.layout)?;
                self.seen = Some(version);
            }
            Ok(())
        };
        refresh().map_err(|error| fail(error, "read the cards"))
    }

    fn get(&self, id: &str, images: Images) -> rusqlite::Result<Option<Card>> {
        let columns = self.layout.select(images == Images::Bytes);
        self.connection
            .prepare_cached(&format!(r#"SELECT {columns} FROM "Note" WHERE "id" = ?1"#))?
            .query_row([id], row::read)
            .optional()
    }

    /// Runs one write transaction. What it returns is on the disk.
    fn write<T>(&mut self, what: &str, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let before = self.connection.total_changes();
        let begun =
            rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
                .map_err(|error| fail(error, what))?;
        // Another program may have written since; it cannot while we hold the lock.
        self.forms.borrow_mut().clear();
        let value = work(self)?;
        begun.commit().map_err(|error| fail(error, what))?;
        // A trigger may have changed other rows; those changes are ours and raise no data version.
        if self.connection.total_changes() - before > 1 {
            self.seen = None;
        }
        Ok(value)
    }

    /// Takes over one of our own changes, which the data version does not tell.
    fn follow(&mut self, id: &str) {
        if self.seen.is_some()
            && self.snapshot.refresh_one(&self.connection, &self.layout, id).is_err()
        {
            self.seen = None;
        }
    }

    fn list(&mut self, query: &CardQuery) -> Result<CardPage> {
        let limit = query.checked_limit()?;
        let place = query.cursor.as_deref().map(cursor::read).transpose()?;
        self.refresh()?;
        let needle = query.contains.as_deref().map(fold::fold).filter(|text| !text.is_empty());
        if needle.is_some() {
            self.snapshot
                .fold_all(&self.connection, &self.layout)
                .map_err(|error| fail(error, "read the cards"))?;
        }
        let place = place.as_ref();
        let matches = needle.as_deref().map(|needle| self.snapshot.find(needle));
        let found: Box<dyn Iterator<Item = (Key, &Entry)>> = match &matches {
            Some(matches) => self.snapshot.found_after(query.order, place, matches),
            None => {
                let all = self.snapshot.after(query.order, place);
                Box::new(all.map(|(key, entry)| (key.clone(), entry)))
            }
        };
        let found = found.filter(|(_, entry)| {
            (query.archived || !entry.archived)
                && query.due.is_none_or(|now| entry.reminder.is_some_and(|at| at <= now.0))
        });
        let mut page = CardPage { cards: Vec::new(), next: None };
        let (mut bytes, mut last) = (0, None);
        for (key, _) in found {
            if page.cards.len() == limit || bytes >= MAX_PAGE_BYTES {
                page.next = last.as_ref().map(cursor::write);
                break;
            }
            let card =
                self.get(&key.id, query.images).map_err(|error| fail(error, "read a card"))?;
            // Gone since the snapshot: the next call will know.
            let Some(card) = card else { continue };
            bytes += weight(&card);
            page.cards.push(card);
            last = Some(key);
        }
        Ok(page)
    }
}

fn weight(card: &Card) -> usize {
    let images = card.images.iter().flatten().map(String::len).sum::<usize>();
    let items = card.items().map(|(text, _)| text.len() + 40).sum::<usize>();
    card.content.len() + images + items + 300
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

impl Cards for SqliteCards {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn create(&self, new: NewCard) -> Result<Card> {
        new.check()?;
        let mut inner = self.lock()?;
        let card = new.into_card(cuid::new_id()?, Timestamp::now());
        let card = inner.write("add the card", |inner| inner.insert(card))?;
        inner.follow(&card.id);
        Ok(card)
    }

    fn get(&self, id: &str, images: Images) -> Result<Option<Card>> {
        self.lock()?.get(id, images).map_err(|error| fail(error, "read the card"))
    }

    fn list(&self, query: &CardQuery) -> Result<CardPage> {
        self.lock()?.list(query)
    }

    fn update(&self, id: &str, change: CardChange) -> Result<Card> {
        change.check()?;
        let mut inner = self.lock()?;
        let card = inner.write("change the card", |inner| inner.update(id, change))?;
        inner.follow(id);
        Ok(card)
    }

    fn toggle(&self, id: &str, flag: Flag) -> Result<Card> {
        let mut inner = self.lock()?;
        let card = inner.write("change the card", |inner| inner.toggle(id, flag))?;
        inner.follow(id);
        Ok(card)
    }

    fn delete(&self, id: &str) -> Result<()> {
        let mut inner = self.lock()?;
        inner.write("delete the card", |inner| {
            let gone = inner
                .connection
                .prepare_cached(r#"DELETE FROM "Note" WHERE "id" = ?1"#)
                .and_then(|mut statement| statement.execute([id]))
                .map_err(|error| fail(error, "delete the card"))?;
            if gone == 0 { Err(no_such_card(id)) } else { Ok(()) }
        })?;
        inner.follow(id);
        Ok(())
    }

    fn labels(&self) -> Result<Vec<String>> {
        let inner = self.lock()?;
        let read = || {
            let column = inner.layout.quoted("labels");
            let mut statement = inner.connection.prepare_cached(&format!(
                r#"SELECT DISTINCT {column} FROM "Note" WHERE {column} IS NOT NULL"#
            ))?;
            let mut rows = statement.query([])?;
            let mut labels = BTreeSet::new();
            while let Some(row) = rows.next()? {
                let text = row::text(row.get_ref(0)?).unwrap_or_default();
                match serde_json::from_str::<Vec<serde_json::Value>>(&text) {
                    Ok(list) => {
                        labels.extend(
                            list.iter().filter_map(|label| label.as_str().map(str::to_owned)),
                        );
                    }
                    Err(_) => tracing::warn!("a card's labels are not a JSON list; passed over"),
                }
            }
            Ok(labels.into_iter().collect())
        };
        read().map_err(|error| fail(error, "read the labels"))
    }

    fn import(&self, cards: &[Card]) -> Result<Vec<Imported>> {
        let mut inner = self.lock()?;
        let outcome = inner.write("import the cards", |inner| {
            cards.iter().map(|card| inner.import(card)).collect::<Result<Vec<_>>>()
        })?;
        inner.seen = None;
        Ok(outcome)
    }

    fn stamps(&self) -> Result<Vec<(String, u64)>> {
        let mut inner = self.lock()?;
        inner.refresh()?;
        Ok(inner.snapshot.stamps())
    }

    fn stamp(&self, id: &str) -> Result<Option<u64>> {
        let inner = self.lock()?;
        snapshot::stamp_of(&inner.connection, &inner.layout, id)
            .map_err(|error| fail(error, "read the card"))
    }

    fn data_version(&self) -> Result<i64> {
        data_version(&self.lock()?.connection)
            .map_err(|error| fail(error, "read the card database"))
    }
}

#[cfg(test)]
mod tests;
