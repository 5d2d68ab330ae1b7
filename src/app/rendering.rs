//! Where the links of a page lead when it is shown to somebody, and what its embeds show.

use std::sync::Arc;

use super::{App, library::Library, view::View};
use crate::{
    domain::{Result, VaultPath},
    markdown::{
        html::{Embedded, Resolve, slug},
        links::LinkTarget,
    },
    store::pages::PageRow,
};

/// Resolves the links of one page for one viewer. A page that the viewer may not see is not linked.
pub struct Links<'a> {
    app: &'a App,
    view: View<'a>,
    library: Arc<Library>,
    from: Option<(&'a str, &'a VaultPath)>,
}

impl<'a> Links<'a> {
    pub fn new(app: &'a App, view: View<'a>, page: Option<&'a PageRow>) -> Result<Self> {
        let from = page.map(|row| (row.vault.as_str(), &row.facts.page.path));
        Ok(Self { app, view, library: app.library(&view)?, from })
    }

    fn is_picture(path: &str) -> bool {
        let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        matches!(ending.as_str(), "png" | "jpg" | "jpeg" | "gif" | "svg" | "webp" | "avif" | "bmp")
    }
}

impl Resolve for Links<'_> {
    fn link(&self, target: &LinkTarget) -> Option<String> {
        let place = target.heading.last().map(|heading| format!("#{}", slug(heading)));
        if target.path.is_empty() {
            return place;
        }
        let (vault, from) = self.from?;
        let page = self.library.resolve(vault, Some(from), &target.path)?;
        let path = self.app.sources.shown_path(vault, page.path.as_str()).ok()?;
        Some(self.app.href(&path) + &place.unwrap_or_default())
    }

    fn embed(&self, target: &LinkTarget) -> Option<Embedded> {
        if Self::is_picture(&target.path) {
            return Some(Embedded::Image(target.path.clone()));
        }
        let (vault, from) = self.from?;
        let page = self.library.resolve(vault, Some(from), &target.path)?;
        let opened = self.app.open_pid(page.pid, &self.view).ok()??;
        if let Some(id) = &target.block {
            let block = opened.note.block_ids().iter().find(|block| block.id == *id)?;
            return opened
                .text
                .get(block.range.clone())
                .map(|text| Embedded::Markdown(text.into()));
        }
        let section = opened.note.outline.find(&target.heading).ok()?;
        Some(Embedded::Markdown(opened.note.section(&opened.text, section).to_owned()))
    }
}
