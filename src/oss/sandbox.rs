//! The sandbox in which the code of a repository runs: bubblewrap without network, with a read-only
//! system, a home and a disk in memory, its own processes, a system call filter and limits.
//!
//! A run sees `/usr`, the toolchains it needs and the checkout, all read-only. It sees no home, no
//! sockets and no other processes of the machine. Limits are enforced three times: by the kernel for
//! each process, by the size of the disk in memory, and by a watch over the whole process tree.
//! Killing the first process kills all of them. [`seccomp`] has the calls that are refused.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use super::{
    process::{self, Bounds, End, Ran},
    seccomp,
};
use crate::{
    config,
    domain::{Error, Result, error::Doing},
};

/// The last bytes of a build's output that are kept.
const OUTPUT: usize = 16 << 10;
const MB: u64 = 1 << 20;
/// Account numbers that systemd reserves for services of the moment: they belong to nobody.
const FIRST_ACCOUNT: u32 = 61_184;
const ACCOUNTS: u32 = 4_000;

/// A folder of this machine that a run may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub here: PathBuf,
    pub inside: String,
}

/// What one run in the sandbox may see and use.
pub struct Run<'a> {
    /// The checkout; the run works on a copy of it.
    pub source: &'a Path,
    /// A folder for the small files that a run needs.
    pub work: &'a Path,
    pub shown: &'a [Shown],
    pub config: &'a config::Oss,
    pub stop: &'a AtomicBool,
}

/// Starts bubblewrap with the filter as its descriptor 9. The shell opens it, because a descriptor
/// that Rust opens is closed when a program starts.
const START: &str = "exec 9<\"$0\" && exec bwrap --seccomp 9 \"$@\"";
/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// Checks that the sandbox works on this machine, or says why it does not.
pub fn available() -> std::result::Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("there is no sandbox on this system (bubblewrap needs Linux)".into());
    }
    let work = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut command = base(work.path()).map_err(|error| error.plain().to_owned())?;
    // Everything that a run asks for: an older bubblewrap has no `--size`.
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    command.args(["--perms", "1777", "--size", "1048576", "--tmpfs", "/tmp", "--remount-ro", "/"]);
    if is_root() {
        command.args(["setpriv", "--reuid=61184", "--regid=61184", "--clear-groups"]);
    }
    command.args(["prlimit", "--nproc=100", "--core=0", "true"]);
    let stop = AtomicBool::new(false);
    let bounds =
        Bounds { time: Duration::from_secs(10), output: 2000, stop: &stop, watch: &mut |_| None };
    match process::run(&mut command, bounds) {
        Ok(ran) if ran.succeeded() => Ok(()),
        Ok(ran) if ran.end == End::Exited(NOT_FOUND) => {
            Err("bubblewrap (`bwrap`) is not installed".into())
        }
        Ok(ran) => {
            let output: String =
                ran.err.lines().last().unwrap_or("no reason given").chars().take(200).collect();
            Err(format!("the sandbox does not start here: {output}"))
        }
        Err(error) => Err(error.plain().to_owned()),
    }
}

/// Whether this process is root. Root changes to an account of its own inside the sandbox; anybody
/// else gets a user namespace.
#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

/// Bubblewrap with the filter, the namespaces and the read-only system.
fn base(work: &Path) -> Result<Command> {
    let filter = seccomp::filter()
        .ok_or_else(|| Error::outside("there is no system call filter for this processor"))?;
    let file = work.join("seccomp.bpf");
    crate::vault::replace(&file, &filter)?;
    let mut command = Command::new("sh");
    command.env_clear().env("PATH", config::search_path());
    command.args(["-c", START]).arg(file);
    command.args([
        "--die-with-parent",
        "--new-session",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
        "--cap-drop",
        "ALL",
    ]);
    if is_root() {
        command.args([
            "--cap-add",
            "CAP_SETUID",
            "--cap-add",
            "CAP_SETGID",
            "--cap-add",
            "CAP_SETPCAP",
        ]);
    } else {
        command.args(["--unshare-user"]);
    }
    command.args(["--ro-bind", "/usr", "/usr"]);
    // Otherwise made on the way, and closed to the account that steps down.
    for folder in ["/etc", "/opt"] {
        command.args(["--perms", "0755", "--dir", folder]);
    }
    for name in ["bin", "sbin", "lib", "lib64", "lib32"] {
        let path = format!("/{name}");
        match std::fs::read_link(&path) {
            Ok(target) => drop(command.arg("--symlink").arg(target).arg(path)),
            Err(_) => drop(command.args(["--ro-bind-try", &path, &path])),
        }
    }
    for path in ["/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"] {
        command.args(["--ro-bind-try", path, path]);
    }
    Ok(command)
}

