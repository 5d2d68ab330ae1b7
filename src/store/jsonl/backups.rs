//! Dated copies of the user's file from before each change: `user.jsonl.20260210-192827`, in UTC.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::replace;
use crate::{
    domain::{Error, Result, Timestamp, error::Doing},
    store::prompts::Snapshot,
};

/// A file of so many bytes is worth writing over; of a small one there is nothing to gain. In tests
/// every file is, so that they see it happen.
const MIN_SPARE_BYTES: u64 = if cfg!(test) { 1 } else { 1 << 20 };

/// The backups of one file.
#[derive(Debug)]
pub struct Backups {
    folder: PathBuf,
    /// `user.jsonl.`
    prefix: String,
    keep: usize,
}

/// Orders backups by age: the second, the number within it, then whatever another program added.
type Age = (String, u64, String);

impl Backups {
    pub fn new(folder: PathBuf, file: &str, keep: usize) -> Self {
        Self { folder, prefix: format!("{file}."), keep: keep.max(1) }
    }

    /// Newest first.
    pub fn list(&self) -> Result<Vec<Snapshot>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).doing("read the folder of backups"),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.doing("read the folder of backups")?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Some(age) = self.age(&name) else { continue };
            // Another process may prune while we look.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                found.push((age, name, metadata.len()));
            }
        }
        found.sort();
        let backup = |((second, ..), name, bytes): (Age, String, u64)| Snapshot {
            id: name,
            made: moment(&second),
            bytes,
        };
        Ok(found.into_iter().rev().map(backup).collect())
    }

    /// Keeps `file` as it is now under a new name, which is returned. The old bytes are not
    /// copied: the file is replaced as a whole afterwards, so a second name for it is enough.
    pub fn make(&self, file: &Path, now: Timestamp) -> Result<String> {
        fs::create_dir_all(&self.folder).doing("create the folder of backups")?;
        let second = second(now);
        let used = self.list()?.into_iter().filter_map(|backup| self.age(&backup.id));
        let last = used.filter(|(of, ..)| *of == second).map(|(_, number, _)| number).max();
        let mut number = last.map_or(1, |last| last + 1);
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let name = format!("{}{second}{suffix}", self.prefix);
            match link_or_copy(file, &self.folder.join(&name)) {
                // The new name is synced with the change that it is for: it comes first in the
                // journal, and without the change there is nothing to go back from.
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error).doing(format!("make the backup `{name}`")),
            }
        }
    }

    /// Takes a backup back that turned out not to be needed.
    pub fn discard(&self, name: &str) {
        if let Err(error) = fs::remove_file(self.folder.join(name)) {
            tracing::warn!(backup = name, %error, "could not remove an unneeded backup");
        }
    }

    /// A file that is of no more use and may be written over: large files are written faster where
    /// one was before. It need not be there.
    pub fn spare(&self) -> PathBuf {
        self.folder.join(format!(".{}spare", self.prefix))
    }

    /// Removes all but the newest, and never the one that was just made, whatever the clock says.
    pub fn prune(&self, made: Option<&str>) -> Result<()> {
        for old in self.list()?.into_iter().skip(self.keep) {
            if Some(old.id.as_str()) != made {
                let path = self.folder.join(&old.id);
                if old.bytes >= MIN_SPARE_BYTES
                    && has_one_link(&path)
                    && fs::rename(&path, self.spare()).is_ok()
                {
                    // After a power cut it must not be a backup again, half written over.
                    replace::sync_folder(&self.folder).doing("sync the folder of backups")?;
                    continue;
                }
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error).doing(format!("remove the old backup `{}`", old.id));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Where a backup is. Only a name of the list is ever opened: a path cannot lead elsewhere.
    pub fn find(&self, name: &str) -> Result<PathBuf> {
        match self.list()?.iter().any(|backup| backup.id == name) {
            true => Ok(self.folder.join(name)),
            false => Err(Error::invalid_params(format!(
                "there is no backup `{name}`; `notewell prompt backups` lists them"
            ))),
        }
    }

    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.find(name)?).doing(format!("read the backup `{name}`"))
    }

    fn age(&self, name: &str) -> Option<Age> {
        let rest = name.strip_prefix(&self.prefix)?;
        let (second, rest) = rest.split_at_checked(15)?;
        let (date, time) = second.split_once('-')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        (date.len() == 8 && digits(date) && digits(time)).then_some(())?;
        let number = rest.strip_prefix('-').and_then(|number| number.parse().ok());
        Some((second.to_owned(), number.unwrap_or(1), rest.to_owned()))
    }
}

/// `20260210-192827`, in UTC.
pub fn second(now: Timestamp) -> String {
    let digits: String = now.to_string().chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at(digits.len().min(8));
    format!("{date}-{time}")
}

fn moment(second: &str) -> Option<Timestamp> {
    let part = |from: usize, to: usize| second.get(from..to);
    Timestamp::parse(&format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(9, 11)?,
        part(11, 13)?,
        part(13, 15)?
    ))
}

/// Whether this is a regular file with a single hard link.
pub fn has_one_link(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.nlink() == 1)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links, and the backups may be on another one.
        Err(_) => {
            let mut copy = fs::OpenOptions::new().write(true).create_new(true).open(to)?;
            let copied = fs::File::open(from)
                .and_then(|mut file| io::copy(&mut file, &mut copy))
                .and_then(|_| copy.sync_all());
            if copied.is_err() {
                let _ = fs::remove_file(to);
            }
            copied
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_of_one_second_do_not_overwrite_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("user.jsonl");
        let backups = Backups::new(folder.path().join("backups"), "user.jsonl", 3);
        let now = Timestamp::parse("2026-02-10T19:28:27.900Z").unwrap();
        for round in 0..15 {
            let fresh = folder.path().join("new");
            #[expect(clippy::disallowed_methods, reason = "a test's own file")]
            fs::write(&fresh, round.to_string()).unwrap();
            fs::rename(&fresh, &file).unwrap();
            let name = backups.make(&file, now).unwrap();
            backups.prune(Some(&name)).unwrap();
        }
        let names: Vec<_> = backups.list().unwrap().into_iter().map(|b| b.id).collect();
        let expected = ["-15", "-14", "-13"].map(|n| format!("user.jsonl.20260210-192827{n}"));
        assert_eq!(names, expected);
        assert_eq!(backups.read(&names[1]).unwrap(), b"13");
        assert_eq!(backups.list().unwrap()[0].made, Timestamp::parse("2026-02-10T19:28:27Z"));
        assert!(backups.read("../user.jsonl").is_err());
        // A clock that went back must not cost the newest backup.
        let earlier = backups.make(&file, Timestamp(0)).unwrap();
        backups.prune(Some(&earlier)).unwrap();
        assert!(backups.read(&earlier).is_ok());
    }

    #[test]
    fn backups_of_another_program_count_and_other_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "user.jsonl.20250101-000000",
            "user.jsonl.20250101-000001.pre-restore",
            "user.jsonl.old",
            "notes",
        ] {
            fs::File::create(folder.path().join(name)).unwrap();
        }
        let backups = Backups::new(folder.path().to_owned(), "user.jsonl", 10);
        assert_eq!(backups.list().unwrap().len(), 2);
    }
}
