//! Accounts: how people prove who they are, what slows down guessing, and the record of both.
//!
//! Everything here blocks: a password takes tens of milliseconds and its memory. `serve` calls it on
//! the blocking pool.

mod brakes;
#[cfg(feature = "passkeys")]
mod ceremonies;
mod grants;
#[cfg(feature = "passkeys")]
mod passkeys;
mod passwords;
mod sessions;
mod setup;
mod users;

use std::{net::IpAddr, sync::Mutex};

use self::{brakes::Brakes, passwords::Hasher};
use super::App;
use crate::{
    domain::Result,
    store::audit::{NewAuditEntry, with_entry},
};

#[cfg(feature = "passkeys")]
pub use passkeys::passkeys_work_at;
pub use users::NewUser;

/// The state of accounts that ends with the process.
#[derive(Default)]
pub(super) struct Accounts {
    hasher: Hasher,
    brakes: Brakes,
    /// The set-up code, once it was asked for. Also the turn of those who set up.
    setup: Mutex<Option<String>>,
    #[cfg(feature = "passkeys")]
    passkeys: passkeys::Passkeys,
}

/// Who changes accounts, for the audit log.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The user's name; `owner` at the shell, empty where nobody proved who they are.
    pub who: String,
    /// The address of the request; `shell` for a command.
    pub address: String,
}

impl Actor {
    /// Whoever runs a command of this program.
    pub fn shell() -> Self {
        Self { who: "owner".to_owned(), address: "shell".to_owned() }
    }

    /// A user who made a request.
    pub fn user(name: &str, from: IpAddr) -> Self {
        Self { who: name.to_owned(), address: from.to_string() }
    }

    /// An entry of this actor.
    pub fn entry(
        &self,
        action: &'static str,
        subject: impl std::fmt::Display,
        outcome: &'static str,
    ) -> NewAuditEntry {
        NewAuditEntry {
            who: self.who.clone(),
            action,
            subject: subject.to_string(),
            address: self.address.clone(),
            outcome,
        }
    }
}

impl App {
    /// Records an entry of the audit log. A failure to record goes to the program's log.
    pub fn audit(&self, entry: NewAuditEntry) {
        if let Err(error) = self.record(&entry) {
            tracing::error!(?error, action = entry.action, "the audit log has a gap");
        }
    }

    /// Records an entry of the audit log.
    pub fn record(&self, entry: &NewAuditEntry) -> Result<()> {
        self.store.audit.record(entry, self.config.accounts.audit_entries)
    }

    /// Makes a change and records how it ended: in the transaction of the change where the store
    /// does so, and after it otherwise. A change that cannot be recorded then is an error that says
    /// that the change was made.
    pub fn audited<T>(
        &self,
        actor: &Actor,
        action: &'static str,
        subject: impl std::fmt::Display,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let entry = actor.entry(action, subject, "ok");
        let most = self.config.accounts.audit_entries;
        let (changed, is_recorded) = with_entry(entry.clone(), most, change);
        let recorded = match changed.is_ok() {
            true if is_recorded => Ok(()),
            true => self.record(&entry),
            false => self.record(&NewAuditEntry { outcome: "failed", ..entry }),
        };
        match (changed, recorded) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(mut error)) => {
                let why = error.reason();
                error.message =
                    format!("the change was made, but not recorded in the audit log: {why}");
                Err(error)
            }
            (Err(error), recorded) => {
                if let Err(error) = recorded {
                    tracing::error!(?error, action, "the audit log has a gap");
                }
                Err(error)
            }
        }
    }
}
