//! `service status`.

use std::process::ExitCode;

use clap::Args;

use super::{
    super::{Common, open::reachable, out},
    SupervisorFlag,
    report::Report,
    supervisor::Supervisor,
};
use crate::domain::Result;

#[derive(Args)]
pub struct Status {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: SupervisorFlag,
}

impl Status {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let kind = self.which.kind()?;
        let ours = kind.file()?;
        let supervisor = Supervisor::new(kind, &ours);
        let report = supervisor.report();
        // A package brings a unit of its own, and only the supervisor knows where it is.
        let known = report.as_ref().and_then(|report| report.unit.clone());
        let (file, installed) = match known {
            _ if ours.exists() => (ours, true),
            Some(unit) => (unit, true),
            None => (ours, false),
        };
        let report = report.filter(|_| installed);
        let runs = report.as_ref().is_some_and(Report::runs);
        let address = match (&report, common.config()) {
            (Some(report), Ok(config)) if runs => report.address(&config.data),
            _ => None,
        };
        let address = address.map(|address| format!("http://{}", reachable(address)));
        let state = report.as_ref().map(|report| &report.state);
        if self.json {
            out::json(&serde_json::json!({
                "file": file, "installed": installed, "state": state, "address": address,
            }))?;
        } else if !installed {
            out::say("not installed: `notewell service install` sets it up");
        } else {
            out::say(format_args!("installed  {}", file.display()));
            out::say(format_args!(
                "state      {}",
                state.map_or("unknown: the supervisor does not answer", String::as_str)
            ));
            if let Some(address) = address {
                out::say(format_args!("address    {address}"));
            }
            if report.is_some_and(|report| !report.is_enabled && report.has_ended()) {
                out::say(format_args!("to start   {}", supervisor.by_hand()));
            }
        }
        Ok(if runs { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
