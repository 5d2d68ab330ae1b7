//! Writes to a hosted vault: files, pages, log and journal in one transaction.

use std::collections::HashMap;

use crate::{
    app::{App, edit::split_key, vaults::files},
    domain::{Error, Kind, Result, Timestamp, VaultPath},
    store::{
        hosted::{Expected, FileStep, HostedWrite},
        pages::{PageChange, Skipped, VaultRow},
        revisions::{NewChange, Revision},
    },
    vault::{Stamp, read::hash, read::text_of},
};

impl App {
    /// The hosted vault that all of these notes are in; `None` when they are in folders.
    pub(in crate::app) fn hosted_of(&self, revisions: &[Revision]) -> Result<Option<VaultRow>> {
        let mut found: Option<VaultRow> = None;
        for (at, revision) in revisions.iter().enumerate() {
            let (vault, _) = split_key(&revision.key)?;
            let row = self.sources.vault(vault)?.filter(VaultRow::is_hosted);
            match (&found, row) {
                (Some(known), Some(row)) if known.name == row.name => {}
                (None, Some(row)) if at == 0 => found = Some(row),
                (None, None) => {}
                _ => return Err(Error::internal("one change writes to several vaults")),
            }
        }
        Ok(found)
    }

    /// Writes notes as the editing tools and undo do: each must hold the content before its
    /// revision.
    pub(in crate::app) fn write_hosted_notes(
        &self,
        vault: &VaultRow,
        change: &mut NewChange,
        revisions: &mut [Revision],
    ) -> Result<()> {
        let mtime_ns = now_ns();
        let mut steps = Vec::new();
        for revision in revisions.iter() {
            let (_, path) = split_key(&revision.key)?;
            let (_, to) = split_key(revision.key_after())?;
            let expected = revision.before.as_deref().map_or(Expected::Absent, content);
            let put = |path, bytes: &[u8], expected| FileStep::Put {
                path,
                bytes: bytes.to_vec(),
                mtime_ns,
                expected,
            };
            match (&revision.before, &revision.after) {
                (Some(before), Some(after)) if revision.moved_to.is_some() => {
                    steps.push(FileStep::Move { from: path, to: to.clone(), expected });
                    if before != after {
                        steps.push(put(to, after, Expected::Any));
                    }
                }
                (_, Some(after)) => steps.push(put(to, after, expected)),
                (Some(_), None) => steps.push(FileStep::Remove { path, expected }),
                (None, None) => {}
            }
        }
        self.write_hosted(vault, &steps, change, revisions)
    }

    /// Takes steps, with the revisions of the notes that they change.
    pub(super) fn write_hosted(
        &self,
        vault: &VaultRow,
        steps: &[FileStep],
        change: &mut NewChange,
        revisions: &mut [Revision],
    ) -> Result<()> {
        let mtimes = self.mtimes(vault, steps)?;
        let mut looked_at = Vec::new();
        let mut skipped = Vec::new();
        let mut pages = Vec::new();
        for revision in revisions.iter_mut().filter(|revision| revision.kind == Kind::Page) {
            let (_, from) = split_key(&revision.key)?;
            let (_, to) = split_key(revision.key_after())?;
            if revision.pid.is_none() {
                let known = self.store.pages.find(&vault.name, from.as_str())?;
                revision.pid = known.map(|row| row.pid);
            }
            looked_at.extend([from.as_str().to_owned(), to.as_str().to_owned()]);
            let gone = |pid| PageChange::Gone { pid, path: from.as_str().to_owned() };
            let after = revision.after.as_ref().filter(|_| files::is_page(to.as_str()));
            let read = after.map(|bytes| {
                let mtime_ns = mtimes.get(to.as_str()).copied().unwrap_or_default();
                let stamp = Stamp { size: bytes.len() as u64, mtime_ns };
                text_of(bytes.clone(), stamp, self.config.limits.note_bytes)
            });
            match read {
                Some(Ok(file)) => {
                    let page = self.sources.new_page(&vault.name, &to, &file, true);
                    pages.push(PageChange::Put { pid: revision.pid, page: Box::new(page) });
                }
                Some(Err(reason)) => {
                    pages.extend(revision.pid.map(gone));
                    skipped.push(Skipped {
                        vault: vault.name.clone(),
                        path: to.as_str().to_owned(),
                        kind: reason.kind().to_owned(),
                        reason: reason.to_string(),
                    });
                }
                None => pages.extend(revision.pid.map(gone)),
            }
        }
        let limits = self.hosted_limits();
        let write = HostedWrite { vault: &vault.name, steps, pages: &pages, limits };
        self.store.hosted.write(&write, change, revisions)?;
        if !looked_at.is_empty() {
            self.store.pages.set_skipped(&vault.name, Some(&looked_at), &skipped)?;
        }
        if !pages.is_empty() {
            self.wake_index();
        }
        self.journal.prune(change);
        Ok(())
    }

    /// The modification time that each written or moved file has afterwards.
    fn mtimes(&self, vault: &VaultRow, steps: &[FileStep]) -> Result<HashMap<String, i64>> {
        let mut known: HashMap<String, i64> = HashMap::new();
        for step in steps {
            match step {
                FileStep::Put { path, mtime_ns, .. } => {
                    known.insert(path.as_str().to_owned(), *mtime_ns);
                }
                FileStep::Move { from, to, .. } | FileStep::Copy { from, to } => {
                    let files = match self.store.hosted.stat(&vault.name, from.as_str())? {
                        Some(file) if file.is_folder() => {
                            self.store.hosted.below(&vault.name, from.as_str())?
                        }
                        file => file.into_iter().collect(),
                    };
                    for file in files {
                        let rest = &file.path[from.as_str().len()..];
                        known.insert(format!("{to}{rest}"), file.mtime_ns);
                    }
                }
                FileStep::Folder { .. } | FileStep::Remove { .. } => {}
            }
        }
        Ok(known)
    }
}

/// The time now, in nanoseconds.
pub(super) fn now_ns() -> i64 {
    Timestamp::now().0.saturating_mul(1_000_000)
}

pub(super) fn content(bytes: &[u8]) -> Expected {
    Expected::Content(hash(bytes))
}

/// The key of a note in the registry and the journal.
pub(super) fn key(vault: &VaultRow, path: &VaultPath) -> String {
    format!("{}/{path}", vault.name)
}
