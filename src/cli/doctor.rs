use std::process::ExitCode;

use clap::Args;

use super::{Common, out};
use crate::{
    app::{
        App,
        doctor::{
            Level,
            public::{self, Step},
        },
    },
    domain::{Result, count},
};

#[derive(Args)]
#[command(after_help = "Exit status: 0 nothing is wrong, 1 something is, 2 error.")]
pub struct Doctor {
    /// Print findings as JSON lines
    #[arg(long)]
    json: bool,
    /// Walk the login of a client at this address, and say which step fails
    #[arg(long, value_name = "URL", conflicts_with = "accept_empty")]
    public: Option<String>,
    /// Accept that every card, or every prompt of yours, was removed on purpose
    #[arg(long, value_name = "cards|prompts")]
    accept_empty: Option<Emptied>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Emptied {
    Cards,
    Prompts,
}

impl Doctor {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        if let Some(address) = &self.public {
            return Ok(walk(address, self.json));
        }
        let app = common.open()?;
        if let Some(what) = self.accept_empty {
            return accept(&app, what);
        }
        let refreshed = app.refresh(&crate::domain::Silent);
        let findings = app.doctor()?;
        for finding in &findings {
            if self.json {
                out::say(serde_json::json!({
                    "level": finding.level.as_str(), "what": finding.what, "remedy": finding.remedy,
                }));
            } else {
                out::say(format_args!("{}: {}\n  {}", finding.level, finding.what, finding.remedy));
            }
        }
        let wrong = findings.iter().filter(|finding| finding.level == Level::Wrong).count();
        if wrong > 0 {
            out::error(format_args!("{} found", count(wrong, "problem")));
            return Ok(ExitCode::from(1));
        }
        // What stopped the looking and was not found above.
        refreshed?;
        if !self.json {
            out::say("Nothing is wrong.");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows every step of a client's login, from outside.
fn walk(address: &str, json: bool) -> ExitCode {
    let mut show = |step: &Step| {
        let (level, what, remedy) = match &step.result {
            Ok(seen) => ("ok", seen, ""),
            Err(finding) => (finding.level.as_str(), &finding.what, finding.remedy.as_str()),
        };
        if json {
            let step = step.name;
            out::say(
                serde_json::json!({ "step": step, "level": level, "what": what, "remedy": remedy }),
            );
            return;
        }
        out::say(format_args!("{level}: {}: {what}", step.name));
        if !remedy.is_empty() {
            out::say(format_args!("  {remedy}"));
        }
    };
    let steps = public::walk(address, &mut show);
    match steps.iter().find(|step| step.is_wrong()) {
        Some(step) => {
            out::error(format_args!("a client's login fails at the step `{}`", step.name));
            ExitCode::from(1)
        }
        None => {
            if !json {
                out::say("A client can log in here.");
            }
            ExitCode::SUCCESS
        }
    }
}

fn accept(app: &App, what: Emptied) -> Result<ExitCode> {
    let (gone, name) = match what {
        Emptied::Cards => (app.cards.accept_empty()?, "card"),
        Emptied::Prompts => (app.accept_no_prompts()?, "prompt"),
    };
    out::say(format_args!("Accepted: {} removed from the library.", count(gone, name)));
    Ok(ExitCode::SUCCESS)
}
