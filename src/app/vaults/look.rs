//! Brings the registry up to what is on disk: a whole vault, or the paths that a watcher named.
//!
//! A page is gone only when its folder was listed, the file is not in it, and nobody recorded the
//! page since. What cannot be read, and a vault that cannot be listed or is suddenly empty, leave the
//! library as it was.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use super::files;
use crate::{
    app::Sources,
    domain::{Error, Pid, Progress, Result, Silent, Timestamp, VaultPath},
    store::{
        items::Synced,
        pages::{NewPage, PageChange, PageRow, Skipped, VaultProblem, VaultRow},
    },
    vault::{
        self, NoteFile, Reason, Scope, Stamp, Walk,
        identity::{self, Known, Pairing, Seen},
        read::UNREADABLE,
    },
};

/// Pages in one transaction: few enough that another process's write is not kept waiting.
const BATCH: usize = 2000;

/// A changed note above this size is read after the others of its batch, so that they do not wait.
const LARGE: u64 = 1 << 20;

/// How often a vault is looked at again because pages of it were recorded meanwhile.
const LOOKS: usize = 4;

/// A look at a vault: what was known of it and what is on disk.
struct Look<'a> {
    row: &'a VaultRow,
    /// The position of the change log before the look.
    as_of: i64,
    known: Vec<PageRow>,
    walk: Walk,
    /// Paths that the look before could not read.
    were_unreadable: HashSet<String>,
    /// The vault as a whole could not be read before.
    is_back: bool,
}

/// What came of a look.
struct Settled {
    synced: Synced,
    /// What was left out.
    skipped: Vec<Skipped>,
    /// Somebody else recorded a page that this look did not see any more; another look decides.
    is_outdated: bool,
}

impl Sources {
    /// Looks at a whole vault: by size and time first, by content where those changed.
    pub fn sync_vault(&self, row: &VaultRow, progress: &dyn Progress) -> Result<Synced> {
        self.look_at_vault(row, false, progress)
    }

    /// As [`Self::sync_vault`]; a vault that has no notes any more is taken to be empty.
    pub fn accept_empty(&self, row: &VaultRow, progress: &dyn Progress) -> Result<Synced> {
        self.look_at_vault(row, true, progress)
    }

    fn look_at_vault(
        &self,
        row: &VaultRow,
        accept_empty: bool,
        progress: &dyn Progress,
    ) -> Result<Synced> {
        look_until_settled(row, || self.look_once(row, accept_empty, progress))
    }

    /// Looks at a whole vault. `false` when another look has to decide.
    fn look_once(
        &self,
        row: &VaultRow,
        accept_empty: bool,
        progress: &dyn Progress,
    ) -> Result<(Synced, bool)> {
        let pages = &self.store.pages;
        let as_of = self.store.items.head()?;
        // Before the walk: what another process makes and records meanwhile may be in a folder that
        // was passed, and is not gone.
        let known = pages.of_vault(&row.name)?;
        let walk = self.list(row, &self.scope(row)?)?;
        self.remove_abandoned(&walk.unfinished);
        let hidden = walk.skipped.iter().any(|skipped| skipped.reason.is_unreadable());
        // A hosted vault cannot be away: what it does not list is gone.
        let accept_empty = accept_empty || row.is_hosted();
        if walk.files.is_empty() && !known.is_empty() && !hidden && !accept_empty {
            pages.set_problem(&row.name, Some(&VaultProblem::Empty))?;
            tracing::warn!(vault = row.name, "the vault is empty; its notes are kept");
            return Ok((Synced::default(), true));
        }
        let is_back = self.vault(&row.name)?.is_some_and(|row| row.problem.is_some());
        let were_unreadable = self.were_unreadable(&row.name)?;
        let look = Look { row, as_of, known, walk, were_unreadable, is_back };
        let Settled { synced, skipped, is_outdated } = self.settle(look, progress)?;
        pages.set_skipped(&row.name, None, &skipped)?;
        if is_outdated {
            return Ok((synced, false));
        }
        pages.set_problem(&row.name, None)?;
        match pages.mark_seen(&row.name, Timestamp::now()) {
            // Everything was read; that it was is worth less than the answer that waits for it.
            Err(error) if row.seen.is_some() => {
                tracing::warn!(vault = row.name, ?error, "could not record the look");
            }
            marked => marked?,
        }
        Ok((synced, true))
    }

