//! Files beside notes, for whoever may read a note that shows them.

use std::collections::{BTreeMap, BTreeSet};

use super::{App, edit::page_in, notes::Opened, rights::Rights};
use crate::{
    domain::{Error, Pid, Result, VaultPath},
    markdown::{
        Note,
        links::{LinkKind, LinkTarget},
    },
    store::pages::VaultRow,
    vault,
};

/// A file beside notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The vault that it is in.
    pub vault: VaultRow,
    /// Its path there.
    pub path: VaultPath,
}

/// A file that moves or is copied, or a folder with everything below it.
pub(super) struct Moving<'a> {
    pub from: &'a VaultPath,
    pub to: &'a VaultPath,
}

impl Moving<'_> {
    /// Where what is at a path now will be; `None` for what is elsewhere.
    pub fn after(&self, path: &VaultPath) -> Result<Option<VaultPath>> {
        match path.as_str().strip_prefix(self.from.as_str()) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                VaultPath::parse(&format!("{}{rest}", self.to)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether a path is where this goes, or below it: what is there now is replaced.
    pub fn replaces(&self, path: &VaultPath) -> bool {
        path == self.to || path.is_inside(self.to)
    }

    /// Whether a note shows a file under the same path afterwards, as both move: the path says where
    /// the file is from the note.
    fn carries(&self, note: &VaultPath, target: &str, file: &VaultPath) -> Result<bool> {
        let (Some(note), Some(file)) = (self.after(note)?, self.after(file)?) else {
            return Ok(false);
        };
        let beside = vault::join_path(note.folder(), target.trim().trim_start_matches('/'));
        Ok(beside
            .is_some_and(|beside| VaultPath::parse(&beside).is_ok_and(|beside| beside == file)))
    }
}

impl App {
    /// The file that a note shows or links to under this path. An attachment has the readers of the
    /// notes that show it: a path that neither this note nor one that it embeds has is refused, and
    /// so is everything outside the vault.
    pub fn attachment(&self, pid: Pid, path: &str, rights: &Rights) -> Result<Option<Attachment>> {
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

    /// Refuses a text that names a file which the caller may not see: whoever reads the note reads
    /// the file. What the note showed before, in its place then, it may show on, and what moves with
    /// it too. A file that is hidden and one that is not there are refused alike.
    pub(super) fn check_files(
        &self,
        vault: &VaultRow,
        before: Option<(&VaultPath, &str)>,
        (path, after): (&VaultPath, &str),
        moving: Option<&Moving<'_>>,
        rights: &Rights,
    ) -> Result<()> {
        if rights.visible().is_everything() {
            return Ok(());
        }
        let known = before.map(|(_, text)| shown_files(path, text)).unwrap_or_default();
        for target in &shown_files(path, after) {
            let place_of = |note| self.sources.attachment_path(vault, note, target, &|_| false);
            let place = place_of(path)?;
            if let (true, Some((from, _))) = (known.contains(target), before) {
                if from == path {
                    continue;
                }
                let shown = place_of(from)?;
                let is_carried = match (moving, &shown) {
                    (Some(moving), Some(file)) => moving.carries(from, target, file)?,
                    _ => false,
                };
                if is_carried || shown == place {
                    continue;
                }
            }
            if !place.is_some_and(|place| rights.sees(&page_in(vault, &place, ""))) {
                return Err(would_show(target));
            }
        }
        Ok(())
    }

    /// The files that are copied with a note which shows them, and that its copy shows under the same
    /// path: each by that path. Those that the caller does not see are not copied.
    pub(super) fn carried_files(
        &self,
        vault: &VaultRow,
        (note, text): (&VaultPath, &str),
        copying: &Moving<'_>,
        rights: &Rights,
    ) -> Result<BTreeMap<String, VaultPath>> {
        let mut carried = BTreeMap::new();
        for target in shown_files(note, text) {
            let shown = self.sources.attachment_path(vault, note, &target, &|_| false)?;
            if let Some(file) = shown
                && copying.carries(note, &target, &file)?
                && rights.sees(&page_in(vault, &file, ""))
            {
                carried.insert(target, file);
            }
        }
        Ok(carried)
    }

    /// Refuses the copy of a folder over what is there, where a note in it would then show a file that
    /// the caller may not see. What is copied with the note is there by then, and what is replaced is
    /// gone.
    pub(super) fn check_copied(
        &self,
        vault: &VaultRow,
        (note, text): (&VaultPath, &str),
        copying: &Moving<'_>,
        rights: &Rights,
    ) -> Result<()> {
        if rights.visible().is_everything() {
            return Ok(());
        }
        let Some(copy) = copying.after(note)? else { return Ok(()) };
        let is_gone = |path: &VaultPath| copying.replaces(path);
        let carried = self.carried_files(vault, (note, text), copying, rights)?;
        for target in &shown_files(note, text) {
            if carried.contains_key(target) {
                continue;
            }
            let place = self.sources.attachment_path(vault, &copy, target, &is_gone)?;
            if !place.is_some_and(|place| rights.sees(&page_in(vault, &place, ""))) {
                return Err(would_show(target));
            }
        }
        Ok(())
    }

    /// Refuses that files leave their places while a note shows them under a path that would then
    /// mean another place, where the caller may not look: a file could be made for a note to show,
    /// and removed. For a note that the caller reads, places alone decide, so that the answer is the
    /// same whether a hidden file is there or not. What moves with its note stays shown, and a note
    /// that is deleted with it shows nothing.
    pub(super) fn check_leaving(
        &self,
        vault: &VaultRow,
        leaving: &[VaultPath],
        moving: Option<&Moving<'_>>,
        rights: &Rights,
    ) -> Result<()> {
        if rights.visible().is_everything() {
            return Ok(());
        }
        let leaving: BTreeSet<&str> = leaving.iter().map(VaultPath::as_str).collect();
        let names = leaving.iter().filter_map(|path| path.rsplit('/').next()).collect();
        let seen = self.library(rights)?;
        let sees = |place: &VaultPath| rights.sees(&page_in(vault, place, ""));
        for (pid, from, target) in self.library(&self.owner())?.naming(&vault.name, &names) {
            let shown = self.sources.attachment_path(vault, from, target, &|_| false)?;
            let Some(shown) = shown.filter(|shown| leaving.contains(shown.as_str())) else {
                continue;
            };
            let is_gone_or_carried = match moving {
                Some(moving) if moving.after(from)?.is_some() => {
                    moving.carries(from, target, &shown)?
                }
                _ => leaving.contains(from.as_str()),
            };
            if is_gone_or_carried {
                continue;
            }
            let is_open = match seen.has(&vault.name, pid) {
                true => {
                    let top = VaultPath::parse(target.trim().trim_start_matches('/'));
                    top.is_ok_and(|top| !sees(&top))
                }
                false => {
                    let gone = |path: &VaultPath| leaving.contains(path.as_str());
                    let next = self.sources.attachment_path(vault, from, target, &gone)?;
                    next.is_some_and(|next| !sees(&next))
                }
            };
            if is_open {
                return Err(Error::invalid_params(format!(
                    "a note shows `{target}`; nothing was changed. Change the note first, so that it does not show another file of this name"
                )));
            }
        }
        Ok(())
    }

    fn attached(&self, opened: &Opened, path: &str) -> Result<Option<Attachment>> {
        let Some(row) = &opened.page else { return Ok(None) };
        let shows = opened
            .note
            .links()
            .iter()
            .filter_map(|link| link.target())
            .any(|target| target.path == path);
        if !shows || !vault::names_file(path) {
            return Ok(None);
        }
        let Some(vault) = self.sources.vault(&row.vault)? else { return Ok(None) };
        let path = self.sources.attachment_path(&vault, &row.facts.page.path, path, &|_| false)?;
        Ok(path.map(|path| Attachment { vault, path }))
    }
}

/// The paths under which a text shows or links to files that are no notes.
fn shown_files(note: &VaultPath, text: &str) -> BTreeSet<String> {
    let note = Note::parse(text, note.stem());
    let targets = note.links().iter().filter_map(|link| link.target());
    targets.map(|target| target.path).filter(|path| vault::names_file(path)).collect()
}

/// The refusal of a note that would show a file which the caller may not see.
fn would_show(target: &str) -> Error {
    Error::invalid_params(format!(
        "the note would show `{target}`, which is no file that you may read; nothing was changed. Name a file of a folder that you may read, with its path"
    ))
}
