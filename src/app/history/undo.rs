//! Taking changes back, and bringing versions back. Both are changes themselves.

use std::fmt;

use super::{
    fold::Folding,
    merge::{Reverted, revert},
    steps::Step,
    text,
};
use crate::{
    app::{App, edit::compact_diff},
    domain::{Error, Kind, Pid, Result, count},
    store::revisions::{Actor, Change, ChangeId, NewChange, Revision, Turn},
};

/// Items that are taken back together. The notes of a change are always taken together.
const BATCH: usize = 200;
/// Conflicts that are shown with their difference.
const MAX_SHOWN_CONFLICTS: usize = 3;

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change that was taken back, and the change that did it.
    pub undone: ChangeId,
    /// The change that reverts.
    pub change: ChangeId,
    /// How many items were taken back.
    pub items: usize,
    /// Items that somebody changed since, elsewhere: both changes are kept.
    pub merged: Vec<String>,
    /// Items that were left as they are.
    pub kept: Vec<Conflict>,
}

/// An item that somebody changed since in the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The item's path or title.
    pub name: String,
    /// The item.
    pub pid: Option<Pid>,
    /// What was changed since.
    pub diff: String,
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = count(self.items, "item");
        write!(f, "Undid change {}: {items} (change {}).", self.undone, self.change)?;
        if !self.merged.is_empty() {
            write!(f, " Kept what was changed since in: {}.", self.merged.join(", "))?;
        }
        if !self.kept.is_empty() {
            let names: Vec<&str> = self.kept.iter().map(|kept| kept.name.as_str()).collect();
            write!(f, " Left as they are, because they were changed since: {}.", names.join(", "))?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Outcome {
    steps: Vec<Step>,
    merged: Vec<String>,
    conflicts: Vec<Conflict>,
}

impl App {
    /// Takes a change back; without a number the newest that is in effect and takes back no other.
    /// An item that somebody changed since keeps that. Where both changed the same place nothing
    /// happens, or, with `keep_changed`, only the other items are taken back.
    pub fn undo(&self, id: Option<ChangeId>, keep_changed: bool, actor: &Actor) -> Result<Undone> {
        let turn = self.store.revisions.turn()?;
        self.recover_in(&turn)?;
        let target = match id {
            Some(id) => self.known_change(id)?,
            None => self.newest_in_effect()?,
        };
        let folding = Folding::of(|from| self.store.revisions.revisions(target.id, from, BATCH))?;
        let mut shown = Vec::new();
        let mut conflicts = 0;
        self.each_batch(&target, &folding, |batch, _| {
            let outcome = self.plan(batch)?;
            conflicts += outcome.conflicts.len();
            let room = MAX_SHOWN_CONFLICTS.saturating_sub(shown.len());
            shown.extend(outcome.conflicts.into_iter().take(room));
            Ok(())
        })?;
        if conflicts > 0 && !keep_changed {
            return Err(refused(&target, folding.items(), conflicts, &shown));
        }
        let mut change = NewChange::new(actor, format!("undo change {}", target.id));
        change.undoes = Some(target.id);
        // An undo that was interrupted goes on.
        change.id = self.store.revisions.undone_in_part_by(target.id)?;
        let mut items = self.taken_before(&change)?;
        let (mut merged, mut kept) = (Vec::new(), Vec::new());
        let taken = self.each_batch(&target, &folding, |batch, is_last| {
            let outcome = self.plan(batch)?;
            let steps = outcome.steps.len();
            merged.extend(outcome.merged);
            kept.extend(outcome.conflicts);
            change.in_part = !is_last;
            self.take(&turn, &mut change, outcome.steps)?;
            items += steps;
            Ok(())
        });
        taken.map_err(|error| stopped_at(&target, folding.items(), items, error))?;
        self.complete(&turn, &mut change)?;
        let Some(done) = change.id else { return Err(self.nothing_to_undo(&target)?) };
        self.journal.prune(&change);
        Ok(Undone { undone: target.id, change: done, items, merged, kept })
    }

    /// How many items the runs before took back, where this change continues one.
    fn taken_before(&self, change: &NewChange) -> Result<usize> {
        let Some(id) = change.id else { return Ok(0) };
        Ok(self.store.revisions.get(id)?.map_or(0, |made| made.revisions))
    }

    /// Marks an undo as whole whose last part had nothing to take back.
    fn complete(&self, turn: &Turn<'_>, change: &mut NewChange) -> Result<()> {
        let revisions = &self.store.revisions;
        let Some(id) = change.id else { return Ok(()) };
        if revisions.get(id)?.is_some_and(|made| made.in_part) {
            change.in_part = false;
            revisions.finish(revisions.begin(turn, change, &[])?)?;
        }
        Ok(())
    }

    /// Makes an item what it was after a change; 0 is before the oldest change that is known.
    /// Returns the change that did it.
    pub fn restore(&self, pid: Pid, version: ChangeId, actor: &Actor) -> Result<ChangeId> {
        let turn = self.store.revisions.turn()?;
        self.recover_in(&turn)?;
        let (revision, content) = self.version_of(pid, version)?;
        let Some(content) = content else {
            return Err(Error::invalid_params(format!(
                "`{}` does not exist in version {version}; restore another version, or delete it",
                revision.key
            )));
        };
        let step = self.step_to(&revision, Some(content))?;
        if step.now == step.wanted {
            return Err(Error::invalid_params(format!(
                "`{}` is the same as in version {version}; nothing was changed",
                step.key
            )));
        }
        let mut change = NewChange::new(actor, format!("restore version {version}"));
        self.take(&turn, &mut change, vec![step])?;
        self.journal.prune(&change);
        change.id.ok_or_else(|| Error::internal("the journal recorded no change"))
    }

    /// The content of an item after a change, with a revision that names the item.
    pub(super) fn version_of(
        &self,
        pid: Pid,
        version: ChangeId,
    ) -> Result<(Revision, Option<Vec<u8>>)> {
        let revisions = &self.store.revisions;
        if version.0 == 0 {
            let oldest = revisions.oldest_of_item(pid)?;
            let (_, revision) = oldest.ok_or_else(|| no_version(pid, version))?;
            let content = revision.before.clone();
            return Ok((revision, content));
        }
        let (_, revision) =
            revisions.of_change(pid, version)?.ok_or_else(|| no_version(pid, version))?;
        let content = revision.after.clone();
        Ok((revision, content))
    }

    fn known_change(&self, id: ChangeId) -> Result<Change> {
        let found = self.store.revisions.get(id)?.filter(|change| !change.pending);
        found.ok_or_else(|| {
            Error::invalid_params(format!(
                "there is no change {id}; `history` lists those that are kept"
            ))
        })
    }

    fn newest_in_effect(&self) -> Result<Change> {
        let mut before = None;
        loop {
            let page = self.store.revisions.recent(before, BATCH)?;
            let Some(last) = page.last() else {
                return Err(Error::invalid_params("there is no change to undo"));
            };
            before = Some(last.id);
            for change in page.into_iter().filter(|change| change.undoes.is_none()) {
                if self.store.revisions.undone_by(change.id)?.is_none() {
                    return Ok(change);
                }
            }
        }
    }

    fn nothing_to_undo(&self, target: &Change) -> Result<Error> {
        let id = target.id;
        Ok(Error::invalid_params(match self.store.revisions.undone_by(id)? {
            Some(by) => {
                format!("change {id} was undone already, by change {by}; undo {by} to have it back")
            }
            None => format!("nothing is left of change {id}; everything is as before it"),
        }))
    }

    /// Hands what a change did to each item to `work`, the notes all at once, others in batches,
    /// and whether they are the last.
    fn each_batch(
        &self,
        change: &Change,
        folding: &Folding,
        mut work: impl FnMut(&[Revision], bool) -> Result<()>,
    ) -> Result<()> {
        let (mut batch, mut from): (Vec<Revision>, usize) = (Vec::new(), 0);
        let mut folding = folding.clone();
        loop {
            let page = self.store.revisions.revisions(change.id, from, BATCH)?;
            if page.is_empty() {
                break;
            }
            from += page.len();
            batch.extend(page.into_iter().filter_map(|revision| folding.next(revision)));
            if batch.iter().all(|revision| revision.kind != Kind::Page) {
                work(&std::mem::take(&mut batch), from >= change.revisions)?;
            }
        }
        if batch.is_empty() { Ok(()) } else { work(&batch, true) }
    }

    /// What has to be done to take these revisions back.
    fn plan(&self, revisions: &[Revision]) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        for revision in revisions {
            let mut step = self.step_to(revision, None)?;
            // A move is taken back unless somebody moved the item again.
            if revision.moved_to.is_some() && step.key == revision.key_after() {
                step.to = Some(revision.key.clone());
            }
            let (before, after) = (revision.before.as_deref(), revision.after.as_deref());
            let name = text::name(revision.kind, &step.key, before.or(after));
            match revert(revision.kind, before, after, step.now.as_deref()) {
                Reverted::Already if step.to.is_none() => continue,
                Reverted::Already => step.wanted.clone_from(&step.now),
                Reverted::Clean(wanted) => step.wanted = wanted,
                Reverted::Merged(merged) => {
                    step.wanted = Some(merged);
                    outcome.merged.push(name);
                }
                Reverted::Conflict => {
                    let shown = |content| text::comparable(revision.kind, content);
                    let diff = match &step.now {
                        None => "it was deleted since".to_owned(),
                        now => compact_diff(&shown(after), &shown(now.as_deref())),
                    };
                    outcome.conflicts.push(Conflict { name, pid: revision.pid, diff });
                    continue;
                }
            }
            outcome.steps.push(step);
        }
        Ok(outcome)
    }

    /// A step from what the revision's item is now.
    fn step_to(&self, revision: &Revision, wanted: Option<Vec<u8>>) -> Result<Step> {
        let key = self.key_now(revision)?;
        let now = self.content_now(revision.kind, &key, revision.pid)?;
        Ok(Step { pid: revision.pid, kind: revision.kind, key, to: None, now, wanted })
    }
}

