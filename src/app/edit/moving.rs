//! Moves a note, with every link that points there, as one change.

use super::{journal::TRASH, relink::Relink, spot::Spot, stale::stale};
use crate::{
    app::{
        App,
        edit::{EditOp, EditRequest, Place},
        notes::NoteRef,
        rights::Rights,
    },
    domain::{Error, Kind, Pid, Result, VaultPath, count},
    markdown::{Note, edit::Edit},
    store::revisions::{Actor, ChangeId, NewChange, Revision},
    vault::{self, TextFile},
};

/// The destination that means the vault's trash.
pub const TO_TRASH: &str = "@trash";

/// A move of a note.
pub struct MoveRequest<'a> {
    /// The note to move.
    pub note: NoteRef,
    /// A path in the same vault, a folder with `/` at its end, or `@trash`.
    pub to: &'a str,
    /// The note's etag as it was read.
    pub etag: Option<&'a str>,
    /// Reports without writing.
    pub dry_run: bool,
    /// Who moves it.
    pub actor: Actor,
    /// Whether `[write]` fences the caller in.
    pub fenced: bool,
}

/// The links of one note that were rewritten.
#[derive(Debug)]
pub struct RewrittenLinks {
    /// The file with the links.
    pub path: String,
    /// Each path as it was written, and as it is now.
    pub links: Vec<(String, String)>,
}

/// What a move did, or would do.
#[derive(Debug)]
pub struct MoveAnswer {
    /// The note.
    pub pid: Option<Pid>,
    /// The path before.
    pub from: String,
    /// The path now.
    pub path: String,
    /// The note's etag now.
    pub etag: String,
    /// Files whose links were rewritten.
    pub rewritten: Vec<RewrittenLinks>,
    /// Notes whose links lead nowhere now: the note is in the trash, or the caller may not write
    /// them.
    pub broken: Vec<String>,
    /// The change, for undo.
    pub change: Option<ChangeId>,
}

impl App {
    /// Moves or renames a note. Links to it, embeds of it and its own relative links lead where
    /// they led; no other byte changes.
    pub fn move_page(&self, request: &MoveRequest<'_>, rights: &Rights) -> Result<MoveAnswer> {
        let spot = self.spot(&request.note, rights)?;
        if request.fenced {
            self.check_fence(&spot.vault.name, &spot.path)?;
        }
        let turn = self.sources.store.revisions.turn()?;
        self.recover_in(&turn)?;
        let current = self.sources.note_file(&spot.vault, &spot.path)?.map_err(|reason| {
            Error::outside(format!(
                "the note `{}` {}; nothing was changed",
                spot.path,
                reason.after_name()
            ))
        })?;
        rights.check_write(&spot.page(&current.text))?;
        if request.etag.is_some_and(|etag| etag != current.etag()) {
            let typing = self.is_being_typed(&spot, &current)?;
            return Err(stale(&spot, &current, &as_edit(request), typing));
        }
        let trash = request.to.trim() == TO_TRASH;
        let to = match trash {
            true => self.trash_path(&spot)?,
            false => self.destination(&spot, request, &current.text, rights)?,
        };
        let Relinked { mut revisions, rewritten, mut broken } = match trash {
            true => Relinked::only(moved(&spot, &current, &to, &current.text)),
            false => self.relinked(&spot, &current, &to, request.fenced, rights)?,
        };
        if let (true, Some(pid)) = (trash, spot.pid) {
            broken = self.linking_pages(&spot.vault.name, pid, rights)?;
        }
        let mut change = None;
        if !request.dry_run {
            let mut begun = NewChange::new(&request.actor, summary(&spot, &to, trash, &rewritten));
            change = Some(self.write_pages(&turn, &mut begun, &mut revisions)?);
        }
        let after = revisions[0].after.as_deref().unwrap_or_default();
        let shown = |path: &str| self.sources.shown_path(&spot.vault.name, path);
        Ok(MoveAnswer {
            pid: spot.pid,
            from: shown(spot.path.as_str())?,
            path: shown(to.as_str())?,
            etag: vault::etag(&vault::read::hash(after)),
            rewritten,
            broken,
            change,
        })
    }

    /// The path that a note moves to. It must be free.
    fn destination(
        &self,
        spot: &Spot,
        request: &MoveRequest<'_>,
        text: &str,
        rights: &Rights,
    ) -> Result<VaultPath> {
        let wanted = request.to.trim();
        let folder = wanted.strip_suffix('/');
        let full = match folder {
            // `/` alone is the top of the vault.
            Some("") => spot.path.file_name().to_owned(),
            Some(folder) => format!("{folder}/{}", spot.path.file_name()),
            None => wanted.to_owned(),
        };
        let to = self.new_spot(&full, Some(&spot.vault), rights)?;
        if to.vault.name != spot.vault.name {
            return Err(Error::invalid_params(format!(
                "a note moves within its vault, here `{}`; create it in `{}` instead",
                spot.vault.name, to.vault.name
            )));
        }
        if to.path == spot.path {
            return Err(Error::invalid_params(format!("`{}` is there already", spot.path)));
        }
        vault::check_new_name(&to.path)?;
        rights.check_write(&to.page(text))?;
        // A path that is relative to the note leads elsewhere from its new place.
        let shown = Some((&spot.path, text));
        self.check_files(&to.vault, shown, (&to.path, text), None, rights)?;
        if request.fenced {
            self.check_fence(&to.vault.name, &to.path)?;
        }
        if self.sources.has_file(&to.vault, &to.path)? {
            return Err(Error::invalid_params(format!(
                "`{}` exists already; choose another path",
                to.path
            )));
        }
        Ok(to.path)
    }