    /// Looks at the paths that a watcher named. The rules of a whole look hold for them too.
    pub fn sync_paths(&self, row: &VaultRow, paths: &[PathBuf]) -> Result<Synced> {
        let is_large = |path: &&PathBuf| {
            let metadata = row.folder().join(path).symlink_metadata();
            metadata.is_ok_and(|metadata| metadata.len() > LARGE)
        };
        let (large, small): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(is_large);
        let mut total = Synced::default();
        let groups = std::iter::once(small).chain(large.into_iter().map(|path| vec![path]));
        for group in groups.filter(|group| !group.is_empty()) {
            total += look_until_settled(row, || self.sync_group(row, &group))?;
        }
        Ok(total)
    }

    /// Looks at some paths. `false` when another look has to decide.
    fn sync_group(&self, row: &VaultRow, paths: &[&PathBuf]) -> Result<(Synced, bool)> {
        let pages = &self.store.pages;
        let as_of = self.store.items.head()?;
        let only = paths.iter().map(|path| (*path).clone()).collect();
        let mut named = Vec::new();
        let mut known = Vec::new();
        for path in paths {
            named.push(path.to_string_lossy().into_owned());
            let Some(path) = path.to_str().and_then(|path| VaultPath::parse(path).ok()) else {
                continue;
            };
            known.extend(pages.find(&row.name, path.as_str())?);
        }
        // After what is known, as for a whole vault.
        let walk = self.list(row, &Scope { only: Some(only), ..self.scope(row)? })?;
        let were_unreadable = self.were_unreadable(&row.name)?;
        let look = Look { row, as_of, known, walk, were_unreadable, is_back: false };
        let Settled { synced, skipped, is_outdated } = self.settle(look, &Silent)?;
        pages.set_skipped(&row.name, Some(&named), &skipped)?;
        Ok((synced, !is_outdated))
    }

