//! What an import did, in the same words for cards, bookmarks and prompts.

use std::path::PathBuf;

use serde::Serialize;

use crate::domain::{Error, count};

/// Remarks that are kept word for word; the rest is counted.
const MAX_REMARKS: usize = 1_000;

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// New records.
    pub added: usize,
    /// Were here, older.
    pub updated: usize,
    /// Were here already, with nothing new.
    pub unchanged: usize,
    /// Records that were left out, and why.
    pub skipped: Remarks,
    /// Records that the import changed, and how.
    pub changed: Remarks,
    /// Files that hold no records (pages for browsers, pictures that a note shows).
    pub other_files: usize,
    /// Files that were read, and their formats.
    pub files: Vec<(PathBuf, String)>,
    /// Files that could not be read to the end, and why. What was filed from them before stays.
    pub failed: Vec<(PathBuf, String)>,
    /// Somebody ended the import early. What was filed before stays.
    pub stopped: bool,
}

/// A failure after so many records or files (`noun`) were filed, each whole.
pub fn cut_short(filed: usize, noun: &str, error: Error) -> Error {
    if filed == 0 {
        return error;
    }
    let (are, stay) = if filed == 1 { ("is", "stays") } else { ("are", "stay") };
    let what = count(filed, noun);
    let why = error.reason();
    Error::new(
        error.code,
        format!(
            "the import stopped: {why}. {what} {are} filed and {stay}. Import again once that is fixed: what is there is not added twice"
        ),
    )
    .with_source(error)
}

/// Places in a file, each with a sentence. Bounded: a file of a million broken lines gives the
/// first thousand reasons and a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remarks {
    /// All of them.
    pub total: usize,
    /// The first ones: place and sentence.
    pub first: Vec<(String, String)>,
}

impl ImportReport {
    /// A failure of our own storage, with what was filed before it.
    pub fn cut_short(&self, error: Error) -> Error {
        cut_short(self.added + self.updated, "record", error)
    }
}

impl Remarks {
    /// Adds a remark; beyond the bound it is only counted.
    pub fn push(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.total += 1;
        if self.first.len() < MAX_REMARKS {
            self.first.push((place.into(), what.into()));
        }
    }

    /// Whether there is no remark.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl Extend<(String, String)> for Remarks {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, remarks: I) {
        remarks.into_iter().for_each(|(place, what)| self.push(place, what));
    }
}
