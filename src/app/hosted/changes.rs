//! Joins the writes of one program that follow each other to one change: a sync of a thousand notes
//! is one entry of the history, not a thousand.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    app::App,
    domain::Result,
    store::revisions::{Actor, ChangeId, NewChange},
};

/// A pause after which a write begins a new change.
const PAUSE: Duration = Duration::from_secs(20);
/// Notes that one change takes in.
const MAX_NOTES: usize = 5000;
/// Changes that are remembered.
const MAX_OPEN: usize = 256;

/// The changes that further writes may join, by who writes to which vault.
#[derive(Default)]
pub struct OpenChanges(Mutex<HashMap<(String, String), Open>>);

struct Open {
    id: ChangeId,
    last: Instant,
    /// A note is in a change once, so that undoing the change is well defined.
    paths: HashSet<String>,
}

impl App {
    /// The change that a write to these notes belongs to.
    pub(super) fn joined_change(
        &self,
        vault: &str,
        actor: &Actor,
        paths: &[&str],
    ) -> Result<NewChange> {
        let mut change = NewChange::new(actor, format!("write files of `{vault}`"));
        let id = {
            let open = self.hosted_changes.0.lock().unwrap_or_else(PoisonError::into_inner);
            open.get(&(actor.who.clone(), vault.to_owned())).and_then(|open| {
                let fits = open.last.elapsed() < PAUSE
                    && open.paths.len() + paths.len() <= MAX_NOTES
                    && !paths.iter().any(|path| open.paths.contains(*path));
                fits.then_some(open.id)
            })
        };
        // Anything that happened since, such as its undo, ends it.
        let newest = || self.store.revisions.recent(None, 1);
        if let Some(id) = id
            && newest()?.first().is_some_and(|newest| newest.id == id)
        {
            change.id = Some(id);
        }
        Ok(change)
    }

    /// Remembers a change that was made, for the next write.
    pub(super) fn remember_change(&self, vault: &str, change: &NewChange, paths: &[&str]) {
        let Some(id) = change.id else { return };
        let mut open = self.hosted_changes.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_OPEN {
            open.retain(|_, open| open.last.elapsed() < PAUSE);
        }
        let key = (change.actor.who.clone(), vault.to_owned());
        let known = open.entry(key).or_insert_with(|| Open {
            id,
            last: Instant::now(),
            paths: HashSet::new(),
        });
        if known.id != id {
            known.id = id;
            known.paths.clear();
        }
        known.last = Instant::now();
        known.paths.extend(paths.iter().map(|path| (*path).to_owned()));
    }
}
