//! The files of a hosted vault as one caller may see and write them.

mod changing;

use std::collections::HashMap;

use super::write::content;
use crate::{
    app::{App, edit::page_in, rights::Rights, vaults::files::is_page},
    domain::{Author, Error, Page, Result, VaultPath},
    store::{
        hosted::{Expected, HostedFile, HostedUsage, Property, TRASH},
        pages::VaultRow,
    },
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

    /// A file as a page, for the question who may read it. A file that is no page has the readers
    /// of its place.
    fn page_at(&self, path: &VaultPath) -> Result<Page> {
        let known = match is_page(path.as_str()) {
            true => self.app.store.pages.find(&self.row.name, path.as_str())?,
            false => None,
        };
        Ok(known.map_or_else(|| page_in(&self.row, path, ""), |row| row.facts.page))
    }

    fn sees(&self, file: &HostedFile) -> Result<bool> {
        if self.sees_everything() {
            return Ok(true);
        }
        let path = VaultPath::parse(&file.path)?;
        if !file.is_folder() {
            return Ok(self.rights.sees(&self.page_at(&path)?));
        }
        let inside = VaultPath::parse(&format!("{path}/note.md"))?;
        let place = page_in(&self.row, &inside, "");
        if self.rights.sees(&place) || self.rights.writes(&place) {
            return Ok(true);
        }
        // A folder on the way to something that the caller sees.
        let below = self.app.store.hosted.below(&self.row.name, path.as_str())?;
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
            let is_seen = match pages.get(&file.path) {
                Some(page) => self.rights.sees(page),
                None => self.rights.sees(&page_in(&self.row, &VaultPath::parse(&file.path)?, "")),
            };
            if is_seen {
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
        let mut seen = Vec::new();
        for file in files {
            if self.sees(&file)? {
                seen.push(file);
            }
        }
        Ok(seen)
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

    /// How much the vault holds, and may hold.
    pub fn usage(&self) -> Result<(HostedUsage, u64)> {
        let usage = self.app.store.hosted.usage(&self.row.name)?;
        Ok((usage, self.app.hosted_limits().bytes))
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
        self.check_place(path)?;
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

    fn check_removal(&self, path: &VaultPath, bytes: &[u8]) -> Result<()> {
        match is_page(path.as_str()) {
            true => {
                let text = String::from_utf8_lossy(bytes);
                self.check_text(path, &text)
            }
            false => self.check_place(path),
        }
    }

    fn check_arrival(
        &self,
        path: &VaultPath,
        from: Option<&VaultPath>,
        bytes: &[u8],
    ) -> Result<()> {
        if !is_page(path.as_str()) {
            return self.check_place(path);
        }
        let text = String::from_utf8_lossy(bytes);
        self.check_text(path, &text)?;
        let known = from.map(|from| (from, text.as_ref()));
        self.app.check_files(&self.row, known, (path, &text), self.rights)
    }
}

fn absent(path: &VaultPath) -> Error {
    Error::not_found(format!("`{path}` is not there; nothing was changed"))
}

/// What a file with these bytes is expected to be.
pub(super) fn expected(bytes: Option<&[u8]>) -> Expected {
    bytes.map_or(Expected::Absent, content)
}
