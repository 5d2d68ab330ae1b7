//! What is wrong with the methods of the vaults, for `doctor`.

use std::collections::HashSet;

use super::names::{MAX_NAME, is_plain};
use crate::{
    app::App,
    domain::{Author, Result, Visible},
    store::pages::PageRow,
};

impl App {
    /// What is wrong with the methods of the vaults: page and sentence.
    pub fn method_problems(&self) -> Result<Vec<(String, String)>> {
        let mut names: HashSet<(Option<Author>, String)> = HashSet::new();
        let mut problems = Vec::new();
        for row in self.store.pages.methods()? {
            let Some(name) = row.facts.page.method.clone() else { continue };
            let author = row.facts.page.author.as_deref().and_then(Author::new);
            let taken = names.contains(&(author.clone(), name.clone()));
            match complaint(&name, taken, self.is_built_in(&name)) {
                Some(problem) => problems.push((row.path, problem)),
                None => {
                    names.insert((author, name));
                }
            }
        }
        Ok(problems)
    }

    /// Pages that have a `price` and no `mcp_method`: they are not sold.
    pub fn unsold_pages(&self) -> Result<Vec<PageRow>> {
        let rows = self.store.pages.list(None, usize::MAX, &Visible::everything())?;
        let is_unsold = |row: &PageRow| {
            let page = &row.facts.page;
            page.price.is_some() && page.method.is_none()
        };
        Ok(rows.into_iter().filter(is_unsold).collect())
    }
}

/// Why a page's `mcp_method` does not make it a tool.
pub(super) fn complaint(name: &str, taken: bool, built_in: bool) -> Option<String> {
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Some(format!(
            "mcp_method `{name}` is not a name that clients accept; use 1 to {MAX_NAME} of the letters A-Z, a-z, digits, `_`, `-` and `.`"
        ));
    }
    if built_in {
        return Some(format!(
            "mcp_method `{name}` is a tool that Notewell has; choose another name"
        ));
    }
    taken.then(|| {
        format!(
            "mcp_method `{name}` is another page's of the same author already; choose another name"
        )
    })
}
