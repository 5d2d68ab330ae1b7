//! Whether a file is still the one that was read: who it is, how long, when it last changed.

use std::{
    fs::Metadata,
    io,
    path::Path,
    time::{Duration, SystemTime},
};

/// Clocks of file systems tick every few milliseconds. A file that changed this short a time
/// before it was read may change again without a trace, so its stamp is not trusted.
const TICK: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    identity: (u64, u64),
    length: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
    /// Old enough when it was taken to tell later changes apart.
    settled: bool,
}

impl Stamp {
    /// `None` when there is no such file.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (identity, changed) = {
            use std::os::unix::fs::MetadataExt;
            ((metadata.dev(), metadata.ino()), (metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (identity, changed) = ((0, 0), (0, 0));
        let modified = metadata.modified().ok();
        let age = modified.and_then(|moment| SystemTime::now().duration_since(moment).ok());
        let settled = age.is_some_and(|age| age > TICK);
        Self { identity, length: metadata.len(), modified, changed, settled }
    }

    /// The same file in the same state as far as anyone can tell.
    pub fn matches(&self, now: &Stamp) -> bool {
        self.settled && Self { settled: true, ..*now } == *self
    }

    /// The same file in the same state, unless it changed within one tick of the clock.
    pub fn looks_like(&self, now: &Stamp) -> bool {
        Self { settled: self.settled, ..*now } == *self
    }
}
