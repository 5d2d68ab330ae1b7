//! Findings about the data directory and the lines of the prompts' files.

use super::Finding;
use crate::{app::App, domain::Result};

impl App {
    pub(super) fn check_disk(&self) -> Option<Finding> {
        let probe = tempfile::NamedTempFile::new_in(&self.config.data);
        let error = probe.err()?;
        Some(Finding::wrong(
            format!(
                "the data directory `{}` cannot be written: {error}",
                self.config.data.display()
            ),
            "make it writable for this account, or name another with `--data DIR`",
        ))
    }

    pub(super) fn check_prompts(&self, findings: &mut Vec<Finding>) -> Result<()> {
        for problem in self.prompts.problems()? {
            let what = format!("`{}` line {}: {}", problem.file, problem.line, problem.what);
            findings.push(match problem.broken {
                true => Finding::wrong(
                    what,
                    "mend the line by hand; it was left as it is, and every other prompt works",
                ),
                false => Finding::note(what, "it works; change it if that is not what you want"),
            });
        }
        Ok(())
    }
}
