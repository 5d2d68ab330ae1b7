//! The files of a vault, whether it is a folder or hosted in the database.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    app::Sources,
    domain::{Error, Result, VaultPath, error::Doing},
    store::{hosted::TRASH, pages::VaultRow, texts::hosted_text},
    vault::{self, Daily, Reason, TextFile},
};

impl Sources {
    /// The text of a note as it is now.
    pub fn note_file(
        &self,
        vault: &VaultRow,
        path: &VaultPath,
    ) -> Result<Result<TextFile, Reason>> {
        let limit = self.config.limits.note_bytes;
        match vault.is_hosted() {
            true => hosted_text(self.store.hosted.as_ref(), &vault.name, path, limit),
            false => Ok(vault::read(&vault::locate(vault.folder(), path), limit)),
        }
    }

    /// The bytes of a file; `None` where nothing is.
    pub fn file_bytes(&self, vault: &VaultRow, path: &VaultPath) -> Result<Option<Vec<u8>>> {
        if vault.is_hosted() {
            let found = self.store.hosted.read(&vault.name, path.as_str())?;
            return Ok(found.map(|(_, bytes)| bytes));
        }
        match std::fs::read(vault::locate(vault.folder(), path)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(Error::outside(format!(
                "the note `{path}` of the vault `{}` cannot be read: {error}; nothing was changed",
                vault.name
            ))),
        }
    }

    /// Refuses a vault whose folder is away, or is empty while the library has notes of it, as the
    /// place is where a drive is not mounted: its files are not gone.
    pub(in crate::app) fn check_there(&self, vault: &VaultRow) -> Result<()> {
        if vault.is_hosted() {
            return Ok(());
        }
        let has_entries =
            std::fs::read_dir(vault.folder()).map(|mut entries| entries.next().is_some());
        match has_entries {
            Ok(true) => Ok(()),
            Ok(false) if self.store.pages.count_of(&vault.name)? == 0 => Ok(()),
            Ok(false) => Err(Error::invalid_request(format!(
                "the folder of the vault `{name}` is empty, and the library has notes of it, so nothing was changed; mount it, or, if they are gone for good, run `notewell vault rescan --accept-empty {name}` first",
                name = vault.name
            ))),
            Err(_) => Err(not_there(&vault.name)),
        }
    }

    /// Whether something is at a path: a file, a folder, or a link that leads nowhere.
    pub fn has_file(&self, vault: &VaultRow, path: &VaultPath) -> Result<bool> {
        match vault.is_hosted() {
            true => Ok(self.store.hosted.stat(&vault.name, path.as_str())?.is_some()),
            false => Ok(vault::locate(vault.folder(), path).symlink_metadata().is_ok()),
        }
    }

    /// When a file was last written.
    pub fn modified(&self, vault: &VaultRow, path: &VaultPath) -> Result<Option<SystemTime>> {
        if !vault.is_hosted() {
            let metadata = vault::locate(vault.folder(), path).metadata();
            return Ok(metadata.and_then(|metadata| metadata.modified()).ok());
        }
        let file = self.store.hosted.stat(&vault.name, path.as_str())?;
        let since = file.and_then(|file| u64::try_from(file.mtime_ns).ok());
        Ok(since.map(|since| UNIX_EPOCH + Duration::from_nanos(since)))
    }

    /// Checks that a note may be written at a path, which need not exist. Gives its file where the
    /// vault is a folder.
    pub fn check_writable(&self, vault: &VaultRow, path: &VaultPath) -> Result<PathBuf> {
        if !vault.is_hosted() {
            return vault::file_for_writing(vault.folder(), path);
        }
        let refuse = |why: &str| {
            Err(Error::invalid_params(format!(
                "path `{path}` {why}; name a note as `folder/note.md`"
            )))
        };
        if !vault::walk::is_note(Path::new(path.as_str())) {
            return refuse("is not a Markdown note");
        }
        let mut parts = path.as_str().split('/');
        let in_trash = parts.clone().next() == Some(TRASH);
        if parts.any(|part| part.starts_with('.') && !(in_trash && part == TRASH)) {
            return refuse("is hidden by its leading dot");
        }
        let known = self.store.hosted.stat(&vault.name, path.as_str())?;
        match known.is_some_and(|file| file.is_folder()) {
            true => refuse("is a folder"),
            false => Ok(PathBuf::new()),
        }
    }

