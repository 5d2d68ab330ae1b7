//! The vaults of a library: which folders it reads, and where their files are.

pub(super) mod files;
mod look;
mod moved;
mod parsed;
mod reading;

pub use parsed::ParsedPages;
pub(super) use reading::parse_page;

use std::path::{Path, PathBuf};

use super::{
    App,
    rights::{Right, Rights},
    sources::Sources,
};
use crate::{
    domain::{Code, Error, Kind, Result, UserName},
    store::pages::{Authorship, PageRow, VaultProblem, VaultRow},
    vault::TextFile,
};

/// What a person does who has no notes in the library yet.
pub const NO_VAULT: &str =
    "no vault yet: add a folder of Markdown notes with `notewell vault add DIR`";

impl Sources {
    /// Remembers the vaults of the config and the flags, and gives all that this library has.
    pub fn register_vaults(&self) -> Result<Vec<VaultRow>> {
        for wanted in &self.config.vault {
            let vault = match self.add_vault(&wanted.path, Some(&wanted.name), wanted.poll) {
                Ok(vault) => vault,
                // The vault is there as it was last read, and says what is wrong with it.
                Err(error) if error.code == Code::Conflict => {
                    tracing::warn!("{}", error.message);
                    continue;
                }
                Err(error) => match self.known_root(&wanted.path)? {
                    Some(vault) => vault,
                    None => return Err(error),
                },
            };
            if let Some(author) = &wanted.author {
                let authorship = self.authorship(author)?;
                self.store.pages.set_authorship(&vault.name, &authorship)?;
            }
        }
        for vault in self.store.pages.vaults()? {
            if !matches!(vault.authorship, Authorship::Vault(_)) {
                self.store.pages.set_authorship(&vault.name, &self.authorship_of_pages())?;
            }
        }
        self.vaults_outer_first()
    }

    /// Every vault. The outer of two comes first: what it loses to the inner one keeps its number
    /// there.
    pub(in crate::app) fn vaults_outer_first(&self) -> Result<Vec<VaultRow>> {
        let mut vaults = self.store.pages.vaults()?;
        vaults.sort_by_key(|vault| vault.folder().components().count());
        Ok(vaults)
    }

    /// Who decides on the authors of a vault whose `author` the config gives.
    fn authorship(&self, author: &str) -> Result<Authorship> {
        Ok(match author.trim() {
            "" => self.authorship_of_pages(),
            name => Authorship::Vault(UserName::new(name)?.as_str().to_owned()),
        })
    }

    /// Who decides where the vault does not.
    fn authorship_of_pages(&self) -> Authorship {
        match self.config.market.frontmatter_authors {
            true => Authorship::Frontmatter,
            false => Authorship::Nobody,
        }
    }

    /// The vault of a folder that cannot be opened now.
    fn known_root(&self, folder: &Path) -> Result<Option<VaultRow>> {
        let Ok(folder) = std::path::absolute(folder) else { return Ok(None) };
        // The folders above may be reached through symbolic links.
        let real = folder.parent().and_then(|above| above.canonicalize().ok());
        let real = real.zip(folder.file_name()).map(|(above, name)| above.join(name));
        let mut vaults = self.store.pages.vaults()?.into_iter();
        Ok(vaults.find(|row| row.folder() == folder || Some(row.folder()) == real.as_deref()))
    }

    /// Remembers a folder from now on.
    pub fn add_vault(&self, folder: &Path, name: Option<&str>, poll: bool) -> Result<VaultRow> {
        let root = folder_of_vault(folder)?;
        let is_known = |row: &VaultRow| row.folder() == root;
        if !self.store.pages.vaults()?.iter().any(is_known) {
            self.check_not_moved(&root, name.map(str::trim))?;
        }
        let name = match name.map(str::trim) {
            None | Some("") => {
                root.file_name().map_or("vault".into(), |name| name.to_string_lossy())
            }
            Some(name) => name.into(),
        };
        self.store.pages.add_vault(&name.replace('/', "-"), &root.to_string_lossy(), poll)
    }

    /// A vault by its name.
    pub fn vault(&self, name: &str) -> Result<Option<VaultRow>> {
        Ok(self.store.pages.vaults()?.into_iter().find(|row| row.name == name))
    }

