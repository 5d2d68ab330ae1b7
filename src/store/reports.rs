//! Reports on repositories: one for each commit that was verified.

use crate::domain::{Result, Timestamp};

/// A report as it is kept. What is in it is the business of whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReport {
    /// The repository's address in its one spelling.
    pub repo: String,
    /// The commit.
    pub commit: String,
    /// When.
    pub verified: Timestamp,
    /// 0 to 100.
    pub score: u8,
    /// The recommendation.
    pub verdict: String,
    /// The whole report, as JSON.
    pub json: String,
}

/// A report in a list, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// The repository's address in its one spelling.
    pub repo: String,
    /// The commit.
    pub commit: String,
    /// When.
    pub verified: Timestamp,
    /// 0 to 100.
    pub score: u8,
    /// The recommendation.
    pub verdict: String,
}

/// Reports on repositories.
pub trait Reports: Send + Sync {
    /// Keeps a report; a later one on the same commit takes its place.
    fn put(&self, report: &StoredReport) -> Result<()>;

    /// The report that was made last, on whichever commit.
    fn newest(&self, repo: &str) -> Result<Option<StoredReport>>;

    /// The report on one commit.
    fn of_commit(&self, repo: &str, commit: &str) -> Result<Option<StoredReport>>;

    /// The reports on one repository, or the newest report on each, the latest first.
    fn list(&self, repo: Option<&str>, offset: usize, limit: usize) -> Result<Vec<ReportLine>>;
}
