use clap::Args;

use super::{Common, out};
use crate::{
    app::doctor::Level,
    domain::{Error, Result},
};

#[derive(Args)]
pub struct Doctor {
    /// Print findings as JSON lines
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub fn run(self, common: &Common) -> Result<()> {
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
            return Err(Error::invalid_request(format!("{wrong} things need mending")));
        }
        // What stopped the looking and was not found above.
        refreshed?;
        if !self.json {
            out::say("Nothing is wrong.");
        }
        Ok(())
    }
}
