//! All bookmarks as JSONL in our own words: reading it back gives the same bookmarks.

use std::{io::Write, path::Path};

use crate::{
    app::App,
    domain::{Error, Progress, Result, error::Doing},
    vault,
};

const PAGE: usize = 1_000;

impl App {
    /// Writes every bookmark into a new file. A file that is there stays as it is.
    pub fn export_bookmarks(&self, path: &Path, progress: &dyn Progress) -> Result<u64> {
        if path.exists() {
            return Err(Error::invalid_params(format!(
                "`{}` is there already; name a new file",
                path.display()
            )));
        }
        vault::check_folder_of(path)?;
        let total = self.store.items.count(Some(crate::domain::Kind::Bookmark))?;
        let folder = vault::folder_of(path);
        let file = tempfile::NamedTempFile::new_in(folder)
            .doing(format_args!("make a file in `{}`", folder.display()))?;
        let mut out = std::io::BufWriter::new(file);
        let (mut last, mut done) = (None, 0);
        loop {
            let page = self.store.bookmarks.list(last, PAGE)?;
            let Some((newest, _)) = page.last() else { break };
            last = Some(*newest);
            for (_, bookmark) in &page {
                serde_json::to_writer(&mut out, bookmark).doing("write a bookmark as JSON")?;
                out.write_all(b"\n").doing("write the export")?;
            }
            done += page.len() as u64;
            progress.report(done, Some(total), "exporting bookmarks");
        }
        let file = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .doing("write the export")?;
        file.as_file().sync_all().doing("write the export")?;
        file.persist_noclobber(path)
            .map_err(|error| error.error)
            .doing(format_args!("write `{}`", path.display()))?;
        vault::sync_folder(folder)?;
        Ok(done)
    }
}
