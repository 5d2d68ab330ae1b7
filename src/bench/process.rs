//! Measures processes and folders, and runs this program as a client does.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::domain::{Error, Result, error::Doing};

/// Processor, cores and memory, as far as the system reports them.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let after = |file: &str, name: &str| -> Option<String> {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor =
        after("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let memory = after("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
        .map_or(String::new(), |kilobytes| format!(", {} GiB", kilobytes >> 20));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    format!("{cores} cores of {processor}{memory}, load {load} at the end")
}

/// A line such as `VmRSS` of a process's status, in bytes.
pub fn memory(process: u32, line: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = text.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// The processor time that a process has used, on all its threads. It says what work costs even
/// while others keep the machine busy.
pub fn processor(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before may hold spaces; behind it stand the state and, 11 fields on, the two times.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // Linux reports hundredths of a second, whatever the kernel counts in.
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
}

/// The bytes of all files below a folder.
pub fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let one = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(one).sum()
}

/// This program on `data`, with nothing of the person's own settings.
fn command(data: &Path) -> Result<Command> {
    let program = std::env::current_exe().doing("find this program")?;
    let config = data.with_extension("toml");
    let mut command = Command::new(program);
    command.env_clear().arg("--config").arg(config).arg("--data").arg(data);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

/// Says how a program on `data` is set.
pub fn configure(data: &Path, config: &str) -> Result<()> {
    crate::vault::replace(&data.with_extension("toml"), config.as_bytes())
}

/// What a run of this program took.
pub struct Run {
    pub took: Duration,
    pub processor: Option<Duration>,
    /// The most memory that it had.
    pub peak: Option<u64>,
}

/// Runs a subcommand to its end.
pub fn run(data: &Path, arguments: &[&std::ffi::OsStr]) -> Result<Run> {
    let started = Instant::now();
    let mut child = command(data)?.args(arguments).spawn().doing("start this program")?;
    let (mut peak, mut used) = (None, None);
    let status = loop {
        // Both only grow, so the last look is the one that counts.
        peak = memory(child.id(), "VmHWM").or(peak);
        used = processor(child.id()).or(used);
        if let Some(status) = child.try_wait().doing("wait for this program")? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let took = started.elapsed();
    match status.success() {
        true => Ok(Run { took, processor: used, peak }),
        false => Err(Error::internal(format!(
            "this program ended with `{status}`; run it by hand to see why"
        ))),
    }
}

/// Runs a subcommand to its end; gives what it printed.
pub fn output(data: &Path, arguments: &[&str]) -> Result<String> {
    let what = "run this program";
    let output = command(data)?.args(arguments).stdout(Stdio::piped()).output().doing(what)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::internal(format!("this program ended with `{}`", output.status))),
    }
}

/// This program as an HTTP server on a port of its own. Ends when dropped.
pub struct Served {
    child: Child,
    pub address: String,
}

impl Served {
    pub fn start(data: &Path) -> Result<Self> {
        let what = "start this program as a server";
        let mut command = command(data)?;
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().doing(what)?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).doing(what)?;
        }
        let address = line.trim().rsplit("http://").next().unwrap_or_default().to_owned();
        Ok(Self { child, address })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn end(mut self) -> Result<()> {
        self.child.kill().doing("end the server")?;
        self.child.wait().doing("wait for the server").map(drop)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A client's connection over stdin and stdout.
pub struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    started: Instant,
    last: u64,
}

impl Client {
    pub fn start(data: &Path) -> Result<Self> {
        let what = "start this program as a server";
        let started = Instant::now();
        let mut child = command(data)?
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .doing(what)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::internal("the server has no stdin or stdout"));
        };
        Ok(Self { child, input, output: BufReader::new(output), started, last: 0 })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Since the process was started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let what = "talk to the server";
        self.last += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        writeln!(self.input, "{request}").and_then(|()| self.input.flush()).doing(what)?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).doing(what)? == 0 {
                return Err(Error::internal("the server went away"));
            }
            let answer: Value = serde_json::from_str(&line).doing("read the server's answer")?;
            if answer["id"] != self.last {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(Error::internal(format!("`{method}` was refused: {error}"))),
                None => Ok(answer["result"].clone()),
            };
        }
    }

    pub fn initialize(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        self.ask("initialize", params)?;
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(self.input, "{initialized}")
            .and_then(|()| self.input.flush())
            .doing("talk to the server")
    }

    /// Closes the connection and waits for the process.
    pub fn end(self) -> Result<()> {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        child.wait().doing("wait for the server").map(drop)
    }
}
