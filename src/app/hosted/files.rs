//! The files of a hosted vault as one caller may see and write them.

mod changing;
mod moving;

pub use moving::Ends;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use super::write::content;
use crate::{
    app::{App, attachments::Moving, edit::page_in, rights::Rights, vaults::files::is_page},
    domain::{Author, Error, Page, Result, VaultPath},
    store::{
        hosted::{Expected, HostedFile, Property, TRASH},
        pages::VaultRow,
    },
    vault::walk,
};

/// A hosted vault and one caller's rights.
pub struct HostedVault<'a> {
    app: &'a App,
    /// The vault.
    pub row: VaultRow,
    rights: &'a Rights,
}

impl App {
    /// A hosted vault for a caller who may read or write something in it. Others cannot tell whether
    /// there is such a vault.
    pub fn hosted_vault<'a>(&'a self, name: &str, rights: &'a Rights) -> Result<HostedVault<'a>> {
        let unknown = || {
            Error::not_found(format!(
                "there is no vault `{}` here that you may use; `notewell vault create NAME` makes one",
                name.chars().take(100).collect::<String>().escape_debug()
            ))
        };
        let row = self.sources.vault(name)?.ok_or_else(unknown)?;
        let vault = HostedVault { app: self, row, rights };
        if !vault.is_known_to_caller()? {
            return Err(unknown());
        }
        if !vault.row.is_hosted() {
            return Err(Error::invalid_request(format!(
                "the vault `{name}` is a folder of the server's own; only hosted vaults are served over WebDAV. `notewell import vault DIR --vault NEW` makes a hosted one of it"
            )));
        }
        Ok(vault)
    }

    /// The same vault for the rest of a request for which [`Self::hosted_vault`] gave this row.
    pub fn same_hosted_vault<'a>(&'a self, row: VaultRow, rights: &'a Rights) -> HostedVault<'a> {
        HostedVault { app: self, row, rights }
    }
}

