//! Writes to notes that others may write at the same moment. A file changes only if it still holds
//! what the writer read, and a group of files changes as a whole.
//!
//! A write is staged (everything that needs space on the disk), committed (the new file takes the
//! place of the old in one step, and the old one is looked at), and finished. Until it is finished
//! it can be reverted, which needs no space.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempPath;

use super::{
    walk::TEMPORARY,
    write::{folder_of, make_folders_or, sync_folder},
};
use crate::domain::{Error, Result, error::Doing};

/// How long a file in the making may rest before it counts as left behind.
const ABANDONED: Duration = Duration::from_secs(600);

/// One file that is about to change.
pub struct Staged {
    file: PathBuf,
    /// The new file before the commit, the old one after it.
    beside: TempPath,
    step: Step,
    /// Whether the files are changed.
    committed: bool,
}

enum Step {
    Replace { expected: Vec<u8>, new: Vec<u8> },
    Create,
    Remove { expected: Vec<u8> },
}

/// Reads a file that was set aside.
type Read<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// What the names of staged files of a change start with.
pub fn staging_prefix(change: i64) -> String {
    format!("{TEMPORARY}{change}-")
}

impl Staged {
    /// A new content for a file that holds `expected`. The file keeps its permissions.
    pub fn replace(file: &Path, expected: &[u8], new: &[u8], prefix: &str) -> Result<Self> {
        let beside = stage(file, new, Some(file), prefix)?;
        let step = Step::Replace { expected: expected.to_vec(), new: new.to_vec() };
        Ok(Self { file: file.to_owned(), beside, step, committed: false })
    }

    /// A new file, with the permissions of `like`.
    pub fn create(file: &Path, new: &[u8], like: Option<&Path>, prefix: &str) -> Result<Self> {
        make_folders_or(folder_of(file), |at, error| Err(refused(at, error)))?;
        let beside = stage(file, new, like, prefix)?;
        Ok(Self { file: file.to_owned(), beside, step: Step::Create, committed: false })
    }

    /// The removal of a file that holds `expected`.
    pub fn remove(file: &Path, expected: &[u8], prefix: &str) -> Result<Self> {
        let beside = stage(file, b"", None, prefix)?;
        let step = Step::Remove { expected: expected.to_vec() };
        Ok(Self { file: file.to_owned(), beside, step, committed: false })
    }

    /// Changes the file. `false` when it does not hold what was expected: then it is as it was. It
    /// is as it was after an error too, unless it could not be put back: [`Self::revert`] tries that
    /// again.
    pub fn commit(&mut self) -> Result<bool> {
        self.commit_with(&|file| fs::read(file))
    }

    fn commit_with(&mut self, read: Read<'_>) -> Result<bool> {
        let (file, beside, changed) = (&self.file, &mut self.beside, &mut self.committed);
        let done = match &self.step {
            Step::Replace { expected, new } => {
                exchange_if(beside, file, (expected, new), changed, read)
            }
            Step::Create => rename_new(beside, file).map(|done| *changed = done),
            Step::Remove { expected } => remove_if(file, beside, expected, changed, read),
        };
        if done.is_err() && self.committed {
            // It may be all that is left of the file.
            self.beside.disable_cleanup(true);
        }
        done.map_err(|error| refused(&self.file, error))?;
        Ok(self.committed)
    }

    /// Takes a commit back. After an error the file beside stays: it may be all that is left.
    pub fn revert(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.committed) {
            return Ok(());
        }
        let shown = self.file.display();
        let reverted = match &self.step {
            Step::Replace { .. } => exchange(&self.beside, &self.file),
            Step::Create => fs::rename(&self.file, &self.beside),
            Step::Remove { .. } => rename_new(&self.beside, &self.file).map(drop),
        };
        self.beside.disable_cleanup(reverted.is_err());
        reverted.doing(format_args!("put `{shown}` back"))?;
        sync_folder(folder_of(&self.file))
    }

    /// Whether the file goes.
    pub fn is_removal(&self) -> bool {
        matches!(self.step, Step::Remove { .. })
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        folder_of(&self.file)
    }

    /// Makes the change durable.
    pub fn sync(&self) -> Result<()> {
        sync_folder(folder_of(&self.file))
    }

    /// Makes several changes durable: each folder is synced once.
    pub fn sync_all<'a>(all: impl IntoIterator<Item = &'a Self>) -> Result<()> {
        let folders: BTreeSet<&Path> = all.into_iter().map(|one| folder_of(&one.file)).collect();
        folders.into_iter().try_for_each(sync_folder)
    }
}

/// Whether a writer that was killed has set this file aside, with this content, for a change.
pub fn is_set_aside(file: &Path, content: &[u8], change: i64) -> bool {
    let prefix = staging_prefix(change);
    let Ok(entries) = fs::read_dir(folder_of(file)) else { return false };
    entries.flatten().any(|entry| {
        entry.file_name().to_string_lossy().starts_with(&prefix)
            && fs::read(entry.path()).is_ok_and(|bytes| bytes == content)
    })
}

