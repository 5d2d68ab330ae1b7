//! Durable state: one trait per noun, and the implementations that keep it.
//!
//! A trait says what is kept, not in what: files and tables are the business of `sqlite`, `postgres`,
//! `jsonl` and `texts`. `tests/it/store.rs` runs one suite over every implementation of each trait.
//!
//! What comes back from here as done is on the disk. Derived state (terms, vectors) is not kept
//! here; it follows the change log that every write leaves.

pub mod audit;
pub mod bookmarks;
pub mod cards;
mod compression;
pub mod copy;
pub mod hosted;
pub mod items;
pub mod jsonl;
pub mod ledger;
pub mod oauth;
pub mod pages;
pub mod payments;
pub mod postgres;
pub mod private;
pub mod prompts;
pub mod replica;
pub mod reports;
pub mod revisions;
pub mod sessions;
pub mod sqlite;
pub mod tasks;
pub mod texts;
pub mod tokens;
mod url;
pub mod usage;
pub mod users;
pub mod vectors;

use std::sync::Arc;

pub use audit::Audit;
pub use bookmarks::Bookmarks;
pub use cards::Cards;
pub use hosted::Hosted;
pub use items::Items;
pub use ledger::Ledger;
pub use oauth::OAuth;
pub use pages::Pages;
pub use payments::Payments;
pub use prompts::Prompts;
pub use reports::Reports;
pub use revisions::Revisions;
pub use sessions::Sessions;
pub use tasks::Tasks;
pub use texts::Texts;
pub use tokens::Tokens;
pub use url::{RESTORE_UNFINISHED, StoreLimits, StoreUrl, open};
pub use usage::Usage;
pub use users::Users;
pub use vectors::Vectors;

/// Memory that makes a store faster, and that it can do without.
pub trait Caches: Send + Sync {
    /// Frees what the next request can read or open again. The server calls it when it has nothing to
    /// do.
    fn release(&self) {}
}

/// Everything durable. Cards and prompts may have places of their own, which are configured.
#[derive(Clone)]
pub struct Store {
    /// The registry and the change log.
    pub items: Arc<dyn Items>,
    /// Pages and vaults.
    pub pages: Arc<dyn Pages>,
    /// Texts of pages.
    pub texts: Arc<dyn Texts>,
    /// Files of hosted vaults.
    pub hosted: Arc<dyn Hosted>,
    /// Accounts, grants and passkeys.
    pub users: Arc<dyn Users>,
    /// Sessions of people in browsers.
    pub sessions: Arc<dyn Sessions>,
    /// The audit log.
    pub audit: Arc<dyn Audit>,
    /// Access tokens.
    pub tokens: Arc<dyn Tokens>,
    /// Bookmarks.
    pub bookmarks: Arc<dyn Bookmarks>,
    /// Reports on repositories.
    pub reports: Arc<dyn Reports>,
    /// The journal of changes.
    pub revisions: Arc<dyn Revisions>,
    /// Connected clients, and what they were issued.
    pub oauth: Arc<dyn OAuth>,
    /// The books.
    pub ledger: Arc<dyn Ledger>,
    /// Payments from outside.
    pub payments: Arc<dyn Payments>,
    /// Calls of priced methods.
    pub usage: Arc<dyn Usage>,
    /// Cards, where the store is a server.
    pub cards: Option<Arc<dyn Cards>>,
    /// The server database, where the store is one. It holds prompts too.
    pub server: Option<Arc<postgres::Postgres>>,
    /// Long calls that callers follow.
    pub tasks: Arc<dyn Tasks>,
    /// What the database keeps in memory.
    pub caches: Arc<dyn Caches>,
}
