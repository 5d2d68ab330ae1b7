//! What is kept in memory of every card: where it stands in each order, a number that changes when
//! it does, and, once somebody searched, its folded text.
//!
//! An index in the database would do the same, but the file may be Memento's, and its dates may be
//! in three forms that SQL cannot sort. It is a cache: the rows are the truth.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use rusqlite::{
    Connection, OptionalExtension, Row,
    types::{Value, ValueRef},
};
use serde_json::Value as Json;

use super::{
    dates::{self, DateForm},
    fold::fold,
    layout::Layout,
    row,
    texts::{Matches, Place, Texts},
};
use crate::{
    domain::{Card, card::item_text},
    store::cards::Order,
};

/// Where a card stands: pinned first, then by `order`, then the newest first, then by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub unpinned: bool,
    pub order: Rank,
    pub updated: Reverse<i64>,
    pub id: Arc<str>,
}

/// Memento's `order`, comparable.
#[derive(Debug, Clone, Copy)]
pub struct Rank(pub f64);

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub stamp: u64,
    pub archived: bool,
    /// When a reminder that is not done comes.
    pub reminder: Option<i64>,
    key: Key,
    /// Where its folded text stands; absent until somebody searches.
    text: Option<Place>,
}

impl Entry {
    fn key(&self, order: Order) -> Key {
        match order {
            Order::Listed => self.key.clone(),
            Order::Newest => Key { order: Rank(0.0), ..self.key.clone() },
        }
    }
}

#[derive(Debug, Default)]
pub struct Snapshot {
    entries: HashMap<Arc<str>, Entry>,
    listed: BTreeSet<Key>,
    newest: BTreeSet<Key>,
    /// Title, content and checklist items of each card, folded.
    texts: Texts,
    /// How many entries have no folded text.
    unfolded: usize,
}

/// The columns that tell a change, and the size of the images after them.
const STAMPED: [&str; 14] = [
    "isPinned",
    "order",
    "updatedAt",
    "isArchived",
    "isReminderDone",
    "reminder",
    "title",
    "content",
    "color",
    "type",
    "checkItems",
    "labels",
    "reminderRecurrence",
    "isMarkdown",
];
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// More missing texts than this are read in one walk through the table.
const MAX_SINGLE_READS: usize = 200;