impl HostedVault<'_> {
    fn sees_everything(&self) -> bool {
        self.rights.visible().is_everything()
    }

    fn is_known_to_caller(&self) -> Result<bool> {
        let author = self.row.authorship.author_of(None);
        let author = author.as_deref().and_then(Author::new);
        if self.sees_everything() || self.rights.may_write_in(&self.row.name, author.as_ref()) {
            return Ok(true);
        }
        // An account that reads a page of it; a stranger's free pages are on the web pages.
        if self.rights.user().is_none() {
            return Ok(false);
        }
        let top = VaultPath::parse("note.md")?;
        if self.rights.sees(&page_in(&self.row, &top, "")) {
            return Ok(true);
        }
        let pages = self.app.store.pages.of_vault(&self.row.name)?;
        Ok(pages.iter().any(|row| self.rights.sees(&row.facts.page)))
    }

    /// Whether the caller may read the file at a path. A file that is no note has the readers of its
    /// place, a page those of its text. A note in the trash or in a hidden folder has those who may
    /// read both: a deleted text has no more readers than before.
    fn sees_file(&self, path: &VaultPath, page: Option<&Page>) -> Result<bool> {
        if let Some(page) = page {
            return Ok(self.rights.sees(page));
        }
        let is_note = walk::is_note(Path::new(path.as_str()));
        if !is_page(path.as_str()) && !self.rights.sees(&page_in(&self.row, path, "")) {
            return Ok(false);
        }
        if !is_note {
            return Ok(true);
        }
        // The library has no such page: it is deleted, too large or no text.
        let found = self.app.store.hosted.read(&self.row.name, path.as_str())?;
        let Some((_, bytes)) = found else { return Ok(false) };
        Ok(self.rights.sees(&page_in(&self.row, path, &String::from_utf8_lossy(&bytes))))
    }

    /// Whether the caller sees a folder whatever is in it.
    fn sees_place(&self, folder: &str) -> Result<bool> {
        let inside = VaultPath::parse(&format!("{folder}/note.md"))?;
        let place = page_in(&self.row, &inside, "");
        Ok(self.rights.sees(&place) || self.rights.writes(&place))
    }

    fn sees(&self, file: &HostedFile) -> Result<bool> {
        if self.sees_everything() {
            return Ok(true);
        }
        if !file.is_folder() {
            let path = VaultPath::parse(&file.path)?;
            let known = match is_page(path.as_str()) {
                true => self.app.store.pages.find(&self.row.name, path.as_str())?,
                false => None,
            };
            return self.sees_file(&path, known.as_ref().map(|row| &row.facts.page));
        }
        if self.sees_place(&file.path)? {
            return Ok(true);
        }
        // A folder on the way to something that the caller sees.
        let below = self.app.store.hosted.below(&self.row.name, &file.path)?;
        Ok(!self.visible(below)?.is_empty())
    }

    /// Those files, without folders, that the caller sees.
    fn visible(&self, files: Vec<HostedFile>) -> Result<Vec<HostedFile>> {
        let pages: HashMap<String, Page> = self
            .app
            .store
            .pages
            .of_vault(&self.row.name)?
            .into_iter()
            .map(|row| (row.path, row.facts.page))
            .collect();
        let mut seen = Vec::new();
        for file in files.into_iter().filter(|file| !file.is_folder()) {
            if self.sees_file(&VaultPath::parse(&file.path)?, pages.get(&file.path))? {
                seen.push(file);
            }
        }
        Ok(seen)
    }

    /// The file or folder at a path, as far as the caller sees it.
    pub fn stat(&self, path: &VaultPath) -> Result<Option<HostedFile>> {
        let found = self.app.store.hosted.stat(&self.row.name, path.as_str())?;
        match found {
            Some(file) if self.sees(&file)? => Ok(Some(file)),
            _ => Ok(None),
        }
    }

    /// What is directly in a folder; `None` is the top, which does not list the trash.
    pub fn list(&self, folder: Option<&VaultPath>) -> Result<Vec<HostedFile>> {
        let at = folder.map_or("", VaultPath::as_str);
        let mut files = self.app.store.hosted.list(&self.row.name, at)?;
        if folder.is_none() {
            files.retain(|file| file.path != TRASH);
        }
        if self.sees_everything() {
            return Ok(files);
        }
        let mut seen: HashSet<String> = HashSet::new();
        let mut is_whole = true;
        for file in files.iter().filter(|file| file.is_folder()) {
            match self.sees_place(&file.path)? {
                true => drop(seen.insert(file.path.clone())),
                false => is_whole = false,
            }
        }
        // One look at everything below says which of the other folders lead to something.
        let below = match is_whole {
            true => files.iter().filter(|file| !file.is_folder()).cloned().collect(),
            false => self.app.store.hosted.below(&self.row.name, at)?,
        };
        for file in self.visible(below)? {
            let start = if at.is_empty() { 0 } else { at.len() + 1 };
            let end = file.path[start..].find('/').map_or(file.path.len(), |end| start + end);
            seen.insert(file.path[..end].to_owned());
        }
        files.retain(|file| seen.contains(&file.path));
        Ok(files)
    }

    /// A file with its bytes.
    pub fn read(&self, path: &VaultPath) -> Result<Option<(HostedFile, Vec<u8>)>> {
        match self.stat(path)? {
            Some(file) if !file.is_folder() => {
                self.app.store.hosted.read(&self.row.name, path.as_str())
            }
            _ => Ok(None),
        }
    }

    /// How many bytes the caller sees here, and may see at most. For a caller who sees a part the
    /// second is `None`: the free room of the vault would give away what hidden files weigh. The trash
    /// does not weigh for them: each deleted note would have to be read for its readers.
    pub fn quota(&self) -> Result<(u64, Option<u64>)> {
        if self.sees_everything() {
            let used = self.app.store.hosted.usage(&self.row.name)?.bytes;
            return Ok((used, Some(self.app.hosted_limits().bytes.max(used))));
        }
        let mut files = self.app.store.hosted.below(&self.row.name, "")?;
        files.retain(|file| file.path.split('/').next() != Some(TRASH));
        let files = self.visible(files)?;
        Ok((files.iter().map(|file| file.size).sum(), None))
    }

    /// Fails where the store does not answer.
    pub fn check_store(&self) -> Result<()> {
        self.app.store.hosted.usage(&self.row.name).map(drop)
    }

    /// The properties that WebDAV clients keep with a file.
    pub fn properties(&self, path: &VaultPath) -> Result<Vec<Property>> {
        self.app.store.hosted.properties(&self.row.name, path.as_str())
    }

    /// Whether any file of the vault has properties.
    pub fn has_properties(&self) -> Result<bool> {
        self.app.store.hosted.has_properties(&self.row.name)
    }

    /// Sets and removes properties; `true` sets.
    pub fn set_properties(&self, path: &VaultPath, changes: &[(Property, bool)]) -> Result<()> {
        self.check_change(Some(path))?;
        self.app.store.hosted.set_properties(&self.row.name, path.as_str(), changes)
    }

    fn existing(&self, path: &VaultPath) -> Result<(HostedFile, Vec<u8>)> {
        self.read(path)?.ok_or_else(|| absent(path))
    }

    /// Refuses to write a file that is no page where the caller may not write.
    fn check_place(&self, path: &VaultPath) -> Result<()> {
        self.check_text(path, "")
    }

    /// Refuses to write a page with this text, or a file that is none, where the caller may not.
    fn check_text(&self, path: &VaultPath, text: &str) -> Result<()> {
        self.rights.check_write(&page_in(&self.row, path, text))?;
        self.app.check_skill(&self.row, path, self.rights)
    }

    fn check_folder(&self, path: &VaultPath) -> Result<()> {
        self.check_place(&VaultPath::parse(&format!("{path}/note.md"))?)
    }

    /// Refuses a place where the caller sees nothing and may not write. The answer is the same
    /// whether something hidden is there or not.
    fn check_unseen(&self, path: &VaultPath) -> Result<()> {
        match self.sees_everything() || self.stat(path)?.is_some() {
            true => Ok(()),
            false => self.check_place(path),
        }
    }

    /// The same for a file or a folder. Asked before locks are: they are where files are.
    pub fn check_reach(&self, path: &VaultPath) -> Result<()> {
        self.check_unseen(path).or_else(|refusal| self.check_folder(path).map_err(|_| refusal))
    }

    /// Refuses a lock, its end, and properties where the caller may not write what is there. A lock
    /// holds up everybody else, or protects what they write. `None` is the vault itself.
    pub fn check_change(&self, path: Option<&VaultPath>) -> Result<()> {
        let Some(path) = path else {
            return self.check_place(&VaultPath::parse("note.md")?);
        };
        match self.stat(path)? {
            None => self.check_place(path),
            Some(file) if file.is_folder() => self.check_folder(path),
            Some(_) => {
                let (_, bytes) = self.existing(path)?;
                self.check_removal(path, &bytes)
            }
        }
    }

    fn check_removal(&self, path: &VaultPath, bytes: &[u8]) -> Result<()> {
        match is_page(path.as_str()) {
            true => {
                let text = String::from_utf8_lossy(bytes);
                self.check_text(path, &text)
            }
            false => self.check_place(path),
        }
    }

    /// Refuses to write a file with these bytes where the caller may not. `shown` is the text that
    /// the note had, in its place then; `moving` what takes it along.
    fn check_arrival(
        &self,
        path: &VaultPath,
        shown: Option<(&VaultPath, &[u8])>,
        bytes: &[u8],
        moving: Option<&Moving<'_>>,
    ) -> Result<()> {
        if !is_page(path.as_str()) {
            return self.check_place(path);
        }
        let text = String::from_utf8_lossy(bytes);
        self.check_text(path, &text)?;
        // What was no page showed nothing.
        let shown = shown.filter(|(from, _)| is_page(from.as_str()));
        let shown = shown.map(|(from, bytes)| (from, String::from_utf8_lossy(bytes)));
        let known = shown.as_ref().map(|(from, text)| (*from, text.as_ref()));
        self.app.check_files(&self.row, known, (path, &text), moving, self.rights)
    }

    /// Refuses to write a file with these bytes over what is there, which the caller perhaps does
    /// not see.
    fn check_put(
        &self,
        path: &VaultPath,
        before: Option<&[u8]>,
        shown: Option<(&VaultPath, &[u8])>,
        bytes: &[u8],
    ) -> Result<()> {
        self.check_unseen(path)?;
        if let Some(before) = before {
            self.check_removal(path, before)?;
            if !self.sees_everything() && self.stat(path)?.is_none() {
                return Err(hidden(path));
            }
        }
        self.check_arrival(path, shown, bytes, None)
    }
}

/// The refusal of a path where something is that the caller does not see.
fn hidden(path: &VaultPath) -> Error {
    Error::invalid_params(format!(
        "you may not write `{path}`; nothing was changed. Choose another name"
    ))
}

fn absent(path: &VaultPath) -> Error {
    Error::not_found(format!("`{path}` is not there; nothing was changed"))
}

/// What a file with these bytes is expected to be.
pub(super) fn expected(bytes: Option<&[u8]>) -> Expected {
    bytes.map_or(Expected::Absent, content)
}
