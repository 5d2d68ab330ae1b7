//! Tantivy's files on disk, without a disk flush for every commit.
//!
//! A durable tantivy commit costs 60 to 90 ms, nearly all of it in `fsync`; the index is derived
//! state, so it does not have to pay. Files are written and renamed in order, which a killed process
//! cannot undo: the page cache outlives it. Only a power cut can lose them, and that is what the
//! `boot` mark is for: it stands in the folder while something is not flushed, and names the boot
//! that wrote it. Whoever opens the folder in another boot verifies every checksum first.
//!
//! The files that tantivy replaces whole have no checksum of tantivy's; they get one here.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
    error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
};

use super::{seal, state::lock};

const MARK: &str = "boot";
/// Tantivy's file that names the segments of the last commit.
pub(super) const META: &str = "meta.json";
/// Tantivy's list of the files that it made, which it replaces for every one of them.
const LISTING: &str = ".managed.json";
/// What the names of files start with that take the place of another.
const TEMPORARY: &str = ".tmp";
/// The age at which such a file belongs to nobody.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// A memory-mapped folder whose writes reach the disk when [`LazyDirectory::flush`] is called.
#[derive(Clone)]
pub(super) struct LazyDirectory {
    files: MmapDirectory,
    root: PathBuf,
    unflushed: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Tantivy's list of its files, while it is newer than the one in the folder.
    listing: Arc<Mutex<Option<Vec<u8>>>>,
    /// Why the last write failed. Tantivy's own errors do not say.
    failure: Arc<Mutex<Option<io::ErrorKind>>>,
}

impl LazyDirectory {
    pub(super) fn open(root: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            files: MmapDirectory::open(root)?,
            root: root.to_owned(),
            unflushed: Arc::default(),
            listing: Arc::default(),
            failure: Arc::default(),
        })
    }

    /// Marks the folder as having writes that a power cut could lose.
    pub(super) fn mark(&self) -> io::Result<()> {
        replace(&self.root, Path::new(MARK), boot_id().unwrap_or_default().as_bytes())
    }

    /// Whether the folder was last written in another boot and not flushed before it ended.
    pub(super) fn is_doubtful(root: &Path) -> bool {
        match fs::read_to_string(root.join(MARK)) {
            Ok(mark) => Some(mark.as_str()) != boot_id(),
            Err(_) => false,
        }
    }

    /// Brings everything written so far to the disk and takes the mark away.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.write_listing()?;
        let pending = {
            let mut unflushed = lock(&self.unflushed);
            std::mem::take(&mut *unflushed)
        };
        if pending.is_empty() && !self.root.join(MARK).exists() {
            return Ok(());
        }
        for path in &pending {
            match File::open(self.root.join(path)) {
                Ok(file) => file.sync_data()?,
                // Merged away in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.files.sync_directory()?;
        match fs::remove_file(self.root.join(MARK)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes what processes that were killed left: files that were to replace others, unless they
    /// are so young that they may be in use, and files of segments that are not among `living`. The
    /// caller is the only writer, and nobody opens segments meanwhile.
    pub(super) fn sweep(&self, living: &HashSet<PathBuf>) {
        let Ok(entries) = fs::read_dir(&self.root) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_garbage = if name.to_string_lossy().starts_with(TEMPORARY) {
                let age = entry.metadata().and_then(|metadata| metadata.modified());
                let age = age.ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
                age > LEFT_BEHIND
            } else {
                is_of_segment(&name.to_string_lossy()) && !living.contains(Path::new(&name))
            };
            if is_garbage {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Lets tantivy forget the files that nobody reads any more. It keeps the path of each file that
    /// it ever opened until somebody asks for them.
    pub(super) fn forget_unmapped(&self) {
        self.files.get_cache_info();
    }

    /// Writes the list of tantivy's files, if it changed.
    fn write_listing(&self) -> io::Result<()> {
        let mut listing = lock(&self.listing);
        if let Some(content) = listing.as_ref() {
            self.replace_closed(Path::new(LISTING), content)?;
            *listing = None;
        }
        Ok(())
    }

    fn replace_closed(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.noting(replace(&self.root, path, &seal::close(content)))?;
        self.remember(path);
        Ok(())
    }

    /// Takes the reason why the last write failed, if one did.
    pub(super) fn take_failure(&self) -> Option<io::ErrorKind> {
        lock(&self.failure).take()
    }

    fn noting<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            *lock(&self.failure) = Some(error.kind());
        }
        result
    }

    fn remember(&self, path: &Path) {
        lock(&self.unflushed).insert(path.to_owned());
    }
}

/// What changes whenever the machine starts anew; `None` where the system does not tell, and then
/// every commit is flushed.
pub(super) fn boot_id() -> Option<&'static str> {
    static ID: LazyLock<Option<String>> = LazyLock::new(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
    });
    ID.as_deref()
}

