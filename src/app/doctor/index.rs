//! Findings about what is derived from the library: the index.

use super::Finding;
use crate::{app::App, domain::Result};

impl App {
    pub(super) fn check_index(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let status = self.index.status()?;
        if status.freshness.behind > 0 {
            findings.push(Finding::note(
                format!("the index has {} changes to take in", status.freshness.behind),
                "it follows by itself while a server runs; `notewell index` brings it up to date now",
            ));
        }
        Ok(())
    }
}
