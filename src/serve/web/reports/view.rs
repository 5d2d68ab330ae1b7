//! A report as its page shows it.

use super::verdict_words;
use crate::{
    oss::{Evidence, Report},
    serve::web::{age::Age, encode},
};

/// A report.
pub struct ReportView {
    /// The verdict for people, and its colour.
    pub verdict: &'static str,
    /// `good`, `bad` or empty.
    pub colour: &'static str,
    /// 0 to 100.
    pub score: u8,
    /// How many checks were made, of how many.
    pub checked: (usize, usize),
    /// The address of the repository, where a browser can open it.
    pub url: Option<String>,
    /// The commit.
    pub commit: String,
    /// When it was verified.
    pub verified: Option<Age>,
    /// The verdict's reasons, and how to install and start it.
    pub notes: Vec<String>,
    /// Figures with their names.
    pub facts: Vec<(&'static str, String)>,
    /// The checks, worst first.
    pub checks: Vec<CheckView>,
    /// Where each fact comes from.
    pub sources: Vec<(String, String)>,
    /// What the report says nothing about.
    pub not_examined: Vec<String>,
}

/// One check.
pub struct CheckView {
    /// Its name, for people.
    pub name: String,
    /// `7 of 10`, or that it does not apply.
    pub score: String,
    /// `good`, `bad` or empty.
    pub colour: &'static str,
    /// Its share of the score.
    pub weight: u8,
    /// The reasons.
    pub evidence: Vec<EvidenceView>,
    /// What a maintainer can do.
    pub remedy: Option<String>,
}

/// A reason with its place.
pub struct EvidenceView {
    /// One sentence.
    pub text: String,
    /// `src/main.rs:3`.
    pub place: String,
    /// Where the place can be read, at a forge whose addresses are known.
    pub href: Option<String>,
}

impl ReportView {
    /// A stored report.
    pub fn new(report: Report) -> Self {
        let (verdict, colour) = verdict_words(report.security_verdict);
        let made = report.checks.iter().filter(|check| check.score.is_some()).count();
        let is_open = report.repo_url.starts_with("https://");
        let mut checks = report.checks;
        checks.sort_by_key(|check| (check.score.unwrap_or(11), std::cmp::Reverse(check.weight)));
        let facts = &report.facts;
        let mut lines = vec![
            ("Language", report.language.unwrap_or_else(|| "unknown".to_owned())),
            ("Licence", report.license.unwrap_or_else(|| "none found".to_owned())),
            ("Build", words(report.build_result.as_str(), &facts.build_notes)),
            ("Tests", words(report.test_result.as_str(), &facts.test_notes)),
            ("Files", facts.files.to_string()),
            ("Newest commit", facts.committed_at.clone()),
            ("Dependencies", facts.dependencies.to_string()),
        ];
        lines.extend(report.stars.map(|stars| ("Stars", stars.to_string())));
        lines.extend(facts.commits_last_year.map(|n| ("Commits in a year", n.to_string())));
        lines.extend(facts.contributors_last_year.map(|n| ("Authors in a year", n.to_string())));
        lines.extend(facts.latest_tag.clone().map(|tag| ("Newest tag", tag)));
        if facts.archived == Some(true) {
            lines.push(("Archived", "yes".to_owned()));
        }
        Self {
            verdict,
            colour,
            score: report.security_score,
            checked: (made, checks.len()),
            checks: checks
                .into_iter()
                .map(|check| CheckView {
                    name: check.name.replace(['_', '-'], " "),
                    score: match check.score {
                        Some(score) => format!("{score} of 10"),
                        None => "not made".to_owned(),
                    },
                    colour: match check.score {
                        Some(0..=4) => "bad",
                        Some(8..) => "good",
                        _ => "",
                    },
                    weight: check.weight,
                    evidence: check
                        .evidence
                        .into_iter()
                        .map(|evidence| evidence_view(evidence, &report.repo_url, &report.commit))
                        .collect(),
                    remedy: check.remedy,
                })
                .collect(),
            url: is_open.then_some(report.repo_url),
            commit: report.commit,
            verified: report.verified_at.parse().ok().map(Age::of),
            notes: report.usage_notes.lines().map(str::to_owned).collect(),
            facts: lines,
            sources: report.sources.into_iter().map(|one| (one.what, one.from)).collect(),
            not_examined: report.not_examined,
        }
    }
}

/// `BUILD_SUCCESS` in words, with the notes.
fn words(result: &str, notes: &str) -> String {
    let word = result.split_once('_').map_or(result, |(_, word)| word).to_lowercase();
    match notes.trim() {
        "" => word,
        notes if notes.starts_with(&word) => notes.to_owned(),
        notes => format!("{word}: {notes}"),
    }
}

fn evidence_view(evidence: Evidence, repo: &str, commit: &str) -> EvidenceView {
    let (file, line) = (evidence.file.unwrap_or_default(), evidence.line);
    let place = match line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    };
    EvidenceView { text: evidence.text, href: source(repo, commit, &file, line), place }
}

/// Where a file of a commit can be read.
fn source(repo: &str, commit: &str, file: &str, line: Option<u32>) -> Option<String> {
    let host = repo.strip_prefix("https://")?.split('/').next()?;
    let blob = match host {
        "github.com" => "blob",
        "gitlab.com" => "-/blob",
        "codeberg.org" => "src/commit",
        _ => return None,
    };
    if file.is_empty() {
        return None;
    }
    let path: Vec<String> = file.split('/').map(encode).collect();
    let anchor = line.map(|line| format!("#L{line}")).unwrap_or_default();
    Some(format!("{repo}/{blob}/{}/{}{anchor}", encode(commit), path.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_leads_to_its_line() {
        let at = |repo| source(repo, "abc", "src/a b.rs", Some(3));
        let expected = "https://github.com/o/n/blob/abc/src/a%20b.rs#L3";
        assert_eq!(at("https://github.com/o/n").as_deref(), Some(expected));
        assert_eq!(at("https://git.example/o/n"), None);
        assert_eq!(at("file:///tmp/o"), None);
        assert_eq!(source("https://github.com/o/n", "abc", "", None), None);
        assert_eq!(words("BUILD_SKIPPED", "no sandbox"), "skipped: no sandbox");
        assert_eq!(words("TEST_SKIPPED", "skipped with the build"), "skipped with the build");
    }
}