/// Whether a file belongs to a segment: the name of one is 32 hexadecimal digits.
fn is_of_segment(name: &str) -> bool {
    let id = name.split('.').next().unwrap_or_default();
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn create(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(file)
}

/// Replaces a small file in one step, without a flush.
pub(super) fn replace(root: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(root)?;
    file.write_all(content)?;
    file.persist(root.join(path))?;
    Ok(())
}

impl fmt::Debug for LazyDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LazyDirectory({:?})", self.root)
    }
}

struct LazyFile {
    file: File,
    path: PathBuf,
    directory: LazyDirectory,
}

impl Write for LazyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.directory.noting(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for LazyFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.directory.remember(&self.path);
        Ok(())
    }
}

impl Directory for LazyDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)?;
        lock(&self.unflushed).remove(path);
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file = self.root.join(path);
        let mut opened = create(&file);
        // A writer that was killed left it before its commit, and the next writer comes to the same
        // number. Tantivy makes a file once, so no commit names this one.
        if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            opened = fs::remove_file(&file).and_then(|()| create(&file));
        }
        let file = self.noting(opened).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        let file = LazyFile { file, path: path.to_owned(), directory: self.clone() };
        Ok(BufWriter::new(Box::new(file)))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(LISTING)
            && let Some(content) = &*lock(&self.listing)
        {
            return Ok(content.clone());
        }
        let closed = self.files.atomic_read(path)?;
        seal::open(closed).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))
    }

    fn atomic_write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        if path == Path::new(LISTING) {
            // Once for a commit, not for each of its files: what a killed writer did not list is
            // removed by the next one.
            *lock(&self.listing) = Some(content.to_vec());
            return Ok(());
        }
        if path == Path::new(META) {
            self.write_listing()?;
        }
        self.replace_closed(path, content)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_another_boot_is_doubtful_until_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = LazyDirectory::open(folder.path()).unwrap();
        assert!(!LazyDirectory::is_doubtful(folder.path()), "no mark, nothing to doubt");
        replace(folder.path(), Path::new(MARK), b"another boot").unwrap();
        assert!(LazyDirectory::is_doubtful(folder.path()));
        directory.atomic_write(Path::new("meta.json"), b"{}").unwrap();
        directory.flush().unwrap();
        assert!(!LazyDirectory::is_doubtful(folder.path()));
        assert_eq!(directory.atomic_read(Path::new("meta.json")).unwrap(), b"{}");
    }

    #[test]
    fn the_list_of_files_is_written_with_the_commit_or_the_flush() {
        let folder = tempfile::tempdir().unwrap();
        let directory = LazyDirectory::open(folder.path()).unwrap();
        let listing = Path::new(LISTING);
        let write = |content: &[u8]| directory.atomic_write(listing, content).unwrap();
        let by_another = || {
            let other = LazyDirectory::open(folder.path()).unwrap();
            other.atomic_read(listing).ok()
        };
        write(b"[1]");
        write(b"[1, 2]");
        assert_eq!(directory.atomic_read(listing).unwrap(), b"[1, 2]");
        assert_eq!(by_another(), None);
        directory.atomic_write(Path::new(META), b"{}").unwrap();
        assert_eq!(by_another().unwrap(), b"[1, 2]");
        write(b"[2]");
        directory.flush().unwrap();
        assert_eq!(by_another().unwrap(), b"[2]");
    }

    #[test]
    fn a_file_that_is_deleted_is_not_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = LazyDirectory::open(folder.path()).unwrap();
        let name = Path::new("0a.store");
        directory.open_write(name).unwrap().terminate().unwrap();
        assert_eq!(directory.unflushed.lock().unwrap().len(), 1);
        directory.delete(name).unwrap();
        assert!(directory.unflushed.lock().unwrap().is_empty());
    }

    #[test]
    fn what_a_killed_writer_left_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let directory = LazyDirectory::open(folder.path()).unwrap();
        let name = Path::new("0a.32.del");
        for text in ["half", "whole"] {
            let mut file = directory.open_write(name).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.terminate().unwrap();
        }
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"whole");
        let (young, old) = (folder.path().join(".tmpyoung"), folder.path().join(".tmpold"));
        for path in [&young, &old] {
            drop(create(path).unwrap());
        }
        let hour = std::time::SystemTime::now() - Duration::from_secs(3_600);
        OpenOptions::new().write(true).open(&old).unwrap().set_modified(hour).unwrap();
        let segment = |digit: &str, end: &str| PathBuf::from(digit.repeat(32) + end);
        let (living, dead) = (segment("a", ".idx"), segment("b", ".7.del"));
        for path in [&living, &dead] {
            drop(create(&folder.path().join(path)).unwrap());
        }
        directory.sweep(&HashSet::from([living.clone()]));
        assert!(young.exists() && !old.exists());
        assert!(folder.path().join(name).exists());
        assert!(folder.path().join(living).exists() && !folder.path().join(dead).exists());
    }
}
