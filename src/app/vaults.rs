//! Keeps the registry of pages equal to the folders: what changed while nobody looked, and what
//! changes now. The files are the truth; here is only what they were when last read.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::sources::Sources;
use crate::{
    domain::{Error, Progress, Result, Timestamp, VaultPath},
    store::{
        items::Synced,
        pages::{Facts, NewPage, PageChange, PageRow, VaultRow},
    },
    vault::{
        self, Found, Stamp, TextFile,
        identity::{self, Fate, Known, Seen},
    },
};

/// Pages in one transaction: few enough that another process's write is not kept waiting.
const BATCH: usize = 2000;

/// Headings that an overview shows at most.
const TOC: usize = 30;

impl Sources {
    /// Remembers the vaults of the config and the flags, and gives all that this library has.
    pub fn register_vaults(&self) -> Result<Vec<VaultRow>> {
        for wanted in &self.config.vault {
            self.add_vault(&wanted.path, Some(&wanted.name), wanted.poll)?;
        }
        self.store.pages.vaults()
    }

    /// Remembers a folder from now on.
    pub fn add_vault(&self, folder: &Path, name: Option<&str>, poll: bool) -> Result<VaultRow> {
        let root = folder.canonicalize().map_err(|error| {
            Error::invalid_params(format!(
                "the vault `{}` cannot be opened: {error}; make the folder or name another",
                folder.display()
            ))
        })?;
        if !root.is_dir() {
            return Err(Error::invalid_params(format!(
                "the vault `{}` is not a folder",
                root.display()
            )));
        }
        let name = match name.map(str::trim) {
            None | Some("") => {
                root.file_name().map_or("vault".into(), |name| name.to_string_lossy())
            }
            Some(name) => name.into(),
        };
        self.store.pages.add_vault(&name.replace('/', "-"), &root, poll)
    }

    /// Looks at a whole vault: by size and time first, by content where those changed.
    pub fn sync_vault(&self, row: &VaultRow, progress: &dyn Progress) -> Result<Synced> {
        let walk = vault::walk(&row.root, self.config.limits.note_bytes)?;
        let mut skipped: Vec<(String, String)> = walk
            .skipped
            .iter()
            .map(|skipped| (skipped.path.clone(), skipped.reason.to_string()))
            .collect();
        let known = self.store.pages.of_vault(&row.name)?;
        let synced = self.settle(row, &known, walk.files, &mut skipped, progress)?;
        self.store.pages.set_skipped(&row.name, &skipped)?;
        self.store.pages.mark_seen(&row.name, Timestamp::now())?;
        Ok(synced)
    }

