//! What is wrong with the library and how to fix it. Each family of findings has a file of its
//! own; looking changes nothing.

mod canonical;
pub(super) mod files;
mod index;
mod journal;
mod links;
mod market;
pub(super) mod permissions;
pub mod public;
mod vaults;

use super::App;
use crate::domain::{Result, query::words};

words!(
    /// How bad a finding is: `wrong` is a problem, `note` is good to know.
    Level, "level", { Wrong = "wrong", Note = "note" }
);

/// One result of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How serious it is.
    pub level: Level,
    /// What is the case.
    pub what: String,
    /// What to do; empty where nothing is.
    pub remedy: String,
}

impl Finding {
    /// A problem.
    pub fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Wrong, what: what.into(), remedy: remedy.into() }
    }

    /// Information.
    pub fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Note, what: what.into(), remedy: remedy.into() }
    }
}

impl App {
    /// Returns every finding, problems before notes.
    pub fn doctor(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        findings.extend(files::room(&self.config.data));
        findings.extend(permissions::open_to_others(&self.config)?);
        findings.extend(permissions::open_secret(&self.config));
        self.check_vaults(&mut findings)?;
        self.check_pages(&mut findings)?;
        self.check_links(&mut findings)?;
        self.check_prompts(&mut findings)?;
        self.check_canonical(&mut findings)?;
        self.check_journal(&mut findings)?;
        self.check_market(&mut findings)?;
        self.check_index(&mut findings)?;
        findings.sort_by_key(|finding| finding.level == Level::Note);
        Ok(findings)
    }
}
