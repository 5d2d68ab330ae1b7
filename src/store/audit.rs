//! The audit log: who did what to accounts, credentials, money and settings, when, from where, and
//! how it ended. It never holds content, arguments or secrets.

use std::cell::RefCell;

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

/// An entry about the change that a thread makes.
struct Awaited {
    entry: NewAuditEntry,
    most: u64,
    is_written: bool,
}

thread_local! {
    static AWAITED: RefCell<Option<Awaited>> = const { RefCell::new(None) };
}

/// Makes a change on this thread. A store that changes users, grants, tokens or passkeys writes the
/// entry in the transaction of the change; whether it did is the second value. It counts only where
/// the change succeeded: a transaction that fails takes its entry with it.
pub fn with_entry<T>(entry: NewAuditEntry, most: u64, change: impl FnOnce() -> T) -> (T, bool) {
    /// Forgets the entry, also where the change panics.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            AWAITED.with(|awaited| awaited.replace(None));
        }
    }
    let _forget = Forget;
    AWAITED.with(|awaited| awaited.replace(Some(Awaited { entry, most, is_written: false })));
    let changed = change();
    let is_written = |awaited: &RefCell<Option<Awaited>>| {
        awaited.borrow().as_ref().is_some_and(|awaited| awaited.is_written)
    };
    (changed, AWAITED.with(is_written))
}

/// Gives the entry of this thread's change to `write`, once, with the number of entries to keep.
pub(super) fn write_awaited<E>(
    write: impl FnOnce(&NewAuditEntry, u64) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    AWAITED.with(|awaited| {
        let mut awaited = awaited.borrow_mut();
        match awaited.as_mut().filter(|awaited| !awaited.is_written) {
            Some(awaited) => {
                write(&awaited.entry, awaited.most)?;
                awaited.is_written = true;
                Ok(())
            }
            None => Ok(()),
        }
    })
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
