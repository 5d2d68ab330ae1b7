//! The data directory is its owner's alone: folders 0700, files 0600, whatever the umask was.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use crate::domain::error::Doing;
use crate::domain::{Error, Result};

/// Makes the data directory, and closes it and what lies directly in it to other users, as far as
/// they are ours. New files are private from here on.
pub fn make_private(data: &Path) -> Result<()> {
    close_new_files();
    std::fs::create_dir_all(data).map_err(|error| {
        let there = data.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(data);
        let what = format_args!("make the data directory `{}`", data.display());
        Error::unwritable(there, what, error)
    })?;
    for path in open_to_others(data)? {
        close(&path)?;
    }
    Ok(())
}

/// From here on every file that this process makes is private.
pub fn close_new_files() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// What of the data directory other users may read or write: the directory, and what Notewell made
/// directly in it. A closed directory closes what is deeper.
#[cfg(unix)]
pub fn open_to_others(data: &Path) -> Result<Vec<PathBuf>> {
    use std::os::unix::fs::PermissionsExt;
    let what = format!("read the permissions of `{}`", data.display());
    let is_open = |metadata: &std::fs::Metadata| {
        metadata.permissions().mode() & 0o077 != 0 && !metadata.is_symlink()
    };
    let mut open = Vec::new();
    if is_open(&std::fs::metadata(data).doing(&what)?) {
        open.push(data.to_path_buf());
    }
    for entry in std::fs::read_dir(data).doing(&what)? {
        let entry = entry.doing(&what)?;
        let name = entry.file_name();
        let made_here = MADE_HERE.iter().any(|start| name.to_string_lossy().starts_with(start));
        // It may have gone since it was listed.
        if made_here && entry.metadata().is_ok_and(|metadata| is_open(&metadata)) {
            open.push(entry.path());
        }
    }
    Ok(open)
}

/// Nothing: on Windows a folder of the user is the user's alone.
#[cfg(not(unix))]
pub fn open_to_others(_data: &Path) -> Result<Vec<PathBuf>> {
    Ok(Vec::new())
}

/// How the names of files and folders start that Notewell makes in a data directory.
#[cfg(unix)]
const MADE_HERE: &[&str] =
    &["notewell.db", "cards.db", "completions.json", "prompts", "index", "oss"];

/// Closes a file or folder of ours. What belongs to another user, or is a folder that users share
/// (`/tmp`) or somebody's home, stays as it is, and so does everything on a read-only disk; `doctor`
/// names it.
#[cfg(unix)]
fn close(path: &Path) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let what = format!("close `{}` to other users", path.display());
    let metadata = std::fs::metadata(path).doing(&what)?;
    let mut permissions = metadata.permissions();
    let shared = permissions.mode() & 0o1000 != 0
        || path.parent().is_none()
        || crate::config::home().is_some_and(|home| home == path);
    if shared || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() & 0o700);
    match std::fs::set_permissions(path, permissions) {
        // Opening the library says what that means; what can be read is read.
        Err(error) if error.kind() == std::io::ErrorKind::ReadOnlyFilesystem => Ok(()),
        done => done.doing(&what),
    }
}

#[cfg(not(unix))]
fn close(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_was_open_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir_all(data.join("index")).unwrap();
        for name in ["notewell.db", "notewell.db-wal", "mine.txt"] {
            std::fs::File::create(data.join(name)).unwrap();
            std::fs::set_permissions(data.join(name), PermissionsExt::from_mode(0o644)).unwrap();
        }
        for folder in [&data, &data.join("index")] {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        }
        assert_eq!(open_to_others(&data).unwrap().len(), 4);
        make_private(&data).unwrap();
        assert_eq!(mode(&data), 0o700);
        assert_eq!(mode(&data.join("index")), 0o700);
        assert_eq!(mode(&data.join("notewell.db-wal")), 0o600);
        assert_eq!(mode(&data.join("mine.txt")), 0o644, "not made by Notewell");
        assert_eq!(open_to_others(&data).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_shared_folder_stays_open() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::File::create(dir.path().join("notewell.db")).unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o1777)).unwrap();
        make_private(dir.path()).unwrap();
        assert_eq!(mode(dir.path()), 0o777);
    }
}
