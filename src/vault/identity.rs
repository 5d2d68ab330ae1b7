//! Which page is which after files have changed: a page keeps its number through edits, renames and
//! moves. Pure: what was known, what is there now, and the decision.
//!
//! A path that is still there keeps its page, whatever its new content. Content decides only where
//! names give no answer: a file that vanished and another that appeared with the same bytes are one
//! page that moved; files that traded places took their pages with them.

use std::collections::{HashMap, HashSet};

use super::read::Stamp;
use crate::domain::Pid;

/// A page as it was when last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known<'a> {
    /// The page.
    pub pid: Pid,
    /// The path it had.
    pub path: &'a str,
    /// Size and time it had.
    pub stamp: Stamp,
    /// SHA-256 it had.
    pub hash: [u8; 32],
}

/// A file as it is now. The hash is needed only where [`suspects`] asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The path.
    pub path: &'a str,
    /// Size and time.
    pub stamp: Stamp,
    /// SHA-256, where it was read.
    pub hash: Option<[u8; 32]>,
}

/// A known page and the file that it is now, or one without the other. Numbers point into the list
/// of files seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Same content. `touched`: its size or time on disk is to be remembered anew.
    Same {
        /// The page.
        pid: Pid,
        /// Index of the file.
        seen: usize,
        /// Whether only the time changed.
        touched: bool,
    },
    /// The same path, another text.
    Changed {
        /// The page.
        pid: Pid,
        /// Index of the file.
        seen: usize,
    },
    /// The same text, another path.
    Moved {
        /// The page.
        pid: Pid,
        /// Index of the file.
        seen: usize,
    },
    /// A new page.
    New {
        /// Index of the file.
        seen: usize,
    },
    /// The file is gone.
    Gone {
        /// The page.
        pid: Pid,
    },
}

/// The files that must be read before [`decide`] can: all that are new or whose size or time is
/// not what it was.
pub fn suspects(known: &[Known<'_>], seen: &[Seen<'_>]) -> Vec<usize> {
    let stamps: HashMap<&str, Stamp> =
        known.iter().map(|known| (known.path, known.stamp)).collect();
    let same = |seen: &Seen<'_>| stamps.get(seen.path) == Some(&seen.stamp);
    seen.iter().enumerate().filter(|(_, seen)| !same(seen)).map(|(index, _)| index).collect()
}

/// Decides for every known page and every file seen. Gone pages come first and moves before what
/// takes their old place, so that the pairings can be applied in order.
pub fn decide(known: &[Known<'_>], seen: &[Seen<'_>]) -> Vec<Pairing> {
    let by_path: HashMap<&str, usize> =
        known.iter().enumerate().map(|(index, known)| (known.path, index)).collect();
    let seen_by_path: HashMap<&str, usize> =
        seen.iter().enumerate().map(|(index, seen)| (seen.path, index)).collect();
    let mut same = Vec::new();
    let (mut changed, mut new) = (Vec::new(), Vec::new());
    for (index, file) in seen.iter().enumerate() {
        let Some(&page) = by_path.get(file.path) else {
            new.push(index);
            continue;
        };
        let known = &known[page];
        let touched = known.stamp != file.stamp;
        let unread = file.hash.is_none() && !touched;
        if unread || file.hash == Some(known.hash) {
            same.push(Pairing::Same { pid: known.pid, seen: index, touched });
        } else {
            changed.push((page, index));
        }
    }
    let gone: Vec<usize> =
        (0..known.len()).filter(|page| !seen_by_path.contains_key(known[*page].path)).collect();
    let moves = moves(known, seen, &gone, &changed, &new);

    let moved_pages: HashSet<usize> = moves.iter().map(|(page, _)| *page).collect();
    let moved_files: HashSet<usize> = moves.iter().map(|(_, file)| *file).collect();
    let mut pairings: Vec<Pairing> = gone
        .iter()
        .filter(|page| !moved_pages.contains(page))
        .map(|page| Pairing::Gone { pid: known[*page].pid })
        .collect();
    pairings.extend(
        moves.iter().map(|(page, file)| Pairing::Moved { pid: known[*page].pid, seen: *file }),
    );
    pairings.extend(
        changed
            .iter()
            .filter(|(page, _)| !moved_pages.contains(page))
            .map(|(page, file)| Pairing::Changed { pid: known[*page].pid, seen: *file }),
    );
    let fresh = new.iter().filter(|file| !moved_files.contains(file));
    pairings.extend(fresh.map(|file| Pairing::New { seen: *file }));
    pairings.extend(same);
    pairings
}

