//! The links of a note as its editor needs them: who links here, and which of its own links lead
//! nowhere, with the nearest page or heading that there is.

use crate::{
    app::{App, library::Library, notes::Opened, rights::Rights},
    domain::{Pid, Result, VaultPath},
    markdown::{Link, LinkKind, LinkTarget, Note, html::slug, outline::likeness},
    store::pages::PageRow,
    vault,
};

/// Likeness of two names, in thousandths, from which one is offered for the other.
const NEAR: u32 = 400;

/// A link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The link's target as written.
    pub target: String,
    /// The nearest target that there is.
    pub nearest: Option<String>,
}

/// The links of one note.
#[derive(Debug, Default)]
pub struct NoteLinks {
    /// Paths of the notes that link here.
    pub backlinks: Vec<String>,
    /// Links of the note that lead nowhere.
    pub broken: Vec<BrokenLink>,
}

impl App {
    /// Who links to a note, and which of its links lead nowhere. Only what the caller sees.
    pub fn note_links(&self, opened: &Opened, rights: &Rights) -> Result<NoteLinks> {
        let Some(row) = &opened.page else { return Ok(NoteLinks::default()) };
        let backlinks = self.linking_pages(&row.vault, row.pid, rights)?;
        let library = self.library(rights)?;
        Ok(NoteLinks {
            backlinks,
            broken: self.broken_links(row, &opened.note, &library, rights, true),
        })
    }

    /// The paths of the pages that link to a page.
    pub(super) fn linking_pages(
        &self,
        vault: &str,
        pid: Pid,
        rights: &Rights,
    ) -> Result<Vec<String>> {
        let (incoming, _) = self.library(rights)?.neighbours(vault, pid);
        let mut paths = Vec::new();
        for pid in incoming {
            let row = self.sources.store.pages.get(pid)?;
            if let Some(row) = row.filter(|row| rights.sees(&row.facts.page)) {
                paths.push(self.sources.shown_path(&row.vault, &row.path)?);
            }
        }
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The links of a page that lead to no page, no heading and no file. With `offers`, each with the
    /// nearest page that there is, which takes a comparison with all of them.
    pub(in crate::app) fn broken_links(
        &self,
        row: &PageRow,
        note: &Note,
        library: &Library,
        rights: &Rights,
        offers: bool,
    ) -> Vec<BrokenLink> {
        let mut broken: Vec<BrokenLink> = Vec::new();
        for link in note.links() {
            let Some(target) = link.target() else { continue };
            let found = self.broken_link(row, note, link, &target, library, rights);
            let found = found.map(|mut broken| {
                let is_page = library.resolve(&row.vault, Some(&row.facts.page.path), &target.path);
                if offers && !target.path.is_empty() && is_page.is_none() {
                    broken.nearest = library.nearest(&row.vault, &target.path, NEAR);
                }
                broken
            });
            if let Some(found) = found
                && !broken.contains(&found)
            {
                broken.push(found);
            }
        }
        broken
    }

    fn broken_link(
        &self,
        row: &PageRow,
        note: &Note,
        link: &Link,
        target: &LinkTarget,
        library: &Library,
        rights: &Rights,
    ) -> Option<BrokenLink> {
        let from = &row.facts.page.path;
        let written = || link.dest.trim_end_matches('\\').to_owned();
        if target.path.is_empty() {
            return missing_heading(note, target)
                .map(|nearest| BrokenLink { target: written(), nearest });
        }
        let Some(page) = library.resolve(&row.vault, Some(from), &target.path) else {
            if self.is_attachment(row, link, target) {
                return None;
            }
            return Some(BrokenLink { target: written(), nearest: None });
        };
        if target.heading.is_empty() && target.block.is_none() {
            return None;
        }
        let opened = self.open_pid(page.pid, rights).ok().flatten()?;
        missing_heading(&opened.note, target)
            .map(|nearest| BrokenLink { target: written(), nearest })
    }

    /// Whether a link leads to a file of the vault that is no note.
    fn is_attachment(&self, row: &PageRow, link: &Link, target: &LinkTarget) -> bool {
        let path = target.path.trim_start_matches('/');
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, extension)) = name.rsplit_once('.') else { return false };
        if extension.eq_ignore_ascii_case("md") {
            return false;
        }
        let Ok(Some(vault)) = self.sources.vault(&row.vault) else { return false };
        let beside = vault::join_path(row.facts.page.path.folder(), path);
        let has = |path: &str| {
            let path = VaultPath::parse(path);
            path.is_ok_and(|path| self.sources.has_file(&vault, &path).unwrap_or(false))
        };
        // A wiki-link names a file anywhere in the vault; that it is not here proves nothing.
        let anywhere = matches!(link.kind, LinkKind::Wiki | LinkKind::Embed) && !path.contains('/');
        anywhere || has(path) || beside.as_deref().is_some_and(has)
    }
}

/// `None` when the heading or block is there; otherwise the nearest heading, if one is near.
fn missing_heading(note: &Note, target: &LinkTarget) -> Option<Option<String>> {
    if let Some(block) = &target.block {
        let known = note.block_ids().iter().any(|known| known.id.eq_ignore_ascii_case(block));
        return (!known).then_some(None);
    }
    let last = target.heading.last()?;
    if note.outline.find(&target.heading).is_ok()
        || note.outline.sections().iter().any(|section| slug(&section.title) == slug(last))
    {
        return None;
    }
    let sections = note.outline.sections();
    let nearest = sections.iter().skip(1).max_by_key(|section| likeness(last, &section.title));
    let near = nearest.filter(|section| likeness(last, &section.title) >= NEAR);
    Some(near.map(|section| format!("#{}", section.title)))
}
