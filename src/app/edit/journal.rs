//! Writes notes together with their record in the journal: begin, write, finish. A group of notes is
//! one change, which happens as a whole or not at all.

use std::path::{Path, PathBuf};

use super::spot::split_key;
use crate::{
    app::App,
    domain::{Error, Kind, Result, VaultPath},
    store::{
        pages::{PageChange, VaultRow},
        revisions::{ChangeId, NewChange, Revision, Turn},
    },
    vault::{self, Staged, Stamp, TextFile},
};

/// Where Obsidian moves what a person deletes.
pub(super) const TRASH: &str = ".trash/";

/// A note of a revision, with the file that it is in.
pub(super) struct PageFile {
    pub vault: VaultRow,
    pub path: VaultPath,
    pub file: PathBuf,
}

/// Why notes were not written.
enum Failure {
    /// Nothing was changed.
    Clean(Error),
    /// Some files are changed and could not be put back: the change stays pending.
    Unsettled(Error),
}

impl App {
    /// Writes the notes of one change, under the turn. Each must hold the content `before` its
    /// revision; otherwise nothing is changed. The change is in the journal under the number that
    /// is returned, and the next search finds what was written.
    pub fn write_pages(
        &self,
        turn: &Turn<'_>,
        change: &mut NewChange,
        revisions: &mut [Revision],
    ) -> Result<ChangeId> {
        if let Some(vault) = self.hosted_of(revisions)? {
            self.write_hosted_notes(&vault, change, revisions)?;
            return change.id.ok_or_else(|| Error::internal("the journal recorded no change"));
        }
        let journal = &self.sources.store.revisions;
        let begun = journal.begin(turn, change, revisions)?;
        match self.put_pages(begun.id, revisions) {
            Ok(()) => {}
            Err(Failure::Clean(error)) => {
                journal.abandon(begun)?;
                change.id = None;
                return Err(error);
            }
            Err(Failure::Unsettled(error)) => return Err(unsettled(error)),
        }
        let unnumbered = revisions.iter().any(|revision| revision.pid.is_none());
        if let Err(error) = self.record_pages(revisions) {
            // The files are written; the next look at the vault records them.
            tracing::warn!(error = ?error, "written notes wait to be recorded");
        }
        match unnumbered && revisions.iter().any(|revision| revision.pid.is_some()) {
            true => journal.finish_as(begun, revisions).map(drop),
            false => journal.finish(begun),
        }
        .map_err(unsettled)?;
        self.wake_index();
        Ok(begun.id)
    }

    /// Changes the files: all of them, or none.
    fn put_pages(&self, id: ChangeId, revisions: &[Revision]) -> std::result::Result<(), Failure> {
        let prefix = vault::staging_prefix(id.0);
        let mut staged = Vec::new();
        for revision in revisions {
            self.stage(revision, &prefix, &mut staged).map_err(Failure::Clean)?;
        }
        // What goes comes last.
        staged.sort_by_key(|(_, write)| write.is_removal());
        let kept = staged.partition_point(|(_, write)| !write.is_removal());
        let (new, gone) = staged.split_at_mut(kept);
        if let Err(refused) = commit_in_order(new, gone) {
            let mut reverted = Ok(());
            for (_, write) in staged.iter_mut().rev() {
                reverted = write.revert().and(reverted);
            }
            return Err(match reverted {
                Ok(()) => Failure::Clean(refused),
                Err(_) => Failure::Unsettled(refused),
            });
        }
        Staged::sync_all(staged.iter().map(|(_, write)| write)).map_err(Failure::Unsettled)
    }

