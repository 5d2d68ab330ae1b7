//! Writes outside the library's database, with what they changed in the journal.

use std::sync::Arc;

use crate::{
    config,
    domain::{Kind, Pid, Result},
    store::revisions::{NewChange, PendingChange, Retention, Revision, Revisions, Turn},
};

/// Changes between two prunings of the journal.
const PRUNE_EVERY: i64 = 64;

/// An item at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemState {
    /// The item, where it is registered.
    pub pid: Option<Pid>,
    /// Its kind.
    pub kind: Kind,
    /// Its path, id or name.
    pub key: String,
    /// `None` when it does not exist.
    pub content: Option<Vec<u8>>,
}

/// The journal with its limits.
#[derive(Clone)]
pub struct Journal {
    revisions: Arc<dyn Revisions>,
    retention: Retention,
}

impl Journal {
    /// A journal with the limits of `[history]`.
    pub fn new(config: &config::History, revisions: Arc<dyn Revisions>) -> Self {
        let retention = Retention {
            days: config.days,
            changes: config.changes,
            bytes: config.megabytes.saturating_mul(1 << 20),
        };
        Self { revisions, retention }
    }

    /// Makes a change: `states` reads the items that `write` is about to change, and reads them
    /// again afterwards.
    pub fn write<T>(
        &self,
        change: &mut NewChange,
        states: impl Fn() -> Result<Vec<ItemState>>,
        write: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let turn = self.revisions.turn()?;
        self.write_in(&turn, change, states, write)
    }

    /// The same for somebody who holds the turn already.
    pub fn write_in<T>(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        states: impl Fn() -> Result<Vec<ItemState>>,
        write: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let before: Vec<Revision> = states()?.into_iter().map(begun_with).collect();
        let begun = self.revisions.begin(turn, change, &before)?;
        let written = write();
        // The write stands, or failed as a whole. Where the journal cannot record that now, the
        // change stays pending and is settled later.
        match states().and_then(|after| self.revisions.finish_as(begun, &settle(before, after))) {
            Ok(kept) => {
                if !kept {
                    change.id = None;
                }
                self.prune(change);
            }
            Err(error) => tracing::warn!(?error, "a change waits to be settled in the journal"),
        }
        written
    }

    /// Settles a change that its process did not finish: the items are as they are now.
    pub fn settle(
        &self,
        begun: PendingChange,
        before: Vec<Revision>,
        now: Vec<ItemState>,
    ) -> Result<()> {
        self.revisions.finish_as(begun, &settle(before, now)).map(drop)
    }

    /// Removes what is beyond the limits, once in a while. The change itself is done: a failure
    /// here is only logged.
    pub fn prune(&self, change: &NewChange) {
        if change.id.is_none_or(|id| id.0 % PRUNE_EVERY != 0) {
            return;
        }
        if let Err(error) = self.revisions.prune(&self.retention) {
            tracing::warn!(?error, "old changes stay in the journal for now");
        }
    }
}

fn begun_with(state: ItemState) -> Revision {
    Revision {
        pid: state.pid,
        kind: state.kind,
        key: state.key,
        moved_to: None,
        before: state.content,
        after: None,
    }
}

/// What the change did: the states before and after it, by kind and key.
fn settle(before: Vec<Revision>, after: Vec<ItemState>) -> Vec<Revision> {
    let mut after: std::collections::HashMap<(Kind, String), ItemState> =
        after.into_iter().map(|state| ((state.kind, state.key.clone()), state)).collect();
    let mut settled = before;
    for revision in &mut settled {
        let now = after.remove(&(revision.kind, revision.key.clone()));
        let (pid, content) = now.map_or((None, None), |now| (now.pid, now.content));
        revision.pid = pid.or(revision.pid);
        revision.after = content;
    }
    let mut new: Vec<Revision> = after
        .into_values()
        .map(|state| Revision { after: state.content.clone(), before: None, ..begun_with(state) })
        .collect();
    new.sort_by(|a, b| a.key.cmp(&b.key));
    settled.append(&mut new);
    settled
}
