//! Cards in the journal: each is recorded whole, as JSON, with its images.

use super::{CardRoom, with_fitting_images};
use crate::{
    app::history::ItemState,
    domain::{Card, Code, Error, Kind, Result, card::View},
    store::{
        cards::{Cards, Images},
        revisions::{NewChange, Turn},
    },
};

impl CardRoom {
    /// Makes a change to one card, and tells the journal and the registry.
    pub(super) fn change_one(
        &self,
        cards: &dyn Cards,
        id: &str,
        mut change: NewChange,
        write: impl FnOnce() -> Result<Card>,
    ) -> Result<Card> {
        let ids = [id.to_owned()];
        let card = self.journal.write(
            &mut change,
            || self.states(cards, &ids),
            || {
                let card = write();
                // A change that the disk did not confirm may be there all the same.
                if card.as_ref().err().is_none_or(|error| error.code == Code::Storage) {
                    self.record(cards, id);
                }
                card
            },
        )?;
        Ok(with_fitting_images(card))
    }

    /// These cards as they are now.
    pub(super) fn states(&self, cards: &dyn Cards, ids: &[String]) -> Result<Vec<ItemState>> {
        let state = |id: &String| {
            Ok(ItemState {
                pid: self.items.find(Kind::Card, id)?.map(|item| item.pid),
                kind: Kind::Card,
                key: id.clone(),
                content: cards.get(id, Images::Bytes)?.map(|card| content(&card)),
            })
        };
        // The journal must not record that nothing happened while it still may have.
        cards.settle()?;
        ids.iter().map(state).collect()
    }

    /// These cards as they are now, for somebody who compares them with the journal.
    pub fn current(&self, ids: &[String]) -> Result<Vec<ItemState>> {
        self.states(&*self.store()?, ids)
    }

    /// Makes each of these cards what its content says, or removes it: all or none.
    pub fn bring_back(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        wanted: &[(String, Option<Vec<u8>>)],
    ) -> Result<()> {
        let cards = self.writable()?;
        let ids: Vec<String> = wanted.iter().map(|(id, _)| id.clone()).collect();
        let read = |(id, content): &(String, Option<Vec<u8>>)| {
            Ok((id.clone(), content.as_deref().map(card_of).transpose()?))
        };
        let put: Vec<(String, Option<Card>)> = wanted.iter().map(read).collect::<Result<_>>()?;
        self.journal.write_in(
            turn,
            change,
            || self.states(&*cards, &ids),
            || {
                // As for a deletion: the registry must not know of cards that an empty file lost.
                let removed = put.iter().filter(|(_, card)| card.is_none()).count() as u64;
                if removed > 0 && self.known()? <= removed {
                    for (id, _) in put.iter().filter(|(_, card)| card.is_none()) {
                        self.items.remove(Kind::Card, id)?;
                    }
                }
                let done = cards.put_all(&put);
                ids.iter().for_each(|id| self.record(&*cards, id));
                done
            },
        )
    }
}

fn content(card: &Card) -> Vec<u8> {
    card.to_json(View::Whole).to_string().into_bytes()
}

fn card_of(content: &[u8]) -> Result<Card> {
    let unreadable = |why: String| {
        Error::internal(format!("the journal's copy of the card cannot be read: {why}"))
    };
    let value = serde_json::from_slice(content).map_err(|error| unreadable(error.to_string()))?;
    Card::from_json(&value).map_err(unreadable)
}
