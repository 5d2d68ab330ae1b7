//! An item as the index sees it: facts to filter by, and the passages it is cut into.

use std::ops::Range;

use super::{Kind, Pid, Timestamp, VaultPath};

/// One passage of an item. Its number is stable while the item's text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Counted from 0 within the item: the `32` of `p29:c32`.
    pub ordinal: u32,
    /// The headings that lead to it, as `toc_path` addresses them.
    pub toc_path: Vec<String>,
    /// Plain text, markup removed: what is searched, embedded and quoted.
    pub text: String,
    /// Where the passage stands in the item's source text, in bytes.
    pub range: Range<usize>,
}

/// Everything the index needs to know of one item. It is derived: dropping it loses nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The item.
    pub pid: Pid,
    /// The item's kind.
    pub kind: Kind,
    /// The title, searched with more weight than the text.
    pub title: String,
    /// Path in the vault (`name/path.md` when there are several vaults), card id, tweet id or
    /// prompt name: what the user calls it.
    pub path: String,
    /// Labels to filter by.
    pub labels: Vec<String>,
    /// Other names of the item, searched like its title.
    pub aliases: Vec<String>,
    /// `en`, `ru`, `ja`… when the item says so; the analyser detects it otherwise.
    pub lang: Option<String>,
    /// The author to filter by.
    pub author: Option<String>,
    /// The date to filter by.
    pub date: Option<Timestamp>,
    /// Folded names and values of its properties, to filter and sort by.
    pub properties: Vec<(String, String)>,
    /// A bookmark's category.
    pub category: Option<String>,
    /// A bookmark's sentiment.
    pub sentiment: Option<String>,
    /// A bookmark's action.
    pub action: Option<String>,
    /// Visible to everybody (`free: true`).
    pub free: bool,
    /// Visible to every user with an account (`access: members`).
    pub members: bool,
    /// A method that is sold, which others than its author do not read.
    pub priced: bool,
    /// A page's vault and its path there.
    pub place: Option<(String, VaultPath)>,
    /// Found only when asked for (an archived card).
    pub archived: bool,
    /// The text could not be read now, so `chunks` is empty: the passages that the index has of
    /// this item stay.
    pub unread: bool,
    /// The passages, in the order of the text.
    pub chunks: Vec<Chunk>,
}

impl Document {
    /// An empty document; the caller fills in what its kind has.
    pub fn new(pid: Pid, kind: Kind, title: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            pid,
            kind,
            title: title.into(),
            path: path.into(),
            labels: Vec::new(),
            aliases: Vec::new(),
            lang: None,
            author: None,
            date: None,
            properties: Vec::new(),
            category: None,
            sentiment: None,
            action: None,
            free: false,
            members: false,
            priced: false,
            place: None,
            archived: false,
            unread: false,
            chunks: Vec::new(),
        }
    }
}
