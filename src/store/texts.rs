//! The text of a page, wherever its vault keeps it.
//!
//! Pages are known to [`Pages`](super::Pages); what they say is read here. A vault is a folder of
//! files today. One that is kept in a database implements the same trait with a row for a text.

use crate::{
    domain::{Result, VaultPath},
    vault::TextFile,
};

/// Why a page has no text at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// Nothing is there. Whether the page is gone is for a look at the whole vault to say.
    Absent,
    /// It may still say what it said: it cannot be read now. The sentence says why.
    Unreadable(String),
    /// What is there is no text of a page: too large, not UTF-8, a link. The sentence says why.
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
