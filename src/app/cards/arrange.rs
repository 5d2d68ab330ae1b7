//! Moving a card on the board. Cards of Memento mostly have the same `order`, 0, and stand by date;
//! a move gives new orders to as few of them as makes the new sequence true.

use super::CardRoom;
use crate::{
    app::rights::{Right, Rights},
    domain::{Error, Kind, Result},
    store::{
        cards::{Rank, no_such_card},
        revisions::{Actor, NewChange},
    },
};

/// Where a card is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Right before this card.
    Before(String),
    /// Right after this card.
    After(String),
}

impl Place {
    fn neighbour(&self) -> &str {
        match self {
            Place::Before(id) | Place::After(id) => id,
        }
    }
}

impl CardRoom {
    /// Moves a card. The dates of cards stay as they are.
    pub fn arrange(&self, id: &str, place: &Place, rights: &Rights, actor: &Actor) -> Result<()> {
        // Other cards may have to make room.
        if !rights.may(Right::WriteEvery(Kind::Card)) {
            return Err(Error::invalid_params(
                "only somebody who may change every card can put them in another order",
            ));
        }
        let cards = self.writable()?;
        let orders = moved(&cards.ranks()?, id, place)?;
        if orders.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = orders.iter().map(|(id, _)| id.clone()).collect();
        let mut change = NewChange::new(actor, "move card");
        self.journal.write(
            &mut change,
            || self.states(&*cards, &ids),
            || {
                cards.arrange(&orders)?;
                ids.iter().for_each(|id| self.record(&*cards, id));
                Ok(())
            },
        )
    }
}

/// The new orders that put a card into its place.
fn moved(ranks: &[Rank], id: &str, place: &Place) -> Result<Vec<(String, f64)>> {
    let find = |id: &str| ranks.iter().find(|rank| rank.id == id).ok_or_else(|| no_such_card(id));
    let (card, neighbour) = (find(id)?, find(place.neighbour())?);
    if card.is_pinned != neighbour.is_pinned {
        return Err(Error::invalid_params(
            "pinned cards come before the others; pin the card, or unpin it, to move it there",
        ));
    }
    if card.id == neighbour.id {
        return Ok(Vec::new());
    }
    let others: Vec<&Rank> =
        ranks.iter().filter(|rank| rank.is_pinned == card.is_pinned && rank.id != id).collect();
    let at = others.iter().position(|rank| rank.id == neighbour.id).unwrap_or_default();
    let at = match place {
        Place::Before(_) => at,
        Place::After(_) => at + 1,
    };
    let orders = between(&others, at, id);
    // Memento's column holds 32-bit integers.
    if orders.iter().all(|(_, order)| order.abs() < 1e9) {
        return Ok(orders);
    }
    let mut ids: Vec<&str> = others.iter().map(|rank| rank.id.as_str()).collect();
    ids.insert(at, id);
    Ok(ids.iter().zip(0_u32..).map(|(id, n)| ((*id).to_owned(), f64::from(n))).collect())
}

/// Whole numbers that put the card between the ones around it. Where there is no number between
/// those, the cards of one side move out of the way: of the side where fewer have to.
fn between(others: &[&Rank], at: usize, id: &str) -> Vec<(String, f64)> {
    let own = |order: f64| (id.to_owned(), order);
    let (before, after) = match (at.checked_sub(1).map(|n| others[n].order), others.get(at)) {
        (None, None) => return vec![own(0.0)],
        (None, Some(after)) => return vec![own(after.order.ceil() - 1.0)],
        (Some(before), None) => return vec![own(before.floor() + 1.0)],
        (Some(before), Some(after)) => (before, after.order),
    };
    let middle = ((before + after) / 2.0).floor();
    for free in [middle, before.floor() + 1.0] {
        if before < free && free < after {
            return vec![own(free)];
        }
    }
    let (below, above) = (after.ceil() - 1.0, before.floor() + 1.0);
    let mut lower = pushed(others[..at].iter().rev(), below, -1.0);
    let mut upper = pushed(others[at..].iter(), above, 1.0);
    if lower.len() <= upper.len() {
        lower.push(own(below));
        return lower;
    }
    upper.push(own(above));
    upper
}

