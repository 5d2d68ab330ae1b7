//! Every plain file of one folder, with its digest, and the stamps that tell whether any of it has
//! changed since.
//!
//! The rules are those of a walk over the vault: what `.gitignore` names, hidden files and the
//! folders of tools are left out, and symbolic links are not followed.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ignore::WalkBuilder;
use sha2::{Digest, Sha256};

use super::walk::{IGNORED, TEMPORARY};
use crate::domain::VaultPath;

/// A file that changed this shortly before it was read may change again without a new stamp: file
/// systems count time in steps.
const STEP: Duration = Duration::from_millis(100);

/// The most that a folder may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
}

/// A folder's files.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// By path.
    pub files: Vec<Member>,
    /// Symbolic links, which are not followed.
    pub links: Vec<String>,
    /// Folders and `.gitignore` files that decide which files there are.
    watched: Vec<(PathBuf, Option<Mark>)>,
    /// Whether the stamps of `watched` are old enough to be relied on.
    is_settled: bool,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Relative to the folder, `/` between its parts.
    pub path: String,
    /// Where it is on disk.
    pub file: PathBuf,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Whether its owner may execute it.
    pub is_executable: bool,
    mark: Mark,
    /// Whether the stamp is old enough to be relied on.
    is_settled: bool,
}

/// Why a folder cannot be taken as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// More files than the limit.
    Files(usize),
    /// More bytes than the limit.
    Bytes(u64),
    /// One file has more bytes than the limit.
    File {
        /// The file.
        path: String,
        /// Its bytes.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The system refuses to read something.
    Unreadable {
        /// What.
        path: String,
        /// Why.
        why: String,
    },
    /// A name that no address can have.
    Name(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(limit) => write!(f, "its folder has more than {limit} files"),
            Self::Bytes(limit) => write!(f, "its files have more than {limit} bytes together"),
            Self::File { path, size, limit } => {
                write!(f, "`{path}` has {size} bytes, where the limit is {limit}")
            }
            Self::Unreadable { path, why } => write!(f, "`{path}` cannot be read: {why}"),
            Self::Name(path) => write!(
                f,
                "`{}` has a backslash, a control character or no UTF-8 in its name",
                path.escape_debug()
            ),
        }
    }
}

/// What differs when a file or folder has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    size: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
    inode: u64,
}

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|metadata| Self::of_metadata(&metadata))
    }

    fn of_metadata(metadata: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let (changed, inode) = {
            use std::os::unix::fs::MetadataExt;
            ((metadata.ctime(), metadata.ctime_nsec()), metadata.ino())
        };
        #[cfg(not(unix))]
        let (changed, inode) = ((0, 0), 0);
        Self { size: metadata.len(), modified: metadata.modified().ok(), changed, inode }
    }

    /// Whether a change from now on gets another stamp.
    fn is_settled(&self, now: SystemTime) -> bool {
        let modified = self.modified.and_then(|time| now.duration_since(time).ok());
        let changed = u64::try_from(self.changed.0).ok().and_then(|seconds| {
            let time =
                Duration::from_secs(seconds) + Duration::from_nanos(self.changed.1.unsigned_abs());
            now.duration_since(SystemTime::UNIX_EPOCH + time).ok()
        });
        modified.is_some_and(|age| age > STEP) && changed.is_some_and(|age| age > STEP)
    }
}

/// Stamps of places that many folders share, taken once for a whole list.
#[derive(Debug, Default)]
pub struct Marks(HashMap<PathBuf, Option<Mark>>);

impl Marks {
    fn of(&mut self, path: &Path) -> Option<Mark> {
        if let Some(known) = self.0.get(path) {
            return *known;
        }
        let mark = Mark::of(path);
        self.0.insert(path.to_owned(), mark);
        mark
    }
}

