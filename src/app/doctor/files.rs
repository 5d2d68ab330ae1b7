//! Findings about the data directory and the lines of the prompts' files.

use std::{
    io::{self, Write},
    path::Path,
};

use super::Finding;
use crate::{app::App, domain::Result};

/// Megabytes that have to be free.
const ROOM: usize = 8;

/// Writes a file as large as the room that a small change of the index needs.
pub fn room(data: &Path) -> Option<Finding> {
    let written = tempfile::NamedTempFile::new_in(data)
        .and_then(|mut probe| (0..ROOM).try_for_each(|_| probe.write_all(&[1; 1 << 20])));
    let error = written.err()?;
    Some(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Finding::wrong(
            format!("the disk is full: `{}` has less than {ROOM} MB left", data.display()),
            "make room; reading and searching go on, what is written is refused or left behind",
        ),
        _ => Finding::wrong(
            format!("the data directory `{}` cannot be written: {error}", data.display()),
            "make it writable for this account, or name another with `--data DIR`",
        ),
    })
}

/// Whether a data directory that is not there yet cannot be made.
#[cfg(unix)]
pub fn closed(data: &Path) -> Option<Finding> {
    let there = data.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let error = rustix::fs::access(there, rustix::fs::Access::WRITE_OK).err()?;
    Some(Finding::wrong(
        format!(
            "the data directory `{}` cannot be made: `{}` cannot be written: {error}",
            data.display(),
            there.display()
        ),
        "make it writable for this account, or name another with `--data DIR`",
    ))
}

#[cfg(not(unix))]
pub fn closed(_data: &Path) -> Option<Finding> {
    None
}

impl App {
    pub(super) fn check_prompts(&self, findings: &mut Vec<Finding>) -> Result<()> {
        for problem in self.prompts.problems()? {
            let what = problem.to_string();
            findings.push(match problem.broken {
                true => Finding::wrong(
                    what,
                    "fix the line by hand; it was left as it is, and every other prompt works",
                ),
                false => Finding::note(what, "it works; change it if that is not what you want"),
            });
        }
        Ok(())
    }
}
