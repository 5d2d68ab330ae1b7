//! From score and alarms to one word, and the reasons in words.

use super::{
    build::Built,
    report::{BuildResult, CheckResult, Facts, TestResult},
};
use crate::domain::{Timestamp, query::words};

words!(
    /// Whether to try it.
    Verdict, "verdict", { Safe = "SAFE", Verify = "VERIFY", Caution = "CAUTION", Avoid = "AVOID" }
);

/// The least score of each verdict; below the last it is `AVOID`.
pub const LEAST: &[(u8, Verdict)] =
    &[(80, Verdict::Safe), (60, Verdict::Verify), (40, Verdict::Caution)];

const TWO_YEARS: i64 = 2 * 365 * 86_400_000;

/// Everything that a verdict rests on.
pub struct Grounds<'a> {
    pub score: u8,
    pub checks: &'a [CheckResult],
    /// Hard stops.
    pub alarms: &'a [String],
    pub built: &'a Built,
    pub facts: &'a Facts,
    pub licence: Option<&'a str>,
    pub language: Option<&'a str>,
    /// When the newest commit was made, and when this is said.
    pub committed: Timestamp,
    pub now: Timestamp,
    /// Files whose text was too long to be read whole.
    pub cut: usize,
}

impl Grounds<'_> {
    /// The verdict, and the notes that explain it.
    pub fn judge(&self) -> (Verdict, String) {
        let by_score = LEAST.iter().find(|(least, _)| self.score >= *least);
        let mut verdict = by_score.map_or(Verdict::Avoid, |(_, verdict)| *verdict);
        let mut reasons = Vec::new();
        for (most, why) in self.ceilings() {
            if rank(most) > rank(verdict) {
                verdict = most;
            }
            reasons.push(why);
        }
        (verdict, self.words(verdict, &reasons))
    }

    /// Reasons that hold a verdict down, whatever the score. What depends on today or on this
    /// machine is here and not in the score.
    fn ceilings(&self) -> Vec<(Verdict, String)> {
        let mut found: Vec<(Verdict, String)> =
            self.alarms.iter().map(|alarm| (Verdict::Avoid, alarm.clone())).collect();
        let zero = |name: &str| {
            self.checks.iter().any(|check| check.name == name && check.score == Some(0))
        };
        if zero("vulnerabilities") {
            found
                .push((Verdict::Caution, "several dependencies have known vulnerabilities".into()));
        }
        if zero("obfuscated") {
            found.push((Verdict::Caution, "it hides what its code does".into()));
        }
        if zero("dangerous-ci") {
            found.push((Verdict::Caution, "its pipelines can be taken over by a stranger".into()));
        }
        if zero("licence") {
            found.push((Verdict::Verify, "it has no licence".into()));
        }
        if let Some(limit) = &self.built.limit {
            found.push((Verdict::Caution, limit.clone()));
        }
        if self.built.build == BuildResult::Failed {
            found.push((Verdict::Verify, "it does not build here".into()));
        }
        if self.built.test == TestResult::Fail {
            found.push((Verdict::Verify, "its tests fail here".into()));
        }
        if self.facts.archived == Some(true) {
            found.push((Verdict::Verify, "its authors have archived it".into()));
        }
        if self.now.0 - self.committed.0 > TWO_YEARS {
            let date = self.committed.date();
            found.push((Verdict::Verify, format!("its newest commit is of {date}")));
        }
        found
    }

    fn words(&self, verdict: Verdict, reasons: &[String]) -> String {
        let what = match (self.language, self.licence) {
            (Some(language), Some(licence)) => format!("{language}, under {licence}."),
            (Some(language), None) => format!("{language}, under no licence that is known here."),
            (None, Some(licence)) => format!("Under {licence}."),
            (None, None) => "Neither its language nor its licence is known here.".into(),
        };
        let advice = match verdict {
            Verdict::Safe => "Nothing speaks against trying it.",
            Verdict::Verify => "Look at the points below before you rely on it.",
            Verdict::Caution => "Try it only in a sandbox, and read what is named below first.",
            Verdict::Avoid => "Do not install or run it.",
        };
        let mut notes = vec![what, format!("Score {} of 100: {advice}", self.score)];
        if !reasons.is_empty() {
            notes.push(format!("Because {}.", reasons.join("; ")));
        }
        notes.push(format!("Build: {}. Tests: {}.", self.built.build_notes, self.built.test_notes));
        let weak: Vec<&str> = self.weak().map(|check| check.name.as_str()).collect();
        if !weak.is_empty() {
            notes.push(format!("Weakest: {}.", weak.join(", ")));
        }
        let unseen: Vec<&str> = self
            .checks
            .iter()
            .filter(|check| check.score.is_none())
            .map(|check| check.name.as_str())
            .collect();
        if !unseen.is_empty() {
            notes.push(format!("The score does not know of: {} (not checked).", unseen.join(", ")));
        }
        if self.cut > 0 {
            notes.push(format!("{} large files were read in part only.", self.cut));
        }
        notes.join(" ")
    }

    /// What cost the most, first.
    fn weak(&self) -> impl Iterator<Item = &CheckResult> {
        let cost = |check: &CheckResult| {
            check.score.map_or(0, |score| u32::from(check.weight) * u32::from(10 - score))
        };
        let mut weak: Vec<&CheckResult> =
            self.checks.iter().filter(|check| check.score.is_some_and(|score| score < 6)).collect();
        weak.sort_by_key(|check| std::cmp::Reverse(cost(check)));
        weak.into_iter().take(4)
    }
}

fn rank(verdict: Verdict) -> usize {
    Verdict::ALL.iter().position(|one| *one == verdict).unwrap_or(0)
}
