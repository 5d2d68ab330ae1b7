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

    /// The stamp of a file that was just written here and given `modified`: a moment that the
    /// system's own clock, which ticks, does not give to a later change. So it is trusted at once,
    /// where the file system kept the moment as it is.
    pub fn of_own(path: &Path, modified: SystemTime) -> io::Result<Option<Self>> {
        let stamp = Self::of(path)?;
        Ok(stamp.map(|stamp| Self {
            settled: stamp.settled || stamp.modified == Some(modified),
            ..stamp
        }))
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

/// Now, in whole microseconds: what every file system with a fine clock can keep.
pub fn moment() -> SystemTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since.as_micros()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even a change of the same length within one tick of the clock.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a careless program is what is played here")]
    fn a_change_to_our_own_file_is_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for _ in 0..50 {
            let written = moment();
            std::fs::write(&path, "ours").unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(written).unwrap();
            let own = Stamp::of_own(&path, written).unwrap().unwrap();
            assert!(own.matches(&Stamp::of(&path).unwrap().unwrap()));
            std::fs::write(&path, "edit").unwrap();
            assert!(!own.matches(&Stamp::of(&path).unwrap().unwrap()));
        }
    }
}
