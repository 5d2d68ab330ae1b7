//! What is in the library, how much of it is indexed, and what is left out.

use serde::Serialize;

use super::App;
use crate::{
    domain::{Kind, Result, Timestamp},
    index::{Obstacle, Repair},
};

/// The state of the library.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The version of this program.
    pub version: &'static str,
    /// The data directory.
    pub data: String,
    /// Every vault.
    pub vaults: Vec<VaultStatus>,
    /// Pages.
    pub pages: u64,
    /// Cards.
    pub cards: u64,
    /// Prompts.
    pub prompts: u64,
    /// Bookmarks.
    pub bookmarks: u64,
    /// Passages that can be found.
    pub passages: u64,
    /// Changes that are not in the index yet.
    pub behind: u64,
    /// Why the index cannot follow, when the disk does not let it.
    pub obstacle: Option<&'static str>,
    /// Passages that can be found by meaning, and passages in all; absent without a model.
    pub vectors: Option<(u64, u64)>,
    /// What was damaged in the index and made anew lately.
    pub repairs: Vec<String>,
    /// The embedding model.
    pub model: Option<String>,
    /// Files that are left out, with the reason.
    pub skipped: Vec<String>,
}

/// The state of a vault.
#[derive(Debug, Serialize)]
pub struct VaultStatus {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub root: String,
    /// Whether the folder can be listed.
    pub reachable: bool,
    /// Why it could not be read at the last look, and what to do.
    pub problem: Option<String>,
    /// Its pages.
    pub pages: u64,
    /// When it was last read.
    pub seen: Option<Timestamp>,
}

/// Whether requests should come to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Everything works.
    Ready,
    /// Searches and reads work; writes do not, because the store is away.
    Degraded,
    /// Searches and reads work without the latest changes, because the disk is full.
    Full,
    /// So many changes are not read yet.
    Behind(u64),
}

/// How many days a repair is mentioned.
const MENTIONED: i64 = 7;

impl App {
    /// What was damaged in the index and made anew in the last days.
    pub(super) fn recent_repairs(&self) -> Vec<Repair> {
        let since = Timestamp::now().plus_days(-MENTIONED);
        let mut repairs = self.index.repairs();
        repairs.retain(|repair| repair.at >= since);
        repairs
    }

    /// Whether requests should come to this process.
    pub fn readiness(&self) -> Result<Readiness> {
        let items = &self.store.items;
        let position = items.head()?;
        let Some(replica) = &self.replica else { return Ok(Readiness::Ready) };
        if !replica.has_caught_up() {
            let behind = items.acknowledged()?.saturating_sub(position);
            return Ok(Readiness::Behind(u64::try_from(behind).unwrap_or(0)));
        }
        Ok(match items.absence() {
            Some(_) => Readiness::Degraded,
            None if items.is_full() => Readiness::Full,
            None => Readiness::Ready,
        })
    }

    /// The state of the library.
    pub fn status(&self) -> Result<Status> {
        let items = &self.store.items;
        let index = self.index.status()?;
        let mut vaults = Vec::new();
        for row in self.store.pages.vaults()? {
            vaults.push(VaultStatus {
                reachable: row.is_hosted() || row.folder().is_dir(),
                problem: row.problem.as_ref().map(|problem| problem.message(&row)),
                pages: self.store.pages.count_of(&row.name)?,
                root: row.folder().display().to_string(),
                name: row.name,
                seen: row.seen,
            });
        }
        let skipped = self.store.pages.skipped()?;
        Ok(Status {
            version: env!("CARGO_PKG_VERSION"),
            data: self.config.data.display().to_string(),
            vaults,
            pages: items.count(Some(Kind::Page))?,
            cards: items.count(Some(Kind::Card))?,
            prompts: items.count(Some(Kind::Prompt))?,
            bookmarks: items.count(Some(Kind::Bookmark))?,
            passages: index.passages,
            behind: index.freshness.behind,
            obstacle: index.freshness.obstacle.map(Obstacle::as_str),
            repairs: self
                .recent_repairs()
                .iter()
                .map(|repair| format!("{}: {}", repair.at, repair.what))
                .collect(),
            vectors: index.vectors.map(|vectors| (vectors.done, vectors.total)),
            model: self.embedder.as_ref().map(|embedder| embedder.id().to_owned()),
            skipped: skipped
                .into_iter()
                .map(|file| format!("{}/{}: {}", file.vault, file.path, file.reason))
                .collect(),
        })
    }
}
