//! The audit log: who did what to accounts, credentials, money and settings, when, from where, and
//! how it ended. It never holds content, arguments or secrets.

use crate::domain::{Result, Timestamp};

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, rising.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// Who: a user's name, `owner` for the shell, or empty where nobody proved who they are.
    pub who: String,
    /// What, as a word of a closed set: `sign_in`, `user_add`, `grant_add`, `token_create`…
    pub action: String,
    /// To whom or what: a user's name, the number of a token, a client's name.
    pub subject: String,
    /// The address of the request; `shell` for a command.
    pub address: String,
    /// `ok`, or why it was refused, as a word of a closed set.
    pub outcome: String,
}

/// An entry to record.
#[derive(Debug, Clone, Default)]
pub struct NewAuditEntry {
    /// Who.
    pub who: String,
    /// What.
    pub action: &'static str,
    /// To whom or what; cut to 100 characters.
    pub subject: String,
    /// From where.
    pub address: String,
    /// How it ended.
    pub outcome: &'static str,
}

/// Keeps the audit log.
pub trait Audit: Send + Sync {
    /// Records an entry, and forgets the oldest beyond `most`.
    fn record(&self, entry: &NewAuditEntry, most: u64) -> Result<()>;

    /// Entries before `before`, newest first. With `who`, those of this user and about this user.
    fn entries(
        &self,
        before: Option<i64>,
        who: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>>;
}
