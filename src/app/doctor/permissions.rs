//! Findings about who else on this machine may read the library.

use std::path::Path;

use super::Finding;
use crate::{app::App, domain::Result, store::private};

impl App {
    /// What other users may read. Opening the library has closed what this account owns.
    pub(super) fn check_permissions(&self, findings: &mut Vec<Finding>) -> Result<()> {
        for path in private::open_to_others(&self.config.data)? {
            findings.push(Finding::wrong(
                format!("other users of this machine may read or change `{}`", path.display()),
                format!(
                    "run `chmod go-rwx {0}` as the user who owns it, or name a folder of your own with `--data DIR`",
                    path.display()
                ),
            ));
        }
        if let Some(file) = self.config.secret_file.as_ref().filter(|file| is_open_to_all(file)) {
            findings.push(Finding::wrong(
                format!(
                    "every user of this machine may read or change `{}`, which holds a password or a token",
                    file.display()
                ),
                format!("run `chmod o-rwx {}`", file.display()),
            ));
        }
        Ok(())
    }
}

/// Whether users outside the group of a file may read or write it. A file that a group shares is how
/// services are set up.
#[cfg(unix)]
fn is_open_to_all(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o006 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_file: &Path) -> bool {
    false
}
