//! What `notewell service` says about servers that start, end and stop. The supervisors are scripts, in
//! `supervisors/`; what they start are processes of the system.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::support::{Account, Server, notewell, only_sqlite, put, until};

const WHY: &str = "a unit does not see NOTEWELL_STORE_URL";

/// Starts what the unit names, as systemd and launchd read it.
const UNIT: &str = r#"start sh -c "exec $(sed -n 's/^ExecStart=//p' "$unit")""#;
const LIST: &str = r#"start python3 -c 'import os, plistlib, sys
arguments = plistlib.load(open(sys.argv[1], "rb"))["ProgramArguments"]
os.execv(arguments[0], arguments)' "$unit""#;
/// Starts what runs and never answers.
const SLEEPER: &str = "start sleep 600";
/// Starts what soon ends with an error.
const MORTAL: &str = "start sh -c 'sleep 0.5; exit 2'";

/// An account with supervisors of scripts. What they started ends with it.
struct Supervised {
    account: Account,
}

impl Supervised {
    /// `server` is what the supervisors do to start one.
    fn new(server: &str) -> Self {
        let account = Account::new();
        account.note("supervisor/server", server);
        account.note("supervisor/processes", include_str!("supervisors/processes"));
        for (name, script) in [
            ("systemctl", include_str!("supervisors/systemctl")),
            ("launchctl", include_str!("supervisors/launchctl")),
        ] {
            account.note(&format!("programs/{name}"), script);
            let file = account.path().join("programs").join(name);
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { account }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.account.path().join("supervisor").join(name)
    }

    /// The text of a file of the supervisors, once it is there.
    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.file(name)).ok().map(|text| text.trim().to_owned())
    }

    /// A program of this account, with the scripts before everything else.
    fn command(&self, mut command: Command) -> Command {
        let programs = self.account.path().join("programs");
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("HOME", self.account.path());
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        command.current_dir(self.account.path()).stdin(Stdio::null());
        command
    }

    /// Runs `notewell service` with one of the supervisors: exit status, stdout, stderr.
    fn service(&self, supervisor: &str, arguments: &[&str]) -> (i32, String, String) {
        let mut command = notewell();
        command.arg("service").args(arguments).args(["--for", supervisor]);
        let output = self.command(command).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn status(&self, supervisor: &str) -> (i32, Value) {
        let (code, out, err) = self.service(supervisor, &["status", "--json"]);
        (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")))
    }

    /// Asks systemd for something itself.
    fn systemctl(&self, action: &str) {
        let mut command = Command::new(self.account.path().join("programs/systemctl"));
        command.args(["--user", action, "notewell.service"]);
        assert!(self.command(command).status().unwrap().success(), "{action}");
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let Some(process) = self.text("process").filter(|_| !self.file("ended").exists()) else {
            return;
        };
        let killed = Command::new("kill").args(["-KILL", &process]).status();
        if killed.is_ok_and(|status| status.success()) && !std::thread::panicking() {
            until("the end of what was started", || self.file("ended").exists());
        }
    }
}

/// The address in the report of an installation.
fn address(said: &str) -> &str {
    let (_, rest) = said.split_once("Notewell runs at ").unwrap_or_else(|| panic!("{said}"));
    rest.split([',', ' ']).next().unwrap()
}

/// Installs, replaces and removes a service that works.
fn is_installed_replaced_and_removed(supervisor: &str, home: &Supervised) {
    let mut processes = Vec::new();
    for _ in 0..2 {
        let (code, out, err) = home.service(supervisor, &["install", "--listen", "0"]);
        assert_eq!(code, 0, "{out}{err}{:?}", home.text("log"));
        let address = address(&out);
        assert!(address.starts_with("http://127.0.0.1:") && !address.ends_with(":0"), "{out}");
        let (code, status) = home.status(supervisor);
        assert_eq!(
            (code, &status["state"], &status["address"]),
            (0, &"active".into(), &address.into())
        );
        processes.push(home.text("process").unwrap());
    }
    assert_ne!(processes[0], processes[1]);
    let (code, out, err) = home.service(supervisor, &["uninstall"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("untouched") && !err.contains("not known"), "{out}{err}");
    until("the end of the server", || home.file("ended").exists());
    // It was asked to end, and ended as it should.
    assert_eq!(home.text("ended").unwrap(), "0", "{:?}", home.text("log"));
}

#[test]
fn a_unit_of_systemd_is_started_and_said_to_run_where_it_does() {
    if !only_sqlite(WHY) {
        is_installed_replaced_and_removed("systemd", &Supervised::new(UNIT));
    }
}

#[test]
fn a_service_of_launchd_is_started_and_said_to_run_where_it_does() {
    if !only_sqlite(WHY) {
        is_installed_replaced_and_removed("launchd", &Supervised::new(LIST));
    }
}

/// `launchctl bootout` calls it an error when the server has not ended at once.
#[test]
fn a_service_of_launchd_that_takes_its_time_to_end_is_waited_for() {
    if only_sqlite(WHY) {
        return;
    }
    let home = Supervised::new(LIST);
    put(&home.file("slow"), "");
    is_installed_replaced_and_removed("launchd", &home);
    assert!(home.file("ended").exists() && !home.file("job").exists());
}

#[test]
fn a_server_that_ends_is_not_said_to_run() {
    if only_sqlite(WHY) {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (supervisor, server, log) in [
        ("systemd", UNIT, "journalctl --user -u notewell"),
        ("systemd", MORTAL, "journalctl --user -u notewell"),
        ("launchd", LIST, "serve.log"),
        ("launchd", MORTAL, "serve.log"),
    ] {
        let home = Supervised::new(server);
        let (code, out, err) = home.service(supervisor, &["install", "--listen", &port]);
        assert_eq!(code, 2, "{supervisor}, {server}: {out}{err}");
        assert!(err.contains("ended right after") && err.contains(log), "{err}");
        assert!(!out.contains("runs"), "{out}");
        assert_eq!(home.text("ended").unwrap(), "2", "{:?}", home.text("log"));
        let (code, status) = home.status(supervisor);
        assert_eq!(
            (code, &status["state"], &status["address"]),
            (1, &"failed".into(), &Value::Null)
        );
        // One that is dead needs no stopping.
        let (code, out, err) = home.service(supervisor, &["uninstall"]);
        assert!(code == 0 && out.contains("Removed"), "{out}{err}");
    }
}

#[test]
fn a_supervisor_that_starts_nothing_is_quoted() {
    if only_sqlite(WHY) {
        return;
    }
    let home = Supervised::new("echo 'Job for notewell.service failed.' >&2; exit 1");
    let (code, out, err) = home.service("systemd", &["install"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(err.contains("was not started") && err.contains("Job for notewell.service"), "{err}");
    assert!(err.contains("journalctl --user -u notewell") && !out.contains("runs"), "{out}{err}");
    let calls = home.text("calls").unwrap();
    let asked = |word: &str| calls.lines().position(|line| line.contains(word)).unwrap();
    assert!(asked("daemon-reload") < asked("enable") && asked("enable") < asked("restart"));
}

/// The other server wrote its address where the service would.
#[test]
fn another_server_on_the_library_is_not_taken_for_the_service() {
    if only_sqlite(WHY) {
        return;
    }
    let home = Supervised::new(SLEEPER);
    let mut command = notewell();
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let other = Server::start(home.command(command));
    let (code, out, err) = home.service("systemd", &["install"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(err.contains("has not answered") && err.contains("`active`"), "{err}");
    assert!(err.contains("journalctl --user -u notewell"), "{err}");
    assert!(!out.contains("runs") && !(out + &err).contains(&other.address), "{err}");
    let (code, status) = home.status("systemd");
    assert_eq!((code, &status["state"], &status["address"]), (0, &"active".into(), &Value::Null));
}

#[test]
fn a_package_s_unit_is_named_and_left_to_its_package() {
    if only_sqlite(WHY) {
        return;
    }
    let home = Supervised::new(SLEEPER);
    let unit = home.account.path().join("usr/lib/systemd/user/notewell.service");
    home.account.note("usr/lib/systemd/user/notewell.service", "[Service]\n");
    let (code, status) = home.status("systemd");
    assert!(code == 1 && status["installed"] == false, "{status}");

    put(&home.file("package"), unit.to_str().unwrap());
    home.systemctl("enable");
    home.systemctl("restart");
    let (code, status) = home.status("systemd");
    assert_eq!((code, &status["installed"], &status["state"]), (0, &true.into(), &"active".into()));
    assert_eq!(status["file"], unit.to_str().unwrap());
    let (_, out, _) = home.service("systemd", &["status"]);
    assert!(out.contains(unit.to_str().unwrap()) && !out.contains("not installed"), "{out}");

    let (code, out, err) = home.service("systemd", &["uninstall"]);
    assert!(code == 2 && !out.contains("Removed"), "{out}{err}");
    assert!(err.contains(unit.to_str().unwrap()) && err.contains("left alone"), "{err}");
    assert!(err.contains("systemctl --user disable --now notewell"), "{err}");
    assert!(unit.exists() && !home.file("ended").exists());

    // After that there is nothing left to do here.
    home.systemctl("disable");
    let (code, out, _) = home.service("systemd", &["uninstall"]);
    assert!(code == 0 && out.contains("Nothing to remove"), "{out}");
    let (code, out, _) = home.service("systemd", &["status"]);
    assert!(code == 1 && out.contains("systemctl --user enable --now notewell"), "{out}");
}
