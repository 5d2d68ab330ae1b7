//! One file → its text, with the stamp that tells whether it has changed since.

use std::{
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::domain::VaultPath;

/// How often a file that changes while it is read is read again.
const ATTEMPTS: u32 = 5;

/// Why a file of the vault is not a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Not UTF-8 text.
    NotUtf8 {
        /// The first wrong byte.
        at: usize,
    },
    /// A binary file.
    Binary,
    /// Larger than `limits.note_bytes`.
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The system refuses to read it.
    Unreadable(String),
    /// It is not there. Whether it is gone for good is for a look at the whole vault to say.
    Absent,
    /// Its name cannot be used.
    Name(&'static str),
    /// A symbolic link.
    SymbolicLink,
    /// A pipe, a socket or a device.
    Special(&'static str),
}

impl Reason {
    /// One word for the kind of reason, for a program to tell them apart.
    pub fn kind(&self) -> &'static str {
        match self {
            Reason::NotUtf8 { .. } => "encoding",
            Reason::Binary => "binary",
            Reason::TooLarge { .. } => "size",
            Reason::Unreadable(_) => UNREADABLE,
            Reason::Absent => "absent",
            Reason::Name(_) => "name",
            Reason::SymbolicLink => "symlink",
            Reason::Special(_) => "special",
        }
    }

    /// The reason as it follows the name of the file: `is binary: …`.
    pub fn after_name(&self) -> String {
        match self {
            Reason::Name(why) => format!("has a name that {why}; rename it to have it found"),
            Reason::Unreadable(_) | Reason::Absent => self.to_string(),
            Reason::NotUtf8 { .. }
            | Reason::Binary
            | Reason::TooLarge { .. }
            | Reason::SymbolicLink
            | Reason::Special(_) => format!("is {self}"),
        }
    }

    /// Whether the file may still hold what it held: nobody can say while it cannot be read.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Reason::Unreadable(_))
    }
}

/// The kind of [`Reason::Unreadable`].
pub const UNREADABLE: &str = "unreadable";

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotUtf8 { at } => {
                write!(f, "not UTF-8 at byte {at}; save it as UTF-8 to have it found")
            }
            Reason::Binary => f.write_str("binary: it has NUL bytes"),
            Reason::TooLarge { size, limit } => {
                write!(f, "too large: {size} bytes, where the limit is {limit}")
            }
            Reason::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Reason::Absent => f.write_str("is not there"),
            Reason::Name(why) => write!(f, "its name {why}; rename it to have it found"),
            Reason::SymbolicLink => f.write_str("a symbolic link, which is not followed"),
            Reason::Special(what) => write!(f, "{what}, not a regular file"),
        }
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Reason::Absent,
            _ => Reason::Unreadable(error.to_string()),
        }
    }
}

/// What a file was when it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Modification time in nanoseconds.
    pub mtime_ns: i64,
}

impl Stamp {
    /// The stamp of no file: a page that has it is read at the next look.
    pub const NONE: Self = Self { size: 0, mtime_ns: i64::MIN };

    /// Size and time of a file.
    pub fn of(metadata: &Metadata) -> Self {
        let mtime_ns = match metadata.modified().map(|time| time.duration_since(UNIX_EPOCH)) {
            Ok(Ok(after)) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Ok(Err(before)) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
            Err(_) => 0,
        };
        Self { size: metadata.len(), mtime_ns }
    }
}

/// A text and what it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// The text.
    pub text: String,
    /// Size and time when it was read.
    pub stamp: Stamp,
    /// SHA-256 of the bytes.
    pub hash: [u8; 32],
}

impl TextFile {
    /// The etag of this text.
    pub fn etag(&self) -> String {
        etag(&self.hash)
    }
}

/// What a caller shows to prove which content they know: the first 16 hexadecimal digits of the
/// SHA-256 of the bytes.
pub fn etag(hash: &[u8; 32]) -> String {
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a file is when it is no regular file.
pub fn special(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "a special file" }
}

/// Opens a regular file. Never waits: a pipe without a writer, or a file that became one since it
/// was listed, is refused.
fn open(file: &Path) -> Result<File, Reason> {
    let kind = fs::symlink_metadata(file)?.file_type();
    if kind.is_symlink() {
        return Err(Reason::SymbolicLink);
    }
    if !kind.is_file() {
        return Err(Reason::Special(special(kind)));
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC);
    }
    let handle = options.open(file)?;
    let kind = handle.metadata()?.file_type();
    if !kind.is_file() {
        return Err(Reason::Special(special(kind)));
    }
    Ok(handle)
}

