//! One writer at a time, and never half a file: a lock between processes, a new file beside the
//! old one, synced, then renamed over it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, SystemTime},
};

use super::{backups::has_one_link, stamp::moment};

use crate::domain::{Error, Result, error::Doing};

/// How long a writer waits for the others.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
const BUFFER: usize = 512 << 10;

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
        match receiver.recv_timeout(LOCK_TIMEOUT) {
            Ok(locked) => locked.map(Self).doing(format!("lock `{}`", path.display())),
            Err(_) => Err(Error::limit(format!(
                "other processes have kept `{}` busy for {} s; try again",
                path.display(),
                LOCK_TIMEOUT.as_secs()
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
    /// left when it died is removed first. A file at `spare` is written over, if there is one.
    pub fn write<'a>(
        target: &Path,
        parts: impl Iterator<Item = &'a [u8]>,
        spare: &Path,
    ) -> Result<Self> {
        Self::make(target, parts, Some(spare))
    }

    /// A file that a power cut may lose, but not tear: for what is no loss.
    pub fn write_lightly(target: &Path, bytes: &[u8]) -> Result<Self> {
        Self::make(target, std::iter::once(bytes), None)
    }

    /// Synced where there may be a spare.
    fn make<'a>(
        target: &Path,
        content: impl Iterator<Item = &'a [u8]>,
        spare: Option<&Path>,
    ) -> Result<Self> {
        let (folder, name) = parts(target)?;
        remove_leftovers(folder, name);
        let path = folder.join(format!("{}{}", leftover_prefix(name), std::process::id()));
        let fresh = Self { path, target: target.to_owned(), modified: moment(), done: false };
        fresh.fill(content, spare).doing(format!("write `{}`", fresh.path.display()))?;
        Ok(fresh)
    }

    fn fill<'a>(
        &self,
        content: impl Iterator<Item = &'a [u8]>,
        spare: Option<&Path>,
    ) -> io::Result<()> {
        let file = match spare.and_then(|spare| take_over(spare, &self.path)) {
            Some(file) => file,
            None => OpenOptions::new().write(true).create_new(true).open(&self.path)?,
        };
        if let Ok(metadata) = fs::metadata(&self.target) {
            file.set_permissions(metadata.permissions())?;
        }
        let durable = spare.is_some();
        let mut writer = Eager { file: &file, buffer: Vec::new(), written: 0, durable };
        for part in content {
            writer.push(part)?;
        }
        file.set_len(writer.finish()?)?;
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

/// Makes a file that is of no more use the one at `path`.
fn take_over(spare: &Path, path: &Path) -> Option<File> {
    if !has_one_link(spare) {
        return None;
    }
    fs::rename(spare, path).ok()?;
    // One that cannot be written is in the way of a new one.
    let opened = OpenOptions::new().write(true).open(path);
    opened.inspect_err(|_| drop(fs::remove_file(path))).ok()
}

/// Writes some parts at a time (one large copy of a large file would cost more than the writing) and
/// lets the disk begin with each, so that little is left to wait for when the file is synced.
struct Eager<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    written: u64,
    durable: bool,
}

impl Eager<'_> {
    fn push(&mut self, part: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(part);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        if self.durable {
            begin(self.file, self.written, self.buffer.len());
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// How long the file is now.
    fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        Ok(self.written)
    }
}

/// Asks the system to write a part of a file to the disk soon. Nothing depends on it.
#[allow(unsafe_code, reason = "std does not offer this system call")]
fn begin(file: &File, from: u64, length: usize) {
    #[cfg(target_os = "linux")]
    if let (Ok(from), Ok(length)) = (i64::try_from(from), i64::try_from(length)) {
        use std::os::fd::AsRawFd;
        // SAFETY: the file is open, and the call touches no memory of ours.
        unsafe {
            libc::sync_file_range(file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, from, length);
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
