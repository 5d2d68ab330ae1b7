//! Findings about what is derived from the library: the index.

use super::Finding;
use crate::{
    app::App,
    domain::{Result, count},
    index::{Cause, Obstacle},
};

impl App {
    /// Verifies every derived file. What is damaged is made anew by itself; the finding says so.
    pub(super) fn check_index(&self, findings: &mut Vec<Finding>) -> Result<()> {
        if self.index.examine()? {
            self.catch_up(&crate::domain::Silent)?;
        }
        for repair in self.recent_repairs() {
            let what = format!("{}, on {}", repair.what, repair.at);
            findings.push(match repair.cause {
                Cause::Damaged => Finding::note(
                    what,
                    "the index repaired itself; check the disk if this comes back, and `notewell index` finishes what is left",
                ),
                Cause::OtherLibrary => Finding::wrong(
                    what,
                    "if `notewell.db` was deleted or replaced by mistake, restore it from a backup: bookmarks and tokens live in it; if it was on purpose, `notewell index --rebuild` confirms that",
                ),
            });
        }
        let status = self.index.status()?;
        let is_behind = status.freshness.behind > 0;
        let behind = count(status.freshness.behind, "change");
        match status.freshness.obstacle {
            Some(Obstacle::DiskFull) => findings.push(Finding::wrong(
                format!("the index is {behind} behind: the disk is full"),
                "make room on the disk of the data directory; searches answer from the index as it is",
            )),
            Some(Obstacle::NotWritable) => findings.push(Finding::wrong(
                format!("the index is {behind} behind: the data directory cannot be written"),
                "make it writable for this account; searches answer from the index as it is",
            )),
            None if is_behind => findings.push(Finding::note(
                format!("the index is {behind} behind"),
                "a running server catches up by itself; `notewell index` does it now",
            )),
            None => {}
        }
        if let Some(vectors) = status.vectors.filter(|vectors| !vectors.is_complete()) {
            findings.push(Finding::note(
                format!(
                    "{} of {} passages can be found by meaning, all by words",
                    vectors.done, vectors.total
                ),
                "a running server computes the rest; `notewell index` does it now",
            ));
        }
        Ok(())
    }
}