    /// Where the files of a vault are. A hosted vault has none.
    pub fn root(&self, vault: &str) -> Result<PathBuf> {
        let row = self
            .vault(vault)?
            .ok_or_else(|| Error::internal(format!("the vault `{vault}` is not known any more")))?;
        if row.is_hosted() {
            return Err(Error::invalid_params(format!(
                "the vault `{vault}` is hosted in the library's database, so its notes are no files of this machine; `notewell read` prints them, and `notewell export vault {vault} DIR` writes them to a folder"
            )));
        }
        Ok(row.folder().to_path_buf())
    }

    /// The text of a page as it is now.
    pub fn page_text(&self, row: &PageRow) -> Result<TextFile> {
        let path = &row.facts.page.path;
        self.store.texts.read(&row.vault, path)?.map_err(|reason| {
            Error::outside(format!(
                "the note `{path}` of the vault `{}` {reason}; `search` still finds what was read of it before, and `notewell doctor` says what to do",
                row.vault
            ))
        })
    }
}

/// The folder of a vault, as the library records it.
fn folder_of_vault(folder: &Path) -> Result<PathBuf> {
    let root = folder.canonicalize().map_err(|error| {
        Error::invalid_params(format!(
            "the vault `{}` cannot be opened: {error}; make the folder or name another",
            folder.display()
        ))
    })?;
    match root.is_dir() {
        true => Ok(root),
        false => {
            Err(Error::invalid_params(format!("the vault `{}` is not a folder", root.display())))
        }
    }
}

/// The error about a vault that is not there.
pub fn unknown_vault(name: &str) -> Error {
    Error::invalid_params(format!("no vault is called `{name}`; `notewell vault list` names them"))
}

impl VaultRow {
    /// The folder that holds the vault's files. That of a hosted vault does not exist.
    pub fn folder(&self) -> &Path {
        Path::new(&self.location)
    }

    /// Whether nobody has looked at the folder yet. A hosted vault has none.
    pub(super) fn is_unread(&self) -> bool {
        !self.is_hosted() && self.seen.is_none() && self.problem.is_none()
    }

    /// Whether the folder is not there now. A hosted vault has none.
    pub(super) fn is_away(&self) -> bool {
        !self.is_hosted() && !self.folder().is_dir()
    }
}

impl VaultProblem {
    /// The problem and its remedy, as a sentence.
    pub fn message(&self, vault: &VaultRow) -> String {
        let name = &vault.name;
        match self {
            Self::Unreadable(why) => format!(
                "the vault `{name}` cannot be read now ({why}); its notes are as they were when it was last read. Mount or restore `{}`; if it moved, run `notewell vault move {name} DIR`; or end it with `notewell vault remove {name}`",
                vault.folder().display()
            ),
            Self::Empty => format!(
                "the vault `{name}` had notes and its folder `{}` is empty now; they are kept as they were. Mount or restore the folder, or, if they are gone for good, run `notewell vault rescan --accept-empty {name}`",
                vault.folder().display()
            ),
        }
    }
}

impl App {
    /// The vaults that could not be read at the last look, each with what to do.
    pub fn vault_problems(&self) -> Result<Vec<String>> {
        let vaults = self.store.pages.vaults()?;
        Ok(vaults.iter().filter_map(|vault| Some(vault.problem.as_ref()?.message(vault))).collect())
    }

    /// What the owner has to know of the library beside an answer: that there is nothing in it yet,
    /// or that a vault could not be read.
    pub fn notices(&self, rights: &Rights) -> Result<Vec<String>> {
        if !rights.may(Right::LibraryState) {
            return Ok(Vec::new());
        }
        match self.is_empty_library()? {
            true => Ok(vec![NO_VAULT.to_owned()]),
            false => self.vault_problems(),
        }
    }

    /// Refuses, with what to do, when the owner asks for an item of a library that has none.
    pub fn require_notes(&self, rights: &Rights) -> Result<()> {
        match rights.may(Right::LibraryState) && self.is_empty_library()? {
            true => Err(Error::invalid_params(NO_VAULT)),
            false => Ok(()),
        }
    }

    /// Whether there is nothing to search: no vault, no card and no bookmark.
    pub fn is_empty_library(&self) -> Result<bool> {
        let items = &self.store.items;
        for kind in [Kind::Page, Kind::Card, Kind::Bookmark] {
            if items.count(Some(kind))? > 0 {
                return Ok(false);
            }
        }
        Ok(self.store.pages.vaults()?.is_empty())
    }
}
