//! Exports into the library: read, compared with what is there, judged, filed in batches.

use std::path::{Path, PathBuf};

use crate::{
    app::App,
    domain::{Bookmark, Code, Error, Progress, Result, Timestamp},
    import::{
        ImportReport,
        bookmarks::{self as import, Format},
    },
    store::{
        bookmarks::Put,
        revisions::{Actor, NewChange},
    },
};

/// Bookmarks that are judged and filed together: one transaction each.
const BATCH: usize = 1_024;
/// Bytes of records, as they are written, that are filed together. Parsed they take many times as
/// much memory.
const BATCH_BYTES: usize = 4 << 20;

impl App {
    /// Imports files. Whatever happens on the way, what was filed stays, and a repeat goes on.
    pub fn import_bookmarks(
        &self,
        paths: &[PathBuf],
        now: Timestamp,
        progress: &dyn Progress,
        actor: &Actor,
    ) -> Result<ImportReport> {
        let mut report = ImportReport::default();
        // All files and batches are one change.
        let mut change = NewChange::new(actor, "import bookmarks");
        for path in paths {
            let mut batch = Batch {
                app: self,
                waiting: Vec::with_capacity(BATCH),
                bytes: 0,
                report: &mut report,
                change: &mut change,
            };
            let read = batch.read(path, now, progress);
            // What came before a fault was read well.
            let filed = batch.file();
            filed.map_err(|error| report.cut_short(error))?;
            match read {
                Ok(format) => report.files.push((path.clone(), format.name().to_owned())),
                Err(error) if error.code == Code::Cancelled => {
                    report.stopped = true;
                    break;
                }
                // A fault of our own storage would repeat with every file.
                Err(error) if error.code.json_rpc() == -32603 => {
                    return Err(report.cut_short(error));
                }
                Err(error) => report.failed.push((path.clone(), error.plain().to_owned())),
            }
        }
        self.wake_index();
        Ok(report)
    }
}

struct Batch<'a> {
    app: &'a App,
    waiting: Vec<Bookmark>,
    bytes: usize,
    report: &'a mut ImportReport,
    change: &'a mut NewChange,
}

impl Batch<'_> {
    fn read(&mut self, path: &Path, now: Timestamp, progress: &dyn Progress) -> Result<Format> {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        import::read(path, now, &mut |found| {
            match found.bookmark {
                Ok(bookmark) => self.take(bookmark, found.bytes)?,
                Err(skipped) => {
                    self.report.skipped.push(format!("{name} {}", skipped.place), skipped.reason);
                }
            }
            if self.waiting.len() >= BATCH || self.bytes >= BATCH_BYTES {
                self.file()?;
                progress.report(found.at, Some(size.max(found.at)), &name);
            }
            match progress.stopped() {
                true => Err(Error::new(Code::Cancelled, "the import was stopped")),
                false => Ok(()),
            }
        })
    }

    /// Holds back what the library knows already: judging it again would change nothing.
    fn take(&mut self, bookmark: Bookmark, bytes: usize) -> Result<()> {
        if let Some((_, mut known)) = self.app.store.bookmarks.twin(&bookmark)? {
            let gains_an_id = known.has_made_id() && !bookmark.has_made_id();
            if !known.take(&bookmark) && !gains_an_id {
                self.report.unchanged += 1;
                return Ok(());
            }
        }
        self.bytes += bytes;
        self.waiting.push(bookmark);
        Ok(())
    }

    fn file(&mut self) -> Result<()> {
        self.bytes = 0;
        if self.waiting.is_empty() {
            return Ok(());
        }
        let filed = self.app.judge(std::mem::take(&mut self.waiting))?;
        let puts = self.app.store.bookmarks.put(&filed, self.change)?;
        self.app.journal.prune(self.change);
        for put in puts {
            match put {
                Put::Added(_) => self.report.added += 1,
                Put::Updated(_) => self.report.updated += 1,
                Put::Same(_) => self.report.unchanged += 1,
            }
        }
        Ok(())
    }
}
