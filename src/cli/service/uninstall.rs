//! `service uninstall`.

use clap::Args;

use super::{super::out, SupervisorFlag, refuse_foreign, supervisor::Supervisor};
use crate::domain::{Result, error::Doing};

#[derive(Args)]
pub struct Uninstall {
    #[command(flatten)]
    which: SupervisorFlag,
}

impl Uninstall {
    pub fn run(self) -> Result<()> {
        let kind = self.which.kind()?;
        let file = kind.file()?;
        if !file.exists() {
            out::say(format_args!("Nothing to remove: there is no `{}`.", file.display()));
            return Ok(());
        }
        refuse_foreign(&file)?;
        let supervisor = Supervisor::new(kind, &file);
        let stopped = supervisor.stop();
        std::fs::remove_file(&file).doing(format_args!("remove `{}`", file.display()))?;
        supervisor.forget();
        out::say(format_args!("Removed `{}`. Your data and config are untouched.", file.display()));
        // Without its unit it does not start again; whether it runs now is not known.
        stopped
    }
}
