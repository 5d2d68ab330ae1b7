//! Writes to a hosted vault: files, pages, log and journal in one transaction.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    app::{App, edit::split_key, vaults::files},
    domain::{Error, Kind, Pid, Result, Timestamp, VaultPath},
    store::{
        hosted::{Expected, FileStep, HostedFile, HostedWrite, TRASH},
        pages::{PageChange, Skipped, VaultRow},
        revisions::{NewChange, Revision},
    },
    vault::{Reason, Stamp, TextFile, read::hash, read::text_of},
};

/// A text, or why there is none.
type Read = Result<TextFile, Reason>;

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
            let after = revision.after.as_ref().filter(|_| files::is_page(to.as_str()));
            let read = after.map(|bytes| {
                let mtime_ns = mtimes.get(to.as_str()).copied().unwrap_or_default();
                self.text_of(bytes, mtime_ns)
            });
            let was = revision.pid.map(|pid| (pid, &from));
            let (change, left_out) = self.page_after(vault, was, &to, read);
            pages.extend(change);
            skipped.extend(left_out);
        }
        for (path, read) in self.unrecorded(vault, steps, revisions)? {
            let known = self.store.pages.find(&vault.name, path.as_str())?;
            let was = known.map(|row| (row.pid, &path));
            let (change, left_out) = self.page_after(vault, was, &path, read);
            pages.extend(change.filter(|change| !pages.contains(change)));
            skipped.extend(left_out);
            looked_at.push(path.as_str().to_owned());
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

    /// Whether the journal records what happens to a file: notes, within the size of notes.
    pub(super) fn is_recorded(&self, path: &VaultPath, size: usize) -> bool {
        files::is_page(path.as_str()) && size as u64 <= self.config.limits.note_bytes
    }

    /// A free name in the trash, which is none of those that are `taken`.
    pub(super) fn free_in_trash(
        &self,
        vault: &VaultRow,
        path: &VaultPath,
        taken: &dyn Fn(&str) -> bool,
    ) -> Result<VaultPath> {
        let name = path.file_name();
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
            _ => (name, String::new()),
        };
        for number in 1.. {
            let name = match number {
                1 => format!("{TRASH}/{stem}{ending}"),
                number => format!("{TRASH}/{stem} {number}{ending}"),
            };
            if !taken(&name) && self.store.hosted.stat(&vault.name, &name)?.is_none() {
                return VaultPath::parse(&name);
            }
        }
        Err(Error::internal("the trash has no free name"))
    }

    fn text_of(&self, bytes: &[u8], mtime_ns: i64) -> Read {
        let limit = self.config.limits.note_bytes;
        let stamp = Stamp { size: bytes.len() as u64, mtime_ns };
        match stamp.size > limit {
            true => Err(Reason::TooLarge { size: stamp.size, limit }),
            false => text_of(bytes.to_vec(), stamp, limit),
        }
    }

    /// What happens to a page whose file holds this afterwards, and why it is left out of the
    /// library. `was` is the page and where it was; `None` of `read` where no page is afterwards.
    fn page_after(
        &self,
        vault: &VaultRow,
        was: Option<(Pid, &VaultPath)>,
        path: &VaultPath,
        read: Option<Read>,
    ) -> (Option<PageChange>, Option<Skipped>) {
        let gone = was.map(|(pid, from)| {
            let (vault, path) = (vault.name.clone(), from.as_str().to_owned());
            PageChange::Gone { pid, vault, path, as_of: None }
        });
        match read {
            Some(Ok(file)) => {
                let page = Box::new(self.sources.new_page(&vault.name, path, &file, true));
                (Some(PageChange::Put { pid: was.map(|(pid, _)| pid), page }), None)
            }
            Some(Err(reason)) => {
                let skipped = Skipped {
                    vault: vault.name.clone(),
                    path: path.as_str().to_owned(),
                    kind: reason.kind().to_owned(),
                    reason: reason.to_string(),
                };
                (gone, Some(skipped))
            }
            None => (gone, None),
        }
    }

    /// What the steps leave at the paths of pages without a revision: a file that is too large for
    /// a note, or was before.
    fn unrecorded(
        &self,
        vault: &VaultRow,
        steps: &[FileStep],
        revisions: &[Revision],
    ) -> Result<BTreeMap<VaultPath, Option<Read>>> {
        let mut recorded = HashSet::new();
        for revision in revisions {
            recorded.insert((split_key(&revision.key)?.1, split_key(revision.key_after())?.1));
        }
        let is_recorded = |path: &VaultPath| recorded.iter().any(|(_, to)| to == path);
        let mut left: BTreeMap<VaultPath, Option<Read>> = BTreeMap::new();
        for step in steps {
            match step {
                FileStep::Put { path, .. } | FileStep::Remove { path, .. }
                    if is_recorded(path) || !files::is_page(path.as_str()) => {}
                FileStep::Put { path, bytes, mtime_ns, .. } => {
                    left.insert(path.clone(), Some(self.text_of(bytes, *mtime_ns)));
                }
                FileStep::Remove { path, .. } => {
                    left.insert(path.clone(), None);
                }
                FileStep::Copy { from, to, .. } => {
                    if files::is_page(to.as_str()) && !is_recorded(to) {
                        left.insert(to.clone(), self.text_at(vault, from.as_str())?);
                    }
                }
                FileStep::Move { from, to, .. } => {
                    for file in self.files_at(vault, from)? {
                        let old = VaultPath::parse(&file.path)?;
                        let new = format!("{to}{}", &file.path[from.as_str().len()..]);
                        let pair = (old, VaultPath::parse(&new)?);
                        if file.is_folder() || recorded.contains(&pair) {
                            continue;
                        }
                        let (old, new) = pair;
                        if files::is_page(new.as_str()) {
                            left.insert(new, self.text_at(vault, old.as_str())?);
                        }
                        if files::is_page(old.as_str()) {
                            left.insert(old, None);
                        }
                    }
                }
                FileStep::Check { .. } | FileStep::Folder { .. } => {}
            }
        }
        Ok(left)
    }

    /// The text of a file as it is now.
    fn text_at(&self, vault: &VaultRow, path: &str) -> Result<Option<Read>> {
        let found = self.store.hosted.read(&vault.name, path)?;
        Ok(found.map(|(file, bytes)| self.text_of(&bytes, file.mtime_ns)))
    }

    /// The file at a path, or everything below the folder there.
    fn files_at(&self, vault: &VaultRow, path: &VaultPath) -> Result<Vec<HostedFile>> {
        match self.store.hosted.stat(&vault.name, path.as_str())? {
            Some(file) if file.is_folder() => self.store.hosted.below(&vault.name, path.as_str()),
            file => Ok(file.into_iter().collect()),
        }
    }

    /// The modification time that each written or moved file has afterwards.
    fn mtimes(&self, vault: &VaultRow, steps: &[FileStep]) -> Result<HashMap<String, i64>> {
        let mut known: HashMap<String, i64> = HashMap::new();
        for step in steps {
            match step {
                FileStep::Put { path, mtime_ns, .. } => {
                    known.insert(path.as_str().to_owned(), *mtime_ns);
                }
                FileStep::Move { from, to, .. } | FileStep::Copy { from, to, .. } => {
                    for file in self.files_at(vault, from)? {
                        let rest = &file.path[from.as_str().len()..];
                        known.insert(format!("{to}{rest}"), file.mtime_ns);
                    }
                }
                FileStep::Check { .. } | FileStep::Folder { .. } | FileStep::Remove { .. } => {}
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
