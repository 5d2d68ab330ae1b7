//! What is in the library, how much of it is indexed, and what is left out.

use serde::Serialize;

use super::App;
use crate::{
    domain::{Kind, Result, Timestamp},
    index::{Obstacle, Repair},
};

#[derive(Debug, Serialize)]
pub struct Status {
    pub version: &'static str,
    pub data: String,
    pub vaults: Vec<VaultStatus>,
    pub pages: u64,
    pub cards: u64,
    pub prompts: u64,
    pub bookmarks: u64,
    pub passages: u64,
    /// Changes that are not in the index yet.
    pub behind: u64,
    /// Why the index cannot follow, when the disk does not let it.
    pub obstacle: Option<&'static str>,
    /// Passages that can be found by meaning, and passages in all; absent without a model.
    pub vectors: Option<(u64, u64)>,
    /// What was damaged in the index and made anew lately.
    pub repairs: Vec<String>,
    pub model: Option<String>,
    /// Files that are left out, with the reason.
    pub skipped: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct VaultStatus {
    pub name: String,
    pub root: String,
    pub reachable: bool,
    /// Why it could not be read at the last look, and what to do.
    pub problem: Option<String>,
    pub pages: u64,
    pub seen: Option<Timestamp>,
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

    pub fn status(&self) -> Result<Status> {
        let items = &self.store.items;
        let index = self.index.status()?;
        let mut vaults = Vec::new();
        for row in self.store.pages.vaults()? {
            vaults.push(VaultStatus {
                reachable: row.folder().is_dir(),
                problem: row.problem.as_ref().map(|problem| problem.tell(&row)),
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
