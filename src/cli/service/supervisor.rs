//! The programs that start and stop the server: `systemctl` and `launchctl`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Kind, launchd, systemd};
use crate::domain::{Error, Result};

/// How often launchd is asked whether the server of before has ended.
const LOOK: Duration = Duration::from_millis(250);

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

    /// Reads the unit, enables it, and starts it anew. A server that runs gets `patience` to end.
    pub fn start(&self, patience: Duration) -> Result<()> {
        let steps: Vec<(&str, Vec<String>)> = match self.kind {
            Kind::Systemd => vec![
                ("systemctl", words(&["--user", "daemon-reload"])),
                ("systemctl", words(&["--user", "enable", systemd::FILE])),
                ("systemctl", words(&["--user", "restart", systemd::FILE])),
            ],
            Kind::Launchd => {
                end_of_service(patience);
                let file = self.file.to_string_lossy().into_owned();
                vec![("launchctl", vec!["bootstrap".to_owned(), domain(), file])]
            }
        };
        for (program, arguments) in steps {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run(program, &arguments).map_err(|why| {
                Error::outside(format!(
                    "the unit is written, and the server was not started: {why}; {}",
                    self.where_to_look()
                ))
            })?;
        }
        match self.state().as_deref() {
            Some("active") | None => Ok(()),
            Some(state) => Err(Error::outside(format!(
                "the unit is written, and the server is `{state}`; {}",
                self.where_to_look()
            ))),
        }
    }

    /// Stops and disables it.
    pub fn stop(&self) -> Result<()> {
        let stopped = match self.kind {
            Kind::Systemd => run("systemctl", &["--user", "disable", "--now", systemd::FILE]),
            Kind::Launchd => run("launchctl", &["bootout", &service()]),
        };
        match stopped {
            Ok(_) => Ok(()),
            // One that does not run needs no stopping.
            Err(_) if self.state().as_deref() != Some("active") => Ok(()),
            Err(why) => Err(Error::outside(format!(
                "the unit is removed, and the server could not be stopped: {why}; end it by hand"
            ))),
        }
    }

    /// Lets the supervisor notice that the unit is gone. One that is away reads it at its next start.
    pub fn forget(&self) {
        if self.kind == Kind::Systemd {
            let _ = run("systemctl", &["--user", "daemon-reload"]);
        }
    }

    /// `active`, or what the supervisor calls it; `None` where it does not answer.
    pub fn state(&self) -> Option<String> {
        match self.kind {
            Kind::Systemd => {
                let output = output("systemctl", &["--user", "is-active", systemd::FILE]).ok()?;
                let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                (!state.is_empty()).then_some(state)
            }
            Kind::Launchd => {
                let output = output("launchctl", &["print", &service()]).ok()?;
                let text = String::from_utf8_lossy(&output.stdout);
                let runs = text.lines().any(|line| line.trim() == "state = running");
                Some(if runs { "active" } else { "inactive" }.to_owned())
            }
        }
    }

    /// The commands that a person types instead.
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

    fn where_to_look(&self) -> &'static str {
        match self.kind {
            Kind::Systemd => "`journalctl --user -u notewell` has its log",
            Kind::Launchd => "`serve.log` in the data directory has its log",
        }
    }
}

/// Ends a server that launchd knows from before. `bootout` returns while the server still finishes what
/// it accepted, and `bootstrap` fails until it has ended.
fn end_of_service(patience: Duration) {
    // It fails where there is none.
    let _ = run("launchctl", &["bootout", &service()]);
    let until = Instant::now() + patience;
    while run("launchctl", &["print", &service()]).is_ok() && Instant::now() < until {
        thread::sleep(LOOK);
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
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
