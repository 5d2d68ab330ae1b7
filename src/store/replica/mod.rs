//! A replica: the store is a server, and this process keeps a copy of what searches and reads need
//! in its data directory. The copy follows the change log. A read asks the server for one row, which
//! says where the log stands, and takes the rest from the copy; a write goes to the server.
//!
//! While the server is away, reads go on from the copy and say so ([`Items::absence`]); writes fail
//! at once. While the disk of the copy is full, reads go on too and say so ([`Items::is_full`]).

mod bookmarks;
mod cards;
mod follow;
mod items;
mod pages;
mod sessions;
mod texts;
mod tokens;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

pub use follow::Following;

use super::{
    Caches, Items, Store, Texts,
    cards::rows::CardRow,
    postgres::{self, Postgres},
    sqlite::Sqlite,
};
use crate::domain::{Begun, Patience, Pid, Result};

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// A number; 1 and 0 for true and false.
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Rows of one table.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The table.
    pub table: &'static str,
    /// The columns of each row.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A part of the change log, with the rows of the items in it as they are now.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The position after which it begins.
    pub after: i64,
    /// The items.
    pub pids: Vec<Pid>,
    /// Their rows.
    pub tables: Vec<Rows>,
    /// Texts of pages, with the hash of each.
    pub texts: Vec<(Pid, Vec<u8>, Vec<u8>)>,
    /// Cards, where the server has them.
    pub cards: Vec<CopiedCard>,
}

/// A card with the columns that filter it.
#[derive(Debug, Clone)]
pub struct CopiedCard {
    /// The item.
    pub pid: Pid,
    /// The card.
    pub row: CardRow,
    /// Whether it is archived.
    pub archived: bool,
    /// When a reminder that is not done comes.
    pub reminder: Option<i64>,
    /// Its labels, as a JSON list.
    pub labels: Option<String>,
    /// Its texts as they are compared.
    pub folded: String,
    /// Changes when the card does.
    pub stamp: i64,
}

/// Where the library stands: one row of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulse {
    /// The newest entry of the change log.
    pub head: i64,
    /// Counts changes of what is in no log: the vaults, and the files that are left out.
    pub state: i64,
}

/// What the server said, and when it was asked.
#[derive(Clone, Copy)]
struct Known {
    pulse: Pulse,
    asked: Instant,
    /// Writes of this process by then.
    writes: u64,
}

/// How long a read waits for the copy to reach the log.
const CATCH_UP: Duration = Duration::from_secs(2);
/// How long the server counts as away where no thread looks for its return, and the disk as full,
/// before the next attempt.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The server's store with the copy in front of it.
pub struct Replica {
    remote: Arc<Postgres>,
    local: Arc<Sqlite>,
    /// Texts as the server, or a folder, has them.
    texts: Arc<dyn Texts>,
    known: Mutex<Option<Known>>,
    /// One thread takes over the log at a time.
    following: Mutex<()>,
    /// The [`Pulse::state`] that the copy has.
    state: AtomicI64,
    /// Since when the server is away, and why.
    away: Mutex<Option<(Instant, String)>>,
    /// Since when the disk has no room for the copy.
    full: Mutex<Option<Instant>>,
    /// A thread looks for the server's return.
    watched: AtomicBool,
    /// The copy has reached the log once.
    caught_up: AtomicBool,
    remembered: tokens::Remembered,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Replica {
    /// Puts a copy in `directory` in front of a store that is a server; `None` for any other.
    pub fn beside(store: &Store, directory: &Path, readers: usize) -> Result<Option<Arc<Self>>> {
        let Some(remote) = store.server.clone() else { return Ok(None) };
        let library = remote.library()?;
        let local = Arc::new(Sqlite::open_mirror(directory, library, readers)?);
        Ok(Some(Arc::new(Self {
            remote,
            local,
            texts: store.texts.clone(),
            known: Mutex::default(),
            following: Mutex::default(),
            state: AtomicI64::new(-1),
            away: Mutex::default(),
            full: Mutex::default(),
            watched: AtomicBool::new(false),
            caught_up: AtomicBool::new(false),
            remembered: tokens::Remembered::default(),
        })))
    }

    /// The store as the rest of the program uses it.
    pub fn in_front_of(self: &Arc<Self>, store: Store) -> Store {
        Store {
            items: self.clone(),
            pages: self.clone(),
            bookmarks: self.clone(),
            texts: self.clone(),
            tokens: self.clone(),
            sessions: self.clone(),
            cards: Some(self.clone()),
            caches: self.clone(),
            ..store
        }
    }

    /// The server's store.
    pub fn remote(&self) -> &Arc<Postgres> {
        &self.remote
    }

    /// Whether the copy has reached the log since the process began. Until then searches lack what
    /// was written before.
    pub fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }

