//! Takes changed pages over into a library that was built before.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Entry, Library};
use crate::{
    domain::{Kind, Pid, Result},
    store::{Items, pages::PageRow},
    telemetry::metric,
};

/// After more changes than this everything is read again: that is quicker than to follow them.
const MAX_FOLLOWED: usize = 1_000;

/// What happened to pages since a position of the change log.
pub(in crate::app) enum PagesSince {
    /// No page changed. The log is at this position now.
    Same(i64),
    /// These pages changed, came or went. The log is at this position now.
    Changed(i64, Vec<Pid>),
    /// Too many changes to follow one by one.
    TooMany,
}

/// Reads the change log after `position`.
pub(in crate::app) fn pages_since(items: &dyn Items, position: i64) -> Result<PagesSince> {
    let changes = items.changes(position, MAX_FOLLOWED + 1)?;
    if changes.len() > MAX_FOLLOWED {
        return Ok(PagesSince::TooMany);
    }
    let head = changes.last().map_or(position, |(seq, _)| *seq);
    let pids: Vec<Pid> = changes.into_iter().map(|(_, pid)| pid).collect();
    let changed = items.get_many(&pids)?.into_iter().filter(|item| item.kind == Kind::Page);
    let pids: Vec<Pid> = changed.map(|item| item.pid).collect();
    Ok(match pids.is_empty() {
        true => PagesSince::Same(head),
        false => PagesSince::Changed(head, pids),
    })
}

impl Library {
    /// Takes over the state of the pages `changed`: `rows` has those that are visible now. Pages
    /// whose names stayed are relinked alone; otherwise the names of their vault are indexed again
    /// in memory.
    pub(super) fn follow(&mut self, changed: &[Pid], rows: Vec<PageRow>) {
        metrics::counter!(metric::LIBRARY_FOLLOWED).increment(changed.len() as u64);
        let mut now: HashMap<Pid, (String, Entry)> =
            rows.into_iter().map(|row| (row.pid, (row.vault.clone(), Entry::from(row)))).collect();
        let (mut renamed, mut vaults) = (HashSet::new(), BTreeSet::new());
        for pid in changed {
            let before = self.vaults.iter().find_map(|(vault, shelf)| {
                shelf.places.get(pid).map(|at| (vault, &shelf.pages[*at]))
            });
            let keeps_names = match (before, now.get(pid)) {
                (Some((vault, old)), Some((new_vault, new))) => {
                    vault == new_vault && old.has_names_of(new)
                }
                (None, None) => continue,
                _ => false,
            };
            if keeps_names {
                if let Some((vault, entry)) = now.remove(pid) {
                    self.relink(&vault, entry);
                }
            } else {
                vaults.extend(before.map(|(vault, _)| vault.clone()));
                renamed.insert(*pid);
            }
        }
        if renamed.is_empty() {
            return;
        }
        for shelf in self.vaults.values_mut() {
            shelf.pages.retain(|page| !renamed.contains(&page.pid));
        }
        for (vault, entry) in now.into_values() {
            let shelf = self.vaults.entry(vault.clone()).or_default();
            // A page that gave its path to this one is gone, whether or not the log says so.
            shelf.pages.retain(|page| page.path != entry.path);
            shelf.pages.push(entry);
            vaults.insert(vault);
        }
        for vault in &vaults {
            if let Some(shelf) = self.vaults.get_mut(vault) {
                shelf.index();
            }
        }
        self.vaults.retain(|_, shelf| !shelf.pages.is_empty());
        self.connect();
    }

