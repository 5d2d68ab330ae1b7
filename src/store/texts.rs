//! The text of a page, wherever its vault keeps it.
//!
//! Pages are known to [`Pages`](super::Pages); what they say is read here: from the files of a
//! folder, or from the rows of a hosted vault.

use std::{path::Path, sync::Arc};

use super::{Hosted, Pages, pages::removed_vault};
use crate::{
    domain::{Result, VaultPath},
    vault::{self, Reason, Stamp, TextFile},
};

/// Why a page has no text at this moment. It is shown after the name of the page: `is not there`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// The file does not exist. Only a look at the whole vault decides that the page is gone.
    Absent,
    /// The file cannot be read now; its text may be unchanged. Holds the reason.
    Unreadable(String),
    /// The file is not a page: too large, not UTF-8, a link. Holds the reason.
    Unfit(String),
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("is not there"),
            Self::Unreadable(why) | Self::Unfit(why) => f.write_str(why),
        }
    }
}

/// Reads the texts of pages.
pub trait Texts: Send + Sync {
    /// The text at a path of a vault as it is now, with its SHA-256. The outer error means that the
    /// store itself failed or knows no such vault.
    fn read(&self, vault: &str, path: &VaultPath) -> Result<Result<TextFile, Unread>>;
}

/// Reads the texts of folders and of hosted vaults.
pub struct VaultTexts {
    pages: Arc<dyn Pages>,
    hosted: Arc<dyn Hosted>,
    /// Larger texts are not read.
    max_bytes: u64,
}

impl VaultTexts {
    /// `pages` knows where each vault is, `hosted` keeps the files of those in the database.
    pub fn new(pages: Arc<dyn Pages>, hosted: Arc<dyn Hosted>, max_bytes: u64) -> Self {
        Self { pages, hosted, max_bytes }
    }
}

impl Texts for VaultTexts {
    fn read(&self, vault: &str, path: &VaultPath) -> Result<Result<TextFile, Unread>> {
        // Looked up each time: the vault may have been removed and added with another folder.
        let row = self.pages.vaults()?.into_iter().find(|row| row.name == vault);
        let row = row.ok_or_else(|| removed_vault(vault))?;
        if row.is_hosted() {
            return Ok(hosted_text(self.hosted.as_ref(), vault, path, self.max_bytes)?
                .map_err(Unread::from));
        }
        let file = vault::locate(Path::new(&row.location), path);
        Ok(vault::read(&file, self.max_bytes).map_err(Unread::from))
    }
}

/// The text of a note of a hosted vault.
pub fn hosted_text(
    hosted: &dyn Hosted,
    vault: &str,
    path: &VaultPath,
    max_bytes: u64,
) -> Result<Result<TextFile, Reason>> {
    Ok(match hosted.read(vault, path.as_str())? {
        None => Err(Reason::Absent),
        Some((file, bytes)) => {
            let stamp = Stamp { size: file.size, mtime_ns: file.mtime_ns };
            vault::read::text_of(bytes, stamp, max_bytes)
        }
    })
}

impl From<Reason> for Unread {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Absent => Self::Absent,
            Reason::Unreadable(_) => Self::Unreadable(reason.after_name()),
            reason => Self::Unfit(reason.after_name()),
        }
    }
}
