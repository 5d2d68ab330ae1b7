//! Who may write: one process at a time, by a lock that the system releases when the process ends.
//! The file names its holder, for those who wait.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::Write,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::domain::{Result, Timestamp, error::Doing};

/// The process that holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process that holds it.
    pub pid: u32,
    /// When it took the lease.
    pub since: Timestamp,
}

/// Held while this process writes. Dropping it, or dying, gives it back.
#[derive(Debug)]
pub(super) struct Lease {
    _file: File,
}

impl Lease {
    /// Takes the lease, or `None` when another holder has it now.
    pub(super) fn try_take(path: &Path) -> Result<Option<Self>> {
        let what = || format!("take the lease `{}`", path.display());
        if path.is_dir() {
            // Nobody can hold a folder: something else put it here.
            fs::remove_dir_all(path).doing(what())?;
        }
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(path).doing(what())?;
        match file.try_lock() {
            Ok(()) => {
                sign(&file);
                Ok(Some(Self { _file: file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).doing(what()),
        }
    }

    /// Whom the lease file names. It may have given the lease back since.
    pub(super) fn holder(path: &Path) -> Option<Holder> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}

/// Writes the holder into the file. The lock alone decides: a failure (a full disk) leaves those
/// who wait without a name, nothing else.
fn sign(mut file: &File) {
    let holder = Holder { pid: std::process::id(), since: Timestamp::now() };
    if let Ok(line) = serde_json::to_vec(&holder) {
        let _ = file.set_len(0).and_then(|()| file.write_all(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let first = Lease::try_take(&path).unwrap();
        assert!(first.is_some());
        assert!(Lease::try_take(&path).unwrap().is_none(), "held");
        assert_eq!(Lease::holder(&path).unwrap().pid, std::process::id());
        drop(first);
        assert!(Lease::try_take(&path).unwrap().is_some(), "given back");
    }
}
