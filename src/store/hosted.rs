//! Vaults that live in the library's database: notes, attachments and folders as rows.
//!
//! A write changes files, the registry of pages, the change log and the journal in one
//! transaction. There is never a note whose text and whose page differ, and no change without its
//! way back.

use crate::domain::{Result, VaultPath};

use super::{
    pages::PageChange,
    revisions::{NewChange, Revision},
};

/// What the location of a hosted vault starts with; its name follows.
pub const SCHEME: &str = "hosted:";

/// The folder that deleted files move to. Its oldest files make room when a vault is full.
pub const TRASH: &str = ".trash";

/// A file or a folder of a hosted vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedFile {
    /// The path in the vault, NFC.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Modification time in nanoseconds.
    pub mtime_ns: i64,
    /// When it was made, in nanoseconds.
    pub created_ns: i64,
    /// SHA-256 of the bytes; `None` for a folder.
    pub hash: Option<[u8; 32]>,
}

impl HostedFile {
    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.hash.is_none()
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// What a writer knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is there.
    Any,
    /// Nothing is there.
    Absent,
    /// A folder is there.
    Folder,
    /// A file with this SHA-256.
    Content([u8; 32]),
}

impl Expected {
    /// What a writer expects who saw this.
    pub fn like(file: Option<&HostedFile>) -> Self {
        match file.map(|file| file.hash) {
            None => Self::Absent,
            Some(None) => Self::Folder,
            Some(Some(hash)) => Self::Content(hash),
        }
    }

    /// Whether this is what is there.
    pub fn is_met_by(self, file: Option<&HostedFile>) -> bool {
        self == Self::Any || self == Self::like(file)
    }
}

/// One thing that a write does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileStep {
    /// Goes on only where this is there.
    #[allow(missing_docs, reason = "described above")]
    Check { path: VaultPath, expected: Expected },
    /// Writes a file. Folders above it that are missing are made.
    #[allow(missing_docs, reason = "described above")]
    Put { path: VaultPath, bytes: Vec<u8>, mtime_ns: i64, expected: Expected },
    /// Makes a folder where nothing is.
    #[allow(missing_docs, reason = "described above")]
    Folder { path: VaultPath },
    /// Removes a file, or a folder with nothing in it.
    #[allow(missing_docs, reason = "described above")]
    Remove { path: VaultPath, expected: Expected },
    /// Moves a file, or a folder with everything below it, to where nothing is. Properties go with
    /// it.
    #[allow(missing_docs, reason = "described above")]
    Move { from: VaultPath, to: VaultPath, expected: Expected },
    /// Copies a file with its properties, to where nothing or another file is: what is `expected`
    /// there.
    #[allow(missing_docs, reason = "described above")]
    Copy { from: VaultPath, to: VaultPath, expected: Expected },
}

impl FileStep {
    /// Whether a vault may hold more after it.
    pub(super) fn grows(&self) -> bool {
        matches!(self, Self::Put { .. } | Self::Folder { .. } | Self::Copy { .. })
    }
}

/// How much a hosted vault may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostedLimits {
    /// Files and folders.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl HostedLimits {
    pub(super) fn allow(self, usage: HostedUsage) -> bool {
        usage.files <= self.files && usage.bytes <= self.bytes
    }

    /// Refuses a vault that would hold this.
    pub fn check(self, vault: &str, usage: HostedUsage) -> Result<()> {
        match self.allow(usage) {
            true => Ok(()),
            false => Err(refusal::full(vault, usage, self)),
        }
    }
}

/// How much a hosted vault holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostedUsage {
    /// Files and folders.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of the properties of all files, with their names.
    pub property_bytes: u64,
}

/// A write to a hosted vault: all of it happens, or nothing.
#[derive(Debug)]
pub struct HostedWrite<'a> {
    /// The vault.
    pub vault: &'a str,
    /// What happens to files, in order.
    pub steps: &'a [FileStep],
    /// What happens to pages.
    pub pages: &'a [PageChange],
    /// What the vault may hold after it.
    pub limits: HostedLimits,
}

/// A property that a WebDAV client keeps with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The namespace; empty for none.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The whole element, as XML.
    pub xml: Vec<u8>,
}

/// How many properties one file has, and how many bytes they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PropertyUsage {
    pub count: u64,
    pub bytes: u64,
}

/// Properties of one file.
const MAX_PROPERTIES: u64 = 100;
/// Bytes of the properties of one file, with their names.
const MAX_PROPERTY_BYTES: u64 = 64 << 10;
/// Bytes of the properties of one vault. They do not count as bytes of its files.
pub(super) const MAX_VAULT_PROPERTY_BYTES: u64 = 16 << 20;

/// Keeps the files of hosted vaults.
pub trait Hosted: Send + Sync {
    /// The file or folder at a path.
    fn stat(&self, vault: &str, path: &str) -> Result<Option<HostedFile>>;

    /// What is directly in a folder, by path; the empty path is the top.
    fn list(&self, vault: &str, folder: &str) -> Result<Vec<HostedFile>>;

