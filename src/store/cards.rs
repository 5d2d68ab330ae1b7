//! Cards: what may be asked of the place that keeps them.
//!
//! The place belongs to Memento as much as to us: its web app may have it open and change it. An
//! implementation keeps no second truth about a card and touches no field that was not named.

pub(in crate::store) mod rows;

use super::Caches;
use crate::domain::{
    Card, Error, Result, Timestamp, Visible,
    card::{CardChange, NewCard},
};

/// How many cards a list gives when nobody says how many.
pub const DEFAULT_LIMIT: usize = 100;
/// The most cards one list may give.
pub const MAX_LIMIT: usize = 1_000;
/// About how many bytes of cards one list may give; the next page starts after them.
pub const MAX_PAGE_BYTES: usize = 1 << 20;

/// Keeps cards.
pub trait Cards: Caches {
    /// Checks a new card and gives it an id and its dates. Nothing is written.
    fn draft(&self, new: NewCard) -> Result<Card>;

    /// Adds a card under the id and with the dates that it has. Durable when this returns, like
    /// every write here.
    fn insert(&self, card: Card) -> Result<Card>;

    /// Makes sure that no write which failed can come back after a crash.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// Makes a card with an id of its own.
    fn create(&self, new: NewCard) -> Result<Card> {
        self.insert(self.draft(new)?)
    }

    /// The card with this id.
    fn get(&self, id: &str, images: Images) -> Result<Option<Card>>;

    /// The cards with these ids in the order asked for, as of one moment. Others are left out.
    fn get_many(&self, ids: &[&str], images: Images) -> Result<Vec<Card>>;

    /// One page of cards, in the order that the query asks for.
    fn list(&self, query: &CardQuery) -> Result<CardPage>;

    /// Changes the fields that are named and `updatedAt`, and no other.
    fn update(&self, id: &str, change: CardChange) -> Result<Card>;

    /// Turns the pin or the archive flag over.
    fn toggle(&self, id: &str, flag: Flag) -> Result<Card>;

    /// Where every card stands, in the order of [`Order::Listed`].
    fn ranks(&self) -> Result<Vec<Rank>>;

    /// Gives cards other places in the order: all or none. No other field changes, the date of the
    /// last change neither, because an order says nothing about a card. One that is gone is skipped.
    fn arrange(&self, orders: &[(String, f64)]) -> Result<()>;

    /// Deletes a card for good.
    fn delete(&self, id: &str) -> Result<()>;

    /// Makes each of these cards, named by id, what is given, or removes it: all or none. A card
    /// keeps the dates that it brings.
    fn put_all(&self, cards: &[(String, Option<Card>)]) -> Result<()>;

    /// Every label in use, sorted, once.
    fn labels(&self) -> Result<Vec<String>>;

    /// Adds cards with the ids and dates they bring. One that is there already is replaced only by
    /// a newer one, so that the same import twice changes nothing.
    fn import(&self, cards: &[Card]) -> Result<Vec<Imported>>;

    /// Every card's id and a number that is another one when the card has changed, whoever changed
    /// it. The difference of two such lists is what the index has to follow.
    fn stamps(&self) -> Result<Vec<(String, u64)>>;

    /// The stamp of one card, as `stamps` has it; `None` when it is gone.
    fn stamp(&self, id: &str) -> Result<Option<u64>>;

    /// A value that differs once anybody else has changed the cards. Cheap: poll it. A change made
    /// through this value itself may leave it as it is.
    fn version(&self) -> Result<Version>;

    /// Whether there are cards; where there are none, also whether there were some.
    fn occupancy(&self) -> Result<Occupancy>;

    /// What a check of the whole structure finds wrong; empty when it is sound. Reads everything.
    fn damage(&self) -> Result<Vec<String>>;
}

/// A state of the cards, to be compared with another of the same process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Differs when other cards have taken the place of these as a whole: a restored backup, a file
    /// put in place of another.
    pub place: i64,
    /// Differs when somebody changed a card.
    pub change: i64,
}

/// Whether a place has cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupancy {
    /// It has cards.
    Cards,
    /// It has none now. It was seen with some, and they were deleted one transaction after another.
    Emptied,
    /// It has none, and never had any while it was open here.
    Empty,
}

/// Whether a card comes with its images or with links to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Images {
    /// Images as they are stored.
    Bytes,
    /// Links to images.
    #[default]
    Links,
}

/// What `toggle` turns over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// `isPinned`.
    Pinned,
    /// `isArchived`.
    Archived,
}

/// The two orders of Memento. Equal cards follow their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Pinned first, then by `order`, then the newest change first.
    #[default]
    Listed,
    /// Pinned first, then the newest change first.
    Newest,
}

/// Where a card stands on the board.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// The card.
    pub id: String,
    /// Whether it stands among the pinned cards, which come first.
    pub is_pinned: bool,
    /// Its `order`: the lowest comes first.
    pub order: f64,
}

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct CardQuery {
    /// In the title, the content or a checklist item, whatever the case, in any script.
    pub contains: Option<String>,
    /// Whether archived cards are listed too.
    pub archived: bool,
    /// Only cards whose reminder is due at this moment and not done.
    pub due: Option<Timestamp>,
    /// The order.
    pub order: Order,
    /// How images are returned.
    pub images: Images,
    /// Without: [`DEFAULT_LIMIT`].
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// The part of the library whose cards are listed.
    pub visible: Visible,
}

impl CardQuery {
    /// The limit to keep to, checked.
    pub fn checked_limit(&self) -> Result<usize> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if (1..=MAX_LIMIT).contains(&limit) {
            return Ok(limit);
        }
        Err(Error::invalid_params(format!("limit `{limit}` is not between 1 and {MAX_LIMIT}")))
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct CardPage {
    /// The cards.
    pub cards: Vec<Card>,
    /// The cursor of the next page, when there is one.
    pub next: Option<String>,
}

/// What became of a card that was to be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// It is new.
    Added,
    /// It was there, older.
    Updated,
    /// It is there, and not older.
    Present,
    /// This database cannot hold it.
    Refused(String),
}

/// The error of a card that is not there; -32600, as Memento answers it.
pub fn no_such_card(id: &str) -> Error {
    Error::invalid_request(format!(
        "Note not found: no card has the id `{id}`; find it with search_notes"
    ))
}
