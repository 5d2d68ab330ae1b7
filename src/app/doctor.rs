//! What is wrong, and how to mend it. Nothing is changed by looking.

use super::App;
use crate::domain::{Result, query::words};

words!(
    /// How bad a finding is: `wrong` needs mending, `note` is good to know.
    Level, "level", { Wrong = "wrong", Note = "note" }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    pub what: String,
    pub mend: String,
}

impl Finding {
    pub fn wrong(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Wrong, what: what.into(), mend: mend.into() }
    }

    pub fn note(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Note, what: what.into(), mend: mend.into() }
    }
}

impl App {
    /// Everything that a person should know of, worst first.
    pub fn doctor(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        findings.extend(self.check_disk());
        findings.sort_by_key(|finding| finding.level == Level::Note);
        Ok(findings)
    }

    fn check_disk(&self) -> Option<Finding> {
        let probe = tempfile::NamedTempFile::new_in(&self.config.data);
        let error = probe.err()?;
        Some(Finding::wrong(
            format!("the data directory `{}` cannot be written: {error}", self.config.data.display()),
            "make it writable for this account, or name another with `--data DIR`",
        ))
    }
}