    /// The copy, at least as of the moment at which the request began.
    fn fresh(&self) -> Result<&Sqlite> {
        if let Some(pulse) = self.pulse()? {
            self.reach(pulse, Instant::now() + CATCH_UP)?;
        }
        Ok(&self.local)
    }

    /// Where the library stood when the request began, or later; `None` while the server is away,
    /// and for work that does not need to know.
    fn pulse(&self) -> Result<Option<Pulse>> {
        let begun = Patience::current().begun();
        let writes = self.remote.writes();
        let known = *lock(&self.known);
        let usable = known.filter(|known| {
            let recent = match begun {
                Begun::Now => false,
                Begun::At(begun) => known.asked >= begun,
                Begun::Before => true,
            };
            // What this process wrote since has to be read too.
            recent && known.writes == writes
        });
        if let Some(known) = usable {
            return Ok(Some(known.pulse));
        }
        if self.is_marked_away() {
            return Ok(None);
        }
        self.ask()
    }

    /// Asks the server where the library stands; `None` when it is away.
    fn ask(&self) -> Result<Option<Pulse>> {
        let (asked, writes, position) = (Instant::now(), self.remote.writes(), self.position()?);
        let state = self.local.mirrored_state()?;
        let pulse = self.reached(self.remote.pulse())?;
        if let Some(pulse) = pulse {
            if pulse.head < position || pulse.state < state {
                self.begin_anew(position)?;
            }
            *lock(&self.known) = Some(Known { pulse, asked, writes });
        }
        Ok(pulse)
    }

    /// Notes whether the server answered.
    fn reached<T>(&self, answer: Result<T>) -> Result<Option<T>> {
        match answer {
            Ok(value) => {
                if lock(&self.away).take().is_some() {
                    tracing::info!("the store answers again");
                }
                Ok(Some(value))
            }
            Err(error) if postgres::is_away(&error) => {
                let mut away = lock(&self.away);
                if away.is_none() {
                    tracing::warn!(?error, "the store is away; reads go on from the copy");
                }
                let since = away.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                *away = Some((since, error.message));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Notes whether the copy could be written; `None` when its disk has no room.
    fn copied<T>(&self, done: Result<T>) -> Result<Option<T>> {
        match done {
            Ok(value) => {
                if lock(&self.full).take().is_some() {
                    tracing::info!("the copy follows the store again");
                }
                Ok(Some(value))
            }
            Err(error) if error.is_disk_full() => {
                let mut full = lock(&self.full);
                if full.is_none() {
                    tracing::warn!(?error, "the disk is full; reads go on from the copy as it is");
                }
                *full = Some(Instant::now());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a moment ago the disk had no room for the copy.
    fn is_marked_full(&self) -> bool {
        lock(&self.full).is_some_and(|tried| tried.elapsed() < RETRY_AFTER)
    }

    fn is_marked_away(&self) -> bool {
        let watched = self.watched.load(Ordering::Acquire);
        lock(&self.away).as_ref().is_some_and(|(since, _)| watched || since.elapsed() < RETRY_AFTER)
    }

    /// Reads from the copy.
    fn read<T>(&self, read: impl FnOnce(&Sqlite) -> Result<T>) -> Result<T> {
        read(self.fresh()?)
    }

    /// Reads from the server, or from the copy while the server is away.
    fn read_through<T>(
        &self,
        remote: impl FnOnce(&Postgres) -> Result<T>,
        local: impl FnOnce(&Sqlite) -> Result<T>,
    ) -> Result<T> {
        if !self.is_marked_away()
            && let Some(value) = self.reached(remote(&self.remote))?
        {
            return Ok(value);
        }
        local(&self.local)
    }

    /// Writes to the server, unless it is known to be away.
    fn write<T>(&self, write: impl FnOnce(&Postgres) -> Result<T>) -> Result<T> {
        write(&self.remote)
    }

    /// Where the copy is.
    fn position(&self) -> Result<i64> {
        self.local.head()
    }
}

impl Caches for Replica {
    fn release(&self) {
        self.local.release();
    }
}