fn no_version(pid: Pid, version: ChangeId) -> Error {
    Error::invalid_params(format!(
        "pid {pid} has no version {version}; `history` with that pid lists its versions"
    ))
}

/// A failure after a part was taken back, which is in effect and does not count as the whole.
fn stopped_at(target: &Change, of: usize, items: usize, error: Error) -> Error {
    if items == 0 {
        return error;
    }
    let id = target.id;
    Error::new(
        error.code,
        format!(
            "{items} of the {of} items of change {id} are taken back, and the others are as they were: {}. `notewell undo {id}` goes on",
            error.reason()
        ),
    )
    .with_source(error)
}

/// Why nothing was undone, with what would have been lost.
fn refused(target: &Change, items: usize, conflicts: usize, shown: &[Conflict]) -> Error {
    let id = target.id;
    let mut message = match items {
        1 => format!("change {id} was not undone: the item was changed since in the same place."),
        _ => format!(
            "change {id} was not undone: {conflicts} of its {items} items {} changed since in the same place.",
            if conflicts == 1 { "was" } else { "were" }
        ),
    };
    for conflict in shown {
        let pid = conflict.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
        message += &format!("\n`{}`{pid}, changed since:\n{}", conflict.name, conflict.diff);
    }
    if conflicts > shown.len() {
        message += &format!("\n… and {} more", conflicts - shown.len());
    }
    message += "\nEdit it yourself, or overwrite it with `restore` of an older `version`";
    if items > 1 {
        message += "; `notewell undo --keep-changed` takes back the other items";
    }
    Error::conflict(message)
}
