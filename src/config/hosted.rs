//! `[hosted]`: vaults in the library's database.

use serde::{Deserialize, Serialize};

/// `[hosted]`: how much one hosted vault may hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hosted {
    /// Bytes of all files of a vault.
    pub vault_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Files and folders of a vault.
    pub files: u64,
}

impl Default for Hosted {
    fn default() -> Self {
        Self { vault_bytes: 2 << 30, file_bytes: 32 << 20, files: 100_000 }
    }
}
