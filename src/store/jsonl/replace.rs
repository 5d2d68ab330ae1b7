//! One writer at a time, and never half a file: a lock between processes, a new file beside the
//! old one, synced, then renamed over it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, SystemTime},
};

use super::stamp::moment;

use crate::domain::{Error, Result, error::Doing};

/// How long a writer waits for the others.
const PATIENCE: Duration = Duration::from_secs(60);
const BUFFER: usize = 256 << 10;

/// Holds the lock until dropped, or until the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// Locks a file of its own beside the data, which is replaced and so cannot carry a lock.
    /// The file stays: removing it would let two writers hold two different locks.
    pub fn take(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .doing(format!("open the lock `{}`", path.display()))?;
        match file.try_lock() {
            Ok(()) => return Ok(Self(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                return Err(error).doing(format!("lock `{}`", path.display()));
            }
        }
        // The system's own queue is fairer than asking again and again, but knows no end of
        // patience; so a thread waits in it. Should the lock come too late, it is let go there.
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let locked = file.lock().map(|()| file);
            drop(sender.send(locked));
        });
        match receiver.recv_timeout(PATIENCE) {
            Ok(locked) => locked.map(Self).doing(format!("lock `{}`", path.display())),
            Err(_) => Err(Error::limit(format!(
                "other processes have kept `{}` busy for {} s; try again",
                path.display(),
                PATIENCE.as_secs()
            ))),
        }
    }
}

/// A new file beside the one it will replace, written and synced. Dropped, it is gone.
#[derive(Debug)]
pub struct Fresh {
    path: PathBuf,
    target: PathBuf,
    /// What its time of change was set to.
    pub modified: SystemTime,
    done: bool,
}

impl Fresh {
    /// A file that is on the disk when this returns. Only under the lock: what an earlier writer
    /// left when it died is removed first.
    pub fn write<'a>(target: &Path, parts: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        Self::make(target, parts, true)
    }

    /// A file that a power cut may lose, but not tear: for what is no loss.
    pub fn write_lightly(target: &Path, bytes: &[u8]) -> Result<Self> {
        Self::make(target, std::iter::once(bytes), false)
    }

    fn make<'a>(
        target: &Path,
        content: impl Iterator<Item = &'a [u8]>,
        durable: bool,
    ) -> Result<Self> {
        let (folder, name) = parts(target)?;
        remove_leftovers(folder, name);
        let path = folder.join(format!("{}{}", leftover_prefix(name), std::process::id()));
        let fresh = Self { path, target: target.to_owned(), modified: moment(), done: false };
        fresh.fill(content, durable).doing(format!("write `{}`", fresh.path.display()))?;
        Ok(fresh)
    }

    fn fill<'a>(&self, content: impl Iterator<Item = &'a [u8]>, durable: bool) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).open(&self.path)?;
        if let Ok(metadata) = fs::metadata(&self.target) {
            file.set_permissions(metadata.permissions())?;
        }
        // One large copy of a large file would cost more than the writing.
        let mut writer = BufWriter::with_capacity(BUFFER, &file);
        for part in content {
            writer.write_all(part)?;
        }
        writer.flush()?;
        drop(writer);
        file.set_modified(self.modified)?;
        if durable { file.sync_all() } else { Ok(()) }
    }

    /// Renames it over the old file. From here on every reader sees the new content.
    pub fn put_in_place(&mut self) -> Result<()> {
        fs::rename(&self.path, &self.target)
            .doing(format!("replace `{}`", self.target.display()))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Only Unix can open a folder as a file.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Where a path really leads, so that a link in a person's dotfiles stays a link.
pub fn resolve(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match fs::read_link(path) {
        Ok(link) => path.parent().map_or(link.clone(), |folder| folder.join(link)),
        Err(_) => path.to_owned(),
    }
}

fn parts(target: &Path) -> Result<(&Path, &str)> {
    let name = target.file_name().and_then(|name| name.to_str());
    target
        .parent()
        .zip(name)
        .ok_or_else(|| Error::internal(format!("`{}` is not a file's path", target.display())))
}

fn leftover_prefix(name: &str) -> String {
    format!(".{name}.new-")
}

fn remove_leftovers(folder: &Path, name: &str) {
    let prefix = leftover_prefix(name);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
