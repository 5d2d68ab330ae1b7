//! Checksums of derived files, and the record of which files were verified.
//!
//! Small files carry a checksum in their last line. Large ones have checksums of their own; reading
//! them all whenever a command starts would take longer than the command. A [`Seal`] remembers the
//! length and the time of each file that was verified or written here. A file that differs from its
//! seal is read and verified before it is used.

use std::{collections::BTreeMap, fs, io, path::Path, time::UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::directory::replace;

const NAME: &str = "verified";
/// A newline and sixteen hexadecimal digits.
const LINE: usize = 17;

/// FNV-1a: finds a changed bit in a small file.
fn sum(content: &[u8]) -> u64 {
    content.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Appends the checksum of `content` as a last line.
pub(super) fn close(content: &[u8]) -> Vec<u8> {
    let mut closed = content.to_vec();
    closed.extend_from_slice(format!("\n{:016x}", sum(content)).as_bytes());
    closed
}

/// Returns what was closed, or an error when a bit of it changed.
pub(super) fn open(mut closed: Vec<u8>) -> io::Result<Vec<u8>> {
    let content = closed.len().checked_sub(LINE);
    match content.filter(|length| close(&closed[..*length]) == closed) {
        Some(length) => {
            closed.truncate(length);
            Ok(closed)
        }
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum does not match")),
    }
}

/// The length and the time of a file when it was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    length: u64,
    modified: i128,
}

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(Self { length: meta.len(), modified: i128::try_from(modified).ok()? })
    }
}

/// The files of one folder that were verified.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seal(BTreeMap<String, Mark>);

impl Seal {
    /// Reads the seal of a folder. One that is missing or damaged matches nothing.
    pub(super) fn read(folder: &Path) -> Self {
        fs::read(folder.join(NAME))
            .and_then(open)
            .ok()
            .and_then(|content| serde_json::from_slice(&content).ok())
            .unwrap_or_default()
    }

    /// Marks these files of the folder as they are now.
    pub(super) fn of<'a>(folder: &Path, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mark = |name: &str| Some((name.to_owned(), Mark::of(&folder.join(name))?));
        Self(names.into_iter().filter_map(mark).collect())
    }

    /// Whether the file is as it was when it was verified.
    pub(super) fn matches(&self, folder: &Path, name: &str) -> bool {
        self.0.get(name).is_some_and(|mark| Mark::of(&folder.join(name)) == Some(*mark))
    }

    /// The length that the file had when it was verified.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|mark| mark.length)
    }

    /// Keeps the seal. A failure costs another verification, nothing else.
    pub(super) fn keep(&self, folder: &Path) {
        if let Ok(content) = serde_json::to_vec(self) {
            let _ = replace(folder, Path::new(NAME), &close(&content));
        }
    }

    /// Forgets what was verified, so that the next opening verifies everything.
    pub(super) fn forget(folder: &Path) {
        let _ = fs::remove_file(folder.join(NAME));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_closed_file_is_noticed() {
        let closed = close(b"{\"seq\":12}");
        assert_eq!(open(closed.clone()).unwrap(), b"{\"seq\":12}");
        for bit in 0..closed.len() * 8 {
            let mut flipped = closed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(flipped).is_err(), "bit {bit}");
        }
        assert!(open(Vec::new()).is_err());
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test's own file")]
    fn a_seal_matches_files_that_did_not_change() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), b"one").unwrap();
        assert!(!Seal::read(folder.path()).matches(folder.path(), "a"));
        Seal::of(folder.path(), ["a", "missing"]).keep(folder.path());
        let seal = Seal::read(folder.path());
        assert!(seal.matches(folder.path(), "a"));
        assert!(!seal.matches(folder.path(), "missing"));
        assert_eq!(seal.length("a"), Some(3));
        fs::write(folder.path().join("a"), b"three").unwrap();
        assert!(!seal.matches(folder.path(), "a"));
    }
}
