//! Changes to notes that a process began and did not finish: each is completed or taken back.

use std::collections::BTreeSet;

use super::spot::split_key;
use crate::{
    app::App,
    domain::Result,
    store::revisions::{PendingChange, Revision, Turn},
    vault,
};

/// Revisions that are read at a time.
const PAGE: usize = 500;

/// What is at the path of a note.
enum Content {
    /// The note's bytes; `None` where nothing is.
    Note(Option<Vec<u8>>),
    /// A folder.
    Other,
}

/// What a file says about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// As it was before.
    Before,
    /// As it is after.
    After,
    /// A move of which the new file is there and the old one is not gone yet.
    Half,
    /// A move of which the old file is set aside and the new one is not there.
    Aside,
    /// Neither: somebody wrote to it since.
    Foreign,
}

impl App {
    /// The revisions of a change that are not finished.
    pub(in crate::app) fn begun_revisions(&self, begun: PendingChange) -> Result<Vec<Revision>> {
        let mut all = Vec::new();
        loop {
            let from = begun.first + all.len();
            let page = self.sources.store.revisions.revisions(begun.id, from, PAGE)?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Settles a change to notes that its process began and did not finish. Call it under the turn:
    /// then that process is gone.
    pub(in crate::app) fn recover_change(
        &self,
        _turn: &Turn<'_>,
        begun: PendingChange,
        mut revisions: Vec<Revision>,
    ) -> Result<()> {
        let journal = &self.sources.store.revisions;
        let keys =
            revisions.iter().flat_map(|revision| [revision.key.as_str(), revision.key_after()]);
        let files = keys.filter_map(|key| Some(self.page_file(key).ok()?.file));
        // A hosted vault has no file.
        let files: Vec<_> = files.filter(|file| !file.as_os_str().is_empty()).collect();
        // A vault that is away before or after the look may have been away during it.
        self.check_vaults_there(&revisions)?;
        let states = revisions.iter().map(|revision| self.state(revision, begun));
        let states: Vec<State> = states.collect::<Result<_>>()?;
        self.check_vaults_there(&revisions)?;
        // The caller has no acknowledgement yet, so a partial change is rolled back.
        let is_done = states.iter().all(|state| *state == State::After);
        if is_done {
            vault::remove_staged(files, begun.id.0);
            self.record_pages(&mut revisions)?;
            journal.finish_as(begun, &revisions)?;
        } else {
            for (revision, state) in revisions.iter().zip(&states) {
                match state {
                    State::After => self.put_again(&reversed(revision), begun)?,
                    State::Half => self.remove_copy(revision, begun)?,
                    State::Aside => self.put_back(revision, begun)?,
                    State::Before | State::Foreign => {}
                }
            }
            // Last: a file that was set aside may be all that is left of a note.
            vault::remove_staged(files, begun.id.0);
            journal.abandon(begun)?;
        }
        tracing::info!(
            change = begun.id.0,
            completed = is_done,
            "settled a change that was not finished"
        );
        self.wake_index();
        Ok(())
    }

    /// Refuses while a vault of the change is away: what is not seen now is not gone.
    fn check_vaults_there(&self, revisions: &[Revision]) -> Result<()> {
        let mut vaults = BTreeSet::new();
        for revision in revisions {
            vaults.insert(split_key(&revision.key)?.0);
            vaults.insert(split_key(revision.key_after())?.0);
        }
        vaults.into_iter().try_for_each(|vault| self.sources.check_there(&self.known_vault(vault)?))
    }

    /// What is at a path. A folder is no content of a note, and a file below what is no folder is
    /// not there.
    fn content(&self, key: &str) -> Result<Content> {
        let (vault, path) = split_key(key)?;
        let row = self.known_vault(vault)?;
        match self.sources.file_bytes(&row, &path) {
            Ok(bytes) => Ok(Content::Note(bytes)),
            Err(_) if vault::locate(row.folder(), &path).is_dir() => Ok(Content::Other),
            Err(error) => Err(error),
        }
    }

    /// What the files of a revision hold now. One that cannot be read is an error.
    fn state(&self, revision: &Revision, begun: PendingChange) -> Result<State> {
        let Content::Note(from) = self.content(&revision.key)? else { return Ok(State::Foreign) };
        let Some(moved_to) = &revision.moved_to else {
            return Ok(match from {
                now if now == revision.before => State::Before,
                now if now == revision.after => State::After,
                _ => State::Foreign,
            });
        };
        let Content::Note(to) = self.content(moved_to)? else { return Ok(State::Foreign) };
        Ok(match (from, to) {
            (from, None) if from == revision.before => State::Before,
            (None, to) if to == revision.after => State::After,
            (from, to) if from == revision.before && to == revision.after => State::Half,
            (None, None) if self.is_set_aside(revision, begun) => State::Aside,
            _ => State::Foreign,
        })
    }

    /// Whether the file of a move was taken away by the change, and not by somebody else.
    fn is_set_aside(&self, revision: &Revision, begun: PendingChange) -> bool {
        let (Ok(from), Some(before)) = (self.page_file(&revision.key), &revision.before) else {
            return false;
        };
        vault::is_set_aside(&from.file, before, begun.id.0)
    }

    fn put_again(&self, revision: &Revision, begun: PendingChange) -> Result<()> {
        let mut staged = Vec::new();
        self.stage(revision, &vault::staging_prefix(begun.id.0), &mut staged)?;
        for (_, write) in &mut staged {
            write.commit()?;
            write.sync()?;
        }
        Ok(())
    }

    /// Writes the old file of a move again.
    fn put_back(&self, revision: &Revision, begun: PendingChange) -> Result<()> {
        let old = Revision {
            pid: revision.pid,
            kind: revision.kind,
            key: revision.key.clone(),
            moved_to: None,
            before: None,
            after: revision.before.clone(),
        };
        self.put_again(&old, begun)
    }

    /// Removes the new file of a move whose old file is still there.
    fn remove_copy(&self, revision: &Revision, begun: PendingChange) -> Result<()> {
        let copy = Revision {
            pid: None,
            kind: revision.kind,
            key: revision.key_after().to_owned(),
            moved_to: None,
            before: revision.after.clone(),
            after: None,
        };
        self.put_again(&copy, begun)
    }
}

/// The revision that takes another back.
fn reversed(revision: &Revision) -> Revision {
    Revision {
        pid: revision.pid,
        kind: revision.kind,
        key: revision.key_after().to_owned(),
        moved_to: revision.moved_to.as_ref().map(|_| revision.key.clone()),
        before: revision.after.clone(),
        after: revision.before.clone(),
    }
}