impl Bundle {
    /// Reads a folder below `root`. Files that have not changed since `before` are not read again.
    /// `without` are folders that belong to other vaults.
    pub fn read(
        root: &Path,
        folder: &Path,
        without: &[PathBuf],
        limits: Limits,
        before: Option<&Self>,
    ) -> Result<Self, Obstacle> {
        let now = SystemTime::now();
        let mut bundle =
            Self { files: Vec::new(), links: Vec::new(), watched: Vec::new(), is_settled: true };
        for above in folder.ancestors().skip(1).take_while(|above| above.starts_with(root)) {
            bundle.watch(above.join(".gitignore"), now);
        }
        let known: HashMap<&Path, &Member> = before
            .map(|before| before.files.iter().map(|file| (file.file.as_path(), file)).collect())
            .unwrap_or_default();
        let without = without.to_vec();
        let entries = WalkBuilder::new(folder)
            .ignore(false)
            .git_global(false)
            .git_exclude(false)
            .require_git(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                let name = entry.file_name();
                entry.depth() == 0
                    || !(IGNORED.iter().any(|ignored| name == *ignored)
                        || without.iter().any(|other| other == entry.path()))
            })
            .build();
        let mut bytes = 0_u64;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let Some(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let shown = || path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
            if kind.is_dir() {
                // A file that is new in a folder changes the folder.
                let rules = path.join(".gitignore");
                if rules.exists() {
                    bundle.watch(rules, now);
                }
                bundle.watch(path.to_owned(), now);
                continue;
            }
            if kind.is_symlink() {
                bundle.links.push(shown());
                continue;
            }
            if !kind.is_file() || entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                continue;
            }
            if bundle.files.len() == limits.files {
                return Err(Obstacle::Files(limits.files));
            }
            let relative = path.strip_prefix(folder).ok().and_then(relative_path);
            let relative = relative.ok_or_else(|| Obstacle::Name(shown()))?;
            let member = match Member::read(relative, path, limits, known.get(path).copied()) {
                Ok(member) => member,
                // Gone between the listing and the look.
                Err(Failure::Io(error)) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(Failure::Io(error)) => {
                    return Err(Obstacle::Unreadable { path: shown(), why: error.to_string() });
                }
                Err(Failure::TooLarge(size)) => {
                    let limit = limits.file_bytes;
                    return Err(Obstacle::File { path: shown(), size, limit });
                }
            };
            bytes += member.size;
            if bytes > limits.bytes {
                return Err(Obstacle::Bytes(limits.bytes));
            }
            bundle.files.push(member);
        }
        bundle.files.sort_by(|a, b| a.path.cmp(&b.path));
        bundle.files.dedup_by(|a, b| a.path == b.path);
        bundle.links.sort();
        Ok(bundle)
    }

    fn watch(&mut self, path: PathBuf, now: SystemTime) {
        let mark = Mark::of(&path);
        self.is_settled &= mark.is_none_or(|mark| mark.is_settled(now));
        self.watched.push((path, mark));
    }

    /// Whether the folder still holds what was read.
    pub fn is_current(&self, marks: &mut Marks) -> bool {
        let is_same =
            |member: &Member| member.is_settled && Mark::of(&member.file) == Some(member.mark);
        self.is_settled
            && self.files.iter().all(is_same)
            && self.watched.iter().all(|(path, mark)| marks.of(path) == *mark)
    }

    /// The file at a path of the folder.
    pub fn file(&self, path: &str) -> Option<&Member> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }
}

enum Failure {
    Io(io::Error),
    TooLarge(u64),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Member {
    fn read(
        path: String,
        file: &Path,
        limits: Limits,
        known: Option<&Self>,
    ) -> Result<Self, Failure> {
        let metadata = fs::symlink_metadata(file)?;
        let mark = Mark::of_metadata(&metadata);
        if let Some(known) = known.filter(|known| known.is_settled && known.mark == mark) {
            return Ok(known.clone());
        }
        if metadata.len() > limits.file_bytes {
            return Err(Failure::TooLarge(metadata.len()));
        }
        let now = SystemTime::now();
        let bytes = fs::read(file)?;
        Ok(Self {
            path,
            file: file.to_owned(),
            size: bytes.len() as u64,
            digest: Sha256::digest(&bytes).into(),
            is_executable: is_executable(&metadata),
            mark,
            is_settled: mark.is_settled(now) && mark.size == bytes.len() as u64,
        })
    }

    /// The bytes of the file, if they are still those of the digest.
    pub fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        if !fs::symlink_metadata(&self.file)?.is_file() {
            return Ok(None);
        }
        let bytes = fs::read(&self.file)?;
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        Ok((digest == self.digest).then_some(bytes))
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &fs::Metadata) -> bool {
    false
}

fn relative_path(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() };
    VaultPath::parse(&text).ok().map(|path| path.as_str().to_owned())
}

