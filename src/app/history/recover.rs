//! Changes that a process began and did not finish.

use std::{collections::BTreeMap, sync::PoisonError};

use crate::{
    app::App,
    domain::{Kind, Result},
    store::revisions::{PendingChange, Turn},
};

impl App {
    /// Settles unfinished changes, unless somebody is writing: then they may be theirs.
    pub fn recover(&self) -> Result<()> {
        if self.store.revisions.pending()?.is_empty() {
            return Ok(());
        }
        match self.store.revisions.try_turn()? {
            Some(turn) => self.recover_in(&turn),
            None => Ok(()),
        }
    }

    /// The same for the holder of the turn. Trouble with one change does not stop the others.
    pub(in crate::app) fn recover_in(&self, turn: &Turn<'_>) -> Result<()> {
        let mut waiting = BTreeMap::new();
        for begun in self.store.revisions.pending()? {
            if let Err(error) = self.settle(turn, begun) {
                waiting.insert(begun.id.0, error.message.clone());
                // Logged once, though every attempt may fail.
                let logged = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if logged.get(&begun.id.0) != Some(&error.message) {
                    tracing::warn!(change = begun.id.0, ?error, "an unfinished change waits");
                }
            }
        }
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = waiting;
        Ok(())
    }

    /// Notes are completed or taken back as a whole. A write to the cards or the prompts happens
    /// as a whole or not at all, so the items as they are now tell what it did.
    fn settle(&self, turn: &Turn<'_>, begun: PendingChange) -> Result<()> {
        let revisions = self.begun_revisions(begun)?;
        if revisions.iter().any(|revision| revision.kind == Kind::Page) {
            return self.recover_change(turn, begun, revisions);
        }
        let keys = |kind| {
            let of_kind = revisions.iter().filter(move |revision| revision.kind == kind);
            of_kind.map(|revision| revision.key.clone()).collect::<Vec<String>>()
        };
        let (cards, prompts) = (keys(Kind::Card), keys(Kind::Prompt));
        let mut now = Vec::new();
        // What is away now, such as on a drive that is not mounted yet, tells nothing.
        if !cards.is_empty() {
            self.cards.refuse_suspect()?;
            self.cards.sync()?;
            now.extend(self.cards.current(&cards)?);
        }
        if !prompts.is_empty() {
            self.refuse_suspect_prompts()?;
            self.sync_prompts()?;
            now.extend(self.prompt_states(&prompts)?);
        }
        self.journal.settle(begun, revisions, now)
    }
}
