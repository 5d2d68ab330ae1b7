//! Exports into the library: read, compared with what is there, judged, filed in batches.

use std::path::{Path, PathBuf};

use super::import::{self, Format};
use crate::{
    app::App,
    domain::{Bookmark, Progress, Result, Timestamp},
    store::bookmarks::Put,
};

/// Bookmarks that are judged and filed together: one transaction each.
const BATCH: usize = 1_024;

/// What an import did.
#[derive(Debug, Default)]
pub struct Imported {
    pub added: usize,
    pub updated: usize,
    /// Already there, with nothing new to say.
    pub present: usize,
    /// Records that were not taken: where, and why.
    pub skipped: Vec<(String, String)>,
    pub files: Vec<(PathBuf, Format)>,
    /// Files that could not be read. What was taken from them before stays.
    pub failed: Vec<(PathBuf, String)>,
}

impl App {
    /// Imports files. Whatever happens on the way, what was filed stays, and a repeat goes on.
    pub fn import_bookmarks(
        &self,
        paths: &[PathBuf],
        now: Timestamp,
        progress: &dyn Progress,
    ) -> Result<Imported> {
        let mut imported = Imported::default();
        for path in paths {
            let mut batch =
                Batch { app: self, waiting: Vec::with_capacity(BATCH), into: &mut imported };
            let read = batch.read(path, now, progress);
            // What came before a fault was read well.
            batch.file()?;
            match read {
                Ok(format) => imported.files.push((path.clone(), format)),
                Err(error) => imported.failed.push((path.clone(), error.message)),
            }
        }
        self.wake_index();
        Ok(imported)
    }
}

struct Batch<'a> {
    app: &'a App,
    waiting: Vec<Bookmark>,
    into: &'a mut Imported,
}

impl Batch<'_> {
    fn read(&mut self, path: &Path, now: Timestamp, progress: &dyn Progress) -> Result<Format> {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        import::read(path, now, &mut |found| {
            match found.bookmark {
                Ok(bookmark) => self.take(bookmark)?,
                Err(skipped) => {
                    self.into.skipped.push((format!("{name} {}", skipped.place), skipped.reason));
                }
            }
            if self.waiting.len() == BATCH {
                self.file()?;
                progress.report(found.at, Some(size.max(found.at)), &name);
            }
            Ok(())
        })
    }

    /// Holds back what the library knows already: judging it again would change nothing.
    fn take(&mut self, bookmark: Bookmark) -> Result<()> {
        if let Some((_, mut known)) = self.app.store.bookmarks.twin(&bookmark)? {
            let gains_an_id = known.has_made_id() && !bookmark.has_made_id();
            if !known.take(&bookmark) && !gains_an_id {
                self.into.present += 1;
                return Ok(());
            }
        }
        self.waiting.push(bookmark);
        Ok(())
    }

    fn file(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let filed = self.app.judge(std::mem::take(&mut self.waiting))?;
        for put in self.app.store.bookmarks.put(&filed)? {
            match put {
                Put::Added(_) => self.into.added += 1,
                Put::Updated(_) => self.into.updated += 1,
                Put::Same(_) => self.into.present += 1,
            }
        }
        Ok(())
    }
}
