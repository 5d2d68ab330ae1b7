//! Derived state: the terms and the vectors of every passage, kept up with the change log.
//!
//! Everything here can be deleted and is built again from the [`Source`]. The room does not know
//! where items live, what a query string means or how results are ranked against each other; it
//! refuses to answer from a passage that is gone, and to be quietly behind: [`Freshness`] says how
//! far. Every file has a checksum. What is damaged is made anew by itself, and [`Repair`] says so.
//!
//! ```text
//! DATA/index/
//! ├── lease                    who writes terms; held while writing
//! ├── current                  the name of the build that is searched
//! ├── repairs                  what was damaged and made anew, and when
//! ├── terms-SCHEMA-ANALYSER-N/ one build (tantivy), its log position in the commit's payload
//! └── vectors-MODEL-DIMS/      rows of int8 codes, found by the hash of what was embedded
//! ```

mod bits;
mod build;
mod cache;
mod catch_up;
mod census;
mod centre;
mod coverage;
mod directory;
mod expand;
mod follower;
mod freshness;
mod generation;
mod guard;
mod heal;
mod keys;
mod lease;
mod lexical;
mod narrow;
mod passage;
mod priority;
mod property;
mod rebuild;
mod repair;
mod schema;
mod seal;
mod state;
mod tally;
mod tokens;
mod vectors;
mod view;
mod visible;
mod worker;

pub use expand::{Expansion, Replacement};
pub use follower::Follower;
pub use freshness::{Freshness, Stage};
pub use guard::Obstacle;
pub use lease::Holder;
pub use lexical::{Total, Words};
pub use narrow::{Asked, Narrowing};
pub use notewell_vectors::pool::beside;
pub use passage::embedded_text;
pub use repair::{Cause, Repair};
pub use schema::Passage;
pub use state::{Index, Status};
pub use tally::Sums;
pub use vectors::Progress;
pub use view::{Hit, View};
pub use worker::{Embed, Worker};

use crate::domain::{Document, Pid, Result};

/// Where items and the log of their changes come from.
pub trait Source: Send + Sync {
    /// Entries after `after`, ascending, at most `limit`: (seq, pid).
    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>>;
    /// The last seq there is: what a search must have seen.
    fn head(&self) -> Result<i64>;
    /// The seq up to which `changes`, `document` and `all` are certain to show everything. A replica
    /// may not have read all that there is.
    fn reached(&self) -> Result<i64> {
        self.head()
    }
    /// Whether the items come from a copy whose store does not answer.
    fn is_away(&self) -> bool {
        false
    }
    /// Whether the items come from a copy that has no room on its disk for what is new.
    fn is_full(&self) -> bool {
        false
    }
    /// The item as it is now, or `None` when it is gone or not searchable.
    fn document(&self, pid: Pid) -> Result<Option<Document>>;
    /// The number of the library. An index that was made from another one is made anew.
    fn library(&self) -> Result<i64>;
    /// Every live item, for a rebuild.
    fn all(&self) -> Result<Vec<Pid>>;
    /// Waits, until `deadline` at the longest, for places that were not looked at since the process
    /// began, and says how many are left: what changed there is in no log yet.
    fn settle(&self, _deadline: std::time::Instant) -> usize {
        0
    }
}

#[cfg(test)]
pub(crate) mod shelf;
#[cfg(test)]
mod tests;
