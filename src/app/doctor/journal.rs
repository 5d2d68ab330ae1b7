//! The journal of changes: can every version be read, and is every change settled?

use super::{App, Finding};
use crate::domain::{Result, count};

impl App {
    pub(super) fn check_journal(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let journal = &self.store.revisions;
        let damage = journal.damage()?;
        if let Some(first) = damage.first() {
            let more = match damage.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            findings.push(Finding::wrong(
                format!("the history is damaged: {first}{more}"),
                "the items themselves are not affected; put `notewell.db` back from a backup to have their old versions",
            ));
        }
        for begun in journal.pending()? {
            findings.push(Finding::wrong(
                format!("change {} was begun and is not finished", begun.id),
                "it is settled by itself when its vault or file can be reached and nothing else is writing; run `notewell history`, then `notewell doctor` again",
            ));
        }
        let size = journal.size()?;
        if size.changes > 0 {
            let since = size.oldest.map_or(String::new(), |at| format!(" since {}", at.date()));
            findings.push(Finding::note(
                format!(
                    "the history has {}{since} in {:.1} MB",
                    count(size.changes, "change"),
                    size.bytes as f64 / f64::from(1 << 20),
                ),
                "`[history]` limits it; nothing to do",
            ));
        }
        Ok(())
    }
}