    /// Everything below a folder, by path; the empty path is the top.
    fn below(&self, vault: &str, folder: &str) -> Result<Vec<HostedFile>>;

    /// A file with its bytes, as of one moment. `None` for a folder.
    fn read(&self, vault: &str, path: &str) -> Result<Option<(HostedFile, Vec<u8>)>>;

    /// How much a vault holds.
    fn usage(&self, vault: &str) -> Result<HostedUsage>;

    /// Writes files, pages, the log and the journal in one transaction. Revisions of new pages get
    /// their numbers, and the change gets its own. What is not as a step expects is a conflict;
    /// what does not fit is refused as a limit, after the oldest files of the trash made room.
    fn write(
        &self,
        write: &HostedWrite<'_>,
        change: &mut NewChange,
        revisions: &mut [Revision],
    ) -> Result<()>;

    /// The properties of a file or folder.
    fn properties(&self, vault: &str, path: &str) -> Result<Vec<Property>>;

    /// Whether any file of a vault has properties.
    fn has_properties(&self, vault: &str) -> Result<bool>;

    /// Sets properties (`true`) and removes others, all or nothing. More than a file or its vault may
    /// have is refused as a limit, after the oldest files of the trash lost theirs.
    fn set_properties(&self, vault: &str, path: &str, changes: &[(Property, bool)]) -> Result<()>;

    /// Deletes every file of a vault.
    fn delete_files(&self, vault: &str) -> Result<()>;
}

/// The folder of a path; empty at the top.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The bounds between which every path below a folder lies.
pub(super) fn range_below(folder: &str) -> (String, String) {
    match folder {
        "" => (String::new(), "\u{10ffff}".to_owned()),
        // `0` is the character after `/`.
        folder => (format!("{folder}/"), format!("{folder}0")),
    }
}

/// Why a step was not taken.
pub(super) mod refusal {
    use crate::domain::{Error, Result};

    use super::{
        Expected, HostedFile, HostedLimits, HostedUsage, MAX_PROPERTIES, MAX_PROPERTY_BYTES,
        MAX_VAULT_PROPERTY_BYTES, PropertyUsage,
    };

    pub fn changed(path: &str) -> Error {
        Error::conflict(format!(
            "`{path}` was changed by somebody else at this moment; nothing was changed. Read it again"
        ))
    }

    pub fn absent(path: &str) -> Error {
        Error::not_found(format!("`{path}` is not there; nothing was changed"))
    }

    pub fn exists(path: &str) -> Error {
        Error::conflict(format!("`{path}` exists already; nothing was changed"))
    }

    pub fn not_a_folder(path: &str) -> Error {
        Error::invalid_params(format!(
            "`{path}` is a file, so nothing can be inside it; nothing was changed"
        ))
    }

    pub fn is_a_folder(path: &str) -> Error {
        Error::invalid_params(format!("`{path}` is a folder; nothing was changed"))
    }

    pub fn not_empty(path: &str) -> Error {
        Error::conflict(format!("the folder `{path}` is not empty; nothing was changed"))
    }

    pub fn into_itself(path: &str) -> Error {
        Error::invalid_params(format!("`{path}` cannot move into itself; nothing was changed"))
    }

    /// Refuses a file that is not what its writer expects.
    pub fn check(path: &str, file: Option<&HostedFile>, expected: Expected) -> Result<()> {
        match expected {
            expected if expected.is_met_by(file) => Ok(()),
            Expected::Absent => Err(exists(path)),
            _ => Err(changed(path)),
        }
    }

    /// Refuses more properties than a file may have.
    pub fn check_properties(path: &str, usage: PropertyUsage) -> Result<()> {
        match usage.count <= MAX_PROPERTIES && usage.bytes <= MAX_PROPERTY_BYTES {
            true => Ok(()),
            false => Err(Error::limit(format!(
                "the properties of `{path}` would exceed a limit: {} of {MAX_PROPERTIES} properties, {} of {MAX_PROPERTY_BYTES} bytes; nothing was changed. Remove some of them",
                usage.count, usage.bytes
            ))),
        }
    }

    // What the vault holds is not in these messages: some of it is perhaps hidden from the caller.

    /// The refusal of more properties than a vault may have.
    pub fn full_of_properties(vault: &str) -> Error {
        Error::limit(format!(
            "the properties of the files of the vault `{vault}` would have more than {MAX_VAULT_PROPERTY_BYTES} bytes; nothing was changed. Remove some of them"
        ))
    }

    /// The refusal of more files or bytes than a vault may have.
    pub fn full(vault: &str, usage: HostedUsage, limits: HostedLimits) -> Error {
        let (what, key, limit) = match usage.files > limits.files {
            true => ("files and folders", "files", limits.files),
            false => ("bytes", "vault_bytes", limits.bytes),
        };
        Error::limit(format!(
            "the vault `{vault}` would hold more {what} than `hosted.{key}` ({limit}) allows; nothing was changed. Delete something, or ask the owner to raise the limit"
        ))
    }
}
