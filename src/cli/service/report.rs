//! What a supervisor says of the server.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use super::super::serving;

/// What systemd is asked for.
pub const PROPERTIES: &str = "--property=ActiveState,MainPID,FragmentPath,UnitFileState";

/// The server, as its supervisor sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `active`, `activating`, `inactive`, `failed`, or what else systemd calls it.
    pub state: String,
    /// The process, while there is one.
    pub process: Option<u32>,
    /// The file of the unit that the supervisor has read, whoever wrote it.
    pub unit: Option<PathBuf>,
    /// Whether the supervisor starts it by itself.
    pub is_enabled: bool,
}

impl Report {
    /// A server that the supervisor does not know.
    pub fn unknown() -> Self {
        Self { state: "inactive".to_owned(), process: None, unit: None, is_enabled: false }
    }

    /// Reads the properties that systemd prints; `None` where it prints none.
    pub fn of_systemd(printed: &str) -> Option<Self> {
        let value = |key: &str| {
            let mut lines = printed.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            (!value.is_empty()).then_some(value)
        };
        Some(Self {
            state: value("ActiveState")?.to_owned(),
            process: value("MainPID").and_then(|id| id.parse().ok()).filter(|id| *id > 0),
            unit: value("FragmentPath").map(PathBuf::from),
            is_enabled: value("UnitFileState").is_some_and(|state| state.starts_with("enabled")),
        })
    }

    /// Reads what `launchctl print` says of a service that it knows, and says it in systemd's words.
    pub fn of_launchd(printed: &str) -> Self {
        // What stands further in, such as the state of a socket, is not of the service itself.
        let value = |key: &str| {
            let lines = printed.lines().filter_map(|line| line.strip_prefix('\t'));
            lines.filter_map(|line| line.split_once(" = ")).find(|pair| pair.0 == key).map(|p| p.1)
        };
        // `0`, `78: EX_CONFIG` or `(never exited)`.
        let code = value("last exit code")
            .and_then(|code| code.split(':').next())
            .and_then(|code| code.parse::<i32>().ok());
        let was_killed =
            value("last terminating signal").or_else(|| value("last exit reason")).is_some();
        let state = match code {
            _ if value("state") == Some("running") => "active",
            Some(0) if !was_killed => "inactive",
            None if !was_killed => "activating",
            _ => "failed",
        };
        Self {
            state: state.to_owned(),
            process: value("pid").and_then(|id| id.parse().ok()),
            unit: value("path").map(PathBuf::from),
            is_enabled: true,
        }
    }

    /// Whether the process is there.
    pub fn runs(&self) -> bool {
        self.state == "active"
    }

    /// Whether there is no process, and none is about to start. launchd tries a failed one again
    /// after some seconds.
    pub fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "inactive" | "failed")
    }

    /// Where the server listens. What another one on the same library wrote down does not count.
    pub fn address(&self, data: &Path) -> Option<SocketAddr> {
        serving::address_of(data, self.process?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_s_properties_are_read() {
        let printed = "MainPID=4242\nActiveState=active\nFragmentPath=/usr/lib/systemd/user/notewell.service\nUnitFileState=enabled\n";
        let expected = Report {
            state: "active".to_owned(),
            process: Some(4242),
            unit: Some("/usr/lib/systemd/user/notewell.service".into()),
            is_enabled: true,
        };
        assert_eq!(Report::of_systemd(printed), Some(expected));
        let absent = "MainPID=0\nActiveState=inactive\nFragmentPath=\nUnitFileState=\n";
        assert_eq!(Report::of_systemd(absent), Some(Report::unknown()));
        assert_eq!(Report::of_systemd(""), None);
    }

    #[test]
    fn launchd_s_states_are_read() {
        let report = |lines: &str| {
            Report::of_launchd(&format!(
                "gui/501/org.notewell.serve = {{\n\tactive count = 1\n\tpath = /Users/ann/a = b.plist\n{lines}\tsockets = {{\n\t\tstate = running\n\t\tpid = 1\n\t}}\n}}\n"
            ))
        };
        let running = report("\tstate = running\n\tpid = 913\n\tlast exit code = (never exited)\n");
        assert!(running.runs() && running.process == Some(913), "{running:?}");
        assert_eq!(running.unit, Some("/Users/ann/a = b.plist".into()));
        for (lines, state) in [
            ("\tstate = spawn scheduled\n\tlast exit code = (never exited)\n", "activating"),
            ("\tstate = not running\n\tlast exit code = (never exited)\n", "activating"),
            ("\tstate = spawn scheduled\n\tlast exit code = 78: EX_CONFIG\n", "failed"),
            ("\tstate = spawn scheduled\n\tlast exit reason = OS_REASON_CODESIGNING\n", "failed"),
            ("\tstate = not running\n\tlast terminating signal = Killed: 9\n", "failed"),
            ("\tstate = not running\n\tlast exit code = 0\n", "inactive"),
            ("\tstate = running\n\tpid = 7\n\tlast exit code = 2\n", "active"),
        ] {
            assert_eq!(report(lines).state, state, "{lines}");
        }
    }
}
