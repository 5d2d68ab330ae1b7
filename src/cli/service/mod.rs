//! `notewell service`: a server that starts with the session of the person who installed it.

mod install;
mod launchd;
mod report;
mod start;
mod status;
mod supervisor;
mod systemd;
mod uninstall;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{Args, Subcommand, ValueEnum};

use self::{install::Install, status::Status, uninstall::Uninstall};
use super::Common;
use crate::{
    config::{self, Config},
    domain::{Error, Result, error::Doing},
};

/// Seconds after `[server] drain_seconds` before the supervisor kills the server.
const STOP_GRACE_SECONDS: u64 = 15;
/// The text by which a file of ours is known.
const MARK: &str = "Written by `notewell service install`";

#[derive(Args)]
pub struct Service {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write the unit that runs `notewell serve`, enable it and start it
    Install(Install),
    /// Stop it, disable it and remove its unit; data and config stay
    Uninstall(Uninstall),
    /// Say whether it is installed and runs (exit status 1: it does not)
    Status(Status),
}

#[derive(Args)]
struct SupervisorFlag {
    /// The supervisor [default: the one of this system]
    #[arg(long = "for", value_name = "NAME")]
    kind: Option<Kind>,
}

/// What starts and watches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Systemd,
    Launchd,
}

impl SupervisorFlag {
    fn kind(&self) -> Result<Kind> {
        match self.kind {
            Some(kind) => Ok(kind),
            None if cfg!(target_os = "macos") => Ok(Kind::Launchd),
            None if cfg!(target_os = "linux") => Ok(Kind::Systemd),
            None => Err(Error::invalid_request(
                "this system has neither systemd nor launchd; let its own scheduler run `notewell serve` at sign-in",
            )),
        }
    }
}

impl Kind {
    /// Where the supervisor of a person looks for the unit.
    fn file(self) -> Result<PathBuf> {
        let folder = match self {
            Self::Systemd => config::settings_folder().map(|folder| folder.join("systemd/user")),
            Self::Launchd => config::home().map(|home| home.join("Library/LaunchAgents")),
        };
        let folder = folder.ok_or_else(|| {
            Error::invalid_request(
                "this account has no home directory, so it has no services; set `HOME`",
            )
        })?;
        Ok(folder.join(match self {
            Self::Systemd => systemd::FILE,
            Self::Launchd => launchd::FILE,
        }))
    }
}

impl Service {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        match self.action {
            Action::Install(install) => install.run(common).map(|()| ExitCode::SUCCESS),
            Action::Uninstall(uninstall) => uninstall.run(common).map(|()| ExitCode::SUCCESS),
            Action::Status(status) => status.run(common),
        }
    }
}

/// How long a server may take for its end.
fn patience(config: &Config) -> Duration {
    Duration::from_secs(config.server.drain_seconds + STOP_GRACE_SECONDS)
}

/// A unit of that name that somebody else wrote stays as it is.
fn refuse_foreign(file: &Path) -> Result<()> {
    match std::fs::read_to_string(file) {
        Ok(text) if !text.contains(MARK) => Err(Error::invalid_request(format!(
            "`{}` was not written by `notewell service install`, so it is left alone; move it away first",
            file.display()
        ))),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).doing(format_args!("read `{}`", file.display()))
        }
        _ => Ok(()),
    }
}
