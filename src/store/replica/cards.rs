//! Cards are read from the server; while it is away, from the copy.

use super::Replica;
use crate::{
    domain::{
        Card, Result,
        card::{CardChange, NewCard},
    },
    store::cards::{CardPage, CardQuery, Cards, Flag, Images, Imported, Occupancy, Rank, Version},
};

impl Cards for Replica {
    fn draft(&self, new: NewCard) -> Result<Card> {
        self.remote.draft(new)
    }

    fn insert(&self, card: Card) -> Result<Card> {
        self.write(|remote| Cards::insert(remote, card))
    }

    fn get(&self, id: &str, images: Images) -> Result<Option<Card>> {
        self.read_through(
            |remote| Cards::get(remote, id, images),
            |local| Ok(local.mirrored_cards(&[id], images)?.pop()),
        )
    }

    fn get_many(&self, ids: &[&str], images: Images) -> Result<Vec<Card>> {
        self.read_through(
            |remote| Cards::get_many(remote, ids, images),
            |local| local.mirrored_cards(ids, images),
        )
    }

    fn list(&self, query: &CardQuery) -> Result<CardPage> {
        self.read_through(
            |remote| Cards::list(remote, query),
            |local| local.list_mirrored_cards(query),
        )
    }

    fn update(&self, id: &str, change: CardChange) -> Result<Card> {
        self.write(|remote| Cards::update(remote, id, change))
    }

    fn toggle(&self, id: &str, flag: Flag) -> Result<Card> {
        self.write(|remote| remote.toggle(id, flag))
    }

    fn ranks(&self) -> Result<Vec<Rank>> {
        self.read_through(Cards::ranks, |local| local.mirrored_ranks())
    }

    fn arrange(&self, orders: &[(String, f64)]) -> Result<()> {
        self.write(|remote| remote.arrange(orders))
    }

    fn delete(&self, id: &str) -> Result<()> {
        self.write(|remote| Cards::delete(remote, id))
    }

    fn put_all(&self, cards: &[(String, Option<Card>)]) -> Result<()> {
        self.write(|remote| remote.put_all(cards))
    }

    fn labels(&self) -> Result<Vec<String>> {
        self.read_through(Cards::labels, |local| local.mirrored_labels())
    }

    fn import(&self, cards: &[Card]) -> Result<Vec<Imported>> {
        self.write(|remote| Cards::import(remote, cards))
    }

    fn stamps(&self) -> Result<Vec<(String, u64)>> {
        self.read_through(Cards::stamps, |local| local.mirrored_stamps())
    }

    fn stamp(&self, id: &str) -> Result<Option<u64>> {
        self.write(|remote| Cards::stamp(remote, id))
    }

    fn version(&self) -> Result<Version> {
        self.write(Cards::version)
    }

    fn occupancy(&self) -> Result<Occupancy> {
        self.write(Cards::occupancy)
    }

    fn damage(&self) -> Result<Vec<String>> {
        self.write(Cards::damage)
    }
}
