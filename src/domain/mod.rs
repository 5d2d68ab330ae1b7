//! The nouns of Notewell and the one error that crosses its rooms.
//!
//! This room holds plain values with their invariants. It knows no file, no database, no protocol
//! and no clock other than the one it is handed.

pub mod author;
pub mod bookmark;
pub mod call;
pub mod card;
pub mod chunk;
mod count;
pub mod error;
pub mod item;
mod json;
pub mod money;
mod network;
pub mod page;
pub mod prompt;
pub mod property;
pub mod query;
pub mod time;
pub mod toolset;
pub mod user;
pub mod visible;

pub use author::Author;
pub use bookmark::Bookmark;
pub use call::{Begun, Patience, Progress, Silent};
pub use card::Card;
pub use chunk::{Chunk, Document};
pub use count::count;
pub use error::{Code, Error, Result};
pub use item::{Kind, MatchId, Pid};
pub use json::from_json;
pub use money::{Money, Price};
pub use network::network_of;
pub use page::{Page, VaultPath};
pub use prompt::Prompt;
pub use query::Filters;
pub use time::Timestamp;
pub use toolset::{Toolset, Toolsets};
pub use user::{Caller, Scope, Scopes, UserId, UserName};
pub use visible::Visible;
