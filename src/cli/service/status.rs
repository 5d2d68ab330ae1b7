//! `service status`.

use std::process::ExitCode;

use clap::Args;

use super::{
    super::{Common, out, serving},
    SupervisorFlag,
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
        let file = kind.file()?;
        let installed = file.exists();
        let state = if installed { Supervisor::new(kind, &file).state() } else { None };
        let runs = state.as_deref() == Some("active");
        let address = common.config().ok().and_then(|config| serving::address(&config.data));
        let address = address.filter(|_| runs).map(|address| format!("http://{address}"));
        if self.json {
            out::json(&serde_json::json!({
                "file": file, "installed": installed, "state": state, "address": address,
            }))?;
        } else if !installed {
            out::say("not installed: `notewell service install` sets it up");
        } else {
            let state =
                state.unwrap_or_else(|| "unknown: the supervisor does not answer".to_owned());
            out::say(format_args!("installed  {}", file.display()));
            out::say(format_args!("state      {state}"));
            if let Some(address) = address {
                out::say(format_args!("address    {address}"));
            }
        }
        Ok(if runs { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
