//! Findings about vaults and their pages.

use std::collections::BTreeMap;

use super::Finding;
use crate::{
    app::{App, vaults::NO_VAULT},
    domain::{Author, Result, Visible},
    markdown::template::{self, Part},
    store::pages::{Authorship, PageRow, Skipped, VaultProblem, VaultRow},
};

impl App {
    pub(super) fn check_vaults(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let vaults = self.store.pages.vaults()?;
        if vaults.is_empty() {
            findings.push(Finding::note(
                NO_VAULT,
                "the folder stays as it is: it is read in place and remembered; `--vault DIR` once, on any command, does the same",
            ));
        }
        findings.extend(vaults.iter().filter_map(unreadable));
        for vault in &vaults {
            findings.extend(self.unknown_author(vault)?);
        }
        findings.extend(vaults.iter().filter_map(|vault| nested(vault, &vaults)));
        findings.extend(self.store.pages.skipped()?.iter().map(left_out));
        Ok(())
    }

    /// A vault that belongs to nobody who could earn something.
    fn unknown_author(&self, vault: &VaultRow) -> Result<Option<Finding>> {
        let Authorship::Vault(name) = &vault.authorship else { return Ok(None) };
        let account = Author::new(name).map(|author| self.author_account(&author)).transpose()?;
        if account.flatten().is_some() {
            return Ok(None);
        }
        Ok(Some(Finding::wrong(
            format!(
                "the vault `{}` belongs to `{name}`, and no user of that name is an author: what its methods earn goes to the operator",
                vault.name
            ),
            format!(
                "add the user with `notewell user add {name} --role author`, or take `author` out of [[vault]] in the config"
            ),
        )))
    }

    pub(super) fn check_pages(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let categories = self.category_names().unwrap_or_default();
        let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.store.pages.list(None, usize::MAX, &Visible::everything())? {
            for problem in &row.facts.page.problems {
                findings.push(Finding::wrong(
                    format!("`{}`: {problem}", row.path),
                    "fix the frontmatter; the note is in the library, with that block as text if it cannot be read",
                ));
            }
            if let Some(ms) = row.facts.slow_ms {
                findings.push(Finding::note(
                    format!("`{}` took {:.1} s to read", row.path, ms as f64 / 1000.0),
                    "split it into smaller notes, if it is edited often",
                ));
            }
            if let Some(category) = unknown_category(&row, &categories) {
                unknown.entry(category).or_default().push(row.path);
            }
        }
        let known = categories.join(", ");
        findings
            .extend(unknown.iter().map(|(category, paths)| filed_under(category, paths, &known)));
        for (path, problem) in self.method_problems()? {
            findings.push(Finding::wrong(
                format!("`{path}`: {problem}"),
                "change `mcp_method` in its frontmatter",
            ));
        }
        for one in self.all_skills(&self.owner())?.left_out {
            findings.push(Finding::wrong(
                format!("`{}` is no skill: {}", one.path, one.reason),
                "fix it, or rename the file if it is not meant as a skill",
            ));
        }
        for row in self.store.pages.methods()? {
            findings.extend(self.missing_includes(&row));
        }
        findings.extend(unsold(&self.unsold_pages()?));
        Ok(())
    }

    /// What a method includes with `{{note:…}}` and cannot find.
    fn missing_includes(&self, row: &PageRow) -> Vec<Finding> {
        let Ok(file) = self.sources.page_text(row) else { return Vec::new() };
        let missing = template::parse(&file.text).into_iter().filter_map(|part| match part {
            Part::Note { path, heading, default: None, whole } => {
                let error = self.section_text(path, heading, &self.owner()).err()?;
                Some(Finding::wrong(
                    format!("`{}` includes `{whole}`, which cannot be found: {}", row.path, error.message),
                    "fix the path or the heading, or give it a default: `{{note:PATH#Heading|text}}`",
                ))
            }
            _ => None,
        });
        missing.collect()
    }
}