/// Reads a file whole. One that changes meanwhile is read again; if it does not come to rest, what
/// was read last carries the stamp from before, so that the next look reads it once more.
pub fn read(file: &Path, limit: u64) -> Result<TextFile, Reason> {
    let mut attempt = 1;
    loop {
        let mut handle = open(file)?;
        let before = Stamp::of(&handle.metadata()?);
        if before.size > limit {
            return Err(Reason::TooLarge { size: before.size, limit });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0) + 1);
        handle.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        let after = Stamp::of(&handle.metadata()?);
        let at_rest = before == after && bytes.len() as u64 == after.size;
        if at_rest || attempt == ATTEMPTS {
            return text_of(bytes, before, limit);
        }
        attempt += 1;
        thread::sleep(Duration::from_millis(5));
    }
}

/// The text of a note from its bytes.
pub fn text_of(bytes: Vec<u8>, stamp: Stamp, limit: u64) -> Result<TextFile, Reason> {
    if bytes.len() as u64 > limit {
        return Err(Reason::TooLarge { size: bytes.len() as u64, limit });
    }
    let hash = hash(&bytes);
    let text = String::from_utf8(bytes)
        .map_err(|error| Reason::NotUtf8 { at: error.utf8_error().valid_up_to() })?;
    // Rare in text, and the first sign of a picture or an archive under a wrong name.
    if text.as_bytes().contains(&0) {
        return Err(Reason::Binary);
    }
    Ok(TextFile { text, stamp, hash })
}

/// SHA-256.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The file that a path names. Names that were typed on another system may be decomposed on disk
/// where the path is not, so a part that is not there is looked for by its normal form.
pub fn locate(root: &Path, path: &VaultPath) -> PathBuf {
    let direct = root.join(path.as_str());
    if path.as_str().is_ascii() || fs::symlink_metadata(&direct).is_ok() {
        return direct;
    }
    let mut at = root.to_owned();
    for part in path.as_str().split('/') {
        let next = at.join(part);
        let there = fs::symlink_metadata(&next).is_ok();
        at = if there { next } else { same_name(&at, part).unwrap_or(next) };
    }
    at
}

fn same_name(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.filter_map(|entry| Some(entry.ok()?.path())).find(|path| {
        let found = path.file_name().and_then(|found| found.to_str());
        found.is_some_and(|found| found.nfc().eq(name.chars()))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
        let path = folder.join(name);
        File::create(&path).unwrap().write_all(bytes).unwrap();
        path
    }

    #[test]
    fn text_is_read_with_its_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "a.md", "Привет, 世界".as_bytes());
        let found = read(&path, 100).unwrap();
        assert_eq!(found.text, "Привет, 世界");
        assert_eq!(found.stamp.size, 20);
        assert!(found.stamp.mtime_ns > 0);
        assert_eq!(found.hash, hash("Привет, 世界".as_bytes()));
    }

    #[test]
    fn what_is_not_text_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let latin = file(folder.path(), "a.md", b"caf\xe9");
        assert_eq!(read(&latin, 100), Err(Reason::NotUtf8 { at: 3 }));
        let zero = file(folder.path(), "b.md", b"a\0b");
        assert_eq!(read(&zero, 100), Err(Reason::Binary));
        assert_eq!(read(&zero, 2), Err(Reason::TooLarge { size: 3, limit: 2 }));
        assert_eq!(read(&folder.path().join("c.md"), 9), Err(Reason::Absent));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_a_socket_and_a_link_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.md");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(read(&pipe, 100), Err(Reason::Special("a named pipe")));
        let socket = folder.path().join("socket.md");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(read(&socket, 100), Err(Reason::Special("a socket")));
        let link = folder.path().join("link.md");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert_eq!(read(&link, 100_000), Err(Reason::SymbolicLink));
    }

    #[test]
    fn a_decomposed_name_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("か\u{3099}")).unwrap();
        let path = file(folder.path(), "か\u{3099}/и\u{306}.md", b"x");
        let name = VaultPath::parse("が/й.md").unwrap();
        assert_eq!(locate(folder.path(), &name), path);
    }
}
