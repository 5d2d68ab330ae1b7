//! What changed last, as far as the caller sees it.

use super::{Visit, age::Age};
use crate::domain::{Pid, Result, Timestamp};

/// Notes that are shown.
const SHOWN: usize = 8;
/// Entries of the change log that are looked at.
const WINDOW: i64 = 400;

/// A note that changed lately.
pub struct Recent {
    /// Where it opens.
    pub href: String,
    /// Its title.
    pub title: String,
    /// Its path.
    pub path: String,
    /// When it changed.
    pub age: Age,
}

/// The notes that changed last.
pub fn changed(visit: &Visit) -> Result<Vec<Recent>> {
    let (app, rights) = (visit.app(), visit.rights());
    app.await_first_look();
    let visible = rights.visible();
    let mut rows = match visible.is_everything() {
        // Of all changes, those of a small part may be few and long ago.
        false => app.store.pages.list(None, usize::MAX >> 1, visible)?,
        true => {
            let head = app.store.items.head()?;
            let entries = app.store.items.changes((head - WINDOW).max(0), WINDOW as usize)?;
            let pids: Vec<Pid> = entries.into_iter().rev().map(|(_, pid)| pid).collect();
            app.store.pages.get_many(&pids)?
        }
    };
    rows.retain(|row| rights.sees(&row.facts.page) && row.facts.page.searchable);
    rows.sort_by_key(|row| std::cmp::Reverse(row.mtime_ns));
    rows.truncate(SHOWN);
    rows.into_iter()
        .map(|row| {
            Ok(Recent {
                href: format!("/n/{}", row.pid),
                path: app.sources.shown_path(&row.vault, &row.path)?,
                age: Age::of(Timestamp(row.mtime_ns / 1_000_000)),
                title: row.facts.page.title,
            })
        })
        .collect()
}