    /// Whether a path is kept out of the library though a note is there.
    pub fn is_left_out(&self, vault: &VaultRow, path: &VaultPath) -> bool {
        match vault.is_hosted() {
            true => is_hidden(path.as_str()),
            false => {
                path.as_str().split('/').next() == Some(TRASH)
                    || vault::is_ignored(vault.folder(), path)
            }
        }
    }

    /// The path of the file that a note means by `target`; see [`vault::attachment`]. In a hosted
    /// vault, files that are `gone` count as not there.
    pub fn attachment_path(
        &self,
        vault: &VaultRow,
        from: &VaultPath,
        target: &str,
        gone: &dyn Fn(&VaultPath) -> bool,
    ) -> Result<Option<VaultPath>> {
        if !vault.is_hosted() {
            let Ok(root) = vault.folder().canonicalize() else { return Ok(None) };
            let inner = self.inner_folders(vault)?;
            let file = vault::attachment(&root, from, target, &inner);
            let path = file.as_ref().and_then(|file| file.strip_prefix(&root).ok()?.to_str());
            return Ok(path.and_then(|path| VaultPath::parse(path).ok()));
        }
        let target = target.trim().trim_start_matches('/');
        let beside = vault::join_path(from.folder(), target);
        for place in [beside.as_deref(), Some(target)].into_iter().flatten() {
            let Ok(place) = VaultPath::parse(place) else { continue };
            let file = self.store.hosted.stat(&vault.name, place.as_str())?;
            let is_file = file.is_some_and(|file| !file.is_folder());
            if is_file && is_attachment(place.as_str()) && !gone(&place) {
                return Ok(Some(place));
            }
        }
        if target.is_empty() || target.contains('/') {
            return Ok(None);
        }
        let Ok(name) = VaultPath::parse(target) else { return Ok(None) };
        let files = self.store.hosted.below(&vault.name, "")?;
        let named = files
            .iter()
            .filter(|file| !file.is_folder() && file.name() == name.as_str())
            .filter(|file| is_attachment(&file.path))
            .filter_map(|file| VaultPath::parse(&file.path).ok())
            .find(|path| !gone(path));
        Ok(named)
    }

    /// The bytes of an attachment, up to a size.
    pub fn attachment_bytes(
        &self,
        vault: &VaultRow,
        path: &VaultPath,
        most: u64,
    ) -> Result<Vec<u8>> {
        let too_large = || Error::limit("the file is too large to be shown here");
        let missing = || Error::not_found("there is no such file in this note");
        if vault.is_hosted() {
            let file = self.store.hosted.stat(&vault.name, path.as_str())?.ok_or_else(missing)?;
            if file.size > most {
                return Err(too_large());
            }
            let found = self.store.hosted.read(&vault.name, path.as_str())?;
            return found.map(|(_, bytes)| bytes).ok_or_else(missing);
        }
        let file = vault::locate(vault.folder(), path);
        if file.metadata().doing("look at an attachment")?.len() > most {
            return Err(too_large());
        }
        std::fs::read(&file).doing("read an attachment")
    }

    /// Today's note of a vault.
    pub fn daily(&self, vault: &VaultRow) -> Result<Daily> {
        let read = |path: &VaultPath| match self.note_file(vault, path) {
            Ok(read) => read,
            Err(error) => Err(Reason::Unreadable(error.message)),
        };
        vault::daily_with(&read, &jiff::Zoned::now())
    }
}

/// Whether nothing is at a path: no such name, or what is above it is no folder.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The refusal of a vault whose files cannot be looked at now.
pub(in crate::app) fn not_there(vault: &str) -> Error {
    Error::invalid_request(format!(
        "the vault `{vault}` is not there, so nothing was changed; mount its folder, or add it again with `notewell vault add`"
    ))
}

/// Whether a path of a hosted vault is kept out of the library: a part starts with a dot.
pub fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// Whether a path of a hosted vault is a note of the library.
pub fn is_page(path: &str) -> bool {
    vault::walk::is_note(Path::new(path)) && !is_hidden(path)
}

fn is_attachment(path: &str) -> bool {
    !is_hidden(path) && !vault::walk::is_note(Path::new(path))
}