    /// A free name in the vault's trash.
    fn trash_path(&self, spot: &Spot) -> Result<VaultPath> {
        let stem = spot.path.stem();
        for number in 1.. {
            let name = match number {
                1 => format!("{TRASH}{stem}.md"),
                number => format!("{TRASH}{stem} {number}.md"),
            };
            let path = VaultPath::parse(&name)?;
            if !self.sources.has_file(&spot.vault, &path)? {
                return Ok(path);
            }
        }
        Err(Error::internal("the trash has no free name"))
    }

    /// The moved note and every note with a link to rewrite.
    fn relinked(
        &self,
        spot: &Spot,
        current: &TextFile,
        to: &VaultPath,
        fenced: bool,
        rights: &Rights,
    ) -> Result<Relinked> {
        let pages = self.sources.store.pages.of_vault(&spot.vault.name)?;
        let title = Note::parse(&current.text, to.stem()).title;
        let relink = spot.pid.and_then(|pid| Relink::new(&pages, pid, to, &title));
        let Some(relink) = relink else {
            // The library does not know the note, so that no link leads there.
            return Ok(Relinked::only(moved(spot, current, to, &current.text)));
        };
        let mut own = moved(spot, current, to, &current.text);
        let (mut others, mut rewritten, mut broken) = (Vec::new(), Vec::new(), Vec::new());
        for at in relink.concerned() {
            let page = &pages[at];
            let path = &page.facts.page.path;
            let is_moved = Some(page.pid) == spot.pid;
            if !is_moved && !rights.writes(&page.facts.page) {
                if rights.sees(&page.facts.page) {
                    broken.push(self.sources.shown_path(&page.vault, path.as_str())?);
                }
                continue;
            }
            let text = match is_moved {
                true => current.text.clone(),
                false => self.sources.page_text(page)?.text,
            };
            let has_file =
                |path: &VaultPath| self.sources.has_file(&spot.vault, path).unwrap_or(false);
            let relinked = relink.rewrite(at, &text, &has_file);
            if relinked.links.is_empty() {
                continue;
            }
            if !relink.keeps_links(at, &text, &relinked.text) {
                return Err(Error::invalid_params(format!(
                    "a link in `{path}` cannot be rewritten to lead to `{to}`; choose another path, or change that link first. Nothing was changed"
                )));
            }
            let shown = if is_moved { to.as_str() } else { path.as_str() };
            let shown = self.sources.shown_path(&spot.vault.name, shown)?;
            rewritten.push(RewrittenLinks { path: shown, links: relinked.links });
            let after = Some(relinked.text.into_bytes());
            if is_moved {
                own.after = after;
                continue;
            }
            if fenced {
                self.check_fence(&spot.vault.name, path).map_err(|error| {
                    Error::invalid_params(format!(
                        "the move would rewrite links outside the fence: {}",
                        error.plain()
                    ))
                })?;
            }
            self.sources.check_writable(&spot.vault, path)?;
            others.push(Revision {
                pid: Some(page.pid),
                kind: Kind::Page,
                key: format!("{}/{path}", page.vault),
                moved_to: None,
                before: Some(text.into_bytes()),
                after,
            });
        }
        others.insert(0, own);
        Ok(Relinked { revisions: others, rewritten, broken })
    }
}

/// What a move writes.
struct Relinked {
    /// The moved note first.
    revisions: Vec<Revision>,
    rewritten: Vec<RewrittenLinks>,
    /// Notes with links that stay as they are, since the caller may not write them.
    broken: Vec<String>,
}

impl Relinked {
    /// The note alone.
    fn only(moved: Revision) -> Self {
        Self { revisions: vec![moved], rewritten: Vec::new(), broken: Vec::new() }
    }
}

fn moved(spot: &Spot, current: &TextFile, to: &VaultPath, text: &str) -> Revision {
    Revision {
        pid: spot.pid,
        kind: Kind::Page,
        key: spot.key(),
        moved_to: Some(format!("{}/{to}", spot.vault.name)),
        before: Some(current.text.as_bytes().to_vec()),
        after: Some(text.as_bytes().to_vec()),
    }
}

/// The move as an edit of the whole note, for the refusal of a stale etag.
fn as_edit<'a>(request: &MoveRequest<'a>) -> EditRequest<'a> {
    EditRequest {
        note: request.note.clone(),
        place: Place::Note,
        op: EditOp::Change(Edit::Delete),
        etag: request.etag,
        dry_run: request.dry_run,
        actor: request.actor.clone(),
        fenced: request.fenced,
    }
}

fn summary(spot: &Spot, to: &VaultPath, trash: bool, rewritten: &[RewrittenLinks]) -> String {
    if trash {
        return format!("move `{}` to the trash", spot.path);
    }
    let links: usize = rewritten.iter().map(|note| note.links.len()).sum();
    let links = match links {
        0 => String::new(),
        links => format!(" ({})", count(links, "link")),
    };
    format!("move `{}` to `{to}`{links}", spot.path)
}