impl Snapshot {
    /// Compares every row with what is known and takes over what differs.
    pub fn refresh(&mut self, connection: &Connection, layout: &Layout) -> rusqlite::Result<()> {
        let mut statement =
            connection.prepare_cached(&format!(r#"SELECT {} FROM "Note""#, columns(layout)))?;
        let mut rows = statement.query([])?;
        let mut seen = HashSet::with_capacity(self.entries.len());
        while let Some(row) = rows.next()? {
            let stamp = stamp(row)?;
            let id = row.get_ref(0)?;
            let known = match id {
                ValueRef::Text(id) => std::str::from_utf8(id).ok(),
                _ => None,
            }
            .and_then(|id| self.entries.get_key_value(id))
            .filter(|(_, entry)| entry.stamp == stamp)
            .map(|(id, _)| id.clone());
            let id = match known {
                Some(id) => id,
                None => self.put(entry(row, stamp)?),
            };
            seen.insert(id);
        }
        if seen.len() < self.entries.len() {
            let gone: Vec<_> =
                self.entries.keys().filter(|id| !seen.contains(*id)).cloned().collect();
            gone.iter().for_each(|id| self.remove(id));
        }
        Ok(())
    }

    /// Takes over one row as it is now, or its absence.
    pub fn refresh_one(
        &mut self,
        connection: &Connection,
        layout: &Layout,
        id: &str,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(&format!(
            r#"SELECT {} FROM "Note" WHERE "id" = ?1"#,
            columns(layout)
        ))?;
        let mut rows = statement.query([id])?;
        match rows.next()? {
            Some(row) => {
                self.put(entry(row, stamp(row)?)?);
            }
            None => self.remove(id),
        }
        Ok(())
    }

    fn put(&mut self, entry: Entry) -> Arc<str> {
        let id = entry.key.id.clone();
        self.remove(&id);
        self.listed.insert(entry.key(Order::Listed));
        self.newest.insert(entry.key(Order::Newest));
        self.unfolded += 1;
        self.entries.insert(id.clone(), entry);
        id
    }

    fn remove(&mut self, id: &str) {
        if let Some(entry) = self.entries.remove(id) {
            self.listed.remove(&entry.key(Order::Listed));
            self.newest.remove(&entry.key(Order::Newest));
            match entry.text {
                Some(place) => self.texts.remove(place),
                None => self.unfolded -= 1,
            }
        }
    }

    /// Makes sure that every card's folded text is there.
    pub fn fold_all(&mut self, connection: &Connection, layout: &Layout) -> rusqlite::Result<()> {
        let columns = format!(
            r#""id", {}, "content", {}"#,
            layout.quoted("title"),
            layout.quoted("checkItems")
        );
        if self.unfolded > MAX_SINGLE_READS {
            let mut statement = connection.prepare(&format!(r#"SELECT {columns} FROM "Note""#))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                self.fold_row(row)?;
            }
        } else if self.unfolded > 0 {
            let bare = self.entries.iter().filter(|(_, entry)| entry.text.is_none());
            let bare: Vec<_> = bare.map(|(id, _)| id.clone()).collect();
            let mut statement = connection
                .prepare_cached(&format!(r#"SELECT {columns} FROM "Note" WHERE "id" = ?1"#))?;
            for id in bare {
                let mut rows = statement.query([&*id])?;
                if let Some(row) = rows.next()? {
                    self.fold_row(row)?;
                }
            }
        }
        if self.texts.wants_packing() {
            for (id, place) in self.texts.pack() {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.text = Some(place);
                }
            }
        }
        Ok(())
    }

    fn fold_row(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let id = row::text(row.get_ref(0)?).unwrap_or_default();
        let Some(entry) = self.entries.get_mut(id.as_str()) else { return Ok(()) };
        if entry.text.is_some() {
            return Ok(());
        }
        // NUL between the parts, so that no match reaches from one into the next.
        let mut text = row::text(row.get_ref(1)?).unwrap_or_default();
        text.push('\0');
        text.push_str(&row::text(row.get_ref(2)?).unwrap_or_default());
        let items = row::text(row.get_ref(3)?).filter(|items| !items.is_empty());
        if let Some(Ok(Json::Array(items))) = items.map(|items| serde_json::from_str(&items)) {
            for item in &items {
                text.push('\0');
                text.push_str(item_text(item));
            }
        }
        entry.text = Some(self.texts.push(entry.key.id.clone(), &fold(&text)));
        self.unfolded -= 1;
        Ok(())
    }

    /// Cards after a place in an order.
    pub fn after<'a>(
        &'a self,
        order: Order,
        place: Option<&Key>,
    ) -> impl Iterator<Item = (&'a Key, &'a Entry)> + use<'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        let keys = match order {
            Order::Listed => &self.listed,
            Order::Newest => &self.newest,
        };
        keys.range((place.map_or(Unbounded, Excluded), Unbounded))
            .filter_map(|key| Some((key, self.entries.get(&key.id)?)))
    }

    /// The cards that contain a folded text. `fold_all` comes first.
    pub fn find(&self, needle: &str) -> Matches {
        self.texts.find(needle)
    }

    /// Of the cards after a place, those in which something was found.
    pub fn found_after<'a>(
        &'a self,
        order: Order,
        place: Option<&Key>,
        matches: &'a Matches,
    ) -> Box<dyn Iterator<Item = (Key, &'a Entry)> + 'a> {
        let clone = |(key, entry): (&Key, &'a Entry)| (key.clone(), entry);
        match matches {
            Matches::Few(ids) => {
                let mut found: Vec<(Key, &Entry)> = ids
                    .iter()
                    .filter_map(|id| self.entries.get(id))
                    .map(|entry| (entry.key(order), entry))
                    .filter(|(key, _)| place.is_none_or(|place| key > place))
                    .collect();
                found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                Box::new(found.into_iter())
            }
            Matches::Many(places) => {
                let hit = |entry: &Entry| {
                    entry.text.is_some_and(|place| places.get(place as usize) == Some(&true))
                };
                Box::new(self.after(order, place).filter(move |(_, entry)| hit(entry)).map(clone))
            }
        }
    }

    pub fn stamps(&self) -> Vec<(String, u64)> {
        self.entries.iter().map(|(id, entry)| (id.to_string(), entry.stamp)).collect()
    }
}

/// What `entry` and `stamp` read: the first six are places, the rest only tell a change.
fn columns(layout: &Layout) -> String {
    let quoted = |name: &&str| layout.quoted(name);
    let names = std::iter::once(&"id").chain(&STAMPED);
    let mut columns: Vec<String> = names.map(quoted).collect();
    // The size alone does not read the images, which may be large.
    columns.push(format!("octet_length({})", layout.quoted("images")));
    columns.join(", ")
}

fn entry(row: &Row<'_>, stamp: u64) -> rusqlite::Result<Entry> {
    let id: Arc<str> = row::text(row.get_ref(0)?).unwrap_or_default().into();
    let done = row::flag(row.get_ref(5)?);
    Ok(Entry {
        stamp,
        archived: row::flag(row.get_ref(4)?),
        reminder: dates::read(row.get_ref(6)?).filter(|_| !done).map(|moment| moment.0),
        key: Key {
            unpinned: !row::flag(row.get_ref(1)?),
            order: Rank(row::real(row.get_ref(2)?)),
            updated: Reverse(dates::read(row.get_ref(3)?).map_or(i64::MIN, |moment| moment.0)),
            id,
        },
        text: None,
    })
}

/// The stamp of one row; `None` when it is gone.
pub fn stamp_of(
    connection: &Connection,
    layout: &Layout,
    id: &str,
) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached(&format!(r#"SELECT {} FROM "Note" WHERE "id" = ?1"#, columns(layout)))?
        .query_row([id], stamp)
        .optional()
}

/// A number over every column read; the same on every machine and in every version.
fn stamp(row: &Row<'_>) -> rusqlite::Result<u64> {
    let mut hash = Hash(SEED);
    for index in 1..=STAMPED.len() + 1 {
        hash.value(row.get_ref(index)?);
    }
    Ok(hash.finish())
}

/// The stamp of a card as a row of our own would have it.
pub fn stamp_of_card(card: &Card) -> u64 {
    let mut hash = Hash(SEED);
    for column in STAMPED {
        hash.value(ValueRef::from(&row::write(card, column, DateForm::Millis)));
    }
    let images = match row::write(card, "images", DateForm::Millis) {
        Value::Text(text) => Value::Integer(text.len() as i64),
        other => other,
    };
    hash.value(ValueRef::from(&images));
    hash.finish()
}

/// Eight bytes at a time: 100,000 cards are hashed whenever another program has written.
struct Hash(u64);

impl Hash {
    fn value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.word(1),
            ValueRef::Integer(number) => {
                self.word(2);
                self.word(number as u64);
            }
            ValueRef::Real(number) => {
                self.word(3);
                self.word(number.to_bits());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => self.bytes(bytes),
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 ^= self.0 >> 33;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64 + 4);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }
}
