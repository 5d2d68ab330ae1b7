//! Room on the disk of the data directory.

use std::path::Path;

use crate::app::doctor::Finding;

/// Below this much a rebuild of the index of a large library may not fit.
const FEW: u64 = 500 << 20;

/// The bytes that this account may still write there. A directory that does not exist yet is made on
/// the disk of its nearest parent.
#[cfg(unix)]
pub(super) fn free(data: &Path) -> Option<u64> {
    let place = data.ancestors().find(|folder| folder.is_dir())?;
    let disk = rustix::fs::statvfs(place).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(not(unix))]
pub(super) fn free(_data: &Path) -> Option<u64> {
    None
}

/// A note where little is left.
pub(super) fn few(free: u64, data: &Path) -> Option<Finding> {
    (free < FEW).then(|| {
        Finding::note(
            format!("the disk of `{}` has {} MB left", data.display(), free / 1_000_000),
            "make room: making the index anew needs as much as the index itself",
        )
    })
}
