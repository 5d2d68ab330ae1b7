//! The programs that start and stop the server: `systemctl` and `launchctl`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    super::out,
    Kind, launchd,
    report::{PROPERTIES, Report},
    systemd,
};
use crate::domain::{Error, Result};

/// How often a supervisor is asked how the server is.
pub const LOOK: Duration = Duration::from_millis(250);

pub struct Supervisor {
    kind: Kind,
    file: PathBuf,
}

impl Supervisor {
    pub fn new(kind: Kind, file: &Path) -> Self {
        Self { kind, file: file.to_path_buf() }
    }

    /// An error where no supervisor answers: a unit that nobody starts would be a silent failure.
    pub fn require(&self) -> Result<()> {
        let asked = match self.kind {
            Kind::Systemd => run("systemctl", &["--user", "show-environment"]),
            Kind::Launchd => run("launchctl", &["print", &domain()]),
        };
        asked.map(drop).map_err(|why| {
            Error::outside(format!(
                "{why}; nothing was written. `notewell service install --no-start` writes the unit only, `--print` shows it"
            ))
        })
    }

    /// Reads the unit, enables it, and starts it anew. A server that runs gets `patience` to end. What
    /// becomes of the new one is not known yet.
    pub fn start(&self, patience: Duration) -> std::result::Result<(), String> {
        match self.kind {
            Kind::Systemd => {
                run("systemctl", &["--user", "daemon-reload"])?;
                run("systemctl", &["--user", "enable", systemd::FILE])?;
                run("systemctl", &["--user", "restart", systemd::FILE])?;
            }
            Kind::Launchd => {
                // It fails where there is none.
                let _ = end_of_service(patience);
                let file = self.file.to_string_lossy();
                run("launchctl", &["bootstrap", &domain(), &file])?;
            }
        }
        Ok(())
    }

    /// Stops and disables it. A server of launchd gets `patience` to end; systemd knows its own.
    pub fn stop(&self, patience: Duration) -> Result<()> {
        let stopped = match self.kind {
            Kind::Systemd => run("systemctl", &["--user", "disable", "--now", systemd::FILE]),
            Kind::Launchd => end_of_service(patience),
        };
        let Err(why) = stopped else { return Ok(()) };
        match self.report() {
            // One that does not run needs no stopping.
            Some(report) if report.has_ended() => Ok(()),
            Some(_) => Err(Error::outside(format!(
                "the unit is removed, and the server could not be stopped: {why}; end it by hand"
            ))),
            None => {
                out::note(format_args!(
                    "Whether a server still runs is not known: {why}. If one does, end it by hand."
                ));
                Ok(())
            }
        }
    }

    /// Lets the supervisor notice that the unit is gone. One that is away reads it at its next start.
    pub fn forget(&self) {
        if self.kind == Kind::Systemd {
            let _ = run("systemctl", &["--user", "daemon-reload"]);
        }
    }

    /// How the server is; `None` where the supervisor does not answer.
    pub fn report(&self) -> Option<Report> {
        match self.kind {
            Kind::Systemd => {
                let answer = output("systemctl", &["--user", "show", systemd::FILE, PROPERTIES]);
                Report::of_systemd(&String::from_utf8_lossy(&answer.ok()?.stdout))
            }
            Kind::Launchd => {
                let answer = output("launchctl", &["print", &service()]).ok()?;
                Some(match answer.status.success() {
                    true => Report::of_launchd(&String::from_utf8_lossy(&answer.stdout)),
                    false => Report::unknown(),
                })
            }
        }
    }

    /// The commands with which a person starts it instead.
    pub fn by_hand(&self) -> String {
        match self.kind {
            Kind::Systemd => {
                "systemctl --user daemon-reload && systemctl --user enable --now notewell"
                    .to_owned()
            }
            Kind::Launchd => {
                format!("launchctl bootstrap gui/$(id -u) '{}'", self.file.display())
            }
        }
    }

    /// The command with which a person ends it, and keeps it from starting.
    pub fn end_by_hand(&self) -> String {
        match self.kind {
            Kind::Systemd => "systemctl --user disable --now notewell".to_owned(),
            Kind::Launchd => format!("launchctl bootout {}", service()),
        }
    }

    /// The command that shows its log.
    pub fn log(&self, data: &Path) -> String {
        match self.kind {
            Kind::Systemd => "journalctl --user -u notewell".to_owned(),
            Kind::Launchd => format!("tail '{}'", launchd::log(data).display()),
        }
    }
}

/// Ends the server that launchd knows, and waits until launchd has forgotten it: `bootstrap` fails before
/// that. `bootout` returns while the server still finishes what it accepted, perhaps with the error
/// "Operation now in progress"; what it answered is the result.
fn end_of_service(patience: Duration) -> std::result::Result<String, String> {
    let answer = run("launchctl", &["bootout", &service()]);
    let until = Instant::now() + patience;
    while run("launchctl", &["print", &service()]).is_ok() && Instant::now() < until {
        thread::sleep(LOOK);
    }
    answer
}

/// The session of this account, as launchctl calls it.
fn domain() -> String {
    #[cfg(unix)]
    let number = rustix::process::getuid().as_raw();
    #[cfg(not(unix))]
    let number = 0;
    format!("gui/{number}")
}

fn service() -> String {
    format!("{}/{}", domain(), launchd::LABEL)
}

fn output(program: &str, arguments: &[&str]) -> std::result::Result<Output, String> {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(|error| match error
        .kind()
    {
        std::io::ErrorKind::NotFound => format!("there is no `{program}` on this system"),
        _ => format!("could not run `{program}`: {error}"),
    })
}

/// Runs it to its end; an error says what it complained about.
fn run(program: &str, arguments: &[&str]) -> std::result::Result<String, String> {
    let output = output(program, arguments)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.trim().lines().next().unwrap_or("it gave no reason").to_owned();
    Err(format!("`{program} {}` failed: {complaint}", arguments.join(" ")))
}
