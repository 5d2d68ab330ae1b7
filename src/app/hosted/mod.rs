//! Hosted vaults: notes and attachments in the library's database. The editing tools write notes
//! there as in a folder (`write`); WebDAV reads and writes all files (`files`); `import vault` and
//! `export vault` move whole folders (`transfer`).

mod changes;
mod files;
mod transfer;
mod write;

pub use changes::OpenChanges;
pub use files::{Ends, HostedVault};
pub use transfer::{Exported, Imported};

use crate::{
    app::App,
    domain::{Error, Result, UserName, VaultPath},
    store::{
        hosted::{HostedLimits, SCHEME},
        pages::{Authorship, VaultRow},
    },
};

/// Bytes of one part of a path.
const MAX_PART_BYTES: usize = 240;
/// Bytes of a path.
const MAX_PATH_BYTES: usize = 1024;
/// Bytes of a vault's name.
const MAX_NAME_BYTES: usize = 100;

impl App {
    /// Makes a vault that lives in the library's database. With `author`, its pages are that user's.
    /// A vault of that name that was removed before has its files again.
    pub fn create_vault(&self, name: &str, author: Option<&str>) -> Result<VaultRow> {
        let name = name.trim();
        let refuse = |why: &str| {
            Err(Error::invalid_params(format!(
                "`{}` cannot be a vault's name: {why}; choose another",
                name.escape_debug()
            )))
        };
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return refuse("it is empty or longer than 100 bytes");
        }
        if name.starts_with('.') || VaultPath::parse(name).is_err() || name.contains('/') {
            return refuse("it has a slash, a backslash, a control character or a leading dot");
        }
        let name = VaultPath::parse(name)?.as_str().to_owned();
        let author = author.map(UserName::new).transpose()?;
        if let Some(known) = self.sources.vault(&name)? {
            return Err(Error::invalid_params(format!(
                "there is a vault `{name}` already ({}); choose another name, or end it with `notewell vault remove {name}`",
                known.location
            )));
        }
        let pages = &self.store.pages;
        let vault = pages.add_vault(&name, &format!("{SCHEME}{name}"), false)?;
        if let Some(author) = author {
            pages.set_authorship(&vault.name, &Authorship::Vault(author.as_str().to_owned()))?;
        }
        self.sources.register_vaults()?;
        let vault = self.sources.vault(&vault.name)?.unwrap_or(vault);
        self.sources.sync_vault(&vault, &crate::domain::Silent)?;
        Ok(vault)
    }

    /// What each hosted vault may hold.
    pub fn hosted_limits(&self) -> HostedLimits {
        let config = &self.config.hosted;
        HostedLimits { files: config.files, bytes: config.vault_bytes }
    }
}

/// Checks a path that is about to be made in a hosted vault. Names are more liberal than those that
/// the editing tools make: files of any program keep theirs.
pub fn check_path(path: &VaultPath) -> Result<()> {
    let too_long = path.as_str().len() > MAX_PATH_BYTES
        || path.as_str().split('/').any(|part| part.len() > MAX_PART_BYTES);
    match too_long {
        true => Err(Error::invalid_params(format!(
            "the path `{}…` is too long: a name has at most {MAX_PART_BYTES} bytes, a path {MAX_PATH_BYTES}; nothing was changed",
            path.as_str().chars().take(60).collect::<String>()
        ))),
        false => Ok(()),
    }
}
