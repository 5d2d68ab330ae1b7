//! Findings about who else on this machine may read the library.

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
        Ok(())
    }
}
