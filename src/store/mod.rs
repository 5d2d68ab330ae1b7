//! Durable state: one trait per noun, and the databases that keep it.
//!
//! What comes back from here as done is on the disk. Derived state (terms, vectors) is not kept
//! here; it follows the change log that every write leaves.

pub mod bookmarks;
pub mod cards;
pub mod items;
pub mod jsonl;
pub mod pages;
pub mod private;
pub mod prompts;
pub mod reports;
pub mod revisions;
pub mod sqlite;
pub mod tokens;

use std::sync::Arc;

pub use bookmarks::Bookmarks;
pub use cards::Cards;
pub use items::Items;
pub use pages::Pages;
pub use prompts::Prompts;
pub use reports::Reports;
pub use revisions::Revisions;
pub use tokens::Tokens;

/// Everything durable, whatever database is behind it.
#[derive(Clone)]
pub struct Store {
    pub items: Arc<dyn Items>,
    pub pages: Arc<dyn Pages>,
    pub tokens: Arc<dyn Tokens>,
    pub bookmarks: Arc<dyn Bookmarks>,
    pub reports: Arc<dyn Reports>,
    pub revisions: Arc<dyn Revisions>,
}
