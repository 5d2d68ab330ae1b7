//! Who else may change the settings.

use std::path::Path;

use crate::app::doctor::Finding;

/// A finding where other users may change the config file: it says which programs are run and which
/// addresses are asked.
#[cfg(unix)]
pub(super) fn open_to_changes(file: Option<&Path>) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let file = file?;
    let mode = file.metadata().ok()?.permissions().mode();
    let shown = file.display();
    (mode & 0o022 != 0).then(|| {
        Finding::wrong(
            format!("other users of this machine may change `{shown}`"),
            format!("run `chmod go-w {shown}` as the user who owns it"),
        )
    })
}

#[cfg(not(unix))]
pub(super) fn open_to_changes(_file: Option<&Path>) -> Option<Finding> {
    None
}
