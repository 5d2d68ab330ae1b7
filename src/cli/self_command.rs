//! `notewell self check`: whether this program fits its library.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Common, out};
use crate::{
    app::{
        doctor::Level,
        self_check::{Database, Fit, SelfCheck, self_check},
    },
    domain::{Result, count, error::Doing},
    telemetry::{self, Form},
};

#[derive(Args)]
pub struct SelfCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Say which version this is, where its data is, and whether the two fit
    Check(Check),
}

#[derive(Args)]
#[command(after_help = "\
Nothing is migrated, repaired or fetched: run it after an update, before the first start.
`notewell doctor` looks at the contents.

Exit status: 0 this program can open the library, 1 something is wrong, 2 error.")]
struct Check {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl SelfCommand {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let Action::Check(check) = self.action;
        telemetry::start_logs("error", Form::Human);
        let config = common.config()?;
        let checked = self_check(&config, common.config_file().as_deref())?;
        let wrong = checked.findings.iter().filter(|finding| finding.level == Level::Wrong).count();
        match check.json {
            true => print_json(&checked)?,
            false => print(&checked),
        }
        if wrong > 0 {
            out::error(format_args!("{} found", count(wrong, "problem")));
            return Ok(ExitCode::from(1));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_json(checked: &SelfCheck) -> Result<()> {
    let mut value = serde_json::to_value(checked).doing("write the answer as JSON")?;
    let findings: Vec<_> = checked
        .findings
        .iter()
        .map(|finding| json!({ "level": finding.level.as_str(), "what": finding.what, "remedy": finding.remedy }))
        .collect();
    value["findings"] = findings.into();
    out::json(&value)
}

fn print(checked: &SelfCheck) {
    let commit = checked.commit.map_or(String::new(), |commit| format!(" ({commit})"));
    let shown = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map_or_else(|| "unknown".to_owned(), |path| path.display().to_string())
    };
    let defaults = if checked.config_exists { "" } else { " (not there: defaults)" };
    out::say(format_args!("notewell  {}{commit}", checked.version));
    out::say(format_args!("program   {}", shown(&checked.program)));
    out::say(format_args!("config    {}{defaults}", shown(&checked.config)));
    let free = checked
        .free_bytes
        .map_or(String::new(), |free| format!(" ({:.1} GB free)", free as f64 / 1e9));
    out::say(format_args!("data      {}{free}", checked.data.display()));
    for database in &checked.databases {
        out::say(format_args!("database  {}: {}", database.place, state(database)));
    }
    if let Some(index) = &checked.index {
        let mut text = count(index.passages, "passage");
        if index.behind > 0 {
            text += &format!(", {} behind", count(index.behind, "change"));
        }
        if let Some((done, total)) = index.vectors.filter(|(done, total)| done < total) {
            text += &format!(", {done} of {total} by meaning");
        }
        out::say(format_args!("index     {text}"));
    }
    out::say(format_args!("model     {}", checked.model));
    for finding in &checked.findings {
        out::say(format_args!("{}: {}", finding.level, finding.what));
        if !finding.remedy.is_empty() {
            out::say(format_args!("  {}", finding.remedy));
        }
    }
}

fn state(database: &Database) -> String {
    let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let (schema, known) = (number(database.schema), number(database.known));
    match database.fit {
        Fit::None => "not made yet".to_owned(),
        Fit::Current => format!("schema {schema}, as this program writes it"),
        Fit::Older => format!("schema {schema}, will be migrated to {known}"),
        Fit::Newer => format!("schema {schema}, and this program knows {known}"),
        Fit::Unnumbered => "Memento's layout, which has no number".to_owned(),
        Fit::NotAsked => "a server, not asked".to_owned(),
    }
}
