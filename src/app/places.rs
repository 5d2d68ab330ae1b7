//! Folders, one level at a time: what is in them, as far as the caller sees it.

use std::collections::BTreeMap;

use super::{
    App,
    rights::{Right, Rights},
};
use crate::{
    domain::{Pid, Result, Timestamp, author::fold},
    store::pages::PageRow,
};

/// A folder, or the library itself, and what is directly in it.
pub struct Place {
    /// With `/` at its end; empty for the library.
    pub path: String,
    /// The name of the only vault, whose top this is.
    pub vault: Option<String>,
    /// By name. With several vaults, those of the library are the vaults.
    pub folders: Vec<Folder>,
    /// By name.
    pub notes: Vec<PlacedNote>,
    /// Notes in this place, those in its folders included.
    pub total: usize,
}

/// A folder with everything below it.
pub struct Folder {
    /// With `/` at its end.
    pub path: String,
    /// Notes below it.
    pub notes: usize,
    /// The note that was changed last.
    pub newest: Option<PlacedNote>,
}

/// A note in a folder.
#[derive(Clone)]
pub struct PlacedNote {
    /// The note.
    pub pid: Pid,
    /// Its title.
    pub title: String,
    /// Its path.
    pub path: String,
    /// When its file was changed.
    pub changed: Timestamp,
}

impl PlacedNote {
    fn new(row: PageRow, path: String) -> Self {
        let changed = Timestamp(row.mtime_ns / 1_000_000);
        Self { pid: row.pid, title: row.facts.page.title, path, changed }
    }
}

impl Folder {
    fn add(&mut self, note: PlacedNote) {
        self.notes += 1;
        if self.newest.as_ref().is_none_or(|newest| newest.changed < note.changed) {
            self.newest = Some(note);
        }
    }
}

impl App {
    /// What is in a folder, or in the library for an empty path. `None` when the caller sees no note
    /// below it. A page that the caller does not see counts nowhere.
    pub fn place(&self, path: &str, rights: &Rights) -> Result<Option<Place>> {
        self.await_first_look();
        let wanted = path.trim().trim_matches('/');
        let wanted = if wanted.is_empty() { String::new() } else { format!("{wanted}/") };
        let vaults = self.store.pages.vaults()?;
        let mut folders: BTreeMap<String, Folder> = BTreeMap::new();
        // The owner sees an empty vault too.
        if wanted.is_empty() && vaults.len() > 1 && rights.may(Right::LibraryState) {
            for vault in &vaults {
                let path = format!("{}/", vault.name);
                folders.insert(path.clone(), Folder { path, notes: 0, newest: None });
            }
        }
        let mut shown = wanted.clone();
        let mut notes = Vec::new();
        let mut total = 0;
        let rows = self.store.pages.list(None, usize::MAX, rights.visible())?;
        for row in rows {
            let path = self.sources.shown_path(&row.vault, &row.path)?;
            let Some(inside) = below(&path, &wanted) else { continue };
            shown = path[..path.len() - inside.len()].to_owned();
            total += 1;
            match inside.split_once('/') {
                Some((folder, _)) => {
                    let folder = format!("{shown}{folder}/");
                    let empty = || Folder { path: folder.clone(), notes: 0, newest: None };
                    let entry = folders.entry(folder.clone()).or_insert_with(empty);
                    entry.add(PlacedNote::new(row, path));
                }
                None => notes.push(PlacedNote::new(row, path)),
            }
        }
        if total == 0 && !wanted.is_empty() {
            return Ok(None);
        }
        notes.sort_by(|one, other| one.path.cmp(&other.path));
        let vault = match vaults.as_slice() {
            [only] if wanted.is_empty() && rights.may(Right::LibraryState) => {
                Some(only.name.clone())
            }
            _ => None,
        };
        let folders = folders.into_values().collect();
        Ok(Some(Place { path: shown, vault, folders, notes, total }))
    }
}

/// The rest of a path below a folder, whatever its case.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if let Some(rest) = path.strip_prefix(folder) {
        return Some(rest);
    }
    let depth = folder.matches('/').count();
    let end = path.match_indices('/').nth(depth.checked_sub(1)?)?.0 + 1;
    (fold(&path[..end]) == fold(folder)).then(|| &path[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_its_folders() {
        assert_eq!(below("Сад/Розы/a.md", "сад/"), Some("Розы/a.md"));
        assert_eq!(below("a/b.md", ""), Some("a/b.md"));
        assert_eq!(below("a/b.md", "a/b.md/"), None);
        assert_eq!(below("abc/b.md", "a/"), None);
        assert_eq!(below("庭/薔薇.md", "庭/"), Some("薔薇.md"));
    }
}
