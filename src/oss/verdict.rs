//! From score and alarms to a verdict, with the reasons in words.

use super::{
    build::BuildOutcome,
    checks::Alarm,
    report::{BuildResult, CheckResult, Facts, TestResult},
};
use crate::domain::{Timestamp, count, query::words};

words!(
    /// Whether to try a repository. The words are fixed by the systems that read reports; text for
    /// people uses [`Verdict::headline`], because no check can prove that code is safe.
    Verdict, "verdict", { Safe = "SAFE", Verify = "VERIFY", Caution = "CAUTION", Avoid = "AVOID" }
);

impl Verdict {
    /// The place of a verdict from good (0) to bad (3).
    pub fn rank(self) -> usize {
        Self::ALL.iter().position(|verdict| *verdict == self).unwrap_or(0)
    }

    /// The verdict for people.
    pub fn headline(self, checks: &[CheckResult]) -> String {
        let made = checks.iter().filter(|check| check.score.is_some()).count();
        match self {
            Self::Safe => format!("no red flags found ({made} of {} checks)", checks.len()),
            other => other.to_string(),
        }
    }
}

/// The lowest score of each verdict. Below the last one the verdict is `AVOID`.
const LOWEST_SCORES: &[(u8, Verdict)] =
    &[(80, Verdict::Safe), (60, Verdict::Verify), (40, Verdict::Caution)];

const TWO_YEARS: i64 = 2 * 365 * 86_400_000;
/// Alarms that the notes name. The checks have them all.
const SHOWN_ALARMS: usize = 5;

/// Everything that a verdict rests on.
pub struct VerdictInput<'a> {
    pub score: u8,
    pub checks: &'a [CheckResult],
    pub alarms: &'a [Alarm],
    pub build: &'a BuildOutcome,
    pub facts: &'a Facts,
    pub licence: Option<&'a str>,
    pub language: Option<&'a str>,
    /// When the newest commit was made.
    pub committed: Timestamp,
    pub now: Timestamp,
    /// Bytes of source code, when there is too little to judge.
    pub little_code: Option<u64>,
    pub not_examined: &'a [String],
}

impl VerdictInput<'_> {
    /// The verdict, and the notes that explain it.
    pub fn judge(&self) -> (Verdict, String) {
        let by_score = LOWEST_SCORES.iter().find(|(lowest, _)| self.score >= *lowest);
        let mut verdict = by_score.map_or(Verdict::Avoid, |(_, verdict)| *verdict);
        if self.little_code.is_some() {
            // A low score of an empty repository speaks for nothing, and neither does a high one.
            verdict = Verdict::Verify;
        }
        let mut reasons: Vec<String> = Vec::new();
        for (ceiling, reason) in self.ceilings() {
            if ceiling.rank() > verdict.rank() {
                verdict = ceiling;
            }
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        (verdict, self.notes(verdict, &reasons))
    }

    /// Reasons that limit the verdict, whatever the score. Reasons that depend on today or on this
    /// machine are here and not in the score.
    fn ceilings(&self) -> Vec<(Verdict, String)> {
        let mut alarms: Vec<&Alarm> = self.alarms.iter().collect();
        alarms.sort_by_key(|alarm| std::cmp::Reverse(alarm.ceiling.rank()));
        let mut found: Vec<(Verdict, String)> = alarms
            .iter()
            .take(SHOWN_ALARMS)
            .map(|alarm| (alarm.ceiling, alarm.text.clone()))
            .collect();
        let zero = |name: &str| {
            self.checks.iter().any(|check| check.name == name && check.score == Some(0))
        };
        let mut add = |fits: bool, ceiling: Verdict, reason: String| {
            if fits {
                found.push((ceiling, reason));
            }
        };
        add(
            zero("vulnerabilities"),
            Verdict::Caution,
            "several dependencies have known vulnerabilities".into(),
        );
        add(zero("obfuscated"), Verdict::Caution, "it hides what its code does".into());
        add(zero("dangerous-ci"), Verdict::Caution, "strangers can take over its pipelines".into());
        add(zero("licence"), Verdict::Verify, "it has no licence".into());
        if let Some(bytes) = self.little_code {
            let files = count(self.facts.files, "file");
            let reason =
                format!("there is hardly any code to judge ({files}, {bytes} bytes of code)");
            add(true, Verdict::Verify, reason);
        }
        if let Some(limit) = &self.build.limit {
            add(true, Verdict::Caution, limit.clone());
        }
        add(
            self.build.build == BuildResult::Failed,
            Verdict::Verify,
            "its build fails here".into(),
        );
        add(self.build.test == TestResult::Fail, Verdict::Verify, "its tests fail here".into());
        add(self.facts.archived == Some(true), Verdict::Verify, "its authors archived it".into());
        let old = self.now.0 - self.committed.0 > TWO_YEARS;
        add(old, Verdict::Verify, format!("its newest commit is from {}", self.committed.date()));
        found
    }

    fn notes(&self, verdict: Verdict, reasons: &[String]) -> String {
        let what = match (self.language, self.licence) {
            (Some(language), Some(licence)) => format!("{language}, {licence} licence."),
            (Some(language), None) => format!("{language}, no known licence."),
            (None, Some(licence)) => format!("Unknown language, {licence} licence."),
            (None, None) => "Unknown language, no known licence.".into(),
        };
        let advice = match verdict {
            Verdict::Safe => format!(
                "{}. That is no proof: review what matters to you.",
                verdict.headline(self.checks)
            ),
            Verdict::Verify => "check the points below before you rely on it.".into(),
            Verdict::Caution => "try it only in a sandbox, and read the points below first.".into(),
            Verdict::Avoid => "do not install or run it.".into(),
        };
        let mut notes = vec![what, format!("Score {} of 100: {advice}", self.score)];
        if !reasons.is_empty() {
            notes.push(format!("Reasons: {}.", reasons.join("; ")));
        }
        notes.push(format!("Build: {}. Tests: {}.", self.build.build_notes, self.build.test_notes));
        let weak: Vec<&str> = self.weakest().map(|check| check.name.as_str()).collect();
        if !weak.is_empty() {
            notes.push(format!("Weakest checks: {}.", weak.join(", ")));
        }
        let unchecked: Vec<&str> = self
            .checks
            .iter()
            .filter(|check| check.score.is_none())
            .map(|check| check.name.as_str())
            .collect();
        if !unchecked.is_empty() {
            notes.push(format!("Not checked, and not in the score: {}.", unchecked.join(", ")));
        }
        notes.push(format!("Not examined: {}.", self.not_examined.join("; ")));
        notes.join(" ")
    }

    /// The checks that cost the most points, the worst first.
    fn weakest(&self) -> impl Iterator<Item = &CheckResult> {
        let cost = |check: &CheckResult| {
            check.score.map_or(0, |score| u32::from(check.weight) * u32::from(10 - score))
        };
        let mut weak: Vec<&CheckResult> =
            self.checks.iter().filter(|check| check.score.is_some_and(|score| score < 6)).collect();
        weak.sort_by_key(|check| std::cmp::Reverse(cost(check)));
        weak.into_iter().take(4)
    }
}
