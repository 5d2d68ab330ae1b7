//! Cards in Memento's own SQLite table, in a file of ours or in the one its web app uses.
//!
//! In somebody else's file we run no migration, change no setting that stays in it, and touch no
//! column that was not asked for. Every write is one short transaction that takes the write lock
//! first, so that a row cannot change between being read and being written.

pub(in crate::store) mod cuid;
pub(in crate::store) mod cursor;
pub(in crate::store) mod dates;
mod file;
pub(in crate::store) mod fold;
mod layout;
mod row;
pub(in crate::store) mod snapshot;
mod texts;
mod unconfirmed;
pub(in crate::store) mod write;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

pub use cuid::id_of;
use dates::DateForm;
pub use file::CardFile;
use file::FileId;
use layout::Layout;
use snapshot::{Entry, Key, Snapshot};

use super::fault;
use crate::{
    domain::{
        Card, Code, Error, Kind, Result, Timestamp,
        card::{CardChange, NewCard},
    },
    store::{
        Caches,
        cards::{
            CardPage, CardQuery, Cards, Flag, Images, Imported, MAX_PAGE_BYTES, Occupancy, Order,
            Rank, Version, no_such_card,
        },
    },
};

/// How messages call the file.
const DATABASE: &str = "the cards' database";

/// How long a statement waits for another program's lock before it fails: well below the time limit
/// of a request.
pub const LOCK_WAIT: Duration = Duration::from_secs(3);

/// Memento's table of notes.
pub struct SqliteCards {
    file: CardFile,
    inner: Mutex<Inner>,
}

struct Inner {
    connection: Connection,
    /// The file that `connection` has open.
    id: FileId,
    /// How many files this path has led to: a new connection counts its data versions anew.
    generation: i64,
    layout: Layout,
    /// The schema that `layout` was read from.
    schema_version: i64,
    snapshot: Snapshot,
    /// The forms of dates seen in this transaction, by column.
    forms: RefCell<HashMap<&'static str, DateForm>>,
    /// The state of the database that `snapshot` shows; `None` when it must be read again.
    seen: Option<i64>,
    /// This file was seen with cards in it.
    had_cards: bool,
    /// When a call last gave up waiting for another program's lock.
    gave_up: Option<Instant>,
    /// A commit failed that a crash could bring back.
    has_unconfirmed: bool,
    /// The names of the file and its log are durable, and stay so.
    is_named: bool,
}

impl SqliteCards {
    /// Opens a file of our own, making it with Memento's table when it is not there.
    pub fn open_own(path: &Path) -> Result<Self> {
        let file = CardFile { path: path.to_path_buf(), own: true, wait: LOCK_WAIT };
        file.make()?;
        Self::open(file)
    }

    /// Opens a file that another program made and may have open.
    pub fn open_existing(path: &Path) -> Result<Self> {
        Self::open(CardFile { path: path.to_path_buf(), own: false, wait: LOCK_WAIT })
    }

    /// Opens the file that is there, ours or another program's. Nothing is created.
    pub fn open(file: CardFile) -> Result<Self> {
        let inner = Mutex::new(Inner::open(&file, 0)?);
        Ok(Self { file, inner })
    }

    /// The open database. A file that was replaced is opened anew; one that is gone is an error,
    /// because what is written to a deleted file is lost.
    fn lock(&self) -> Result<MutexGuard<'_, Inner>> {
        let asked = Instant::now();
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| {
            let mut inner = PoisonError::into_inner(poisoned);
            inner.seen = None;
            inner
        });
        // Callers queue here. One that waited while another gave up shares its outcome: ten of
        // them would otherwise wait ten times as long.
        if inner.gave_up.is_some_and(|moment| moment >= asked) {
            return Err(locked());
        }
        if self.file.id()? != inner.id {
            tracing::info!("the cards' database was replaced; opening the new file");
            *inner = Inner::open(&self.file, inner.generation + 1)?;
        }
        let version = inner.schema_version();
        let version = inner.noting(version)?;
        if version != inner.schema_version {
            inner.layout = Layout::read(&inner.connection)?;
            inner.schema_version = version;
            inner.seen = None;
        }
        Ok(inner)
    }
}

