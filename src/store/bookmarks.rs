//! Saved posts and links, and the counting over them.

mod tally;

pub(super) use tally::{SeriesOfTopics, Tallies};

use super::revisions::NewChange;
use crate::domain::{Bookmark, Pid, Result, Timestamp, bookmark};

/// A word that a bookmark is about: `key` is the same for all forms of it, `form` is as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// The topic's stem.
    pub key: String,
    /// The form that people read.
    pub form: String,
}

/// A bookmark with what it is filed under.
#[derive(Debug, Clone, PartialEq)]
pub struct Filed {
    /// The bookmark.
    pub bookmark: Bookmark,
    /// What it is about.
    pub topics: Vec<Topic>,
    /// The project that it links to.
    pub tool: Option<String>,
}

/// What putting a bookmark did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Added(Pid),
    /// It was there and changed.
    Updated(Pid),
    /// It was there and did not change.
    Same(Pid),
}

impl Put {
    /// The item.
    pub fn pid(self) -> Pid {
        match self {
            Put::Added(pid) | Put::Updated(pid) | Put::Same(pid) => pid,
        }
    }
}

/// A stretch of time, the one of the same length before it, and what is looked at in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The start of the period before.
    pub before: Timestamp,
    /// The start of the period.
    pub from: Timestamp,
    /// Exclusive.
    pub until: Timestamp,
    /// Only this category.
    pub category: Option<String>,
}

/// How often something occurs in the window and in the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// What is counted.
    pub name: String,
    /// In the period.
    pub now: u64,
    /// In the period before.
    pub before: u64,
}

/// Everything counted over one window, as of one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Bookmarks of the period.
    pub now: u64,
    /// Bookmarks of the period before.
    pub before: u64,
    /// By topic; the name is the form most often written. Most frequent first.
    pub topics: Vec<Tally>,
    /// By author.
    pub authors: Vec<Tally>,
    /// By host.
    pub domains: Vec<Tally>,
}

/// How often things occur in equal stretches of time, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Bookmarks in each stretch.
    pub totals: Vec<u64>,
    /// By topic, the most frequent of the last stretch first. The name is the form most often
    /// written in the last two stretches, as in [`Counted`], or in all.
    pub topics: Vec<(String, Vec<u64>)>,
    /// By category, the most frequent of the last stretch first.
    pub categories: Vec<(String, Vec<u64>)>,
}

/// What a bookmark is to become, for bringing one back.
#[derive(Debug, Clone, PartialEq)]
pub struct BookmarkState {
    /// The item.
    pub pid: Pid,
    /// What it must be now, as [`Bookmarks::record`] gives it; `None`: not there.
    pub expected: Option<String>,
    /// `None`: it is removed.
    pub wanted: Option<Filed>,
}

/// The form of a bookmark's address under which twins meet; empty without an address.
pub(super) fn address_key(bookmark: &Bookmark) -> String {
    match bookmark.url.is_empty() {
        true => String::new(),
        false => bookmark::same_address(&bookmark.url),
    }
}

/// Every write is one transaction, which also records what was there before under `change`.
pub trait Bookmarks: Send + Sync {
    /// Puts bookmarks in. One that is there (by its id; by its address where either has no id of
    /// its own) takes over what is new.
    fn put(&self, batch: &[Filed], change: &mut NewChange) -> Result<Vec<Put>>;

    /// The bookmark as the journal keeps it.
    fn record(&self, pid: Pid) -> Result<Option<String>>;

    /// Writes each bookmark's new state under its former pid. Fails without a change if one differs
    /// from its expected state.
    fn put_states(&self, states: &[BookmarkState], change: &mut NewChange) -> Result<()>;

    /// The bookmark that this one would be joined with.
    fn twin(&self, bookmark: &Bookmark) -> Result<Option<(Pid, Bookmark)>>;

    /// The bookmark of this number.
    fn get(&self, pid: Pid) -> Result<Option<Bookmark>>;

    /// The bookmarks of these numbers in the order asked for, as of one moment. Others are left
    /// out.
    fn get_many(&self, pids: &[Pid]) -> Result<Vec<(Pid, Bookmark)>>;

    /// The bookmark with this id.
    fn find(&self, id: &str) -> Result<Option<(Pid, Bookmark)>>;

    /// Bookmarks by pid, starting after `after`.
    fn list(&self, after: Option<Pid>, limit: usize) -> Result<Vec<(Pid, Bookmark)>>;

    /// Deletes a bookmark; `false` when there is none.
    fn remove(&self, id: &str, change: &mut NewChange) -> Result<bool>;

    /// Replaces a bookmark as a whole, for a change by its owner.
    fn replace(&self, filed: &Filed, change: &mut NewChange) -> Result<Option<Pid>>;

    /// Categories in use, with their numbers.
    fn categories(&self) -> Result<Vec<(String, u64)>>;

    /// Counts for `trends`.
    fn count(&self, window: &Window) -> Result<Counted>;

    /// Counts over time: `bounds` are the starts of the stretches and the end of the last one.
    fn series(&self, bounds: &[Timestamp], category: Option<&str>) -> Result<Series>;

    /// The bookmarks of the window that others cared for most.
    fn notable(&self, window: &Window, limit: usize) -> Result<Vec<(Pid, Bookmark)>>;

    /// Projects first linked to in the window, with how many bookmarks of it name them.
    fn new_tools(&self, window: &Window, limit: usize) -> Result<Vec<(String, u64)>>;

    /// The bookmarks that link to a project or have its name as a topic.
    fn about_tool(&self, tool: &str, topic: &str, limit: usize) -> Result<Vec<Bookmark>>;

    /// The project that a bookmark links to.
    fn tool_of(&self, pid: Pid) -> Result<Option<String>>;
}
