//! History: every change that Notewell makes, and the way back from it.
//!
//! The journal (`store::Revisions`) keeps the content of each changed item before and after. Here
//! it is filled (`journal`), read (`list`), and used to take changes back (`undo`). A change that a
//! process began and did not finish is settled by the next one that looks (`recover`).

mod fold;
mod item;
mod journal;
mod list;
mod merge;
mod recover;
mod steps;
mod text;
mod undo;

pub use journal::{ItemState, Journal};
pub use list::{ChangeEntry, ChangedItem, Version};
pub use merge::{Reverted, revert};
pub use undo::{Conflict, Undone};