/// Moves cards past `limit` in a direction, as far as they are in the way. Cards of equal order
/// stay equal: their dates put them in order.
fn pushed<'a>(
    cards: impl Iterator<Item = &'a &'a Rank>,
    limit: f64,
    direction: f64,
) -> Vec<(String, f64)> {
    let mut orders = Vec::new();
    let (mut place, mut group) = (limit, None);
    for rank in cards {
        if group != Some(rank.order) {
            group = Some(rank.order);
            place += direction;
            if (rank.order - place) * direction >= 0.0 {
                break;
            }
        }
        orders.push((rank.id.clone(), place));
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(orders: &[f64]) -> Vec<Rank> {
        let name = |n: usize| char::from(b'a' + n as u8).to_string();
        let rank =
            |(n, order): (usize, &f64)| Rank { id: name(n), is_pinned: false, order: *order };
        orders.iter().enumerate().map(rank).collect()
    }

    /// The sequence after a move, and how many cards it changed.
    fn after(orders: &[f64], id: &str, place: Place) -> (String, usize) {
        let mut ranks = ranks(orders);
        let moved = moved(&ranks, id, &place).unwrap();
        assert!(moved.iter().all(|(_, order)| order.fract() == 0.0), "{moved:?}");
        for (id, order) in &moved {
            ranks.iter_mut().find(|rank| rank.id == *id).unwrap().order = *order;
        }
        // Stable: equal orders keep their places, as equal dates do.
        ranks.sort_by(|a, b| a.order.total_cmp(&b.order));
        (ranks.into_iter().map(|rank| rank.id).collect(), moved.len())
    }

    #[test]
    fn a_move_changes_as_few_cards_as_it_can() {
        let before = |id: &str| Place::Before(id.into());
        let behind = |id: &str| Place::After(id.into());
        for (orders, id, place, expected, changed) in [
            ([0.0; 5], "e", before("a"), "eabcd", 1),
            ([0.0; 5], "a", behind("e"), "bcdea", 1),
            ([0.0; 5], "e", behind("a"), "aebcd", 2),
            ([0.0; 5], "a", before("e"), "bcdae", 2),
            ([1.0, 2.0, 3.0, 4.0, 5.0], "a", behind("c"), "bcade", 3),
            ([1.0, 2.0, 2.0, 2.0, 5.0], "e", behind("b"), "abecd", 3),
            ([1.0, 2.0, 2.0, 2.0, 5.0], "a", before("d"), "bcade", 2),
            ([0.0, 0.0, 0.0, 1.0, 2e9], "a", behind("e"), "bcdea", 5),
            ([1.0, 1.5, 2.0, 3.0, 4.0], "e", behind("a"), "aebcd", 2),
        ] {
            let expected = (expected.to_owned(), changed);
            assert_eq!(after(&orders, id, place.clone()), expected, "{id} {place:?}");
        }
        assert_eq!(moved(&ranks(&[0.0]), "a", &before("a")).unwrap(), []);
        assert!(moved(&ranks(&[0.0]), "a", &before("x")).is_err());
    }

    #[test]
    fn every_move_ends_in_its_place() {
        // Ties, gaps and a run at either end, each card to each place.
        for orders in [[0.0; 6], [0.0, 0.0, 1.0, 1.0, 1.0, 2.0], [-3.0, -3.0, 0.5, 1.0, 2.0, 2.0]] {
            for from in 0..6 {
                for to in (0..6).filter(|to| *to != from) {
                    let names: Vec<String> = ranks(&orders).into_iter().map(|r| r.id).collect();
                    let mut expected: Vec<String> = names.clone();
                    let card = expected.remove(from);
                    let at = expected.iter().position(|name| *name == names[to]).unwrap();
                    expected.insert(at, card);
                    let (sequence, _) =
                        after(&orders, &names[from], Place::Before(names[to].clone()));
                    assert_eq!(sequence, expected.concat(), "{orders:?} {from} {to}");
                }
            }
        }
    }

    #[test]
    fn pinned_cards_stay_first() {
        let mut ranks = ranks(&[0.0, 0.0]);
        ranks[0].is_pinned = true;
        assert!(moved(&ranks, "b", &Place::Before("a".into())).is_err());
    }
}