fn locked() -> Error {
    Error::storage("the cards' database is locked by another program; try again")
}

fn fail(error: rusqlite::Error, what: impl std::fmt::Display) -> Error {
    fault::explain(error, DATABASE, what)
}

impl Inner {
    fn open(file: &CardFile, generation: i64) -> Result<Self> {
        // Before the file is opened: one that takes its place in between is opened anew.
        let id = file.id()?;
        let connection = file.open()?;
        let layout = Layout::read(&connection)?;
        let mut inner = Self {
            connection,
            id,
            generation,
            layout,
            schema_version: 0,
            snapshot: Snapshot::default(),
            forms: RefCell::default(),
            seen: None,
            had_cards: false,
            gave_up: None,
            has_unconfirmed: false,
            is_named: false,
        };
        inner.schema_version = inner.schema_version()?;
        Ok(inner)
    }

    fn schema_version(&self) -> Result<i64> {
        self.connection
            .prepare_cached("PRAGMA schema_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(|error| fail(error, "read it"))
    }

    /// Remembers when a call gave up waiting for a lock.
    fn noting<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.as_ref().is_err_and(|error| error.code == Code::Storage) {
            self.gave_up = Some(Instant::now());
        }
        outcome
    }

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
        let refreshed = refresh().map_err(|error| fail(error, "read the cards"));
        self.noting(refreshed)
    }

    fn get(&self, id: &str, images: Images) -> rusqlite::Result<Option<Card>> {
        let columns = self.layout.select(images == Images::Bytes);
        self.connection
            .prepare_cached(&format!(r#"SELECT {columns} FROM "Note" WHERE "id" = ?1"#))?
            .query_row([id], row::read)
            .optional()
    }

    fn get_many(&self, ids: &[&str], images: Images) -> rusqlite::Result<Vec<Card>> {
        let columns = self.layout.select(images == Images::Bytes);
        let wanted = serde_json::Value::from(ids).to_string();
        let cards: HashMap<String, Card> = self
            .connection
            .prepare_cached(&format!(
                r#"SELECT {columns} FROM "Note" WHERE "id" IN (SELECT value FROM json_each(?1))"#
            ))?
            .query_map([wanted], row::read)?
            .map(|card| card.map(|card| (card.id.clone(), card)))
            .collect::<rusqlite::Result<_>>()?;
        Ok(ids.iter().filter_map(|id| cards.get(*id).cloned()).collect())
    }

    /// Runs one write transaction. What it returns is on the disk.
    fn write<T>(&mut self, what: &str, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let before = self.connection.total_changes();
        self.sync_names()?;
        let begun = match rusqlite::Transaction::new_unchecked(
            &self.connection,
            TransactionBehavior::Immediate,
        ) {
            Ok(begun) => begun,
            Err(error) => {
                self.gave_up = Some(Instant::now());
                return Err(fail(error, what));
            }
        };
        // Another program may have written since; it cannot while we hold the lock.
        self.forms.borrow_mut().clear();
        let value = work(self)?;
        if let Err(error) = begun.commit() {
            // The change may be there all the same.
            self.seen = None;
            let is_unconfirmed = fault::is_sync(&error);
            let is_in_log = fault::is_sync_of_log(&error);
            let error = fail(error, what);
            return Err(match is_unconfirmed {
                true => self.unconfirmed(error, what, is_in_log),
                false => error,
            });
        }
        // What the disk did not confirm is written over.
        self.has_unconfirmed = false;
        self.sync_commit().inspect_err(|_| self.seen = None)?;
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
            let card =
                self.get(&key.id, query.images).map_err(|error| fail(error, "read a card"))?;
            // Gone since the snapshot: the next call will know.
            let Some(card) = card else { continue };
            if !query.visible.has_labelled(Kind::Card, card.labels.iter().flatten()) {
                continue;
            }
            if page.cards.len() == limit || bytes >= MAX_PAGE_BYTES {
                page.next = last.as_ref().map(cursor::write);
                break;
            }
            bytes += weight(&card);
            page.cards.push(card);
            last = Some(key);
        }
        Ok(page)
    }
}

