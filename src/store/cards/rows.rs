//! Cards as rows of a database: the card as JSON beside the columns that order and filter it.

use std::cmp::Reverse;

use serde_json::Value;

use super::{CardPage, CardQuery, MAX_PAGE_BYTES, Order};
use crate::{
    domain::{Card, Error, Kind, Result, card::image_link},
    store::sqlite::cards::{
        cursor, fold,
        snapshot::{Key, Rank as Place},
        weight,
    },
};

/// Cards that one statement of a list reads.
pub const AT_ONCE: usize = 200;
/// Stands between title, content and checklist items where they are searched.
pub const JOINT: char = '\u{1}';

/// What a row has of a card.
#[derive(Debug, Clone)]
pub struct CardRow {
    /// The card's id.
    pub id: String,
    /// The card as JSON, without its images.
    pub body: String,
    /// The images as a JSON list, when they were asked for.
    pub images: Option<String>,
    /// How many images there are.
    pub image_count: Option<i64>,
    /// Whether it comes after the pinned cards.
    pub unpinned: bool,
    /// Its `order`.
    pub place: f64,
    /// The moment of the last change, negated.
    pub age: i64,
}

impl CardRow {
    /// The card.
    pub fn card(self) -> Result<Card> {
        let unreadable = |why: String| {
            Error::damaged(format!(
                "the card `{}` in the database cannot be read: {why}; restore it from a backup",
                self.id
            ))
        };
        let body: Value =
            serde_json::from_str(&self.body).map_err(|error| unreadable(error.to_string()))?;
        let mut card = Card::from_json(&body).map_err(&unreadable)?;
        card.images = match (self.images, self.image_count) {
            (Some(images), _) => Some(texts(&images)?),
            (None, Some(count)) => {
                let count = usize::try_from(count).unwrap_or(0);
                Some((0..count).map(|number| image_link(&self.id, number)).collect())
            }
            (None, None) => None,
        };
        card.id = self.id;
        Ok(card)
    }

    /// Where it stands in a list.
    pub fn key(&self, order: Order) -> Key {
        let place = match order {
            Order::Listed => self.place,
            Order::Newest => 0.0,
        };
        Key {
            unpinned: self.unpinned,
            order: Place(place),
            updated: Reverse(negated(self.age)),
            id: self.id.as_str().into(),
        }
    }
}

/// A moment as the rows are ordered by it: the newest is the lowest.
pub fn negated(moment: i64) -> i64 {
    moment.checked_neg().unwrap_or(i64::MAX)
}

/// A list of texts that is one value of a row.
pub fn texts(list: &str) -> Result<Vec<String>> {
    serde_json::from_str(list)
        .map_err(|error| Error::damaged(format!("a list of a card cannot be read: {error}")))
}

/// What a list is asked for, ready for statements.
pub struct Search<'a> {
    /// The question.
    pub query: &'a CardQuery,
    /// What the folded text has to contain.
    pub needle: Option<String>,
    limit: usize,
    place: Option<Key>,
}

impl<'a> Search<'a> {
    /// Checks a query.
    pub fn new(query: &'a CardQuery) -> Result<Self> {
        Ok(Self {
            query,
            needle: query.contains.as_deref().map(fold::fold).filter(|text| !text.is_empty()),
            limit: query.checked_limit()?,
            place: query.cursor.as_deref().map(cursor::read).transpose()?,
        })
    }

    /// The page, from rows that `batch` reads after a place, [`AT_ONCE`] at a time.
    pub fn page<E: From<Error>>(
        &self,
        mut batch: impl FnMut(Option<&Key>) -> Result<Vec<CardRow>, E>,
    ) -> Result<CardPage, E> {
        let mut page = CardPage { cards: Vec::new(), next: None };
        // The parts of a text are joined by a character that no search may bridge.
        if self.needle.as_ref().is_some_and(|needle| needle.contains(['\0', JOINT])) {
            return Ok(page);
        }
        let (mut bytes, mut last, mut after) = (0, None, self.place.clone());
        loop {
            let rows = batch(after.as_ref())?;
            let whole = rows.len() < AT_ONCE;
            for row in rows {
                let key = row.key(self.query.order);
                let card = row.card()?;
                after = Some(key.clone());
                if !self.query.visible.has_labelled(Kind::Card, card.labels.iter().flatten()) {
                    continue;
                }
                if page.cards.len() == self.limit || bytes >= MAX_PAGE_BYTES {
                    page.next = last.as_ref().map(cursor::write);
                    return Ok(page);
                }
                bytes += weight(&card);
                page.cards.push(card);
                last = Some(key);
            }
            if whole {
                return Ok(page);
            }
        }
    }
}