fn unreadable(folder: &Path, error: &ignore::Error) -> Obstacle {
    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    let path = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Obstacle::Unreadable { path, why }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use std::time::Instant;

    use super::*;

    const LIMITS: Limits = Limits { files: 4, bytes: 1000, file_bytes: 500 };

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = dir.path().join("skill").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        dir
    }

    fn read(dir: &Path, before: Option<&Bundle>) -> Result<Bundle, Obstacle> {
        Bundle::read(dir, &dir.join("skill"), &[], LIMITS, before)
    }

    fn paths(bundle: &Bundle) -> Vec<&str> {
        bundle.files.iter().map(|file| file.path.as_str()).collect()
    }

    /// Waits until the stamps of what was just written count.
    fn settled(dir: &Path) -> Bundle {
        let started = Instant::now();
        loop {
            let bundle = read(dir, None).unwrap();
            if bundle.is_current(&mut Marks::default()) {
                return bundle;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "the stamps never settle");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn plain_files_are_listed_and_nothing_else() {
        let dir = folder(&[
            ("SKILL.md", "a"),
            ("дело/図.md", "b"),
            (".env", "secret"),
            (".git/config", "x"),
            ("build/out.bin", "x"),
            (".gitignore", "build/\n"),
        ]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("skill/passwd")).unwrap();
        let bundle = read(dir.path(), None).unwrap();
        assert_eq!(paths(&bundle), ["SKILL.md", "дело/図.md"]);
        if cfg!(unix) {
            assert_eq!(bundle.links, ["passwd"]);
        }
        let digest: [u8; 32] = Sha256::digest(b"b").into();
        assert_eq!(bundle.file("дело/図.md").unwrap().digest, digest);
        assert!(bundle.file("passwd").is_none());
    }

    #[test]
    fn every_kind_of_change_is_noticed() {
        type Change = fn(&Path);
        let changes: [Change; 6] = [
            |skill| fs::write(skill.join("SKILL.md"), "B").unwrap(),
            |skill| fs::write(skill.join("ref/new.md"), "n").unwrap(),
            |skill| fs::remove_file(skill.join("ref/x.md")).unwrap(),
            |skill| fs::rename(skill.join("ref/x.md"), skill.join("ref/y.md")).unwrap(),
            |skill| fs::write(skill.join(".gitignore"), "ref/\n").unwrap(),
            |skill| fs::write(skill.parent().unwrap().join(".gitignore"), "x.md\n").unwrap(),
        ];
        for (at, change) in changes.iter().enumerate() {
            let dir = folder(&[("SKILL.md", "A"), ("ref/x.md", "x")]);
            let before = settled(dir.path());
            change(&dir.path().join("skill"));
            assert!(!before.is_current(&mut Marks::default()), "change {at} was not noticed");
            let after = read(dir.path(), Some(&before)).unwrap();
            let digests = |bundle: &Bundle| {
                let files = bundle.files.iter();
                files.map(|file| (file.path.clone(), file.digest)).collect::<Vec<_>>()
            };
            assert_ne!(digests(&before), digests(&after), "change {at}");
        }
    }

    #[test]
    fn a_change_of_the_same_size_in_the_same_moment_is_noticed() {
        let dir = folder(&[("SKILL.md", "A")]);
        let file = dir.path().join("skill/SKILL.md");
        let mut before = read(dir.path(), None).unwrap();
        for round in 0..50_u8 {
            let text = [b'a' + round % 26];
            fs::write(&file, text).unwrap();
            let is_current = before.is_current(&mut Marks::default());
            let now = read(dir.path(), Some(&before)).unwrap();
            let digest: [u8; 32] = Sha256::digest(text).into();
            assert!(!is_current, "round {round}");
            assert_eq!(now.files[0].digest, digest, "round {round}");
            before = now;
        }
    }

    #[test]
    fn limits_hold() {
        let dir = folder(&[("1", "x"), ("2", "x"), ("3", "x"), ("4", "x")]);
        assert_eq!(paths(&read(dir.path(), None).unwrap()).len(), 4);
        fs::write(dir.path().join("skill/5"), "x").unwrap();
        assert_eq!(read(dir.path(), None).unwrap_err(), Obstacle::Files(4));
        let dir = folder(&[("1", &"x".repeat(400)), ("2", &"x".repeat(400))]);
        assert!(read(dir.path(), None).is_ok());
        fs::write(dir.path().join("skill/3"), "x".repeat(300)).unwrap();
        assert_eq!(read(dir.path(), None).unwrap_err(), Obstacle::Bytes(1000));
        fs::write(dir.path().join("skill/1"), "x".repeat(501)).unwrap();
        assert!(matches!(read(dir.path(), None).unwrap_err(), Obstacle::File { size: 501, .. }));
    }
}
