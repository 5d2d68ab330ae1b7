//! The report on a repository. Fields that other systems read come first, in their order; the
//! evidence follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::domain::query::words;

words!(
    /// The result of the build.
    BuildResult, "build result", {
        Success = "BUILD_SUCCESS",
        Failed = "BUILD_FAILED",
        Skipped = "BUILD_SKIPPED",
    }
);

words!(
    /// The result of the repository's own tests.
    TestResult, "test result", { Pass = "TEST_PASS", Fail = "TEST_FAIL", Skipped = "TEST_SKIPPED" }
);

/// A report on one commit. Fields that may be null have the schema of any value, because some
/// clients reject a schema that names `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub repo_url: String,
    pub repo_name: String,
    #[schemars(with = "serde_json::Value")]
    pub stars: Option<u64>,
    #[schemars(with = "serde_json::Value")]
    pub license: Option<String>,
    #[schemars(with = "serde_json::Value")]
    pub language: Option<String>,
    pub security_score: u8,
    pub security_verdict: Verdict,
    pub build_result: BuildResult,
    pub test_result: TestResult,
    pub usage_notes: String,
    pub verified_at: String,
    pub checks: Vec<CheckResult>,
    pub commit: String,
    pub sources: Vec<Origin>,
    pub facts: Facts,
    /// What the report says nothing about.
    #[serde(default)]
    pub not_examined: Vec<String>,
}

/// One check: 0 to 10, or null when it could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    pub name: String,
    pub weight: u8,
    #[schemars(with = "serde_json::Value")]
    pub score: Option<u8>,
    pub evidence: Vec<Evidence>,
    #[schemars(with = "serde_json::Value")]
    pub remedy: Option<String>,
}

/// A reason for a score, with the place where it can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub text: String,
}

impl Evidence {
    /// Evidence about the repository as a whole.
    pub fn text(text: impl Into<String>) -> Self {
        Self { file: None, line: None, text: text.into() }
    }

    pub fn in_file(file: &str, text: impl Into<String>) -> Self {
        Self { file: Some(clean(file, 300)), line: None, text: text.into() }
    }

    pub fn at(file: &str, line: u32, text: impl Into<String>) -> Self {
        Self { file: Some(clean(file, 300)), line: Some(line), text: text.into() }
    }
}

/// Quotes a few words of a file, without control, direction and invisible characters.
pub fn quote(text: &str) -> String {
    format!("`{}`", clean(text.trim(), 100).replace('`', "'"))
}

/// A text without control, direction and invisible characters, cut after `most` characters.
pub fn clean(text: &str, most: usize) -> String {
    let fits = |c: &char| {
        !c.is_control() && !super::code::turns_direction(*c) && !super::code::is_invisible(*c)
    };
    let mut kept: String = text.chars().filter(fits).take(most).collect();
    if text.chars().nth(most).is_some() {
        kept.push('…');
    }
    kept
}

/// Where a fact came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    pub what: String,
    pub from: String,
}

/// Facts about the repository that are counted, not judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    #[schemars(with = "serde_json::Value")]
    pub description: Option<String>,
    #[schemars(with = "serde_json::Value")]
    pub archived: Option<bool>,
    pub files: usize,
    pub bytes: u64,
    /// When the newest commit was made: the clock of the score.
    pub committed_at: String,
    /// The first commit; with `atLeast`, the oldest that was seen.
    #[schemars(with = "serde_json::Value")]
    pub first_commit_at: Option<String>,
    pub first_commit_at_least: bool,
    /// In the year before the newest commit.
    #[schemars(with = "serde_json::Value")]
    pub commits_last_year: Option<u32>,
    #[schemars(with = "serde_json::Value")]
    pub contributors_last_year: Option<u32>,
    pub tags: usize,
    #[schemars(with = "serde_json::Value")]
    pub latest_tag: Option<String>,
    pub dependencies: usize,
    /// How the build and the tests ended, or why they were skipped.
    pub build_notes: String,
    pub test_notes: String,
}
