//! What is said of a repository: the fields of the seed first and in its order, then what they rest
//! on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::domain::query::words;

words!(
    /// What came of building it.
    BuildResult, "build result", {
        Success = "BUILD_SUCCESS",
        Failed = "BUILD_FAILED",
        Skipped = "BUILD_SKIPPED",
    }
);

words!(
    /// What came of its own tests.
    TestResult, "test result", { Pass = "TEST_PASS", Fail = "TEST_FAIL", Skipped = "TEST_SKIPPED" }
);

/// Fields that may be null have the schema of any value: a schema of ours names no null.
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

/// Why, and where to see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub text: String,
}

impl Evidence {
    pub fn said(text: impl Into<String>) -> Self {
        Self { file: None, line: None, text: text.into() }
    }

    pub fn in_file(file: &str, text: impl Into<String>) -> Self {
        Self { file: Some(clean(file, 300)), line: None, text: text.into() }
    }

    pub fn at(file: &str, line: u32, text: impl Into<String>) -> Self {
        Self { file: Some(clean(file, 300)), line: Some(line), text: text.into() }
    }
}

/// A few words of a stranger's file, fit to be quoted: no control or direction characters.
pub fn quote(text: &str) -> String {
    format!("`{}`", clean(text.trim(), 100).replace('`', "'"))
}

fn clean(text: &str, most: usize) -> String {
    let fits = |c: &char| !c.is_control() && !super::checks::turns_direction(*c);
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

/// What was counted.
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
    /// What the build and the tests said last, or why there were none.
    pub build_notes: String,
    pub test_notes: String,
}
