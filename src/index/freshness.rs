//! How far the index follows the log, and how far a long write has come.

use super::{guard::Obstacle, lease::Holder};
use crate::domain::Progress as Watch;

/// How a search's answer stands to what was acknowledged before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freshness {
    /// Changes that the answer has not seen. 0: it has seen everything.
    pub behind: u64,
    /// Items in and items in all, while the index is filled for the first time.
    pub filling: Option<(usize, usize)>,
    /// Places that were not looked at yet: what changed there while nobody watched is not known.
    pub unread: usize,
    /// Why the index cannot follow, when the disk does not let it.
    pub obstacle: Option<Obstacle>,
    /// The store does not answer: what was written since is not known.
    pub away: bool,
}

/// How far a long write has come.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Items of a first fill: done, in all.
    Items(usize, usize),
    /// Changes of the log: done, in all.
    Changes(usize, usize),
    /// Another process writes.
    Waiting(Option<Holder>),
}

impl Stage {
    /// Reports the stage to whoever watches.
    pub fn report(&self, progress: &dyn Watch) {
        match self {
            Self::Items(done, total) => {
                progress.report(*done as u64, Some(*total as u64), "indexing items");
            }
            Self::Changes(done, total) => {
                progress.report(*done as u64, Some(*total as u64), "indexing changes");
            }
            Self::Waiting(Some(Holder { pid, since })) => progress.waiting(&format!(
                "waiting for process {pid}, which has been writing the index since {since}"
            )),
            Self::Waiting(None) => progress.waiting("waiting for another process to index"),
        }
    }
}

impl Freshness {
    /// Whether every acknowledged change is searchable.
    pub fn is_fresh(&self) -> bool {
        self.behind == 0 && self.filling.is_none()
    }

    /// What a caller may know of it who does not see everything: that the index is being made, but
    /// not how much there is or that something changed, which may be something private.
    pub fn without_counts(self) -> Self {
        Self { filling: self.filling.map(|_| (0, 0)), away: self.away, ..Self::default() }
    }
}