/// Pages and the files they moved to.
fn moves(
    known: &[Known<'_>],
    seen: &[Seen<'_>],
    gone: &[usize],
    changed: &[(usize, usize)],
    new: &[usize],
) -> Vec<(usize, usize)> {
    let changed_files: HashMap<usize, usize> =
        changed.iter().map(|(page, file)| (*file, *page)).collect();
    let gone_pages: HashSet<usize> = gone.iter().copied().collect();
    let sources = gone.iter().copied().chain(changed.iter().map(|(page, _)| *page));
    let targets = new.iter().copied().chain(changed.iter().map(|(_, file)| *file));
    let next = pair(known, seen, sources, targets, &gone_pages, &changed_files);

    // Follow each chain: page → file it moved to → the page that used to be there → …
    let mut moves = Vec::new();
    let mut done: HashSet<usize> = HashSet::new();
    let mut starts: Vec<usize> = gone.to_vec();
    starts.extend(changed.iter().map(|(page, _)| *page));
    for start in starts {
        if done.contains(&start) {
            continue;
        }
        let mut chain = Vec::new();
        let mut at = start;
        let whole = loop {
            done.insert(at);
            let Some(&file) = next.get(&at) else { break false };
            chain.push((at, file));
            match changed_files.get(&file) {
                // A new path ends a chain; the page it began with must have left its own.
                None => break gone_pages.contains(&start),
                Some(&page) if page == start => break true,
                Some(&page) if done.contains(&page) => break false,
                Some(&page) => at = page,
            }
        };
        if whole {
            // The last first, so that every old place is free when it is taken.
            moves.extend(chain.into_iter().rev());
        }
    }
    moves
}

/// Pairs pages with files of the same content, each used once: a vanished page before one whose
/// path is still there, then the same file name, then the nearest path.
fn pair(
    known: &[Known<'_>],
    seen: &[Seen<'_>],
    sources: impl Iterator<Item = usize>,
    targets: impl Iterator<Item = usize>,
    gone: &HashSet<usize>,
    changed_files: &HashMap<usize, usize>,
) -> HashMap<usize, usize> {
    let mut by_hash: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
    for page in sources {
        by_hash.entry(known[page].hash).or_default().push(page);
    }
    let mut groups: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
    for file in targets {
        if let Some(hash) = seen[file].hash.filter(|hash| by_hash.contains_key(hash)) {
            groups.entry(hash).or_default().push(file);
        }
    }
    let mut next = HashMap::new();
    for (hash, files) in groups {
        let pages = &by_hash[&hash];
        let mut ranked: Vec<_> = Vec::new();
        for &page in pages.iter().take(MAX_TIE) {
            for &file in files.iter().take(MAX_TIE) {
                let (from, to) = (known[page].path, seen[file].path);
                let stays = !gone.contains(&page) || changed_files.contains_key(&file);
                let renamed = file_name(from) != file_name(to);
                ranked.push((stays, renamed, distance(from, to), from, to, page, file));
            }
        }
        ranked.sort();
        let (mut used_pages, mut used_files) = (HashSet::new(), HashSet::new());
        for (.., page, file) in ranked {
            if !used_pages.contains(&page) && !used_files.contains(&file) {
                used_pages.insert(page);
                used_files.insert(file);
                next.insert(page, file);
            }
        }
    }
    next
}

/// Files of one content (empty ones, as a rule) that are compared each with each.
const MAX_TIE: usize = 256;

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Folders to leave and to enter on the way from one path to another.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
    let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    a.len() + b.len() - 2 * shared
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files as `path:content`; the time of each is its content's length, so that edits show.
    fn known<'a>(files: &[&'a str]) -> Vec<Known<'a>> {
        files
            .iter()
            .enumerate()
            .map(|(index, file)| {
                let (path, content) = file.split_once(':').unwrap();
                Known {
                    pid: Pid(index as i64 + 1),
                    path,
                    stamp: stamp(content),
                    hash: hash(content),
                }
            })
            .collect()
    }

    fn seen<'a>(files: &[&'a str]) -> Vec<Seen<'a>> {
        files
            .iter()
            .map(|file| {
                let (path, content) = file.split_once(':').unwrap();
                Seen { path, stamp: stamp(content), hash: Some(hash(content)) }
            })
            .collect()
    }

    fn hash(content: &str) -> [u8; 32] {
        super::super::read::hash(content.as_bytes())
    }

    fn stamp(content: &str) -> Stamp {
        Stamp { size: content.len() as u64, mtime_ns: i64::from(hash(content)[0]) }
    }

    fn pairings(before: &[&str], after: &[&str]) -> Vec<String> {
        let (known, seen) = (known(before), seen(after));
        let mut pairings: Vec<String> = decide(&known, &seen)
            .into_iter()
            .map(|pairing| match pairing {
                Pairing::Same { pid, seen: at, .. } => format!("same {pid} {}", seen[at].path),
                Pairing::Changed { pid, seen: at } => format!("changed {pid} {}", seen[at].path),
                Pairing::Moved { pid, seen: at } => format!("moved {pid} {}", seen[at].path),
                Pairing::New { seen: at } => format!("new {}", seen[at].path),
                Pairing::Gone { pid } => format!("gone {pid}"),
            })
            .collect();
        pairings.sort();
        pairings
    }

    #[test]
    fn edits_and_renames_keep_the_page() {
        assert_eq!(pairings(&["a:1"], &["a:1"]), ["same 1 a"]);
        assert_eq!(pairings(&["a:1"], &["a:2"]), ["changed 1 a"]);
        assert_eq!(pairings(&["a:1"], &["б:1"]), ["moved 1 б"]);
        assert_eq!(pairings(&["a:1"], &["x/a:1", "b:2"]), ["moved 1 x/a", "new b"]);
        assert_eq!(pairings(&["a:1"], &[]), ["gone 1"]);
        assert_eq!(pairings(&[], &["a:1"]), ["new a"]);
    }

    #[test]
    fn a_copy_is_new_and_an_edited_rename_is_not_a_move() {
        assert_eq!(pairings(&["a:1"], &["a:1", "b:1"]), ["new b", "same 1 a"]);
        assert_eq!(pairings(&["a:1"], &["b:2"]), ["gone 1", "new b"]);
        // Copied away, then edited: the page stays where its path is.
        assert_eq!(pairings(&["a:1"], &["a:2", "b:1"]), ["changed 1 a", "new b"]);
        assert_eq!(pairings(&["a:1", "b:2"], &["a:3", "b:1"]), ["changed 1 a", "changed 2 b"]);
    }

    #[test]
    fn files_that_trade_places_take_their_pages_along() {
        assert_eq!(pairings(&["a:1", "b:2"], &["a:2", "b:1"]), ["moved 1 b", "moved 2 a"]);
        assert_eq!(
            pairings(&["a:1", "b:2", "c:3"], &["a:3", "b:1", "c:2"]),
            ["moved 1 b", "moved 2 c", "moved 3 a"]
        );
        // Rotation: b made room for a.
        assert_eq!(pairings(&["a:1", "b:2"], &["b:1", "c:2"]), ["moved 1 b", "moved 2 c"]);
        // Overwritten: the path keeps its page.
        assert_eq!(pairings(&["a:1", "b:2"], &["b:1"]), ["changed 2 b", "gone 1"]);
    }

    #[test]
    fn ties_go_to_the_same_name_then_the_nearest_path() {
        assert_eq!(
            pairings(&["x/a:1", "y/b:1"], &["z/b:1", "z/a:1"]),
            ["moved 1 z/a", "moved 2 z/b"]
        );
        assert_eq!(
            pairings(&["x/p/a:1", "y/q/a:1"], &["y/a:1", "x/a:1"]),
            ["moved 1 x/a", "moved 2 y/a"]
        );
        assert_eq!(pairings(&["a:1", "b:1"], &["c:1"]), ["gone 2", "moved 1 c"]);
    }

    #[test]
    fn only_what_looks_different_is_read() {
        let known = known(&["a:1", "b:2"]);
        let mut files = seen(&["a:1", "b:3", "c:4"]);
        assert_eq!(suspects(&known, &files), [1, 2]);
        files[0].hash = None;
        assert!(matches!(
            decide(&known, &files).last(),
            Some(Pairing::Same { touched: false, .. })
        ));
        files[0].stamp.mtime_ns += 1;
        files[0].hash = Some(hash("1"));
        assert!(decide(&known, &files).contains(&Pairing::Same {
            pid: Pid(1),
            seen: 0,
            touched: true
        }));
    }

    proptest::proptest! {
        #[test]
        fn every_page_and_file_has_one_fate(
            before in proptest::collection::btree_map("[abc](/[ab])?", 0u8..4, 0..8),
            after in proptest::collection::btree_map("[abc](/[ab])?", 0u8..4, 0..8),
        ) {
            let text = |files: &std::collections::BTreeMap<String, u8>| -> Vec<String> {
                files.iter().map(|(path, content)| format!("{path}:{content}")).collect()
            };
            let (before, after) = (text(&before), text(&after));
            let before: Vec<&str> = before.iter().map(String::as_str).collect();
            let after: Vec<&str> = after.iter().map(String::as_str).collect();
            let (known, seen) = (known(&before), seen(&after));
            let pairings = decide(&known, &seen);
            let mut pids = Vec::new();
            let mut files = Vec::new();
            for pairing in &pairings {
                match *pairing {
                    Pairing::Same { pid, seen, .. } | Pairing::Changed { pid, seen } | Pairing::Moved { pid, seen } => {
                        pids.push(pid.0);
                        files.push(seen);
                    }
                    Pairing::New { seen } => files.push(seen),
                    Pairing::Gone { pid } => pids.push(pid.0),
                }
            }
            pids.sort_unstable();
            files.sort_unstable();
            proptest::prop_assert_eq!(pids, (1..=known.len() as i64).collect::<Vec<_>>());
            proptest::prop_assert_eq!(files, (0..seen.len()).collect::<Vec<_>>());
            proptest::prop_assert_eq!(decide(&known, &seen), pairings);
        }
    }
}
