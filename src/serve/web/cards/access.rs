//! Who may do what with cards here: what the caller may do with the tools for cards.

use crate::{
    app::{cards::Place, rights::Right},
    domain::{
        Card, Kind, Pid, Result, Toolset,
        card::{CardChange, Image, NewCard, image_link},
    },
    serve::web::Visit,
    store::{
        cards::{CardPage, CardQuery, Flag, Images},
        revisions::{Actor, ChangeId},
    },
};

/// The cards as the caller of one request sees them.
pub struct CardAccess<'a>(&'a Visit);

impl<'a> CardAccess<'a> {
    /// Access to the cards, unless the caller may not see any.
    pub fn to_read(visit: &'a Visit) -> Option<Self> {
        let rights = visit.rights();
        let is_open = rights.may(Right::Use(Toolset::Cards)) && rights.may(Right::Read(Kind::Card));
        is_open.then_some(Self(visit))
    }

    /// Access for a change.
    pub fn to_write(visit: &'a Visit) -> Option<Self> {
        Self::to_read(visit).filter(Self::may_write)
    }

    /// Whether the caller may change cards.
    pub fn may_write(&self) -> bool {
        self.0.rights().may(Right::Write(Kind::Card))
    }

    /// Whether the caller may put cards in another order, for which others make room.
    pub fn may_arrange(&self) -> bool {
        self.0.rights().may(Right::WriteEvery(Kind::Card))
    }

    /// Whether the caller may take changes back.
    pub fn may_undo(&self) -> bool {
        self.0.rights().may(Right::History)
    }

    fn actor(&self) -> Actor {
        self.0.rights().actor("web")
    }

    /// A page of cards.
    pub fn list(&self, query: &CardQuery) -> Result<CardPage> {
        // A library in which no card was ever made gets no empty database for looking.
        if self.0.app().cards.count()?.is_none() {
            return Ok(CardPage { cards: Vec::new(), next: None });
        }
        let visible = self.0.rights().visible().clone();
        self.0.app().cards.list(&CardQuery { visible, ..query.clone() })
    }

    /// Every label.
    pub fn labels(&self) -> Result<Vec<String>> {
        match self.0.app().cards.count()? {
            None => Ok(Vec::new()),
            Some(_) => self.0.app().cards.labels(self.0.rights()),
        }
    }

    /// One card.
    pub fn get(&self, id: &str) -> Result<Card> {
        self.0.app().cards.get(id, self.0.rights()).map(Card::with_image_links)
    }

    /// Those of these cards that are still there, in this order.
    pub fn get_many<'b>(&self, ids: impl Iterator<Item = &'b str>) -> Result<Vec<Card>> {
        let ids: Vec<&str> = ids.collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut cards = self.0.app().cards.store()?.get_many(&ids, Images::Links)?;
        cards.retain(|card| self.0.rights().sees_card(card));
        Ok(cards)
    }

    /// One picture of a card.
    pub fn image(&self, id: &str, n: usize) -> Result<Image> {
        self.0.app().cards.image(&image_link(id, n), self.0.rights())
    }

    /// Makes a card.
    pub fn create(&self, new: NewCard) -> Result<Card> {
        self.0.app().cards.create(new, self.0.rights(), &self.actor())
    }

    /// Changes a card.
    pub fn update(&self, id: &str, change: CardChange) -> Result<Card> {
        self.0.app().cards.update(id, change, self.0.rights(), &self.actor())
    }

    /// Turns a flag of a card over.
    pub fn toggle(&self, id: &str, flag: Flag) -> Result<Card> {
        self.0.app().cards.toggle(id, flag, self.0.rights(), &self.actor())
    }

    /// Moves a card.
    pub fn arrange(&self, id: &str, place: &Place) -> Result<()> {
        self.0.app().cards.arrange(id, place, self.0.rights(), &self.actor())
    }

    /// Deletes a card. Returns the change, for whoever may take it back.
    pub fn delete(&self, id: &str) -> Result<Option<ChangeId>> {
        let app = self.0.app();
        let pid = app.store.items.find(Kind::Card, id)?.map(|item| item.pid);
        app.cards.delete(id, self.0.rights(), &self.actor())?;
        let Some(pid) = pid.filter(|_| self.may_undo()) else { return Ok(None) };
        let last = app.store.revisions.of_item(pid, None, 1)?;
        Ok(last.first().map(|(change, _)| change.id))
    }

    /// The number of a card, for its history.
    pub fn pid(&self, id: &str) -> Result<Option<Pid>> {
        let item = self.0.app().store.items.find(Kind::Card, id)?;
        Ok(item.map(|item| item.pid).filter(|_| self.may_undo()))
    }
}