    /// Removes what writers left who were killed. Under the turn nobody of this library writes, and
    /// what is old is no other library's work.
    fn remove_abandoned(&self, unfinished: &[PathBuf]) {
        let mut abandoned = unfinished.iter().filter(|path| vault::is_abandoned(path)).peekable();
        if abandoned.peek().is_none() {
            return;
        }
        let Ok(Some(_turn)) = self.store.revisions.try_turn() else { return };
        // A change that waits to be settled needs what it set aside.
        let Ok(pending) = self.store.revisions.pending() else { return };
        let prefixes: Vec<String> =
            pending.iter().map(|begun| vault::staging_prefix(begun.id.0)).collect();
        let is_needed = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        for path in abandoned.filter(|path| !is_needed(path)) {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(%error, "a file that a killed writer left cannot be removed");
            }
        }
    }

    /// Lists a vault; one that cannot be listed is recorded as such.
    fn list(&self, row: &VaultRow, scope: &Scope) -> Result<Walk> {
        let walk = match row.is_hosted() {
            true => self.list_hosted(row, scope),
            false => vault::walk(row.folder(), scope),
        };
        if let Err(error) = &walk {
            let why = VaultProblem::Unreadable(error.message.clone());
            self.store.pages.set_problem(&row.name, Some(&why))?;
        }
        walk
    }

    /// The notes of a hosted vault. What a look at a folder leaves out for its size is left out
    /// here too.
    fn list_hosted(&self, row: &VaultRow, scope: &Scope) -> Result<Walk> {
        let wanted = |path: &str| {
            let only = scope.only.as_ref();
            only.is_none_or(|only| only.iter().any(|one| one.to_str() == Some(path)))
        };
        let mut walk = Walk::default();
        for file in self.store.hosted.below(&row.name, "")? {
            if file.is_folder() || !files::is_page(&file.path) || !wanted(&file.path) {
                continue;
            }
            if file.size > scope.limit {
                let reason = Reason::TooLarge { size: file.size, limit: scope.limit };
                walk.skipped.push(vault::Skipped { path: file.path, reason });
                continue;
            }
            walk.files.push(NoteFile {
                path: VaultPath::parse(&file.path)?,
                file: PathBuf::new(),
                stamp: Stamp { size: file.size, mtime_ns: file.mtime_ns },
            });
        }
        Ok(walk)
    }

    /// What of the folder is this vault's: all but the vaults inside it, which own their notes.
    fn scope(&self, row: &VaultRow) -> Result<Scope> {
        let vaults = self.store.pages.vaults()?;
        let Some(now) = vaults.iter().find(|now| now.name == row.name) else {
            return Err(Error::not_found(format!(
                "the vault `{}` is not in the library any more",
                row.name
            )));
        };
        if now.location != row.location {
            return Err(Error::conflict(format!(
                "the vault `{}` is read from `{}` now, which this process follows in a moment",
                row.name, now.location
            )));
        }
        Ok(Scope {
            without: inner_folders(row, vaults),
            ..Scope::whole(self.config.limits.note_bytes)
        })
    }

    /// The folders of the vaults inside this one.
    pub(super) fn inner_folders(&self, row: &VaultRow) -> Result<Vec<PathBuf>> {
        Ok(inner_folders(row, self.store.pages.vaults()?))
    }

    fn were_unreadable(&self, vault: &str) -> Result<HashSet<String>> {
        let skipped = self.store.pages.skipped()?;
        let unreadable = |skipped: &Skipped| skipped.vault == vault && skipped.kind == UNREADABLE;
        Ok(skipped.into_iter().filter(unreadable).map(|skipped| skipped.path).collect())
    }

    /// Whether the last look at a vault met files that it could not read.
    pub fn has_unreadable(&self, vault: &str) -> bool {
        self.were_unreadable(vault).is_ok_and(|paths| !paths.is_empty())
    }

    /// Decides what became of each page, and records it.
    fn settle(&self, mut look: Look<'_>, progress: &dyn Progress) -> Result<Settled> {
        let row = look.row;
        let mut skipped: Vec<Skipped> = look
            .walk
            .skipped
            .iter()
            .map(|skipped| left_out(row, &skipped.path, &skipped.reason))
            .collect();
        let mut files = std::mem::take(&mut look.walk.files);
        let suspects = {
            let seen: Vec<Seen<'_>> = files.iter().map(|file| seen(file, None)).collect();
            identity::suspects(&known_pages(&look.known), &seen)
        };
        let mut fresh: HashMap<String, NewPage> = HashMap::new();
        let mut dropped = HashSet::new();
        for (at, page) in self.read_all(row, &files, &suspects, progress) {
            let path = files[at].path.as_str().to_owned();
            match page {
                Ok(page) => {
                    fresh.insert(path, page);
                }
                Err(reason) => {
                    dropped.insert(path.clone());
                    // It went away after it was listed: simply gone.
                    if reason != Reason::Absent {
                        skipped.push(left_out(row, &path, &reason));
                    }
                }
            }
        }
        files.retain(|file| !dropped.contains(file.path.as_str()));
        // What cannot be read now is neither changed nor gone.
        let unreadable: HashSet<String> = skipped
            .iter()
            .filter(|skipped| skipped.kind == UNREADABLE)
            .map(|skipped| normal(&skipped.path))
            .collect();
        look.known.retain(|page| !is_at_or_below(&page.path, &unreadable));
        self.find_moved(&mut look, &mut files, &fresh)?;
        let mut changes = Vec::new();
        let mut gone = 0;
        let seen: Vec<Seen<'_>> = files
            .iter()
            .map(|file| seen(file, fresh.get(file.path.as_str()).map(|page| page.hash)))
            .collect();
        let paths: HashMap<Pid, &str> =
            look.known.iter().map(|page| (page.pid, page.path.as_str())).collect();
        for pairing in identity::decide(&known_pages(&look.known), &seen) {
            match pairing {
                Pairing::Same { pid, seen, touched } => {
                    let path = files[seen].path.as_str();
                    if let Some(page) = fresh.get(path) {
                        // The text is the same, and this version may read it differently.
                        if look
                            .known
                            .iter()
                            .any(|known| known.pid == pid && facts_differ(known, page))
                        {
                            let page = self.take(row, &mut fresh, &files[seen])?;
                            changes.push(PageChange::Put { pid: Some(pid), page: Box::new(page) });
                            continue;
                        }
                        self.parsed.forget(&row.name, path);
                    }
                    if touched {
                        let Stamp { size, mtime_ns } = files[seen].stamp;
                        changes.push(PageChange::Touched { pid, size, mtime_ns });
                    }
                    if look.is_back || is_at_or_below(path, &look.were_unreadable) {
                        changes.push(PageChange::Readable { pid });
                    }
                }
                Pairing::Gone { pid } => {
                    let path = paths.get(&pid).copied().unwrap_or_default().to_owned();
                    let (vault, as_of) = (row.name.clone(), Some(look.as_of));
                    changes.push(PageChange::Gone { pid, vault, path, as_of });
                    gone += 1;
                }
                Pairing::Changed { pid, seen } | Pairing::Moved { pid, seen } => {
                    let page = self.take(row, &mut fresh, &files[seen])?;
                    changes.push(PageChange::Put { pid: Some(pid), page: Box::new(page) });
                }
                Pairing::New { seen } => {
                    let page = self.take(row, &mut fresh, &files[seen])?;
                    changes.push(PageChange::Put { pid: None, page: Box::new(page) });
                }
            }
        }
        let mut total = Synced::default();
        // Pairings come in an order in which each half of a move or swap finds its place free.
        for batch in changes.chunks(BATCH) {
            total += self.store.pages.apply(batch)?;
        }
        Ok(Settled { synced: total, skipped, is_outdated: total.gone < gone })
    }

    /// Completes moves that this look saw only in part. A file that appeared may be a known page
    /// whose old place was not looked at, or was looked at before it moved.
    fn find_moved(
        &self,
        look: &mut Look<'_>,
        files: &mut Vec<NoteFile>,
        fresh: &HashMap<String, NewPage>,
    ) -> Result<()> {
        let known: HashSet<&str> = look.known.iter().map(|page| page.path.as_str()).collect();
        let appeared: Vec<[u8; 32]> = fresh
            .iter()
            .filter(|(path, _)| !known.contains(path.as_str()))
            .map(|(_, page)| page.hash)
            .collect();
        if appeared.is_empty() {
            return Ok(());
        }
        let listed: HashMap<&str, &Path> =
            files.iter().map(|file| (file.path.as_str(), file.file.as_path())).collect();
        let mut left = HashSet::new();
        let mut more = Vec::new();
        for page in self.store.pages.with_content(&look.row.name, &appeared)? {
            let absent = match listed.get(page.path.as_str()) {
                _ if look.row.is_hosted() => !self.has_file(look.row, &page.facts.page.path)?,
                Some(file) => is_absent(file),
                None => is_absent(&vault::locate(look.row.folder(), &page.facts.page.path)),
            };
            if !absent {
                continue;
            }
            if !known.contains(page.path.as_str()) {
                more.push(page);
            } else if !fresh.contains_key(&page.path) {
                left.insert(page.path);
            }
        }
        files.retain(|file| !left.contains(file.path.as_str()));
        more.sort_by_key(|page| page.pid);
        more.dedup_by_key(|page| page.pid);
        look.known.extend(more);
        Ok(())
    }

    fn take(
        &self,
        row: &VaultRow,
        fresh: &mut HashMap<String, NewPage>,
        file: &NoteFile,
    ) -> Result<NewPage> {
        match fresh.remove(file.path.as_str()) {
            Some(page) => Ok(page),
            None => self.read_page(row, file, true).map_err(|reason| {
                Error::internal(format!("could not read `{}`: {reason}", file.path))
            }),
        }
    }
}

