//! Granting parts of the library.

use super::{super::App, Actor};
use crate::{
    domain::{
        Author, Error, Result,
        user::{Extent, Grant},
        visible::fold_label,
    },
    store::users::{Account, GrantRow},
};

impl App {
    /// The vault of this name, as a part to grant. An unknown one is an error that names those there
    /// are.
    pub fn vault_extent(&self, vault: &str) -> Result<Extent> {
        self.granted_vault(vault).map(Extent::Vault)
    }

    /// A folder to grant, written `VAULT/PATH`.
    pub fn folder_extent(&self, place: &str) -> Result<Extent> {
        let place = place.trim().trim_start_matches("./").trim_end_matches('/');
        let Some((vault, folder)) = place.split_once('/').filter(|(_, folder)| !folder.is_empty())
        else {
            return Err(Error::invalid_params(format!(
                "`{place}` names no folder; write the vault first: `VAULT/FOLDER`"
            )));
        };
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        if !folder.split('/').all(is_plain) {
            return Err(Error::invalid_params(format!(
                "`{folder}` is not the path of a folder; write it as `recipes/soups`"
            )));
        }
        Ok(Extent::Folder { vault: self.granted_vault(vault)?, folder: folder.to_owned() })
    }

    /// The items with a label, as a part to grant.
    pub fn label_extent(&self, label: &str) -> Result<Extent> {
        let label = fold_label(label);
        match label.is_empty() {
            true => Err(Error::invalid_params("the label is empty")),
            false => Ok(Extent::Label(label)),
        }
    }

    /// The pages of an author, as a part to grant.
    pub fn author_extent(&self, author: &str) -> Result<Extent> {
        let author = Author::new(author);
        author.map(Extent::Author).ok_or_else(|| Error::invalid_params("the author is empty"))
    }

    /// Grants a part of the library. The same part again changes whether it may be written.
    pub fn add_grant(&self, actor: &Actor, user: &Account, grant: &Grant) -> Result<GrantRow> {
        self.audited(actor, "grant_add", &user.name, || self.store.users.grant(user.id, grant))
    }

    /// Takes a grant back. False when the user has none of this number.
    pub fn remove_grant(&self, actor: &Actor, user: &Account, id: i64) -> Result<bool> {
        if !self.store.users.grants(user.id)?.iter().any(|row| row.id == id) {
            return Ok(false);
        }
        self.audited(actor, "grant_remove", &user.name, || self.store.users.revoke_grant(id))
    }

    /// Why nothing is in this part now, where that is likely a slip: a folder or an author without
    /// pages, a label of no page and no card.
    pub fn doubt_about(&self, extent: &Extent) -> Result<Option<String>> {
        let doubt = match extent {
            Extent::Folder { vault, folder } => {
                format!("no page is in the folder `{folder}` of `{vault}` now")
            }
            Extent::Author(author) => format!("no page has the author `{}` now", author.as_str()),
            Extent::Label(label) => format!("no page and no card has the label `{label}` now"),
            _ => return Ok(None),
        };
        for vault in self.store.pages.vaults()? {
            let pages = self.store.pages.of_vault(&vault.name)?;
            if pages.iter().any(|row| extent.has_page(&row.facts.page)) {
                return Ok(None);
            }
        }
        if let Extent::Label(label) = extent
            && self.cards.labels(&self.owner())?.iter().any(|own| fold_label(own) == *label)
        {
            return Ok(None);
        }
        Ok(Some(doubt))
    }

    fn granted_vault(&self, vault: &str) -> Result<String> {
        let vaults = self.sources.register_vaults()?;
        if vaults.iter().any(|known| known.name == vault) {
            return Ok(vault.to_owned());
        }
        let names: Vec<String> = vaults.iter().map(|known| format!("`{}`", known.name)).collect();
        let known = match names.is_empty() {
            true => "there is none yet; `notewell vault add DIR` adds one".to_owned(),
            false => format!("there is {}", names.join(", ")),
        };
        Err(Error::invalid_params(format!("no vault is called `{vault}`; {known}")))
    }
}
