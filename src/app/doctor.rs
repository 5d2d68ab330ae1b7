//! What is wrong, and how to mend it. Nothing is changed by looking.

use super::App;
use crate::domain::{Result, query::words};

words!(
    /// How bad a finding is: `wrong` needs mending, `note` is good to know.
    Level, "level", { Wrong = "wrong", Note = "note" }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    pub what: String,
    pub mend: String,
}

impl Finding {
    pub fn wrong(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Wrong, what: what.into(), mend: mend.into() }
    }

    pub fn note(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { level: Level::Note, what: what.into(), mend: mend.into() }
    }
}

impl App {
    /// Everything that a person should know of, worst first.
    pub fn doctor(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        findings.extend(self.check_disk());
        self.check_vaults(&mut findings)?;
        self.check_pages(&mut findings)?;
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
        self.check_cards(&mut findings);
        self.check_index(&mut findings)?;
        findings.sort_by_key(|finding| finding.level == Level::Note);
        Ok(findings)
    }

    fn check_disk(&self) -> Option<Finding> {
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

    fn check_cards(&self, findings: &mut Vec<Finding>) {
        let path = self.config.cards_database();
        match self.cards.count() {
            Ok(None) => {}
            Ok(Some(count)) => findings.push(Finding::note(
                format!("{count} cards in `{}`", path.display()),
                "the file can be read; nothing to do",
            )),
            Err(error) => findings.push(Finding::wrong(
                format!("the cards in `{}` cannot be read: {error}", path.display()),
                "restore the file, or name another in `[cards] database`",
            )),
        }
    }

    fn check_vaults(&self, findings: &mut Vec<Finding>) -> Result<()> {
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

    fn check_pages(&self, findings: &mut Vec<Finding>) -> Result<()> {
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

    fn check_index(&self, findings: &mut Vec<Finding>) -> Result<()> {
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
