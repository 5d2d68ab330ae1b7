//! `service install`.

use std::net::SocketAddr;

use clap::Args;

use super::{
    super::{Common, client::Launch, open::reachable, out, serve::parse_listen},
    Kind, SupervisorFlag, launchd, patience, refuse_foreign,
    start::{self, Start},
    supervisor::Supervisor,
    systemd,
};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
    vault,
};

#[derive(Args)]
#[command(after_help = "\
--config, --data, --vault and the variables of the same names go into the unit, and so do
NOTEWELL_CARDS_DATABASE and NOTEWELL_PROMPTS_DIRECTORY. To change more, use
`systemctl --user edit notewell`: an installation replaces the unit and keeps such additions.

Examples:
  notewell service install --print
  notewell service install --listen 127.0.0.1:8800
  loginctl enable-linger            the service runs while you are logged out, too")]
pub struct Install {
    /// Print the unit and change nothing
    #[arg(long)]
    print: bool,
    /// Only write the unit
    #[arg(long, conflicts_with = "print")]
    no_start: bool,
    /// The address to listen on, or a port alone [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    which: SupervisorFlag,
}

impl Install {
    pub fn run(self, common: &Common) -> Result<()> {
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
        launch.note_unseen("service");
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
        let log = supervisor.log(&config.data);
        supervisor.start(patience(&config)).map_err(|why| {
            Error::outside(format!(
                "the unit is written, and the server was not started: {why}; `{log}` shows its log"
            ))
        })?;
        let address = started(Start::watch(&supervisor, &config.data), &log)?;
        out::say(format_args!(
            "Notewell runs at http://{}, and starts again when you log in. `notewell service status` says how it is.",
            reachable(address)
        ));
        Ok(())
    }
}

/// The address of a server that answers. An error says what is known of any other.
fn started(start: Start, log: &str) -> Result<SocketAddr> {
    match start {
        Start::Answers(address) => Ok(address),
        Start::Ended(state) => Err(Error::outside(format!(
            "the unit is written, and the server ended right after it was started (its state is `{state}`); `{log}` shows why. Mend that, and run this again"
        ))),
        Start::Silent(state) => Err(Error::outside(format!(
            "the unit is written, and the server was started, but it has not answered within {} s (its state is `{}`). `{log}` shows what it does, and `notewell service status` its address as soon as it listens",
            start::PATIENCE.as_secs(),
            state.as_deref().unwrap_or("unknown")
        ))),
    }
}
