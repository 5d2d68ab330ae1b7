//! Texts in the files of a folder: the vault's location is its path.

use std::{path::Path, sync::Arc};

use super::{
    Pages,
    texts::{Texts, Unread},
};
use crate::{
    domain::{Error, Result, VaultPath},
    vault::{self, Reason, TextFile},
};

/// Reads the files of vaults that are folders.
pub struct FolderTexts {
    pages: Arc<dyn Pages>,
    /// Files above this size are not read.
    max_bytes: u64,
}

impl FolderTexts {
    /// `pages` knows where each vault is.
    pub fn new(pages: Arc<dyn Pages>, max_bytes: u64) -> Self {
        Self { pages, max_bytes }
    }
}

impl Texts for FolderTexts {
    fn read(&self, vault: &str, path: &VaultPath) -> Result<Result<TextFile, Unread>> {
        // Looked up each time: the vault may have been removed and added with another folder.
        let row =
            self.pages.vaults()?.into_iter().find(|row| row.name == vault).ok_or_else(|| {
                Error::not_found(format!("the vault `{vault}` is not in the library any more"))
            })?;
        let file = vault::locate(Path::new(&row.location), path);
        Ok(vault::read(&file, self.max_bytes).map_err(Unread::from))
    }
}

impl From<Reason> for Unread {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Absent => Self::Absent,
            Reason::Unreadable(_) => Self::Unreadable(reason.to_string()),
            reason => Self::Unfit(reason.to_string()),
        }
    }
}
