//! Writes a file whole or not at all: to a new file beside it, synced, then renamed into place.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use super::walk::TEMPORARY;
use crate::domain::{Error, Result, error::Doing};

/// Replaces any file atomically, and keeps its permissions. After this returns the new content
/// survives a power cut; before, the old content does.
pub fn replace(file: &Path, bytes: &[u8]) -> Result<()> {
    let shown = file.display();
    let folder = folder_of(file);
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A new file gets what the user's umask leaves, as from any editor.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temporary =
        builder.tempfile_in(folder).doing(format_args!("make a file beside `{shown}`"))?;
    temporary.write_all(bytes).doing(format_args!("write `{shown}`"))?;
    if let Ok(metadata) = fs::metadata(file) {
        let kept = temporary.as_file().set_permissions(metadata.permissions());
        kept.doing(format_args!("keep the permissions of `{shown}`"))?;
    }
    temporary.as_file().sync_all().doing(format_args!("sync `{shown}`"))?;
    temporary.persist(file).doing(format_args!("put `{shown}` in place"))?;
    sync_folder(folder)
}

/// Makes a rename in a folder durable.
///
/// A folder that may be written and not read, and one of a file system that syncs no folders, is left
/// to the system: nothing more can be done about it.
pub fn sync_folder(folder: &Path) -> Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder).and_then(|handle| handle.sync_all()) {
        Err(error) if is_unsyncable(&error) => Ok(()),
        synced => synced.doing(format_args!("sync `{}`", folder.display())),
    }
}

/// Makes a folder and those above it that are missing, durably.
pub fn make_folders(folder: &Path) -> Result<()> {
    make_folders_or(folder, |at, error| {
        Err(error).doing(format_args!("make the folder `{}`", at.display()))
    })
}

/// The same, with a refusal of the system in the words of the caller.
pub(super) fn make_folders_or(
    folder: &Path,
    refused: impl Fn(&Path, io::Error) -> Result<()>,
) -> Result<()> {
    let is_missing = |at: &&Path| !at.as_os_str().is_empty() && !at.exists();
    let mut missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    while let Some(at) = missing.pop() {
        match fs::create_dir(at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return refused(at, error);
            }
            _ => sync_folder(folder_of(at))?,
        }
    }
    Ok(())
}

/// The folder that a file or a folder is in.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses a file to write whose folder does not exist.
pub fn check_folder_of(file: &Path) -> Result<()> {
    let folder = folder_of(file);
    match folder.try_exists() {
        Ok(false) => Err(Error::invalid_params(format!(
            "the folder `{}` does not exist; make it, or name another",
            folder.display()
        ))),
        // What else is wrong with it, the write says.
        _ => Ok(()),
    }
}

fn is_unsyncable(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("日.md");
        replace(&file, b"one").unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        assert!(replace(folder.path(), b"x").is_err());
        assert!(replace(&file.join("x.md"), b"x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        replace(&file, b"one").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o600, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