    /// Looks at a few files that a watcher named.
    pub fn sync_paths(&self, row: &VaultRow, paths: &[PathBuf]) -> Result<Synced> {
        let mut known = Vec::new();
        let mut files = Vec::new();
        for path in paths {
            let Some(path) = path.to_str().and_then(|path| VaultPath::parse(path).ok()) else {
                continue;
            };
            known.extend(self.store.pages.find(&row.name, path.as_str())?);
            let file = vault::locate(&row.root, &path);
            if let Ok(metadata) = file.symlink_metadata()
                && metadata.is_file()
            {
                files.push(Found { path, file, stamp: Stamp::of(&metadata) });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        let mut skipped = Vec::new();
        let synced = self.settle(row, &known, files, &mut skipped, &crate::domain::Silent)?;
        if !skipped.is_empty() {
            // A file that cannot be read any more changes the list of what is left out.
            return self.sync_vault(row, &crate::domain::Silent).map(|more| Synced {
                new: synced.new + more.new,
                changed: synced.changed + more.changed,
                gone: synced.gone + more.gone,
            });
        }
        Ok(synced)
    }

    /// Decides what became of each page, and records it.
    fn settle(
        &self,
        row: &VaultRow,
        known: &[PageRow],
        mut files: Vec<Found>,
        skipped: &mut Vec<(String, String)>,
        progress: &dyn Progress,
    ) -> Result<Synced> {
        let pages: Vec<Known<'_>> = known
            .iter()
            .map(|page| Known {
                pid: page.pid,
                path: &page.path,
                stamp: Stamp { size: page.size, mtime_ns: page.mtime_ns },
                hash: page.hash,
            })
            .collect();
        let suspects = {
            let seen: Vec<Seen<'_>> = files.iter().map(|file| seen(file, None)).collect();
            identity::suspects(&pages, &seen)
        };
        let mut read = self.read_all(row, &files, &suspects, progress)?;
        // A file that cannot be read is named, and is no page.
        let unreadable: Vec<usize> =
            suspects.iter().copied().filter(|at| matches!(read.get(at), Some(Err(_)))).collect();
        for at in unreadable.iter().rev() {
            if let Some(Err(reason)) = read.remove(at) {
                skipped.push((files[*at].path.as_str().to_owned(), reason));
            }
        }
        let mut fresh: HashMap<String, NewPage> = read
            .into_iter()
            .filter_map(|(at, page)| {
                page.ok().map(|page| (files[at].path.as_str().to_owned(), page))
            })
            .collect();
        let mut position = 0;
        files.retain(|_| {
            position += 1;
            !unreadable.contains(&(position - 1))
        });
        let seen: Vec<Seen<'_>> = files
            .iter()
            .map(|file| seen(file, fresh.get(file.path.as_str()).map(|page| page.hash)))
            .collect();
        let mut changes = Vec::new();
        for fate in identity::decide(&pages, &seen) {
            match fate {
                Fate::Same { touched: false, .. } => {}
                Fate::Same { pid, seen, touched: true } => {
                    let Stamp { size, mtime_ns } = files[seen].stamp;
                    changes.push(PageChange::Touched { pid, size, mtime_ns });
                }
                Fate::Gone { pid } => changes.push(PageChange::Gone { pid }),
                Fate::Changed { pid, seen } | Fate::Moved { pid, seen } => {
                    let page = self.take(row, &mut fresh, &files[seen])?;
                    changes.push(PageChange::Put { pid: Some(pid), page: Box::new(page) });
                }
                Fate::New { seen } => {
                    let page = self.take(row, &mut fresh, &files[seen])?;
                    changes.push(PageChange::Put { pid: None, page: Box::new(page) });
                }
            }
        }
        let mut total = Synced::default();
        // Fates come in an order in which each half of a move or swap finds its place free; a swap
        // stays within one batch because moves come together at the start.
        for batch in changes.chunks(BATCH) {
            let synced = self.store.pages.apply(batch)?;
            total.new += synced.new;
            total.changed += synced.changed;
            total.gone += synced.gone;
        }
        Ok(total)
    }

    fn take(
        &self,
        row: &VaultRow,
        fresh: &mut HashMap<String, NewPage>,
        file: &Found,
    ) -> Result<NewPage> {
        match fresh.remove(file.path.as_str()) {
            Some(page) => Ok(page),
            None => self.read_page(row, file).map_err(|reason| {
                Error::internal(format!("could not read `{}`: {reason}", file.path))
            }),
        }
    }

    /// Reads files on all cores.
    fn read_all(
        &self,
        row: &VaultRow,
        files: &[Found],
        which: &[usize],
        progress: &dyn Progress,
    ) -> Result<HashMap<usize, std::result::Result<NewPage, String>>> {
        if which.is_empty() {
            return Ok(HashMap::new());
        }
        let next = AtomicUsize::new(0);
        let pages = Mutex::new(HashMap::with_capacity(which.len()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores.min(which.len().div_ceil(8)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&file) = which.get(at) else { return };
                        let page = self.read_page(row, &files[file]);
                        pages.lock().unwrap_or_else(PoisonError::into_inner).insert(file, page);
                        if at.is_multiple_of(256) {
                            progress.report(at as u64, Some(which.len() as u64), "reading notes");
                        }
                    }
                });
            }
        });
        Ok(pages.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn read_page(&self, row: &VaultRow, file: &Found) -> std::result::Result<NewPage, String> {
        let limit = self.config.limits.note_bytes;
        let TextFile { text, stamp, hash } =
            vault::read(&file.file, limit).map_err(|reason| reason.to_string())?;
        let (page, note) = vault::page(&row.name, &file.path, &text);
        let mut links: Vec<String> = note
            .links()
            .iter()
            .filter_map(|link| link.target())
            .map(|target| target.path)
            .filter(|path| !path.is_empty())
            .collect();
        links.sort();
        links.dedup();
        let outline = &note.outline;
        let toc = outline.children(outline.root()).take(TOC).map(|s| s.address.clone()).collect();
        Ok(NewPage {
            vault: row.name.clone(),
            path: file.path.as_str().to_owned(),
            size: stamp.size,
            mtime_ns: stamp.mtime_ns,
            hash,
            facts: Facts { page, links, toc },
        })
    }

    /// Where the files of a vault are.
    pub fn root(&self, vault: &str) -> Result<PathBuf> {
        let rows = self.store.pages.vaults()?;
        let row = rows.into_iter().find(|row| row.name == vault);
        row.map(|row| row.root)
            .ok_or_else(|| Error::internal(format!("the vault `{vault}` is not known any more")))
    }

    /// The text of a page as it is on disk now.
    pub fn page_text(&self, row: &PageRow) -> Result<TextFile> {
        let root = self.root(&row.vault)?;
        read_text(&root, row, self.config.limits.note_bytes)
    }
}

pub(super) fn read_text(root: &Path, row: &PageRow, limit: u64) -> Result<TextFile> {
    let path = &row.facts.page.path;
    vault::read(&vault::locate(root, path), limit)
        .map_err(|reason| Error::internal(format!("could not read the note `{path}`: {reason}")))
}

fn seen(file: &Found, hash: Option<[u8; 32]>) -> Seen<'_> {
    Seen { path: file.path.as_str(), stamp: file.stamp, hash }
}