/// Removes what a writer that was killed left beside these files.
pub fn remove_staged(files: impl IntoIterator<Item = PathBuf>, change: i64) {
    let prefix = staging_prefix(change);
    let mut folders: Vec<PathBuf> =
        files.into_iter().map(|file| folder_of(&file).to_owned()).collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Whether a file in the making has not changed for so long that nobody is at work on it. Its time
/// of change does not count: after a commit it is the file that was replaced.
pub fn is_abandoned(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    #[cfg(unix)]
    let touched = {
        use std::os::unix::fs::MetadataExt;
        let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
        Some(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
    };
    #[cfg(not(unix))]
    let touched = metadata.created().ok();
    let age = touched.and_then(|touched| touched.elapsed().ok());
    age.is_some_and(|age| age > ABANDONED)
}

/// Removes the files in the making of a folder on which nobody is at work.
pub fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
        if ours && is_abandoned(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a synced file beside another.
fn stage(file: &Path, bytes: &[u8], like: Option<&Path>, prefix: &str) -> Result<TempPath> {
    use std::io::Write;
    let shown = file.display();
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A new file gets what the user's umask leaves, as from any editor.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut beside = builder.tempfile_in(folder_of(file)).map_err(|error| refused(file, error))?;
    if let Some(metadata) = like.and_then(|like| fs::metadata(like).ok()) {
        let kept = beside.as_file().set_permissions(metadata.permissions());
        kept.doing(format_args!("keep the permissions of `{shown}`"))?;
    }
    beside.write_all(bytes).doing(format_args!("write `{shown}`"))?;
    beside.as_file().sync_all().doing(format_args!("sync `{shown}`"))?;
    Ok(beside.into_temp_path())
}

/// A refusal of the file system, in the words of whoever can do something about it.
fn refused(file: &Path, error: io::Error) -> Error {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let name = file
        .file_name()
        .map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
    match error.kind() {
        PermissionDenied | ReadOnlyFilesystem => Error::storage(format!(
            "`{name}` cannot be written: its folder is read-only for this account; nothing was changed"
        ))
        .with_source(error),
        _ => match Err::<(), _>(error).doing(format_args!("write `{name}`")) {
            Err(error) => error,
            Ok(()) => Error::internal(format!("could not write `{name}`")),
        },
    }
}

/// Puts `beside` in the place of `file`, and the file in the place of `beside`, if it holds the
/// first of `texts`; the second is the new one. In one step: what somebody else writes is either
/// seen here or comes after. `changed` says whether the files have traded places.
fn exchange_if(
    beside: &mut TempPath,
    file: &Path,
    (expected, new): (&[u8], &[u8]),
    changed: &mut bool,
    read: Read<'_>,
) -> io::Result<()> {
    if fs::read(file).ok().as_deref() != Some(expected) {
        return Ok(());
    }
    match exchange(beside, file) {
        Ok(()) => *changed = true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let checked = holds_at_rest(beside, expected, read);
    if matches!(checked, Ok(true)) {
        return Ok(());
    }
    exchange(beside, file)?;
    match read(beside) {
        Ok(back) if back == new => *changed = false,
        Ok(_) => {
            // What came back is newer than what was put there.
            exchange(beside, file)?;
            *changed = false;
        }
        Err(error) => {
            // Perhaps it is newer, and all that is left of it.
            tracing::warn!(%error, "a file that was set aside cannot be read and is kept");
            beside.disable_cleanup(true);
            *changed = false;
        }
    }
    checked.map(drop)
}

/// Whether a file holds a text. Somebody who has it open may still be writing to it.
fn holds_at_rest(file: &Path, text: &[u8], read: Read<'_>) -> io::Result<bool> {
    let modified = || fs::metadata(file).and_then(|metadata| metadata.modified());
    let seen = modified()?;
    Ok(read(file)? == text && modified()? == seen)
}

/// Two files trade places.
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            result => return result.map_err(Into::into),
        }
    }
    exchange_in_steps(a, b)
}

/// For file systems without an exchange: the old file is kept under a third name meanwhile.
fn exchange_in_steps(a: &Path, b: &Path) -> io::Result<()> {
    let mut third = a.as_os_str().to_owned();
    third.push("~");
    let third = PathBuf::from(third);
    fs::hard_link(b, &third).or_else(|_| fs::copy(b, &third).map(drop))?;
    fs::rename(a, b)?;
    fs::rename(&third, a)
}

/// Renames unless something has the new name. `false` when something has.
fn rename_new(from: &Path, to: &Path) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sets `file` aside as `beside`, if it holds `expected`. `changed` says whether it is there.
fn remove_if(
    file: &Path,
    beside: &Path,
    expected: &[u8],
    changed: &mut bool,
    read: Read<'_>,
) -> io::Result<()> {
    match fs::rename(file, beside) {
        Ok(()) => *changed = true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let held = read(beside);
    if held.as_ref().is_ok_and(|bytes| bytes == expected) {
        return Ok(());
    }
    rename_new(beside, file)?;
    *changed = false;
    held.map(drop)
}

#[cfg(test)]
mod tests;
