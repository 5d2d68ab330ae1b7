//! Backups of a library on SQLite: a folder with a copy of everything that cannot be made again,
//! and a manifest with the hash of each file. Notes in folders stay where they are; the index is
//! made anew.

mod make;
mod restore;

use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use restore::{Plan, Restored};

use crate::domain::{Error, Result, Timestamp, error::Doing};

/// The form of the folder that this version writes and reads.
const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";
/// In a data directory while a restore puts files into it.
pub use crate::store::RESTORE_UNFINISHED;

/// The copy of `notewell.db`.
const LIBRARY: &str = "notewell.db";
/// The copy of the cards' database, wherever that is.
const CARDS: &str = "cards.db";
const COMPLETIONS: &str = "completions.json";
/// The copy of the config file.
pub const CONFIG: &str = "notewell.toml";
/// The folder of the prompts' files.
const PROMPTS: &str = "prompts";
const PROMPT_FILES: [&str; 2] = ["user.jsonl", "default.jsonl"];

/// What a backup holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// The version that made it.
    pub notewell: String,
    /// When it was made.
    pub made: Timestamp,
    /// The number of the library.
    pub library: i64,
    /// Every file.
    pub files: Vec<Kept>,
    /// Folders of notes, which are not in the backup.
    pub folders: Vec<PathBuf>,
}

/// A file of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    /// Its path in the backup.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// A database that keeps a write-ahead log where it lives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    wal: bool,
}

impl Manifest {
    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Reads the manifest of a backup.
    pub fn read(backup: &Path) -> Result<Self> {
        let path = backup.join(MANIFEST);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::invalid_params(format!(
                    "`{}` is no backup: it has no `{MANIFEST}`; name a folder that `notewell backup` made",
                    backup.display()
                )));
            }
            Err(error) => return Err(error).doing(format_args!("read `{}`", path.display())),
        };
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| {
            Error::damaged(format!("`{}` is damaged: {error}; use another backup", path.display()))
        })?;
        let format = value["format"].as_u64().unwrap_or_default();
        if format != u64::from(FORMAT) {
            return Err(Error::invalid_params(format!(
                "the backup `{}` has the format {format}, and this Notewell reads {FORMAT}; update Notewell",
                backup.display()
            )));
        }
        let manifest: Self = serde_json::from_value(value).map_err(|error| {
            Error::damaged(format!("`{}` is damaged: {error}; use another backup", path.display()))
        })?;
        // The names become paths here.
        let known = |name: &str| match name.strip_prefix("prompts/") {
            Some(file) => PROMPT_FILES.contains(&file),
            None => [LIBRARY, CARDS, COMPLETIONS, CONFIG].contains(&name),
        };
        if let Some(file) = manifest.files.iter().find(|file| !known(&file.name)) {
            return Err(Error::damaged(format!(
                "`{}` names the file `{}`, which no backup has; use another backup",
                path.display(),
                file.name
            )));
        }
        Ok(manifest)
    }

    fn file(&self, name: &str) -> Option<&Kept> {
        self.files.iter().find(|file| file.name == name)
    }
}

/// Copies a file, durably.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let what = format!("copy `{}` to `{}`", from.display(), to.display());
    let mut source = File::open(from).doing(&what)?;
    let mut target = File::create(to).doing(&what)?;
    std::io::copy(&mut source, &mut target).doing(&what)?;
    target.flush().and_then(|()| target.sync_all()).doing(&what)
}

/// The size of a file and the SHA-256 of its content.
fn hash(path: &Path) -> Result<(u64, String)> {
    let what = format!("read `{}`", path.display());
    let mut file = File::open(path).doing(&what)?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer).doing(&what)?;
        if count == 0 {
            break;
        }
        digest.update(&buffer[..count]);
        bytes += count as u64;
    }
    let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, digest))
}
