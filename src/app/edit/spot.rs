//! Which file a caller means, and whether it may be written.

use crate::{
    app::{
        App,
        notes::NoteRef,
        rights::{Right, Rights},
        vaults::NO_VAULT,
    },
    domain::{Author, Error, Kind, Page, Pid, Result, VaultPath},
    store::pages::VaultRow,
    vault::{self, Daily},
};

/// The name of today's daily note.
const TODAY: &str = "@today";

/// A note's file, which need not exist yet.
pub struct Spot {
    pub vault: VaultRow,
    pub path: VaultPath,
    /// The page's number, where the library has one.
    pub pid: Option<Pid>,
    /// What the note starts with when it is made: the template of a daily note.
    pub template: Option<String>,
}

impl Spot {
    /// The key of the page in the registry and the journal.
    pub fn key(&self) -> String {
        format!("{}/{}", self.vault.name, self.path)
    }

    /// The note as a page, with this text.
    pub fn page(&self, text: &str) -> Page {
        page_in(&self.vault, &self.path, text)
    }
}

/// A text at a path of a vault, as a page.
pub fn page_in(vault: &VaultRow, path: &VaultPath, text: &str) -> Page {
    let (mut page, _) = vault::page(&vault.name, path, text);
    page.author = vault.authorship.author_of(page.author);
    page
}

/// The vault and the path of a page's key.
pub fn split_key(key: &str) -> Result<(&str, VaultPath)> {
    let (vault, path) = key
        .split_once('/')
        .ok_or_else(|| Error::internal(format!("`{key}` is not the key of a page")))?;
    Ok((vault, VaultPath::parse(path)?))
}

impl App {
    /// The note that a reference names. One that `.gitignore` or a leading `_` hides is found by
    /// its full path only.
    pub(super) fn spot(&self, reference: &NoteRef, rights: &Rights) -> Result<Spot> {
        let path = reference.path.as_deref().map(str::trim).filter(|path| !path.is_empty());
        if let Some(path) = path
            && let Some(spot) = self.today(path, rights)?
        {
            return Ok(spot);
        }
        let opened = match self.open_note(reference, rights) {
            Ok(opened) => opened,
            Err(error) => {
                // A file that the library does not know is meant by its very path.
                let hidden = path.and_then(|path| self.new_spot(path, None, rights).ok());
                let is_there = |spot: &Spot| {
                    spot.pid.is_none()
                        && self.sources.has_file(&spot.vault, &spot.path).unwrap_or(false)
                };
                return hidden.filter(is_there).ok_or(error);
            }
        };
        let Some(row) = opened.page else {
            let help = match opened.kind {
                Kind::Card => "`update_note` changes a card",
                Kind::Prompt => "`update_prompt` changes a prompt",
                _ => "only notes of a vault can be edited",
            };
            return Err(Error::invalid_params(format!(
                "pid {} is a {}, not a note of a vault; {help}",
                opened.pid, opened.kind
            )));
        };
        rights.check_write(&row.facts.page)?;
        let page = row.facts.page.path.clone();
        let named = path.is_some_and(|path| {
            let bare = page.as_str().trim_end_matches(".md");
            [page.as_str(), bare].iter().any(|name| {
                path == *name || path.strip_prefix(&format!("{}/", row.vault)) == Some(*name)
            })
        });
        if page.is_private() && !named {
            return Err(Error::invalid_params(format!(
                "`{page}` is hidden by its `_`; to write it, name it by its full path"
            )));
        }
        let vault = self.known_vault(&row.vault)?;
        self.check_skill(&vault, &page, rights)?;
        self.sources.check_writable(&vault, &page)?;
        Ok(Spot { vault, path: page, pid: Some(row.pid), template: None })
    }

    pub(super) fn known_vault(&self, name: &str) -> Result<VaultRow> {
        self.sources.vault(name)?.ok_or_else(|| {
            Error::invalid_params(format!("the vault `{name}` is not in this library any more"))
        })
    }

    /// A path as a caller writes it for a note that need not exist: with its vault's name first
    /// where there are several, with or without `.md`. One that names no vault is in `home`.
    pub(super) fn new_spot(
        &self,
        path: &str,
        home: Option<&VaultRow>,
        rights: &Rights,
    ) -> Result<Spot> {
        if let Some(spot) = self.today(path, rights)? {
            return Ok(spot);
        }
        let (vault, path) = self.vault_of(path, home, rights)?;
        let is_note = path.to_ascii_lowercase().ends_with(".md");
        let path = if is_note { path.to_owned() } else { format!("{path}.md") };
        self.spot_at(vault, VaultPath::parse(&path)?, None, rights)
    }