/// Looks again while others record pages that a look did not see any more.
fn look_until_settled(row: &VaultRow, look: impl Fn() -> Result<(Synced, bool)>) -> Result<Synced> {
    let mut total = Synced::default();
    for _ in 0..LOOKS {
        let (synced, is_settled) = look()?;
        total += synced;
        if is_settled {
            return Ok(total);
        }
    }
    Err(Error::conflict(format!(
        "notes of the vault `{}` were recorded by somebody else while it was read; it is read again",
        row.name
    )))
}

fn known_pages(rows: &[PageRow]) -> Vec<Known<'_>> {
    rows.iter()
        .map(|page| Known {
            pid: page.pid,
            path: &page.path,
            stamp: Stamp { size: page.size, mtime_ns: page.mtime_ns },
            hash: page.hash,
        })
        .collect()
}

/// Whether the facts of a page differ from those that are known of it.
fn facts_differ(known: &PageRow, read: &NewPage) -> bool {
    let mut page = read.facts.page.clone();
    page.author = known.authorship.author_of(page.author.take());
    page != known.facts.page
}

fn inner_folders(row: &VaultRow, vaults: Vec<VaultRow>) -> Vec<PathBuf> {
    let is_inside = |other: &VaultRow| {
        other.folder() != row.folder() && other.folder().starts_with(row.folder())
    };
    vaults.into_iter().filter(is_inside).map(|other| other.folder().to_path_buf()).collect()
}

fn seen(file: &NoteFile, hash: Option<[u8; 32]>) -> Seen<'_> {
    Seen { path: file.path.as_str(), stamp: file.stamp, hash }
}

fn left_out(row: &VaultRow, path: &str, reason: &Reason) -> Skipped {
    Skipped {
        vault: row.name.clone(),
        path: path.to_owned(),
        kind: reason.kind().to_owned(),
        reason: reason.to_string(),
    }
}

/// A path as pages spell it.
fn normal(path: &str) -> String {
    VaultPath::parse(path).map_or_else(|_| path.to_owned(), |path| path.as_str().to_owned())
}

/// Whether a path, or a folder above it, is one of `paths`.
fn is_at_or_below(path: &str, paths: &HashSet<String>) -> bool {
    !paths.is_empty()
        && (paths.contains(path)
            || path.match_indices('/').any(|(at, _)| paths.contains(&path[..at])))
}

fn is_absent(file: &Path) -> bool {
    let error = file.symlink_metadata().err();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests;
