//! Findings about vaults and their pages.

use super::Finding;
use crate::{app::App, domain::Result};

impl App {
    pub(super) fn check_vaults(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let vaults = self.store.pages.vaults()?;
        if vaults.is_empty() {
            findings.push(Finding::note(
                "this library has no vault",
                "name a folder of Markdown notes with `--vault DIR` once; it is remembered",
            ));
        }
        for vault in vaults.iter().filter(|vault| !vault.root.is_dir()) {
            findings.push(Finding::wrong(
                format!("the folder of the vault `{}` is not there: {}", vault.name, vault.root.display()),
                "mount or restore it (its notes stay in the library as they were), or end it with `notewell vault remove`",
            ));
        }
        for (vault, path, reason) in self.store.pages.skipped()? {
            findings.push(Finding::wrong(
                format!("`{path}` in the vault `{vault}` is left out: {reason}"),
                "save it as UTF-8 text, make it readable, or name it in `.gitignore`",
            ));
        }
        Ok(())
    }

    pub(super) fn check_pages(&self, findings: &mut Vec<Finding>) -> Result<()> {
        for row in self.store.pages.list(None, usize::MAX >> 1, false)? {
            for problem in &row.facts.page.problems {
                findings.push(Finding::wrong(
                    format!("`{}`: {problem}", row.path),
                    "mend the frontmatter; the note is in the library, with that block as text if it cannot be read",
                ));
            }
        }
        for (path, problem) in self.method_problems()? {
            findings.push(Finding::wrong(
                format!("`{path}`: {problem}"),
                "change `mcp_method` in its frontmatter",
            ));
        }
        Ok(())
    }
}