    /// Prepares what a revision does to files.
    pub(super) fn stage(
        &self,
        revision: &Revision,
        prefix: &str,
        staged: &mut Vec<(String, Staged)>,
    ) -> Result<()> {
        let from = self.page_file(&revision.key)?;
        let mut add = |key: &str, write| staged.push((key.to_owned(), write));
        if let Some(moved_to) = &revision.moved_to {
            let (Some(before), Some(after)) = (&revision.before, &revision.after) else {
                return Err(Error::internal("a moved note has no content"));
            };
            let to = self.page_file(moved_to)?;
            add(moved_to, Staged::create(&to.file, after, Some(&from.file), prefix)?);
            add(&revision.key, Staged::remove(&from.file, before, prefix)?);
            return Ok(());
        }
        match (&revision.before, &revision.after) {
            (Some(before), Some(after)) => {
                add(&revision.key, Staged::replace(&from.file, before, after, prefix)?);
            }
            (None, Some(after)) => {
                add(&revision.key, Staged::create(&from.file, after, None, prefix)?);
            }
            (Some(before), None) => {
                add(&revision.key, Staged::remove(&from.file, before, prefix)?);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// The file of a page by its key in the journal.
    pub(super) fn page_file(&self, key: &str) -> Result<PageFile> {
        let (vault, path) = split_key(key)?;
        let vault = self.known_vault(vault)?;
        let file = self.sources.check_writable(&vault, &path)?;
        Ok(PageFile { vault, path, file })
    }

    /// Records written notes in the registry, so that a search sees them at once. Gives each
    /// revision the number of its page.
    pub(super) fn record_pages(&self, revisions: &mut [Revision]) -> Result<()> {
        let pages = &self.sources.store.pages;
        let mut changes = Vec::new();
        let mut overwritten = Vec::new();
        for revision in revisions.iter_mut().filter(|revision| revision.kind == Kind::Page) {
            let at = self.page_file(revision.key_after())?;
            let (vault, path) = split_key(&revision.key)?;
            if revision.pid.is_none() {
                revision.pid = pages.find(vault, path.as_str())?.map(|row| row.pid);
            }
            let hidden = self.sources.is_left_out(&at.vault, &at.path);
            match revision.after.as_deref().filter(|_| !hidden) {
                Some(after) => {
                    let Some(file) = written(&at.file, after) else { continue };
                    if file.stamp == Stamp::NONE {
                        overwritten.push((at.vault.clone(), PathBuf::from(at.path.as_str())));
                    }
                    let page = self.sources.new_page(&at.vault.name, &at.path, &file, true);
                    let page = Box::new(page);
                    changes.push(PageChange::Put { pid: revision.pid, page });
                }
                None => changes.extend(revision.pid.map(|pid| {
                    let (vault, path) = (vault.to_owned(), path.as_str().to_owned());
                    PageChange::Gone { pid, vault, path, as_of: None }
                })),
            }
        }
        pages.apply(&changes)?;
        for (vault, path) in overwritten {
            if let Err(error) = self.sources.sync_paths(&vault, &[path]) {
                tracing::warn!(vault = vault.name, ?error, "a note waits to be read again");
            }
        }
        for revision in revisions.iter_mut().filter(|revision| revision.pid.is_none()) {
            let (vault, path) = split_key(revision.key_after())?;
            revision.pid = pages.find(vault, path.as_str())?.map(|row| row.pid);
        }
        Ok(())
    }
}

/// Commits new files, and then removals. A file goes from one folder only when the other folder has
/// it on the disk: the names of different folders become durable in any order.
fn commit_in_order(new: &mut [(String, Staged)], gone: &mut [(String, Staged)]) -> Result<()> {
    commit_each(new)?;
    let elsewhere = |(_, write): &&(String, Staged)| {
        gone.iter().any(|(_, removed)| removed.folder() != write.folder())
    };
    Staged::sync_all(new.iter().filter(elsewhere).map(|(_, write)| write))?;
    commit_each(gone)
}

fn commit_each(staged: &mut [(String, Staged)]) -> Result<()> {
    for (key, write) in staged {
        if !write.commit()? {
            return Err(Error::conflict(format!(
                "`{key}` was changed by somebody else at this moment; nothing was changed. Read it again"
            )));
        }
    }
    Ok(())
}

/// A failure after files were changed: the next write completes the change or takes it back.
fn unsettled(error: Error) -> Error {
    let why = error.reason();
    Error::storage(format!(
        "files are changed, but the change could not be finished: {why}. It is completed or taken back before the next one; read the notes before you repeat it"
    ))
    .with_source(error)
}

/// A file that was just written, with its stamp; [`Stamp::NONE`] when somebody wrote to it since, so
/// that their text is read. `None` when it is no text.
fn written(file: &Path, bytes: &[u8]) -> Option<TextFile> {
    let text = String::from_utf8(bytes.to_vec()).ok()?;
    let hash = vault::read::hash(bytes);
    // The stamp and the text of one reading: between two, somebody may have written.
    let now = vault::read(file, u64::MAX).ok().filter(|now| now.hash == hash);
    Some(TextFile { stamp: now.map_or(Stamp::NONE, |now| now.stamp), hash, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test's own file")]
    fn a_note_has_the_stamp_of_what_we_wrote_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("чай.md");
        std::fs::write(&file, "our words").unwrap();
        let ours = written(&file, b"our words").unwrap();
        assert_eq!(ours.stamp, Stamp::of(&std::fs::metadata(&file).unwrap()));
        // As many bytes, saved by somebody else before we look.
        std::fs::write(&file, "the words").unwrap();
        let theirs = written(&file, b"our words").unwrap();
        assert_eq!((theirs.stamp, theirs.hash), (Stamp::NONE, ours.hash));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(written(&file, b"our words").unwrap().stamp, Stamp::NONE);
    }
}