/// Pages that have a price and are no methods, in one finding: `price` may be a property like any
/// other.
fn unsold(rows: &[PageRow]) -> Option<Finding> {
    let have = notes_have(&rows.first()?.path, rows.len());
    Some(Finding::note(
        format!(
            "{have} a `price` and no `mcp_method`: nothing is sold, and they are read as `free` and grants say"
        ),
        "give a page that is for sale an `mcp_method`; a `price` that is only a property can stay",
    ))
}

/// The subject and the verb of a finding about several notes: one of them by its path, the others
/// by their number.
fn notes_have(path: &str, notes: usize) -> String {
    match notes {
        1 => format!("`{path}` has"),
        2 => format!("`{path}` and another note have"),
        notes => format!("`{path}` and {} other notes have", notes - 1),
    }
}

fn unreadable(vault: &VaultRow) -> Option<Finding> {
    let (name, root) = (&vault.name, vault.folder().display());
    match &vault.problem {
        Some(VaultProblem::Empty) => Some(Finding::wrong(
            format!(
                "the vault `{name}` had notes and its folder is empty now: {root}; its notes are kept as they were"
            ),
            format!(
                "mount or restore the folder; if the notes are gone for good, `notewell vault rescan --accept-empty {name}`"
            ),
        )),
        Some(VaultProblem::Unreadable(why)) => Some(Finding::wrong(
            format!("the vault `{name}` cannot be read: {why}"),
            format!(
                "mount or restore {root} or make it readable (its notes stay in the library as they were), or end it with `notewell vault remove {name}`"
            ),
        )),
        None if !vault.is_hosted() && !vault.folder().is_dir() => Some(Finding::wrong(
            format!("the folder of the vault `{name}` is not there: {root}"),
            format!(
                "mount or restore it (its notes stay in the library as they were), or end it with `notewell vault remove {name}`"
            ),
        )),
        None => None,
    }
}

fn nested(vault: &VaultRow, vaults: &[VaultRow]) -> Option<Finding> {
    let around = vaults
        .iter()
        .filter(|other| {
            other.folder() != vault.folder() && vault.folder().starts_with(other.folder())
        })
        .max_by_key(|other| other.folder().components().count())?;
    Some(Finding::note(
        format!("the vault `{}` lies inside the vault `{}`", vault.name, around.name),
        format!(
            "its notes belong to `{}` alone; to have them in `{}`, run `notewell vault remove {}`",
            vault.name, around.name, vault.name
        ),
    ))
}

fn left_out(file: &Skipped) -> Finding {
    let Skipped { vault, path, kind, reason } = file;
    let what = format!("`{path}` in the vault `{vault}` is left out: {reason}");
    match kind.as_str() {
        "symlink" => Finding::note(
            what,
            "put the file or folder itself there, or add the folder that it leads to as a vault",
        ),
        "special" => Finding::note(what, "move it out of the vault, or name it in `.gitignore`"),
        "unreadable" => Finding::wrong(
            format!("`{path}` in the vault `{vault}` {reason}"),
            "make it readable for this account; what was read of it before can still be found",
        ),
        "size" => Finding::wrong(what, "split it, or raise `limits.note_bytes` in the config"),
        "name" => Finding::wrong(what, "rename it"),
        "encoding" => Finding::wrong(what, "save it as UTF-8 text"),
        _ => Finding::wrong(
            what,
            "save it as UTF-8 text, make it readable, or name it in `.gitignore`",
        ),
    }
}

/// The category of a page, in lower case, where the taxonomy has others.
fn unknown_category(row: &PageRow, known: &[String]) -> Option<String> {
    let category = row.facts.page.extra.get("category")?.as_str()?.to_lowercase();
    let is_known = known.iter().any(|name| name.to_lowercase() == category);
    (!known.is_empty() && !is_known).then_some(category)
}

fn filed_under(category: &str, paths: &[String], known: &str) -> Finding {
    let have = notes_have(&paths[0], paths.len());
    Finding::note(
        format!("{have} the category `{category}`, which the taxonomy does not have"),
        format!("it can be filtered by as it is; the categories are: {known}"),
    )
}
