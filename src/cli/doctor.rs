use std::process::ExitCode;

use clap::Args;

use super::{Common, out};
use crate::{app::doctor::Level, domain::Result};

#[derive(Args)]
#[command(after_help = "Exit status: 0 nothing is wrong, 1 something is, 2 error.")]
pub struct Doctor {
    /// Print findings as JSON lines
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.open()?;
        let refreshed = app.refresh(&crate::domain::Silent);
        let findings = app.doctor()?;
        for finding in &findings {
            if self.json {
                out::say(serde_json::json!({
                    "level": finding.level.as_str(), "what": finding.what, "mend": finding.mend,
                }));
            } else {
                out::say(format_args!("{}: {}\n  {}", finding.level, finding.what, finding.mend));
            }
        }
        let wrong = findings.iter().filter(|finding| finding.level == Level::Wrong).count();
        if wrong > 0 {
            let need = if wrong == 1 { "needs" } else { "need" };
            out::complain(format_args!("{} {need} mending", out::count(wrong as u64, "thing")));
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
