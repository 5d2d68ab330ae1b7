//! Writes a file whole or not at all: to a new file beside it, synced, then renamed into place.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{read, walk::TEMPORARY};
use crate::domain::{Error, Result, VaultPath, error::Doing};

/// Writes a note. The path cannot leave the vault, also not through a symbolic link; folders that
/// are missing are made.
pub fn write(root: &Path, path: &VaultPath, text: &str) -> Result<()> {
    let file = place(root, path)?;
    replace(&file, text.as_bytes())
}

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
    let is_missing = |at: &&Path| !at.as_os_str().is_empty() && !at.exists();
    let mut missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    while let Some(at) = missing.pop() {
        match fs::create_dir(at) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).doing(format_args!("make the folder `{}`", at.display()));
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

fn is_unsyncable(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// The file to write: links resolved, and still inside the vault.
fn place(root: &Path, path: &VaultPath) -> Result<PathBuf> {
    let root = root.canonicalize().doing(format_args!("open the vault `{}`", root.display()))?;
    let outside = || {
        Err(Error::invalid_params(format!(
            "path `{path}` leads out of the vault through a symbolic link; write to a folder of the vault"
        )))
    };
    let file = read::locate(&root, path);
    if fs::symlink_metadata(&file).is_ok() {
        // A link that leads nowhere must not be written through either.
        return match file.canonicalize() {
            Ok(real) if !real.starts_with(&root) => outside(),
            Ok(real) if real.is_file() => Ok(real),
            Ok(_) => Err(Error::invalid_params(format!("path `{path}` is a folder; name a file"))),
            Err(_) => outside(),
        };
    }
    let parent = file.parent().unwrap_or(&root);
    let mut known = parent;
    while fs::symlink_metadata(known).is_err() {
        match known.parent() {
            Some(above) if above.starts_with(&root) => known = above,
            _ => return outside(),
        }
    }
    match known.canonicalize() {
        Ok(real) if real.starts_with(&root) => {}
        _ => return outside(),
    }
    fs::create_dir_all(parent).doing(format_args!("make the folder of `{path}`"))?;
    let real = parent.canonicalize().doing(format_args!("open the folder of `{path}`"))?;
    let name = file.file_name().filter(|_| real.starts_with(&root));
    name.map_or_else(outside, |name| Ok(real.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn a_note_is_replaced_whole() {
        let vault = tempfile::tempdir().unwrap();
        write(vault.path(), &path("a/б/日.md"), "one").unwrap();
        write(vault.path(), &path("a/б/日.md"), "two").unwrap();
        assert_eq!(fs::read_to_string(vault.path().join("a/б/日.md")).unwrap(), "two");
        let left = fs::read_dir(vault.path().join("a/б")).unwrap().count();
        assert_eq!(left, 1, "no temporary file is left");
        assert!(write(vault.path(), &path("a/б"), "x").is_err());
        assert!(write(vault.path(), &path("a/б/日.md/x.md"), "x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let vault = tempfile::tempdir().unwrap();
        write(vault.path(), &path("a.md"), "one").unwrap();
        let file = vault.path().join("a.md");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o600, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        write(vault.path(), &path("a.md"), "two").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn no_symbolic_link_leads_out() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().unwrap();
        let vault = tempfile::tempdir().unwrap();
        write(outside.path(), &path("secret.md"), "safe").unwrap();
        symlink(outside.path(), vault.path().join("out")).unwrap();
        symlink(outside.path().join("secret.md"), vault.path().join("s.md")).unwrap();
        symlink(outside.path().join("new.md"), vault.path().join("dangling.md")).unwrap();
        for name in ["out/secret.md", "out/new.md", "out/deep/new.md", "s.md", "dangling.md"] {
            let error = write(vault.path(), &path(name), "evil").unwrap_err();
            assert!(error.message.contains("out of the vault"), "{name}: {error}");
        }
        assert_eq!(fs::read_to_string(outside.path().join("secret.md")).unwrap(), "safe");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        write(vault.path(), &path("real.md"), "one").unwrap();
        symlink(vault.path().join("real.md"), vault.path().join("inner.md")).unwrap();
        write(vault.path(), &path("inner.md"), "two").unwrap();
        assert_eq!(fs::read_to_string(vault.path().join("real.md")).unwrap(), "two");
        assert!(fs::symlink_metadata(vault.path().join("inner.md")).unwrap().is_symlink());
    }
}
