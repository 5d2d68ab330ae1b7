//! Runs a program in its own process group with limits of time and output, and kills the whole group
//! when a limit is reached.
#![allow(unsafe_code, reason = "std has no call that signals a process group")]

use std::{
    io::Read,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::domain::{Code, Error, Result};

/// How often a running program is checked.
const POLL: Duration = Duration::from_millis(20);

/// The limits of a program, and what can stop it.
pub struct Bounds<'a> {
    pub time: Duration,
    /// The last bytes of stdout and of stderr that are kept.
    pub output: usize,
    /// Set to stop the program.
    pub stop: &'a AtomicBool,
    /// Called with the process id while the program runs. Returns why the program must stop.
    pub watch: &'a mut dyn FnMut(u32) -> Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    /// Killed by a signal of somebody else.
    Killed,
    /// Stopped by a limit, with the reason.
    Stopped(String),
}

#[derive(Debug)]
pub struct Ran {
    pub end: End,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn succeeded(&self) -> bool {
        self.end == End::Exited(0)
    }
}

/// Runs a program to its end. Fails only if the program cannot be started or everything is stopping.
pub fn run(command: &mut Command, bounds: Bounds<'_>) -> Result<Ran> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = in_own_group(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            Error::outside(format!("could not start `{name}`: {error}; is it installed?"))
                .with_source(error)
        })?;
    let out = child.stdout.take().map(|pipe| drain(pipe, bounds.output));
    let err = child.stderr.take().map(|pipe| drain(pipe, bounds.output));
    let deadline = Instant::now() + bounds.time;
    let end = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                // What it left behind in its group ends with it.
                kill_group(&mut child);
                break status.code().map_or(End::Killed, End::Exited);
            }
            Ok(None) => {}
            Err(error) => {
                kill_group(&mut child);
                return Err(Error::internal(format!("could not wait for `{name}`: {error}")));
            }
        }
        let why = if bounds.stop.load(Ordering::Acquire) {
            Some("Notewell is stopping".to_owned())
        } else if Instant::now() >= deadline {
            Some(format!("it took longer than {} seconds", bounds.time.as_secs()))
        } else {
            (bounds.watch)(child.id())
        };
        if let Some(why) = why {
            kill_group(&mut child);
            drop(child.wait());
            break End::Stopped(why);
        }
        std::thread::sleep(POLL);
    };
    let text = |reader: Option<JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let ran = Ran { end, out: text(out), err: text(err) };
    if bounds.stop.load(Ordering::Acquire) {
        return Err(Error::new(Code::Cancelled, "Notewell is stopping"));
    }
    Ok(ran)
}

/// Reads a pipe to its end, so that the program never blocks, and keeps the last bytes.
fn drain(mut pipe: impl Read + Send + 'static, most: usize) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..read]);
            if kept.len() > 2 * most {
                kept.drain(..kept.len() - most);
            }
        }
        kept.drain(..kept.len().saturating_sub(most));
        kept
    })
}

#[cfg(unix)]
fn in_own_group(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.process_group(0)
}

/// Windows has no process groups: only the program itself is killed.
#[cfg(not(unix))]
fn in_own_group(command: &mut Command) -> &mut Command {
    command
}

#[cfg(unix)]
fn kill_group(leader: &mut Child) {
    let Ok(leader) = i32::try_from(leader.id()) else { return };
    // SAFETY: a plain system call without pointers. The group is the one that `process_group(0)`
    // made for this child, which is not waited for until after this call or was just reaped.
    unsafe {
        libc::kill(-leader, libc::SIGKILL);
    }
}

#[cfg(not(unix))]
fn kill_group(leader: &mut Child) {
    // It may have ended by itself.
    drop(leader.kill());
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str, time: Duration) -> Ran {
        let stop = AtomicBool::new(false);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let watch = &mut |_| None;
        run(&mut command, Bounds { time, output: 100, stop: &stop, watch }).unwrap()
    }

    #[test]
    fn the_end_is_told() {
        let ran = shell("echo hello; echo oops >&2; exit 3", Duration::from_secs(30));
        assert_eq!(ran.end, End::Exited(3));
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("hello\n", "oops\n"));
        assert_eq!(shell("kill -9 $$", Duration::from_secs(30)).end, End::Killed);
    }

    #[test]
    fn time_ends_the_whole_group() {
        let ran = shell("sleep 600 & sleep 600", Duration::from_millis(100));
        assert!(matches!(ran.end, End::Stopped(_)), "{ran:?}");
    }

    #[test]
    fn endless_output_is_cut_to_its_end() {
        let ran = shell("yes | head -c 3000000; echo done", Duration::from_secs(30));
        assert_eq!(ran.out.len(), 100);
        assert!(ran.out.ends_with("done\n"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let stop = AtomicBool::new(false);
        let watch = &mut |_| None;
        let bounds = Bounds { time: Duration::from_secs(1), output: 100, stop: &stop, watch };
        let error = run(&mut Command::new("no-such-program-here"), bounds).unwrap_err();
        assert!(error.message.contains("no-such-program-here"), "{error}");
    }
}
