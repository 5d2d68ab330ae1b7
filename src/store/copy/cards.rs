//! Cards: a file of their own beside SQLite, a table in PostgreSQL.

use sha2::{Digest as _, Sha256};

use super::{AT_ONCE, Digest, Side};
use crate::{
    domain::{Card, Error, Progress, Result, card::View},
    store::{
        Cards,
        cards::Images,
        sqlite::cards::{CardFile, LOCK_WAIT, SqliteCards},
    },
};

/// Copies every card, and compares. Returns how many.
pub(super) fn copy(source: &Side, target: &Side, progress: &dyn Progress) -> Result<u64> {
    let own;
    let from: &dyn Cards = match source {
        Side::Postgres(database) => &**database,
        Side::Sqlite { directory, .. } => {
            let path = directory.join("cards.db");
            if !path.exists() {
                return Ok(0);
            }
            own = SqliteCards::open(CardFile { path, own: true, wait: LOCK_WAIT })?;
            &own
        }
    };
    let mut ids: Vec<String> = from.stamps()?.into_iter().map(|(id, _)| id).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    ids.sort_unstable();
    let made;
    let to: &dyn Cards = match target {
        Side::Postgres(database) => &**database,
        Side::Sqlite { directory, .. } => {
            made = SqliteCards::open_own(&directory.join("cards.db"))?;
            &made
        }
    };
    let mut digest = Digest::default();
    for batch in ids.chunks(AT_ONCE) {
        let cards = read(from, batch)?;
        cards.iter().for_each(|card| digest.add(&hash(card)));
        let cards: Vec<_> = cards.into_iter().map(|card| (card.id.clone(), Some(card))).collect();
        to.put_all(&cards)?;
        progress.report(digest.rows, Some(ids.len() as u64), "copying cards");
    }
    let mut copy = Digest::default();
    let mut ids: Vec<String> = to.stamps()?.into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    for batch in ids.chunks(AT_ONCE) {
        read(to, batch)?.iter().for_each(|card| copy.add(&hash(card)));
    }
    if copy != digest {
        return Err(Error::damaged(format!(
            "the cards of the target are not those of the source ({} and {})",
            copy.rows, digest.rows
        )));
    }
    Ok(digest.rows)
}

fn read(cards: &dyn Cards, ids: &[String]) -> Result<Vec<Card>> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    cards.get_many(&ids, Images::Bytes)
}

fn hash(card: &Card) -> [u8; 32] {
    Sha256::digest(card.to_json(View::Whole).to_string()).into()
}