    /// A place for a note. Whether somebody may write there is decided by the place alone, before
    /// its content is revealed.
    fn spot_at(
        &self,
        vault: VaultRow,
        path: VaultPath,
        template: Option<String>,
        rights: &Rights,
    ) -> Result<Spot> {
        rights.check_write(&page_in(&vault, &path, ""))?;
        self.check_skill(&vault, &path, rights)?;
        let file = self.sources.check_writable(&vault, &path)?;
        let inner = self.sources.store.pages.vaults()?.into_iter().find(|other| {
            other.folder() != vault.folder()
                && other.folder().starts_with(vault.folder())
                && file.starts_with(other.folder())
        });
        if let Some(inner) = inner {
            return Err(Error::invalid_params(format!(
                "`{path}` belongs to the vault `{0}`, which lies inside `{1}`; name it as `{0}/…`",
                inner.name, vault.name
            )));
        }
        let known = self.sources.store.pages.find(&vault.name, path.as_str())?;
        Ok(Spot { vault, path, pid: known.map(|row| row.pid), template })
    }

    /// Splits the vault's name off a path. One that names no vault is in `home`.
    fn vault_of<'a>(
        &self,
        path: &'a str,
        home: Option<&VaultRow>,
        rights: &Rights,
    ) -> Result<(VaultRow, &'a str)> {
        let path = path.trim();
        let mut vaults = self.sources.store.pages.vaults()?;
        if vaults.len() == 1 {
            return Ok((vaults.remove(0), path));
        }
        let inside = |vault: &VaultRow| -> Option<&'a str> {
            path.strip_prefix(vault.name.as_str())?.strip_prefix('/')
        };
        // A vault that the caller reads and may not write is meant by its name, too.
        let is_read_only = |vault: &VaultRow| {
            let place = inside(vault).and_then(|rest| VaultPath::parse(rest).ok());
            !may_write_in(vault, rights)
                && place.is_some_and(|place| rights.sees(&page_in(vault, &place, "")))
        };
        let home = home.filter(|_| !vaults.iter().any(is_read_only));
        vaults.retain(|vault| may_write_in(vault, rights));
        let names: Vec<String> = vaults.iter().map(|vault| format!("`{}/`", vault.name)).collect();
        let found = vaults.into_iter().find_map(|vault| {
            let rest = inside(&vault)?;
            Some((vault, rest))
        });
        let found = found.or_else(|| home.map(|home| (home.clone(), path)));
        found.ok_or_else(|| match names.is_empty() {
            true if rights.may(Right::LibraryState) => Error::invalid_params(NO_VAULT),
            true => Error::invalid_params("there is no vault in which you may make notes"),
            false => Error::invalid_params(format!(
                "path `{path}` does not say in which vault; start it with {}",
                names.join(" or ")
            )),
        })
    }

    /// The daily note, when that is what a path means.
    fn today(&self, path: &str, rights: &Rights) -> Result<Option<Spot>> {
        let Some(before) = path.strip_suffix(TODAY) else { return Ok(None) };
        let mut vaults = self.sources.store.pages.vaults()?;
        vaults.retain(|vault| may_write_in(vault, rights));
        let settings = VaultPath::parse(".obsidian")?;
        let with_settings =
            |vault: &&VaultRow| self.sources.has_file(vault, &settings).unwrap_or(false);
        let vault = match (before.strip_suffix('/'), vaults.as_slice()) {
            (Some(name), _) => vaults.iter().find(|vault| vault.name == name),
            (None, _) if !before.is_empty() => return Ok(None),
            (None, [only]) => Some(only),
            (None, _) => {
                let mut fitting = vaults.iter().filter(with_settings);
                fitting.next().filter(|_| fitting.next().is_none())
            }
        };
        let Some(vault) = vault else {
            return Err(Error::invalid_params(match vaults.is_empty() {
                true if rights.may(Right::LibraryState) => NO_VAULT.to_owned(),
                true => "there is no vault in which you may make notes".to_owned(),
                false => {
                    format!("there are several vaults; name one, as `{}/{TODAY}`", vaults[0].name)
                }
            }));
        };
        let Daily { path, text } = self.sources.daily(vault)?;
        self.spot_at(vault.clone(), path, Some(text), rights).map(Some)
    }

    /// Refuses what `[write]` does not allow to agents.
    pub(super) fn check_fence(&self, vault: &str, path: &VaultPath) -> Result<()> {
        let write = &self.sources.config.write;
        if !write.enabled {
            return Err(Error::invalid_params(
                "writing to notes is switched off (`[write] enabled` in the config)",
            ));
        }
        let full = format!("{vault}/{path}");
        let inside = |folder: &String| {
            let folder = folder.trim_matches('/');
            [path.as_str(), full.as_str()].iter().any(|path| {
                folder.is_empty()
                    || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        if write.folders.is_empty() || write.folders.iter().any(inside) {
            return Ok(());
        }
        let folders: Vec<String> = write.folders.iter().map(|name| format!("`{name}`")).collect();
        Err(Error::invalid_params(format!(
            "`{path}` is outside the folders that agents may write in: {} (`[write] folders` in the config)",
            folders.join(", ")
        )))
    }
}

/// Whether a request may make notes somewhere in a vault.
fn may_write_in(vault: &VaultRow, rights: &Rights) -> bool {
    let author = vault.authorship.author_of(None);
    rights.may_write_in(&vault.name, author.as_deref().and_then(Author::new).as_ref())
}
