//! Files beside notes, for whoever may read a note that shows them.

use std::path::PathBuf;

use super::{App, notes::Opened, rights::Rights};
use crate::{
    domain::{Pid, Result},
    markdown::links::{LinkKind, LinkTarget},
    vault,
};

impl App {
    /// The file that a note shows or links to under this path. An attachment has the readers of the
    /// notes that show it: a path that neither this note nor one that it embeds has is refused, and
    /// so is everything outside the vault.
    pub fn attachment(&self, pid: Pid, path: &str, rights: &Rights) -> Result<Option<PathBuf>> {
        let Some(opened) = self.open_pid(pid, rights)? else { return Ok(None) };
        if let Some(file) = self.attached(&opened, path)? {
            return Ok(Some(file));
        }
        let Some(row) = &opened.page else { return Ok(None) };
        let library = self.library(rights)?;
        let embeds = opened.note.links().iter().filter(|link| link.kind == LinkKind::Embed);
        for target in embeds.map(|link| LinkTarget::wiki(&link.dest)) {
            let page = library.resolve(&row.vault, Some(&row.facts.page.path), &target.path);
            let Some(page) = page else { continue };
            if let Some(embedded) = self.open_pid(page.pid, rights)?
                && let Some(file) = self.attached(&embedded, path)?
            {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    fn attached(&self, opened: &Opened, path: &str) -> Result<Option<PathBuf>> {
        let Some(row) = &opened.page else { return Ok(None) };
        let shows = opened
            .note
            .links()
            .iter()
            .filter_map(|link| link.target())
            .any(|target| target.path == path);
        if !shows {
            return Ok(None);
        }
        let root = self.sources.root(&row.vault)?;
        Ok(vault::attachment(&root, &row.facts.page.path, path))
    }
}
