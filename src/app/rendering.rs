//! Where the links of a page lead when it is shown to somebody, and what its embeds show.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use super::{App, library::Library, notes::Opened, rights::Rights};
use crate::{
    domain::{Pid, Result, VaultPath},
    markdown::{
        html::{Embedded, Resolve, slug},
        links::LinkTarget,
    },
    store::pages::PageRow,
};

/// Resolves the links of one page for one viewer. A page that the viewer may not see is not linked.
pub struct Links<'a> {
    app: &'a App,
    rights: &'a Rights,
    library: Arc<Library>,
    from: Option<(&'a str, &'a VaultPath)>,
    /// Notes that were opened for an embed. Each is read once, however often it is embedded.
    opened: RefCell<HashMap<Pid, Option<Rc<Opened>>>>,
    /// Bytes of notes that may still be opened for embeds.
    budget: Cell<u64>,
}

/// Bytes of notes that are read for the embeds of one page, as a multiple of `result_bytes`.
const READ_AHEAD: u64 = 4;

impl<'a> Links<'a> {
    /// A renderer for what this caller may see.
    pub fn new(app: &'a App, rights: &'a Rights, page: Option<&'a PageRow>) -> Result<Self> {
        let from = page.map(|row| (row.vault.as_str(), &row.facts.page.path));
        Ok(Self {
            app,
            rights,
            library: app.library(rights)?,
            from,
            opened: RefCell::default(),
            budget: Cell::new(app.config.limits.result_bytes as u64 * READ_AHEAD),
        })
    }

    /// The note that is embedded; `None` when the viewer may not see it or the budget is spent.
    fn open(&self, pid: Pid) -> Option<Rc<Opened>> {
        if let Some(known) = self.opened.borrow().get(&pid) {
            return known.clone();
        }
        let size = self.app.store.pages.get(pid).ok().flatten().map_or(0, |row| row.size);
        let affordable = size <= self.budget.get();
        let opened = match affordable {
            true => self.app.open_pid(pid, self.rights).ok().flatten().map(Rc::new),
            false => None,
        };
        if affordable {
            self.budget.set(self.budget.get() - size);
        }
        self.opened.borrow_mut().insert(pid, opened.clone());
        opened
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
        let opened = self.open(page.pid)?;
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

    fn limit(&self) -> usize {
        self.app.config.limits.result_bytes
    }
}
