//! Who may write: one process at a time, by a lock that the system lets go when the process ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use crate::domain::{Result, error::Doing};

/// Held while this process writes. Dropping it, or dying, gives it back.
#[derive(Debug)]
pub(super) struct Lease {
    _file: File,
}

impl Lease {
    /// Takes the lease, or `None` when another holder has it now.
    pub(super) fn try_take(path: &Path) -> Result<Option<Self>> {
        let what = || format!("take the lease `{}`", path.display());
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(path).doing(what())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).doing(what()),
        }
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
        drop(first);
        assert!(Lease::try_take(&path).unwrap().is_some(), "given back");
    }
}
