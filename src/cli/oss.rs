//! `oss`: a report on a repository, for a person at the shell. Only here it may be a folder.

use std::{path::Path, process::ExitCode};

use clap::Args;

use super::{Common, bar::Bar, out};
use crate::{
    domain::{Error, Result, count, error::Doing},
    oss::{CheckResult, Evidence, Policy, Report, Target, Verdict},
};

/// The exit status for the verdict AVOID, so that scripts can stop. 2 is an error.
const EXIT_AVOID: u8 = 3;

#[derive(Args)]
pub struct Oss {
    /// https://HOST/OWNER/NAME, or a local repository
    #[arg(value_name = "URL|PATH")]
    repository: String,
    /// Print the whole report as JSON
    #[arg(long)]
    json: bool,
}

impl Oss {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.open()?;
        let target = target(&self.repository, &Policy::new(&app.config.oss))?;
        let bar = Bar::new();
        let report = app.verify_oss(target, &bar);
        bar.finish();
        let report = report?;
        if self.json {
            let json = serde_json::to_string_pretty(&report).doing("write the report as JSON")?;
            out::say(json);
        } else {
            out::say(readable(&report));
        }
        Ok(match report.security_verdict {
            Verdict::Avoid => ExitCode::from(EXIT_AVOID),
            _ => ExitCode::SUCCESS,
        })
    }
}

fn target(text: &str, policy: &Policy) -> Result<Target> {
    let path = match text.strip_prefix("file://") {
        Some(path) => Path::new(path),
        None if text.contains("://") => return policy.parse(text).map(Target::Forge),
        None => Path::new(text),
    };
    let path = path.canonicalize().map_err(|error| {
        Error::invalid_params(format!("there is no repository at `{text}`: {error}"))
    })?;
    Ok(Target::Local(path))
}

fn readable(report: &Report) -> String {
    let facts = &report.facts;
    let mut lines = vec![
        format!("{}  {}", report.repo_name, report.repo_url),
        format!(
            "{}  {} of 100",
            report.security_verdict.headline(&report.checks),
            report.security_score
        ),
        String::new(),
        report.usage_notes.clone(),
        String::new(),
    ];
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "unknown".into());
    let since = if facts.first_commit_at_least { "at least since" } else { "since" };
    let first = facts.first_commit_at.as_deref().map(day);
    for (name, value) in [
        ("commit", format!("{} of {}", report.commit, day(&facts.committed_at))),
        ("licence", or_unknown(report.license.clone())),
        ("language", or_unknown(report.language.clone())),
        ("stars", or_unknown(report.stars.map(|stars| stars.to_string()))),
        ("size", format!("{}, {}", count(facts.files, "file"), count(facts.bytes, "byte"))),
        ("age", or_unknown(first.map(|first| format!("{since} {first}")))),
        (
            "last year",
            or_unknown(facts.commits_last_year.zip(facts.contributors_last_year).map(
                |(commits, people)| {
                    let people =
                        if people == 1 { "1 person".into() } else { format!("{people} people") };
                    format!("{} by {people}", count(commits, "commit"))
                },
            )),
        ),
        (
            "tags",
            match &facts.latest_tag {
                Some(latest) => format!("{}, the newest {latest}", facts.tags),
                None => "none".into(),
            },
        ),
        ("build", format!("{}  {}", report.build_result, facts.build_notes)),
        ("tests", format!("{}  {}", report.test_result, facts.test_notes)),
    ] {
        lines.push(format!("{name:<10} {value}"));
    }
    lines.push(String::new());
    for check in &report.checks {
        lines.extend(check_lines(check));
    }
    lines.push(String::new());
    lines.push("not examined".into());
    lines.extend(report.not_examined.iter().map(|gap| format!("       {gap}")));
    for source in &report.sources {
        lines.push(format!("from {}: {}", source.from, source.what));
    }
    lines.join("\n")
}

fn check_lines(check: &CheckResult) -> Vec<String> {
    let score = check.score.map_or_else(|| " -".into(), |score| format!("{score:>2}"));
    let mut lines = vec![format!("{score}/10  {}  (weight {})", check.name, check.weight)];
    lines.extend(check.evidence.iter().map(|evidence| format!("       {}", place(evidence))));
    if let Some(remedy) =
        check.remedy.as_ref().filter(|_| check.score.is_some_and(|score| score < 8))
    {
        lines.push(format!("       → {remedy}"));
    }
    lines
}

fn place(evidence: &Evidence) -> String {
    match (&evidence.file, evidence.line) {
        (Some(file), Some(line)) => format!("{file}:{line}  {}", evidence.text),
        (Some(file), None) => format!("{file}  {}", evidence.text),
        _ => evidence.text.clone(),
    }
}

fn day(moment: &str) -> &str {
    moment.split('T').next().unwrap_or(moment)
}
