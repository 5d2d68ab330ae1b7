//! A PostgreSQL cluster of a test's own, ended with it.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::put;

/// A running server, reached through a socket and through a port of loopback.
pub struct Cluster {
    bin: PathBuf,
    dir: tempfile::TempDir,
    pub port: u16,
}

impl Cluster {
    /// Starts one; `None`, with a word, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(bin) = binaries() else {
            println!("skipped: PostgreSQL is not installed");
            return None;
        };
        // The path of a socket has at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("nw-pg").tempdir_in("/tmp").unwrap();
        if rustix::process::geteuid().is_root() {
            let status = Command::new("chown").arg("nobody:nogroup").arg(dir.path()).status();
            assert!(status.unwrap().success());
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let cluster = Self { bin, dir, port: free.local_addr().unwrap().port() };
        let made = cluster
            .tool("initdb")
            .args(["-U", "nw", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        drop(free);
        cluster.up();
        Some(cluster)
    }

    /// A standby of this one, following it.
    pub fn standby(&self) -> Self {
        let dir = tempfile::Builder::new().prefix("nw-pg").tempdir_in("/tmp").unwrap();
        if rustix::process::geteuid().is_root() {
            let status = Command::new("chown").arg("nobody:nogroup").arg(dir.path()).status();
            assert!(status.unwrap().success());
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let standby = Self { bin: self.bin.clone(), dir, port: free.local_addr().unwrap().port() };
        let copied = standby
            .tool("pg_basebackup")
            .args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-U", "nw", "-h"])
            .arg(self.dir.path())
            .args(["-p", &self.port.to_string()])
            .output()
            .unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        drop(free);
        standby.up();
        standby
    }

    /// Starts the server, when it was stopped.
    pub fn up(&self) {
        let options = format!("-k {} -p {} -F", self.dir.path().display(), self.port);
        let log = self.dir.path().join("data/log");
        let started = self
            .tool("pg_ctl")
            .args(["-w", "start", "-o", &options, "-l"])
            .arg(&log)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(started.success(), "{}", std::fs::read_to_string(log).unwrap_or_default());
    }

    /// Stops it at once, as a crash does.
    pub fn crash(&self) {
        let _ = self.tool("pg_ctl").args(["-m", "immediate", "-w", "stop"]).output();
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        assert!(self.tool("pg_ctl").args(["-w", "promote"]).output().unwrap().status.success());
    }

    /// Stops every process of the server from running, or lets them run again.
    pub fn pause(&self, paused: bool) {
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        let file = std::fs::read_to_string(self.dir.path().join("data/postmaster.pid")).unwrap();
        let postmaster: i32 = file.lines().next().unwrap().parse().unwrap();
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let all = children.split_whitespace().map(|pid| pid.parse().unwrap());
        // The parent first, so that it makes no more; it goes on last.
        for pid in std::iter::once(postmaster).chain(all) {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
        }
    }

    /// The address of a library of this server.
    pub fn url(&self, library: &str) -> String {
        format!("postgres://nw@127.0.0.1:{}/postgres?library={library}", self.port)
    }

    /// Runs statements as the superuser and returns what `psql` prints, unaligned.
    pub fn sql(&self, statements: &str) -> String {
        let mut command = Command::new(self.bin.join("psql"));
        command.args(["-qAt", "-v", "ON_ERROR_STOP=1", "-U", "nw", "-d", "postgres", "-h"]);
        command.arg(self.dir.path()).args(["-p", &self.port.to_string(), "-c", statements]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Adds a rule for who may come in, before the others.
    pub fn allow(&self, rule: &str) {
        let file = self.dir.path().join("data/pg_hba.conf");
        let rules = std::fs::read_to_string(&file).unwrap();
        put(&file, format!("{rule}\n{rules}"));
        self.sql("SELECT pg_reload_conf()");
    }

    /// A program of PostgreSQL on this cluster's data, as a user whom it accepts.
    fn tool(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.arg("-D").arg(self.dir.path().join("data")).current_dir("/tmp");
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.dir.path().join("data/postmaster.pid").exists() {
            self.pause(false);
            self.crash();
        }
    }
}

/// The newest installed version.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    found.sort();
    found.pop()
}
