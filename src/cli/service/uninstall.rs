//! `service uninstall`.

use std::path::PathBuf;

use clap::Args;

use super::{
    super::{Common, out},
    SupervisorFlag, patience, refuse_foreign,
    report::Report,
    supervisor::Supervisor,
};
use crate::domain::{Error, Result, error::Doing};

#[derive(Args)]
pub struct Uninstall {
    #[command(flatten)]
    which: SupervisorFlag,
}

impl Uninstall {
    pub fn run(self, common: &Common) -> Result<()> {
        let kind = self.which.kind()?;
        let file = kind.file()?;
        let supervisor = Supervisor::new(kind, &file);
        if !file.exists() {
            if let Some(unit) = supervisor.report().and_then(in_use).filter(|unit| *unit != file) {
                return Err(Error::invalid_request(format!(
                    "`{}` was not written by `notewell service install`, so it is left alone: `{}` ends its server for good, and the unit goes with the package that brought it",
                    unit.display(),
                    supervisor.end_by_hand()
                )));
            }
            out::say(format_args!("Nothing to remove: there is no `{}`.", file.display()));
            return Ok(());
        }
        refuse_foreign(&file)?;
        // A config that cannot be read keeps nobody from uninstalling.
        let stopped = supervisor.stop(patience(&common.config().unwrap_or_default()));
        std::fs::remove_file(&file).doing(format_args!("remove `{}`", file.display()))?;
        supervisor.forget();
        out::say(format_args!("Removed `{}`. Your data and config are untouched.", file.display()));
        // Without its unit it does not start again; whether it runs now is not known.
        stopped
    }
}

/// The unit of a server that runs, or that its supervisor starts by itself.
fn in_use(report: Report) -> Option<PathBuf> {
    (report.is_enabled || !report.has_ended()).then_some(report.unit).flatten()
}
