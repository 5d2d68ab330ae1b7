//! `notewell service`: a server that starts with the session of the person who installed it.

mod launchd;
mod supervisor;
mod systemd;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Subcommand, ValueEnum};

use self::supervisor::Supervisor;
use super::{Common, client::Launch, out, serve::parse_listen, serving};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
    vault,
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
#[command(after_help = "\
--config, --data, --vault and the variables of the same names go into the unit. To change more, use
`systemctl --user edit notewell`: an installation replaces the unit and keeps such additions.

Examples:
  notewell service install --print
  notewell service install --listen 127.0.0.1:8800
  loginctl enable-linger            the service runs while you are logged out, too")]
struct Install {
    /// Print the unit and change nothing
    #[arg(long)]
    print: bool,
    /// Only write the unit
    #[arg(long, conflicts_with = "print")]
    no_start: bool,
    /// The address to listen on, or a port alone [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<std::net::SocketAddr>,
    #[command(flatten)]
    which: SupervisorFlag,
}

#[derive(Args)]
struct Uninstall {
    #[command(flatten)]
    which: SupervisorFlag,
}

#[derive(Args)]
struct Status {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: SupervisorFlag,
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
            Action::Uninstall(uninstall) => uninstall.run().map(|()| ExitCode::SUCCESS),
            Action::Status(status) => status.run(common),
        }
    }
}

impl Install {
    fn run(self, common: &Common) -> Result<()> {
        let kind = self.which.kind()?;
        // A mistake in the settings is found now, not in a log.
        let config = common.config()?;
        if config::store_is_from_environment() {
            return Err(Error::invalid_request(
                "the service would not see NOTEWELL_STORE_URL, and would serve another library; put the address into `[store] url` of the config, unset the variable, and run this again. Nothing was written",
            ));
        }
        let mut launch = Launch::new("serve", common)?;
        if let Some(address) = self.listen {
            launch.arguments.extend(["--listen".to_owned(), address.to_string()]);
        }
        let seconds = config.server.drain_seconds;
        let unit = match kind {
            Kind::Systemd => systemd::unit(&launch, seconds)?,
            Kind::Launchd => launchd::plist(&launch, &config.data, seconds),
        };
        if self.print {
            out::say(unit.trim_end());
            return Ok(());
        }
        let file = kind.file()?;
        refuse_foreign(&file)?;
        let supervisor = Supervisor::new(kind, &file);
        if !self.no_start {
            supervisor.require()?;
        }
        let folder = file.parent().unwrap_or(&file);
        std::fs::create_dir_all(folder).doing(format_args!("make `{}`", folder.display()))?;
        vault::replace(&file, unit.as_bytes())?;
        out::say(format_args!("Wrote `{}`.", file.display()));
        if self.no_start {
            out::say(format_args!("To start it: {}", supervisor.by_hand()));
            return Ok(());
        }
        supervisor.start(Duration::from_secs(seconds + STOP_GRACE_SECONDS))?;
        out::say(
            "Notewell runs, and starts again when you log in. `notewell service status` says how it is.",
        );
        Ok(())
    }
}

impl Uninstall {
    fn run(self) -> Result<()> {
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

impl Status {
    fn run(self, common: &Common) -> Result<ExitCode> {
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

/// A unit of that name that somebody else wrote stays as it is.
fn refuse_foreign(file: &std::path::Path) -> Result<()> {
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
