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
    /// The address that was asked for.
    pub repo_url: String,
    /// `owner/name`.
    pub repo_name: String,
    /// As the forge's API reports; `None` where it was not asked.
    #[schemars(with = "serde_json::Value")]
    pub stars: Option<u64>,
    /// The SPDX identifier.
    #[schemars(with = "serde_json::Value")]
    pub license: Option<String>,
    /// The language of most files.
    #[schemars(with = "serde_json::Value")]
    pub language: Option<String>,
    /// 0 to 100.
    pub security_score: u8,
    /// The recommendation.
    pub security_verdict: Verdict,
    /// Whether it builds in the sandbox.
    pub build_result: BuildResult,
    /// Whether its tests pass in the sandbox.
    pub test_result: TestResult,
    /// How to install and start it.
    pub usage_notes: String,
    /// When it was verified.
    pub verified_at: String,
    /// Every check with its evidence.
    pub checks: Vec<CheckResult>,
    /// The commit that was verified.
    pub commit: String,
    /// Where each fact comes from.
    pub sources: Vec<Origin>,
    /// Figures of the repository.
    pub facts: Facts,
    /// What the report says nothing about.
    #[serde(default)]
    pub not_examined: Vec<String>,
}

/// One check: 0 to 10, or null when it could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// The check.
    pub name: String,
    /// Share of the score.
    pub weight: u8,
    /// 0 to 10; `None` where it does not apply.
    #[schemars(with = "serde_json::Value")]
    pub score: Option<u8>,
    /// What was found, where.
    pub evidence: Vec<Evidence>,
    /// What a maintainer can do, where the score is not full.
    #[schemars(with = "serde_json::Value")]
    pub remedy: Option<String>,
}

/// A reason for a score, with the place where it can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// One sentence.
    pub text: String,
}

impl Evidence {
    /// Evidence about the repository as a whole.
    pub fn text(text: impl Into<String>) -> Self {
        Self { file: None, line: None, text: text.into() }
    }

    /// Evidence about a whole file.
    pub fn in_file(file: &str, text: impl Into<String>) -> Self {
        Self { file: Some(clean(file, 300)), line: None, text: text.into() }
    }

    /// Evidence on one line.
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
    /// The fact.
    pub what: String,
    /// Its source.
    pub from: String,
}

/// Facts about the repository that are counted, not judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// As the forge's API reports.
    #[schemars(with = "serde_json::Value")]
    pub description: Option<String>,
    /// As the forge's API reports.
    #[schemars(with = "serde_json::Value")]
    pub archived: Option<bool>,
    /// Files of the commit.
    pub files: usize,
    /// Bytes of the commit's files.
    pub bytes: u64,
    /// When the newest commit was made: the clock of the score.
    pub committed_at: String,
    /// The first commit; with `atLeast`, the oldest that was seen.
    #[schemars(with = "serde_json::Value")]
    pub first_commit_at: Option<String>,
    /// The history was cut: the first commit may be older.
    pub first_commit_at_least: bool,
    /// In the year before the newest commit.
    #[schemars(with = "serde_json::Value")]
    pub commits_last_year: Option<u32>,
    /// Authors of the last year's commits.
    #[schemars(with = "serde_json::Value")]
    pub contributors_last_year: Option<u32>,
    /// Tags.
    pub tags: usize,
    /// The newest tag by date.
    #[schemars(with = "serde_json::Value")]
    pub latest_tag: Option<String>,
    /// Direct and locked dependencies.
    pub dependencies: usize,
    /// How the build and the tests ended, or why they were skipped.
    pub build_notes: String,
    /// Why tests did not run, or how they ended.
    pub test_notes: String,
}
