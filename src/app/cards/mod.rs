//! Cards: the database that keeps them, opened when first needed, and the registry that the index
//! follows. Import and export stand beside it.
//!
//! A database that is missing or damaged stops the cards and nothing else: every call says what is
//! wrong with it. `trust` decides whether the file can be trusted.

mod arrange;
mod document;
mod export;
mod import;
mod journal;
mod trust;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

pub use arrange::Place;
pub use document::{document, markdown};
pub use export::{Exported, Format};

use super::{
    history::Journal,
    rights::{Right, Rights},
    shown::Shown,
};
use crate::{
    config::Config,
    domain::{
        Card, Code, Document, Error, Kind, Result,
        card::{CardChange, Image, NewCard, parse_image_link},
        count,
    },
    store::{
        Items, Store,
        cards::{CardPage, CardQuery, Cards, Flag, Images, MAX_LIMIT, Version, no_such_card},
        items::{Item, Synced},
        revisions::{Actor, NewChange},
        sqlite::cards::{CardFile, LOCK_WAIT, SqliteCards},
    },
};

/// Images of a card up to this many bytes of base64 text are answered as they are; more than that
/// would not fit an answer, and links to them are.
const INLINE_IMAGES: usize = 2 << 20;

/// Comparisons that one sync makes at most, while others keep writing.
const COMPARISONS: usize = 5;

/// The cards of a library, and whether their file can be trusted.
pub struct CardRoom {
    file: CardFile,
    /// The server database, where the cards are in it. Its writes record registry entries
    /// themselves, and there is no file to lose.
    server: Option<Arc<dyn Cards>>,
    items: Arc<dyn Items>,
    journal: Journal,
    state: Mutex<State>,
    /// Held while the registry hears of cards, so that a comparison begun before a change does
    /// not undo the record of it.
    registry: Mutex<()>,
}

#[derive(Default)]
struct State {
    open: Option<Arc<dyn Cards>>,
    /// When a call last gave up opening a locked file.
    gave_up: Option<Instant>,
    /// Which state of the file was checked, and what is wrong with it.
    checked: Option<(i64, Option<String>)>,
    /// The fault that was logged last.
    logged_fault: Option<String>,
    /// The state of the database that the registry shows.
    shown: Shown<Version>,
}

