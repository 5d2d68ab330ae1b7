//! Readers of damaged files can panic. A panic in the index is an error like any other, and an error
//! leads to a verification.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::domain::{Error, Result};

/// Runs `work` and turns a panic into an error.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|message| (*message).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(Error::internal(format!("the index stopped: {message}")))
    })
}

/// Why the index cannot be written, where that is the disk's doing and not the index's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// No space on the disk.
    DiskFull,
    /// The folder cannot be written.
    NotWritable,
}

impl Obstacle {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiskFull => "the disk is full",
            Self::NotWritable => "the data directory cannot be written",
        }
    }

    pub(super) fn of_kind(kind: io::ErrorKind) -> Option<Self> {
        match kind {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Some(Self::DiskFull),
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Some(Self::NotWritable)
            }
            _ => None,
        }
    }

    /// The obstacle among the causes of an error.
    pub(super) fn of(error: &Error) -> Option<Self> {
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref::<io::Error>() {
                return Self::of_kind(found.kind());
            }
            cause = error.source();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::error::Doing;

    #[test]
    fn a_panic_is_an_error() {
        let error = caught::<()>(|| panic!("on purpose")).unwrap_err();
        assert!(error.message.contains("on purpose"), "{error}");
    }

    #[test]
    fn a_full_disk_is_known_by_its_cause() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = Err::<(), _>(full).doing("write").unwrap_err();
        assert_eq!(Obstacle::of(&error), Some(Obstacle::DiskFull));
        assert_eq!(Obstacle::of(&Error::internal("other")), None);
    }
}
