//! Findings about who else on this machine may read the library.

use std::path::Path;

use super::Finding;
use crate::{config::Config, domain::Result, store::private};

/// What other users may read. Opening the library has closed what this account owns.
pub fn open_to_others(config: &Config) -> Result<Vec<Finding>> {
    let finding = |path: &Path| {
        let shown = path.display();
        Finding::wrong(
            format!("other users of this machine may read or change `{shown}`"),
            format!(
                "run `chmod go-rwx {shown}` as the user who owns it, or name a folder of your own with `--data DIR`"
            ),
        )
    };
    Ok(private::open_to_others(&config.data)?.iter().map(|path| finding(path)).collect())
}

/// The config file, where it holds a secret that everybody may read.
pub fn open_secret(config: &Config) -> Option<Finding> {
    let file = config.secret_file.as_ref().filter(|file| is_open_to_all(file))?;
    let shown = file.display();
    Some(Finding::wrong(
        format!(
            "every user of this machine may read or change `{shown}`, which holds a password or a token"
        ),
        format!("run `chmod o-rwx {shown}`"),
    ))
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
