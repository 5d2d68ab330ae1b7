//! The record of derived files that were found damaged and made anew, for answers, `status` and
//! `doctor`. It outlives the process that repaired.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::directory::replace;
use crate::domain::Timestamp;

const NAME: &str = "repairs";
/// Repairs that are remembered.
const MAX_REPAIRS: usize = 20;

/// Why something derived was made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A file failed its checksum, or could not be read.
    Damaged,
    /// The index was made from another database than the one that is open.
    OtherLibrary,
}

/// Something derived that was made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// When it happened.
    pub at: Timestamp,
    /// What was wrong.
    pub cause: Cause,
    /// What happened, as a sentence without a full stop.
    pub what: String,
}

/// Keeps the record in `DATA/index/repairs`.
pub(super) struct Repairs {
    root: PathBuf,
    here: Mutex<Vec<Repair>>,
}

impl Repairs {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), here: Mutex::default() }
    }

    pub(super) fn record(&self, cause: Cause, what: String) {
        tracing::warn!(what, "repaired the index");
        let repair = Repair { at: Timestamp::now(), cause, what };
        let mut all = self.all();
        all.push(repair.clone());
        let recent = &all[all.len().saturating_sub(MAX_REPAIRS)..];
        let lines: Vec<String> =
            recent.iter().filter_map(|repair| serde_json::to_string(repair).ok()).collect();
        // On a full disk the record lives as long as this process.
        let _ = replace(&self.root, Path::new(NAME), lines.join("\n").as_bytes());
        self.here.lock().unwrap_or_else(PoisonError::into_inner).push(repair);
    }

    /// Every repair that is remembered, oldest first.
    pub(super) fn all(&self) -> Vec<Repair> {
        let text = fs::read_to_string(self.root.join(NAME)).unwrap_or_default();
        let mut all: Vec<Repair> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for repair in &*self.here.lock().unwrap_or_else(PoisonError::into_inner) {
            if !all.contains(repair) {
                all.push(repair.clone());
            }
        }
        all
    }

    /// The repairs of this process since `since`.
    pub(super) fn here(&self, since: Timestamp) -> Vec<Repair> {
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.iter().filter(|repair| repair.at >= since).cloned().collect()
    }

    /// Forgets every repair: somebody had the index made anew on purpose.
    pub(super) fn forget(&self) {
        let _ = fs::remove_file(self.root.join(NAME));
        self.here.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
