//! Reads the files of a vault into pages, on all cores.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::ParsedPages;
use crate::{
    app::Sources,
    domain::{Page, Progress, VaultPath},
    markdown::Note,
    store::pages::{Facts, NewPage, VaultRow},
    telemetry::metric,
    vault::{self, NoteFile, Reason, TextFile},
};

/// Headings that an overview of a note shows.
const MAX_TOC: usize = 30;

/// A note that takes longer than this to read is named by `doctor`.
const SLOW: Duration = Duration::from_secs(1);

impl Sources {
    /// Reads the files with these numbers.
    pub(super) fn read_all(
        &self,
        row: &VaultRow,
        files: &[NoteFile],
        which: &[usize],
        progress: &dyn Progress,
    ) -> HashMap<usize, Result<NewPage, Reason>> {
        if which.is_empty() {
            return HashMap::new();
        }
        let bytes = which.iter().map(|at| files[*at].stamp.size).sum();
        let keep = ParsedPages::has_room_for(which.len(), bytes);
        let next = AtomicUsize::new(0);
        let pages = Mutex::new(HashMap::with_capacity(which.len()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores.min(which.len().div_ceil(8)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&file) = which.get(at) else { return };
                        let page = self.read_page(row, &files[file], keep);
                        pages.lock().unwrap_or_else(PoisonError::into_inner).insert(file, page);
                        if at.is_multiple_of(256) {
                            progress.report(at as u64, Some(which.len() as u64), "reading notes");
                        }
                    }
                });
            }
        });
        pages.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and parses one file. With `keep`, the parsed note waits for the index.
    pub(super) fn read_page(
        &self,
        row: &VaultRow,
        file: &NoteFile,
        keep: bool,
    ) -> Result<NewPage, Reason> {
        let started = Instant::now();
        let read = match row.is_hosted() {
            true => self
                .note_file(row, &file.path)
                .unwrap_or_else(|error| Err(Reason::Unreadable(error.message)))?,
            false => vault::read(&file.file, self.config.limits.note_bytes)?,
        };
        let mut page = self.new_page(&row.name, &file.path, &read, keep);
        let took = started.elapsed();
        page.facts.slow_ms =
            (took > SLOW).then(|| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        Ok(page)
    }

    /// A page as the registry keeps it, from its text. With `keep`, the parsed note waits for the
    /// index.
    pub(in crate::app) fn new_page(
        &self,
        vault: &str,
        path: &VaultPath,
        file: &TextFile,
        keep: bool,
    ) -> NewPage {
        let (page, note) = parse_page(vault, path, &file.text);
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
        let toc =
            outline.children(outline.root()).take(MAX_TOC).map(|s| s.address.clone()).collect();
        if keep && page.searchable {
            self.parsed.keep(vault, path.as_str(), file.hash, note, file.text.len());
        }
        NewPage {
            vault: vault.to_owned(),
            path: path.as_str().to_owned(),
            size: file.stamp.size,
            mtime_ns: file.stamp.mtime_ns,
            hash: file.hash,
            facts: Facts { page, links, toc, slow_ms: None },
        }
    }
}

/// Parses a note and counts it.
pub(in crate::app) fn parse_page(vault: &str, path: &VaultPath, text: &str) -> (Page, Note) {
    metrics::counter!(metric::PAGES_PARSED).increment(1);
    vault::page(vault, path, text)
}