impl CardRoom {
    /// Nothing is opened or made before the first call.
    pub fn new(config: &Config, store: &Store, journal: Journal) -> Self {
        // A lock is waited for within the time that a request has.
        let wait = LOCK_WAIT.min(Duration::from_secs(config.limits.request_seconds) / 2);
        let server = store.cards.clone().filter(|_| !config.has_cards_database());
        Self {
            file: CardFile {
                path: config.cards_database(),
                own: !config.has_cards_database(),
                wait,
            },
            server,
            items: store.items.clone(),
            journal,
            state: Mutex::default(),
            registry: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many cards there are; `None` while no card was ever made.
    pub fn count(&self) -> Result<Option<usize>> {
        match self.has_no_file_yet()? {
            true => Ok(None),
            false if self.server.is_some() => Ok(usize::try_from(self.known()?).ok()),
            false => Ok(Some(self.store()?.stamps()?.len())),
        }
    }

    /// Frees what the database keeps in memory.
    pub fn release_memory(&self) {
        let open = self.state().open.clone();
        if let Some(cards) = open {
            cards.release();
        }
    }

    /// Whether this is a library of our own in which no card was ever made.
    fn has_no_file_yet(&self) -> Result<bool> {
        Ok(self.server.is_none() && self.file.own && !self.file.path.exists() && self.known()? == 0)
    }

    /// The database, opened now if it is not yet. It is made only where no card is known: an
    /// empty file in the place of a lost one would hide the loss.
    pub fn store(&self) -> Result<Arc<dyn Cards>> {
        if let Some(server) = &self.server {
            return Ok(server.clone());
        }
        let asked = Instant::now();
        let mut state = self.state();
        if let Some(cards) = &state.open {
            return Ok(cards.clone());
        }
        if state.gave_up.is_some_and(|moment| moment >= asked) {
            return Err(Error::storage(
                "the cards' database is locked by another program; try again",
            ));
        }
        let open = || -> Result<SqliteCards> {
            if self.file.own && self.known()? == 0 {
                self.file.make()?;
            }
            SqliteCards::open(self.file.clone())
        };
        let opened = open().inspect_err(|error| {
            if error.code == Code::Storage {
                state.gave_up = Some(Instant::now());
            }
        })?;
        let cards: Arc<dyn Cards> = Arc::new(opened);
        state.open = Some(cards.clone());
        Ok(cards)
    }

    /// Compares the registry with the database if anybody has written to it since the last time.
    /// Cheap when nobody has: call it as often as changes should be seen.
    ///
    /// A file that cannot be trusted changes nothing: what is known of its cards stays.
    pub fn sync(&self) -> Result<Synced> {
        if self.server.is_some() {
            return Ok(Synced::default());
        }
        // A library without cards is not given an empty database for looking.
        if self.has_no_file_yet()? || self.is_suspect()? {
            return Ok(Synced::default());
        }
        let cards = self.store()?;
        let mut total = Synced::default();
        // What another process wrote and recorded during a comparison is compared again.
        for _ in 0..COMPARISONS {
            let version = cards.version()?;
            if self.state().shown.is(version) {
                break;
            }
            let Some(synced) = self.compare(&*cards, version)? else { break };
            total += synced;
        }
        Ok(total)
    }

    /// Makes the registry equal to the database, which is at least at this version; `None` when
    /// what was read cannot be trusted.
    fn compare(&self, cards: &dyn Cards, version: Version) -> Result<Option<Synced>> {
        let _registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = cards.stamps()?;
        // Asked once more: the file may have been replaced by an empty one since.
        if self.is_suspect()? {
            return Ok(None);
        }
        let all: Vec<_> = stamps.into_iter().map(|(id, stamp)| (id, stamp as i64)).collect();
        let synced = self.items.sync(Kind::Card, &all)?;
        self.state().shown.set(version);
        Ok(Some(synced))
    }

    /// Tells the registry of one of our own changes. The change itself is made and durable: if the
    /// registry cannot be updated now, the next comparison does it.
    fn record(&self, cards: &dyn Cards, id: &str) {
        if self.server.is_some() {
            return;
        }
        let record = || -> Result<()> {
            let _registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
            match cards.stamp(id)? {
                Some(stamp) => self.items.record(Kind::Card, id, stamp as i64).map(drop),
                None => self.items.remove(Kind::Card, id).map(drop),
            }
        };
        if let Err(error) = record() {
            tracing::warn!(card = id, ?error, "a changed card waits to be indexed");
            self.state().shown.doubt();
        }
    }

    /// Creates a card.
    pub fn create(&self, new: NewCard, rights: &Rights, actor: &Actor) -> Result<Card> {
        let cards = self.writable()?;
        let card = cards.draft(new)?;
        check_write(&card, rights)?;
        let id = card.id.clone();
        self.change_one(&*cards, &id, NewChange::new(actor, "create card"), || cards.insert(card))
    }

    /// Changes the given fields of a card.
    pub fn update(
        &self,
        id: &str,
        change: CardChange,
        rights: &Rights,
        actor: &Actor,
    ) -> Result<Card> {
        let cards = self.writable()?;
        let summary = NewChange::new(actor, "update card");
        self.change_one(&*cards, id, summary, || {
            let mut card = writable_card(&*cards, id, rights)?;
            if let Some(labels) = &change.labels {
                card.labels = labels.clone();
                check_write(&card, rights)?;
            }
            cards.update(id, change)
        })
    }

    /// Turns the pin or the archive flag over.
    pub fn toggle(&self, id: &str, flag: Flag, rights: &Rights, actor: &Actor) -> Result<Card> {
        let cards = self.writable()?;
        let summary = match flag {
            Flag::Pinned => "pin or unpin card",
            Flag::Archived => "archive or restore card",
        };
        let summary = NewChange::new(actor, summary);
        self.change_one(&*cards, id, summary, || {
            writable_card(&*cards, id, rights)?;
            cards.toggle(id, flag)
        })
    }

    /// Deletes a card.
    pub fn delete(&self, id: &str, rights: &Rights, actor: &Actor) -> Result<()> {
        let cards = self.writable()?;
        let mut change = NewChange::new(actor, "delete card");
        let ids = [id.to_owned()];
        self.journal.write(
            &mut change,
            || self.states(&*cards, &ids),
            || {
                writable_card(&*cards, id, rights)?;
                // The last card leaves the registry first. A crash in between is then a card that
                // comes back, not a file that seems to have lost its cards.
                if cards.stamp(id)?.is_some() && self.known()? == 1 {
                    self.items.remove(Kind::Card, id)?;
                }
                let deleted = cards.delete(id);
                self.record(&*cards, id);
                deleted
            },
        )
    }

    /// One card with its images, or the error of one that is not there.
    pub fn get(&self, id: &str, rights: &Rights) -> Result<Card> {
        readable_card(&*self.store()?, id, Images::Bytes, rights).map(with_fitting_images)
    }

    /// One page of cards.
    pub fn list(&self, query: &CardQuery) -> Result<CardPage> {
        let mut page = self.store()?.list(query)?;
        page.cards = page.cards.into_iter().map(with_fitting_images).collect();
        Ok(page)
    }

    /// Every label of the cards that the caller may see, sorted.
    pub fn labels(&self, rights: &Rights) -> Result<Vec<String>> {
        let cards = self.store()?;
        if rights.may(Right::ReadEvery(Kind::Card)) {
            return cards.labels();
        }
        let mut labels = BTreeSet::new();
        let mut query = CardQuery {
            archived: true,
            limit: Some(MAX_LIMIT),
            visible: rights.visible().clone(),
            ..CardQuery::default()
        };
        loop {
            let page = cards.list(&query)?;
            labels.extend(page.cards.into_iter().flat_map(|card| card.labels).flatten());
            query.cursor = page.next;
            if query.cursor.is_none() {
                return Ok(labels.into_iter().collect());
            }
        }
    }

    /// What `notewell://card/{id}/image/{n}` stands for.
    pub fn image(&self, link: &str, rights: &Rights) -> Result<Image> {
        let (id, n) = parse_image_link(link).ok_or_else(|| {
            Error::invalid_params(format!(
                "`{link}` is not of the form `notewell://card/ID/image/0`"
            ))
        })?;
        let card = readable_card(&*self.store()?, id, Images::Bytes, rights)?;
        let images = card.images.unwrap_or_default();
        let text = images.get(n).ok_or_else(|| {
            Error::invalid_params(match images.len() {
                0 => format!("card `{id}` has no images"),
                images => {
                    let images = count(images, "image");
                    format!("card `{id}` has {images}; the first is `image/0`")
                }
            })
        })?;
        Image::parse(text)
            .ok_or_else(|| Error::invalid_params(format!("image {n} of card `{id}` is not base64")))
    }

    /// What the index reads of an item of the registry; `None` when the card is gone. A card that
    /// was lost with its file is given without its text, so that its passages stay.
    pub fn document(&self, item: &Item) -> Result<Option<Document>> {
        let read = self.store().and_then(|cards| cards.get(&item.key, Images::Links));
        match read {
            Ok(Some(card)) => return Ok(Some(document(item.pid, &card))),
            Ok(None) if !self.is_suspect()? => return Ok(None),
            Err(error) if error.code != Code::Damaged => return Err(error),
            Ok(None) | Err(_) => self.compare_anew()?,
        }
        Ok(Some(Document { unread: true, ..Document::new(item.pid, Kind::Card, "", &item.key) }))
    }

    /// Sees to it that every card is logged once its file can be read again: the index has not seen
    /// what it asked for.
    fn compare_anew(&self) -> Result<()> {
        let _registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.state().shown.are_forgotten() {
            self.items.forget_stamps(Kind::Card)?;
            self.state().shown.forget();
        }
        Ok(())
    }
}

/// A card that the caller may read. One that is hidden is as absent as one that never was.
fn readable_card(cards: &dyn Cards, id: &str, images: Images, rights: &Rights) -> Result<Card> {
    let card = cards.get(id, images)?.filter(|card| rights.sees_card(card));
    card.ok_or_else(|| no_such_card(id))
}

/// A card that the caller may change.
fn writable_card(cards: &dyn Cards, id: &str, rights: &Rights) -> Result<Card> {
    let card = readable_card(cards, id, Images::Links, rights)?;
    check_write(&card, rights)?;
    Ok(card)
}

fn check_write(card: &Card, rights: &Rights) -> Result<()> {
    match rights.writes_card(card) {
        true => Ok(()),
        false => Err(Error::invalid_params(format!(
            "you may not write a card with these labels; nothing was changed. You may write {}",
            rights.describe_writable()
        ))),
    }
}

fn with_fitting_images(card: Card) -> Card {
    let bytes: usize = card.images.iter().flatten().map(String::len).sum();
    if bytes > INLINE_IMAGES { card.with_image_links() } else { card }
}

#[cfg(test)]
mod tests;