/// About how many bytes a card adds to a list.
pub(in crate::store) fn weight(card: &Card) -> usize {
    let images = card.images.iter().flatten().map(String::len).sum::<usize>();
    let items = card.items().map(|(text, _)| text.len() + 40).sum::<usize>();
    card.content.len() + images + items + 300
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

impl Caches for SqliteCards {
    fn release(&self) {
        if let Ok(inner) = self.inner.try_lock() {
            super::shrink(&inner.connection);
        }
    }
}

impl Cards for SqliteCards {
    fn settle(&self) -> Result<()> {
        self.lock()?.settle()
    }

    fn draft(&self, new: NewCard) -> Result<Card> {
        new.check()?;
        Ok(new.into_card(cuid::new_id()?, Timestamp::now()))
    }

    fn insert(&self, card: Card) -> Result<Card> {
        let mut inner = self.lock()?;
        let card = inner.write("add the card", |inner| inner.insert(card))?;
        inner.follow(&card.id);
        Ok(card)
    }

    fn get(&self, id: &str, images: Images) -> Result<Option<Card>> {
        self.lock()?.get(id, images).map_err(|error| fail(error, "read the card"))
    }

    fn get_many(&self, ids: &[&str], images: Images) -> Result<Vec<Card>> {
        self.lock()?.get_many(ids, images).map_err(|error| fail(error, "read the cards"))
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

    fn ranks(&self) -> Result<Vec<Rank>> {
        let mut inner = self.lock()?;
        inner.refresh()?;
        let all = inner.snapshot.after(Order::Listed, None);
        Ok(all
            .map(|(key, _)| Rank {
                id: key.id.to_string(),
                is_pinned: !key.unpinned,
                order: key.order.0,
            })
            .collect())
    }

    fn arrange(&self, orders: &[(String, f64)]) -> Result<()> {
        let mut inner = self.lock()?;
        inner.write("arrange the cards", |inner| {
            orders.iter().try_for_each(|(id, order)| inner.set_order(id, *order))
        })?;
        inner.seen = None;
        Ok(())
    }

    fn delete(&self, id: &str) -> Result<()> {
        let mut inner = self.lock()?;
        inner.write("delete the card", |inner| match inner.delete(id)? {
            true => Ok(()),
            false => Err(no_such_card(id)),
        })?;
        inner.follow(id);
        Ok(())
    }

    fn put_all(&self, cards: &[(String, Option<Card>)]) -> Result<()> {
        let mut inner = self.lock()?;
        inner.write("bring cards back", |inner| {
            cards.iter().try_for_each(|(id, card)| match card {
                Some(card) => inner.put(id, card),
                None => inner.delete(id).map(drop),
            })
        })?;
        inner.seen = None;
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

    fn version(&self) -> Result<Version> {
        let inner = self.lock()?;
        data_version(&inner.connection)
            .map(|change| Version { place: inner.generation, change })
            .map_err(|error| fail(error, "read it"))
    }

    fn occupancy(&self) -> Result<Occupancy> {
        let mut inner = self.lock()?;
        let found: Option<i64> = inner
            .connection
            .prepare_cached(r#"SELECT 1 FROM "Note" LIMIT 1"#)
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)).optional())
            .map_err(|error| fail(error, "read it"))?;
        inner.had_cards |= found.is_some();
        Ok(match (found, inner.had_cards) {
            (Some(_), _) => Occupancy::Cards,
            (None, true) => Occupancy::Emptied,
            (None, false) => Occupancy::Empty,
        })
    }

    fn damage(&self) -> Result<Vec<String>> {
        let inner = self.lock()?;
        fault::damage(&inner.connection).map_err(|error| fail(error, "check it"))
    }
}

#[cfg(test)]
mod tests;
