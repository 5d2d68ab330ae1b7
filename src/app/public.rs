//! The pages that everybody may read, as a site.

use super::{App, rights::Rights};
use crate::{
    domain::{Caller, Pid, Result, Timestamp},
    store::pages::PageRow,
};

/// A page in a list.
#[derive(Debug, Clone)]
pub struct ListedPage {
    /// The page.
    pub pid: Pid,
    /// Its title.
    pub title: String,
    /// Its path.
    pub path: String,
    /// Its author.
    pub author: Option<String>,
    /// `date` of its frontmatter, or when its file was changed.
    pub date: Timestamp,
    /// When its file was changed.
    pub changed: Timestamp,
}

impl App {
    /// The rights of somebody of whom nothing is known, whatever `anonymous` allows.
    pub fn public(&self) -> Rights {
        self.rights(Caller::Anonymous)
    }

    /// Every page that a caller may find, newest first. Reads all rows: for lists of the site.
    pub fn listed_pages(&self, rights: &Rights) -> Result<Vec<ListedPage>> {
        self.await_first_look();
        let several = self.store.pages.vaults()?.len() > 1;
        let rows = self.store.pages.list(None, usize::MAX >> 1, rights.visible())?;
        let seen = rows
            .into_iter()
            .filter(|row| row.facts.page.searchable && rights.sees(&row.facts.page));
        let mut pages: Vec<ListedPage> = seen.map(|row| listed(row, several)).collect();
        pages.sort_by(|one, other| other.date.cmp(&one.date).then(one.pid.cmp(&other.pid)));
        Ok(pages)
    }
}

fn listed(row: PageRow, several: bool) -> ListedPage {
    let changed = Timestamp(row.mtime_ns / 1_000_000);
    ListedPage {
        pid: row.pid,
        path: if several { format!("{}/{}", row.vault, row.path) } else { row.path },
        title: row.facts.page.title,
        author: row.facts.page.author,
        date: row.facts.page.date.unwrap_or(changed),
        changed,
    }
}