    /// Replaces a page whose names stayed, and moves the backlinks that it makes.
    fn relink(&mut self, vault: &str, entry: Entry) {
        let Some(shelf) = self.vaults.get_mut(vault) else { return };
        let Some(&at) = shelf.places.get(&entry.pid) else { return };
        let pid = entry.pid;
        let old: Vec<Pid> = shelf.targets(&shelf.pages[at]).collect();
        let left = std::mem::replace(&mut shelf.pages[at], entry);
        let new: Vec<Pid> = shelf.targets(&shelf.pages[at]).collect();
        for target in old {
            if let Some(backlinks) = self.incoming.get_mut(&target) {
                backlinks.retain(|from| *from != pid);
            }
        }
        for target in new {
            let backlinks = self.incoming.entry(target).or_default();
            let place = backlinks.partition_point(|from| shelf.places.get(from) <= Some(&at));
            backlinks.insert(place, pid);
        }
        self.incoming.retain(|_, backlinks| !backlinks.is_empty());
        let now = shelf.pages[at].author.clone();
        if left.author != now {
            self.count_author(left.author, false);
            self.count_author(now, true);
        }
    }
}

impl Entry {
    /// Whether links find both pages by the same names.
    fn has_names_of(&self, other: &Self) -> bool {
        self.path == other.path && self.title == other.title && self.aliases == other.aliases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{store::pages::Facts, vault};

    fn row(pid: i64, path: &str, text: &str) -> PageRow {
        let path = crate::domain::VaultPath::parse(path).unwrap();
        let (page, note) = vault::page("v", &path, text);
        let links = note.links().iter().filter_map(|link| link.target()).map(|to| to.path);
        PageRow {
            authorship: crate::store::pages::Authorship::Frontmatter,
            pid: Pid(pid),
            vault: "v".into(),
            path: path.as_str().into(),
            size: text.len() as u64,
            mtime_ns: 0,
            hash: [0; 32],
            facts: Facts { page, links: links.collect(), toc: Vec::new(), slow_ms: None },
        }
    }

    /// Everything that a library answers, in an order that does not depend on how it was built.
    fn answers(library: &Library) -> Vec<String> {
        let mut out = Vec::new();
        for (vault, shelf) in &library.vaults {
            for page in &shelf.pages {
                let (incoming, outgoing) = library.neighbours(vault, page.pid);
                out.push(format!("{} {} {incoming:?} {outgoing:?}", page.pid, page.path));
            }
        }
        for name in ["a", "b", "c", "новое", "日記", "Title"] {
            out.push(format!("{name} {:?}", library.find(name).collect::<Vec<_>>()));
        }
        let mut authors: Vec<_> = library.authors.iter().collect();
        authors.sort_by_key(|(author, _)| format!("{author:?}"));
        out.push(format!("{authors:?}"));
        out
    }

    proptest::proptest! {
        #[test]
        fn a_followed_library_is_the_one_built_anew(
            steps in proptest::collection::vec((1i64..6, 0usize..6, 0usize..7), 1..40)
        ) {
            let paths = ["a.md", "b.md", "x/a.md", "x/c.md", "日記.md", "новое.md"];
            let texts = [
                "", "[[a]] [[b]]", "[c](x/c.md) [[日記]]", "---\naliases: [b]\n---\n[[новое]]",
                "---\nauthor: Мира\n---\n[[x/a]]", "---\ntitle: Title\n---\n[[Title]] [[a]]",
            ];
            let mut rows: std::collections::BTreeMap<Pid, PageRow> = Default::default();
            let mut library = Library::new(Vec::new());
            for (pid, path, text) in steps {
                let row = texts.get(text).map(|text| row(pid, paths[path], text));
                let mut changed = vec![Pid(pid)];
                match row {
                    Some(row) => {
                        // A page that had the path goes.
                        let other = rows.values().find(|other| other.path == row.path);
                        let other = other.map(|other| other.pid).filter(|other| *other != row.pid);
                        if let Some(other) = other {
                            rows.remove(&other);
                            changed.push(other);
                        }
                        rows.insert(row.pid, row);
                    }
                    None => { rows.remove(&Pid(pid)); }
                }
                let visible: Vec<PageRow> =
                    changed.iter().filter_map(|pid| rows.get(pid).cloned()).collect();
                library.follow(&changed, visible);
                let anew = Library::new(rows.values().cloned().collect());
                proptest::prop_assert_eq!(answers(&library), answers(&anew));
            }
        }
    }
}
