//! The files that hold what a person wrote: are they whole, and do they still have what the library
//! knows of?

use std::{collections::HashSet, path::Path};

use super::{App, Finding};
use crate::{
    domain::{Result, count},
    store::sqlite::quick_check,
};

/// Categories that are named one by one.
const MAX_CATEGORIES_NAMED: usize = 10;

impl App {
    pub(super) fn check_canonical(&self, findings: &mut Vec<Finding>) -> Result<()> {
        self.check_cards(findings);
        if let Some(why) = self.prompts_suspicion()? {
            findings.push(Finding::wrong(
                format!("{why}; nothing is written to it"),
                "run `notewell prompt backups` and `notewell prompt restore BACKUP`, or, if they were removed on purpose, `notewell doctor --accept-empty prompts`",
            ));
        }
        if self.store.server.is_none() {
            check_structure(
                &self.config.data.join("notewell.db"),
                "export what can be read (`notewell export bookmarks FILE`), and put the file back from a backup",
                findings,
            );
        }
        self.check_categories(findings)
    }

    fn check_cards(&self, findings: &mut Vec<Finding>) {
        let path = self.config.cards_database();
        let suspect = match self.cards.suspicion() {
            Ok(suspect) => suspect,
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = suspect {
            findings.push(Finding::wrong(
                format!("{why}; nothing is written to it"),
                "put the file back from a backup, or, if the cards were removed on purpose, run `notewell doctor --accept-empty cards`",
            ));
            return;
        }
        match self.cards.count() {
            Ok(None) => return,
            Ok(Some(cards)) => findings.push(Finding::note(
                format!("{} in {}", count(cards, "card"), self.cards.place()),
                "they can be read; nothing to do",
            )),
            Err(error) => {
                findings.push(Finding::wrong(
                    format!("the cards in {} cannot be read: {error}", self.cards.place()),
                    "restore the file, or name another in `[cards] database`",
                ));
                return;
            }
        }
        if !self.cards.is_file() {
            return;
        }
        check_structure(
            &path,
            "export what can be read (`notewell export cards FILE.json`), and put the file back from a backup",
            findings,
        );
    }

    /// Bookmarks whose category the taxonomy does not know: no rule gives it, and a filter by one
    /// of its categories misses them.
    fn check_categories(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let used = self.store.bookmarks.categories()?;
        if used.is_empty() {
            return Ok(());
        }
        let known = match self.category_names() {
            Ok(known) => known,
            Err(error) => {
                findings.push(Finding::wrong(
                    format!("the taxonomy cannot be read: {error}"),
                    "fix the file, or leave `[bookmarks] taxonomy` out to use the built-in one",
                ));
                return Ok(());
            }
        };
        let known: HashSet<String> = known.iter().map(|name| name.to_lowercase()).collect();
        let unknown: Vec<String> = used
            .iter()
            .filter(|(name, _)| !known.contains(&name.to_lowercase()))
            .map(|(name, count)| format!("`{name}` ({count})"))
            .collect();
        if !unknown.is_empty() {
            let more = match unknown.len().saturating_sub(MAX_CATEGORIES_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = unknown[..unknown.len().min(MAX_CATEGORIES_NAMED)].join(", ");
            findings.push(Finding::note(
                format!("bookmarks have categories that the taxonomy does not list: {shown}{more}"),
                "add them to the file of `[bookmarks] taxonomy`, or give the bookmarks another with `notewell bookmark set ID --category NAME`",
            ));
        }
        Ok(())
    }
}

/// Adds a finding for each kind of damage to the structure of a database.
fn check_structure(path: &Path, remedy: &str, findings: &mut Vec<Finding>) {
    if path.metadata().map_or(0, |metadata| metadata.len()) == 0 {
        return;
    }
    match quick_check(path) {
        Ok(damage) => {
            if let Some(first) = damage.first() {
                findings.push(Finding::wrong(
                    format!("`{}` is damaged: {}", path.display(), first.replace('\n', " ")),
                    remedy,
                ));
            }
        }
        Err(error) => findings.push(Finding::wrong(
            format!("`{}` cannot be checked: {error}", path.display()),
            "close the program that holds it, and run `notewell doctor` again",
        )),
    }
}
