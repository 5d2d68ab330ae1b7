//! Fetches a repository with git: one commit, without hooks, submodules, filters and settings.
//!
//! Size and time are limited. The tree is measured before it is written out.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use super::{
    process::{self, Bounds, End, Ran},
    redirect,
    url::{Policy, RepoUrl},
};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
};

/// The most output of git: the names of all files of a large repository.
const OUTPUT: usize = 64 << 20;
const MB: u64 = 1 << 20;
/// How many times larger than its pack a tree may be.
const MAX_EXPANSION: u64 = 4;

/// Where a repository is fetched from.
#[derive(Debug, Clone)]
pub enum Origin {
    Forge(RepoUrl),
    /// A folder that was named at the shell.
    Local(PathBuf),
}

/// A repository on this machine.
pub struct Checkout {
    pub tree: PathBuf,
    pub commit: String,
    /// The date of the commit in seconds since 1970. Checks use it as their clock.
    pub committed: i64,
    /// The address it was fetched from, after redirects.
    pub from: String,
}

/// Git with an empty home and without the settings of the machine.
pub struct Git<'a> {
    config: &'a config::Oss,
    stop: &'a AtomicBool,
    /// A folder that is removed after the verification.
    work: &'a Path,
    address: String,
    protocol: &'static str,
    /// The host with the IP address that was checked, for curl.
    pin: Option<String>,
}