impl Run<'_> {
    /// Runs a shell script on a fresh copy of the checkout.
    pub fn run(&self, script: &str) -> Result<Ran> {
        let config = self.config;
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let turn = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id());
        let account = FIRST_ACCOUNT + turn % ACCOUNTS;
        let mut command = base(self.work)?;
        self.show(&mut command, account)?;
        let disk = (config.disk_mb * MB).to_string();
        let shared = (config.disk_mb * MB / 8).max(MB).to_string();
        command.args(["--proc", "/proc", "--dev", "/dev"]);
        command.args(["--perms", "1777", "--size", &shared, "--tmpfs", "/dev/shm"]);
        command.args(["--perms", "1777", "--size", &disk, "--tmpfs", "/tmp"]);
        // Both are made of memory, and neither has a size of its own.
        command.args(["--remount-ro", "/dev", "--remount-ro", "/"]);
        command.args(["--chdir", "/tmp", "--clearenv"]);
        for (name, value) in self.environment() {
            command.args(["--setenv", &name, &value]);
        }
        // As root the copy is made before stepping down, and then belongs to everybody.
        let step_down = match is_root() {
            true => format!(
                "chmod -R a+rwX src home && cd src && exec setpriv --reuid={account} --regid={account} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
            ),
            false => "cd src && exec env".to_owned(),
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let limits = format!(
            "prlimit --nproc={} --data={} --cpu={} --fsize={disk} --core=0 --nofile=4096",
            config.processes,
            config.memory_mb * MB,
            config.build_seconds.saturating_mul(cores).max(1),
        );
        let outer = format!(
            "umask 022; mkdir home && cp -R /src src && {step_down} {limits} nice -n 10 sh -c \"$1\""
        );
        command.args(["sh", "-c", &outer, "sh", script]);
        let mut checks = 0_u32;
        let mut watch = |leader| {
            // Walking all processes costs something: every third look.
            checks += 1;
            if checks.is_multiple_of(3) { self.over(leader) } else { None }
        };
        let ran = process::run(
            &mut command,
            Bounds {
                time: Duration::from_secs(config.build_seconds),
                output: OUTPUT,
                stop: self.stop,
                watch: &mut watch,
            },
        )?;
        Ok(ran)
    }

    fn show(&self, command: &mut Command, account: u32) -> Result<()> {
        let people = [
            (
                "passwd",
                format!(
                    "root:x:0:0::/tmp/home:/bin/sh\nbuilder:x:{account}:{account}::/tmp/home:/bin/sh\n"
                ),
            ),
            ("group", format!("root:x:0:\nbuilder:x:{account}:\n")),
            ("hosts", "127.0.0.1 localhost\n".to_owned()),
        ];
        for (name, text) in people {
            let file = self.work.join(name);
            crate::vault::replace(&file, text.as_bytes())?;
            command.arg("--ro-bind").arg(&file).arg(format!("/etc/{name}"));
        }
        for shown in self.shown {
            command.arg("--ro-bind").arg(&shown.here).arg(&shown.inside);
        }
        let source = self.source.canonicalize().doing("find the checkout")?;
        command.arg("--ro-bind").arg(source).arg("/src");
        Ok(())
    }

    fn environment(&self) -> Vec<(String, String)> {
        let tools = self.shown.iter().map(|shown| format!("{}/bin:", shown.inside));
        let path = format!("{}/usr/local/bin:/usr/bin:/bin", tools.collect::<String>());
        [
            ("PATH", path.as_str()),
            ("HOME", "/tmp/home"),
            ("TMPDIR", "/tmp"),
            ("USER", "builder"),
            ("LANG", "C.UTF-8"),
            ("CARGO_HOME", "/tmp/home/cargo"),
            ("CARGO_NET_OFFLINE", "true"),
            ("CARGO_TERM_COLOR", "never"),
            ("GOFLAGS", "-mod=mod"),
            ("GOPROXY", "off"),
            ("GOTOOLCHAIN", "local"),
            ("npm_config_offline", "true"),
            ("npm_config_update_notifier", "false"),
            ("PIP_NO_INDEX", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// Why the process tree must be killed, if it must.
    fn over(&self, leader: u32) -> Option<String> {
        let (count, memory) = usage(leader);
        if count > self.config.processes {
            return Some(format!("it started more than {} processes", self.config.processes));
        }
        (memory > self.config.memory_mb * 1024)
            .then(|| format!("it used more than {} MB of memory", self.config.memory_mb))
    }
}

/// The number of processes below one, itself included, and their memory in kilobytes.
fn usage(leader: u32) -> (u64, u64) {
    let Ok(entries) = std::fs::read_dir("/proc") else { return (0, 0) };
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may hold anything; what follows it is numbers.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        if let Some(parent) = after.split_whitespace().nth(1).and_then(|parent| parent.parse().ok())
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut waiting = vec![leader];
    let (mut count, mut memory) = (0, 0);
    while let Some(pid) = waiting.pop() {
        count += 1;
        memory += resident(pid);
        waiting.extend(children.remove(&pid).unwrap_or_default());
    }
    (count, memory)
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The limit that ended a run, if one did.
pub fn limit(ran: &Ran) -> Option<&str> {
    match &ran.end {
        End::Stopped(why) => Some(why),
        _ => None,
    }
}
