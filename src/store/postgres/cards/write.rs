//! Making and changing cards, inside a transaction that also records them in the registry.

use super::{
    super::{Postgres, fault::Fault, items, transaction::Transaction},
    COUNTER, get,
};
use crate::{
    domain::{
        Card, Error, Kind, Result, Timestamp,
        card::{CardChange, View, item_text},
    },
    store::{
        cards::{
            Flag, Images, Imported, no_such_card,
            rows::{JOINT, negated},
        },
        sqlite::cards::{
            dates::after,
            fold::fold,
            snapshot::stamp_of_card,
            write::{apply, check_unchanged},
        },
    },
};

impl Postgres {
    /// Runs one write transaction and counts it as a change of the cards.
    pub(super) fn write_cards<T>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T> {
        self.write(|tx| {
            let value = work(tx)?;
            tx.count_change(COUNTER)?;
            Ok(value)
        })
    }
}

fn must_get(tx: &mut Transaction<'_>, id: &str) -> Result<Card, Fault> {
    get(tx, id, Images::Bytes)?.ok_or_else(|| Fault::Refused(no_such_card(id)))
}

pub(super) fn insert(tx: &mut Transaction<'_>, mut card: Card) -> Result<Card, Fault> {
    if get(tx, &card.id, Images::Links)?.is_some() {
        return Err(Fault::Refused(Error::invalid_request(format!(
            "could not add the card: another card has the id `{}`",
            card.id
        ))));
    }
    // A card from elsewhere may know only one of its dates, or none.
    let date = card.updated_at.or(card.created_at).unwrap_or_else(Timestamp::now);
    card.updated_at = Some(date);
    card.created_at = card.created_at.or(Some(date));
    save(tx, &card)?;
    Ok(card)
}

pub(super) fn update(
    tx: &mut Transaction<'_>,
    id: &str,
    change: CardChange,
) -> Result<Card, Fault> {
    let old = must_get(tx, id)?;
    check_unchanged(&old, &change)?;
    let (mut card, _) = apply(&old, change)?;
    card.updated_at = Some(after(old.updated_at, Timestamp::now()));
    save(tx, &card)?;
    Ok(card)
}

pub(super) fn toggle(tx: &mut Transaction<'_>, id: &str, flag: Flag) -> Result<Card, Fault> {
    let mut card = must_get(tx, id)?;
    match flag {
        Flag::Pinned => card.is_pinned = !card.is_pinned,
        Flag::Archived => card.is_archived = !card.is_archived,
    }
    card.updated_at = Some(after(card.updated_at, Timestamp::now()));
    save(tx, &card)?;
    Ok(card)
}

/// Writes the place of a card, a whole number as Memento has it. One that is gone is skipped.
pub(super) fn set_order(tx: &mut Transaction<'_>, id: &str, order: f64) -> Result<(), Fault> {
    let Some(card) = get(tx, id, Images::Bytes)? else { return Ok(()) };
    let order = order.trunc();
    if card.order == order {
        return Ok(());
    }
    save(tx, &Card { order, ..card })
}

/// Deletes a card. Returns whether it was there.
pub(super) fn delete(tx: &mut Transaction<'_>, id: &str) -> Result<bool, Fault> {
    let deleted = tx.execute("DELETE FROM cards WHERE id = $1", &[&id])? > 0;
    if let Some(item) = items::lookup(tx, Kind::Card, id)?.filter(|item| !item.gone) {
        items::mark_gone(tx, item.pid)?;
    }
    Ok(deleted)
}

/// Writes a card whole, in the place of the one with this id if there is one.
pub(super) fn put(tx: &mut Transaction<'_>, card: Card) -> Result<(), Fault> {
    match get(tx, &card.id, Images::Links)? {
        None => insert(tx, card).map(drop),
        Some(_) => save(tx, &card),
    }
}

pub(super) fn import(tx: &mut Transaction<'_>, card: &Card) -> Result<Imported, Fault> {
    if has_nul(card) {
        return Ok(Imported::Refused("its id contains the character NUL".to_owned()));
    }
    match get(tx, &card.id, Images::Links)? {
        None => insert(tx, card.clone()).map(|_| Imported::Added),
        Some(old) if old.updated_at >= card.updated_at => Ok(Imported::Present),
        Some(_) => save(tx, card).map(|()| Imported::Updated),
    }
}

/// Whether the id cannot be a text of PostgreSQL. The other texts are in JSON, which escapes it.
fn has_nul(card: &Card) -> bool {
    card.id.contains('\0')
}

/// Writes every column of a card, and its registry entry.
fn save(tx: &mut Transaction<'_>, card: &Card) -> Result<(), Fault> {
    let stamp = stamp_of_card(card) as i64;
    let json = |list: Option<&Vec<String>>| list.map(|list| serde_json::json!(list).to_string());
    let mut body = card.to_json(View::Whole);
    if let Some(fields) = body.as_object_mut() {
        fields.remove("images");
    }
    let mut text = card.title.clone().unwrap_or_default();
    for part in std::iter::once(card.content.as_str())
        .chain(card.check_items.iter().flatten().map(item_text))
    {
        text.push(JOINT);
        text.push_str(part);
    }
    let folded = fold(&text).replace('\0', "\u{1}");
    let image_count =
        card.images.as_ref().map(|images| i64::try_from(images.len()).unwrap_or(i64::MAX));
    tx.execute(
        "INSERT INTO cards (id, unpinned, place, age, archived, reminder, labels, images,
                            image_count, folded, body, stamp)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (lib, id) DO UPDATE SET unpinned = $2, place = $3, age = $4, archived = $5,
            reminder = $6, labels = $7, images = $8, image_count = $9, folded = $10, body = $11,
            stamp = $12",
        &[
            &card.id,
            &!card.is_pinned,
            &card.order,
            &negated(card.updated_at.map_or(i64::MIN, |moment| moment.0)),
            &card.is_archived,
            &card.reminder.filter(|_| !card.is_reminder_done).map(|moment| moment.0),
            &json(card.labels.as_ref()),
            &json(card.images.as_ref()),
            &image_count,
            &folded,
            &body.to_string(),
            &stamp,
        ],
    )?;
    items::put(tx, Kind::Card, &card.id, stamp).map(drop)
}