impl<'a> Git<'a> {
    pub fn new(
        origin: &Origin,
        config: &'a config::Oss,
        work: &'a Path,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        let (address, protocol, pin) = match origin {
            Origin::Local(path) => {
                // Git decodes the address, so a percent sign must be encoded.
                let path = path.display().to_string().replace('%', "%25");
                (format!("file://{path}"), "file", None)
            }
            Origin::Forge(repo) => {
                let policy = Policy::new(config);
                let time = Duration::from_secs(config.clone_seconds.min(30));
                let (found, addresses) = redirect::follow(&policy, repo, time)?;
                let protocol = if found.is_http() { "http" } else { "https" };
                let addresses: Vec<String> = addresses
                    .iter()
                    .map(|address| match address.ip() {
                        IpAddr::V4(address) => address.to_string(),
                        IpAddr::V6(address) => format!("[{address}]"),
                    })
                    .collect();
                let pin = format!("{}:{}:{}", found.host, found.port, addresses.join(","));
                (format!("{}.git", found.url), protocol, Some(pin))
            }
        };
        std::fs::create_dir_all(work.join("home")).doing("make a folder for a clone")?;
        Ok(Self { config, stop, work, address, protocol, pin })
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("git");
        command.current_dir(folder).env_clear();
        for (name, value) in [
            ("PATH", config::search_path().as_str()),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "false"),
            ("SSH_ASKPASS", "false"),
            ("GIT_ALLOW_PROTOCOL", self.protocol),
            ("GIT_PROTOCOL_FROM_USER", "0"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
        ] {
            command.env(name, value);
        }
        command.env("HOME", self.work.join("home"));
        // Nothing above this folder is ever taken for the repository.
        command.env("GIT_CEILING_DIRECTORIES", self.work);
        for setting in [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "core.autocrlf=false",
            "core.protectHFS=true",
            "core.protectNTFS=true",
            "submodule.recurse=false",
            "fetch.recurseSubmodules=false",
            "credential.helper=",
            "http.followRedirects=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "advice.detachedHead=false",
            "log.showSignature=false",
        ] {
            command.args(["-c", setting]);
        }
        if let Some(pin) = &self.pin {
            command.args(["-c", &format!("http.curloptResolve={pin}")]);
        }
        command
    }

    /// Runs git in a folder, within the limits of a clone.
    pub fn run(&self, folder: &Path, arguments: &[&str]) -> Result<Ran> {
        let mut command = self.command(folder);
        command.args(arguments);
        let most = self.config.clone_mb * MB;
        let mut checks = 0_u32;
        let mut watch = |_| {
            // Adding up a folder costs something: every fifth look.
            checks += 1;
            let full = checks.is_multiple_of(5) && folder_size(folder) > most;
            full.then(|| format!("it is larger than {} MB", self.config.clone_mb))
        };
        process::run(
            &mut command,
            Bounds {
                time: Duration::from_secs(self.config.clone_seconds),
                output: OUTPUT,
                stop: self.stop,
                watch: &mut watch,
            },
        )
    }

    /// Runs git and returns its output. The error after a failure has git's own message.
    pub fn ask(&self, folder: &Path, arguments: &[&str]) -> Result<String> {
        let ran = self.run(folder, arguments)?;
        if ran.succeeded() {
            return Ok(ran.out);
        }
        Err(self.failure(&ran))
    }

    fn failure(&self, ran: &Ran) -> Error {
        let address = &self.address;
        match &ran.end {
            End::Stopped(why) => Error::outside(format!(
                "`{address}` was not fetched: {why}; `[oss] clone_mb` and `clone_seconds` set how much is allowed"
            )),
            _ => {
                let output: Vec<&str> =
                    ran.err.lines().filter(|line| !line.trim().is_empty()).collect();
                let output =
                    output.iter().find(|line| line.starts_with("fatal:")).or(output.last());
                let output: String = output
                    .map_or("no output", |line| line.trim())
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(300)
                    .collect();
                let hint = match output.contains("remote ref HEAD") {
                    true => "it has no commits",
                    false => "is it there, and public?",
                };
                Error::outside(format!("git could not fetch `{address}`: {output}; {hint}"))
            }
        }
    }

    /// Makes an empty repository with the address as its origin.
    pub fn room(&self, name: &str, bare: bool) -> Result<PathBuf> {
        let folder = self.work.join(name);
        std::fs::create_dir_all(&folder).doing("make a folder for a clone")?;
        let mut arguments = vec!["init", "--quiet", "--template=", "--initial-branch=main"];
        if bare {
            arguments.push("--bare");
        }
        self.ask(&folder, &arguments)?;
        self.ask(&folder, &["remote", "add", "origin", &self.address])?;
        Ok(folder)
    }

    /// Fetches the newest commit of the default branch and writes its files.
    pub fn checkout(&self) -> Result<Checkout> {
        let tree = self.room("tree", false)?;
        self.ask(
            &tree,
            &[
                "fetch",
                "--quiet",
                "--depth=1",
                "--no-tags",
                "--no-recurse-submodules",
                "origin",
                "HEAD",
            ],
        )?;
        let most = self.config.clone_mb * MB;
        // A small repository can be fetched between two looks.
        if folder_size(&tree) > most {
            return Err(self.too_large());
        }
        let head = self.ask(&tree, &["log", "-1", "--format=%H %ct", "FETCH_HEAD"])?;
        let (commit, committed) = head
            .trim()
            .split_once(' ')
            .and_then(|(commit, time)| Some((commit.to_owned(), time.parse().ok()?)))
            .ok_or_else(|| Error::outside(format!("`{}` has no readable commit", self.address)))?;
        let listed = self.ask(&tree, &["ls-tree", "-r", "-l", "-z", "FETCH_HEAD"])?;
        let size: u64 = listed
            .split('\0')
            .filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok())
            .fold(0, u64::saturating_add);
        if size > most.saturating_mul(MAX_EXPANSION) {
            return Err(self.too_large());
        }
        self.ask(&tree, &["checkout", "--quiet", "--detach", "FETCH_HEAD"])?;
        let from = self.address.trim_end_matches(".git").to_owned();
        Ok(Checkout { tree, commit, committed, from })
    }

    fn too_large(&self) -> Error {
        Error::outside(format!(
            "`{}` was not looked at: it is larger than `[oss] clone_mb` ({}) allows",
            self.address, self.config.clone_mb
        ))
    }
}

/// The bytes in a folder. Links are not followed; files that cannot be read do not count.
pub fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .fold(0, u64::saturating_add)
}
