//! Finds Obsidian vaults: in Obsidian's own list, and as folders with `.obsidian` below the home.

use std::{
    collections::{BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::config;

/// How far below the home a vault is looked for: `~/Documents/Notes/Work` is 3.
const DEPTH: usize = 4;
/// Folders that are looked at before the search ends.
const FOLDERS: usize = 20_000;
/// Folders that hold no vault and are large.
const SKIPPED: [&str; 4] = ["node_modules", "target", "Library", "AppData"];

/// Where Obsidian keeps its list, below the home: as a package, a Flatpak and a Snap.
const LISTS: [&str; 2] = [
    ".var/app/md.obsidian.Obsidian/config/obsidian/obsidian.json",
    "snap/obsidian/current/.config/obsidian/obsidian.json",
];

/// Obsidian's list of vaults, as far as it concerns us.
#[derive(Deserialize)]
struct List {
    vaults: std::collections::BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    path: PathBuf,
}

/// Every Obsidian vault of this account that can be found, without doubles.
pub fn obsidian_vaults() -> Vec<PathBuf> {
    let Some(home) = config::home() else { return Vec::new() };
    let own =
        directories::BaseDirs::new().map(|dirs| dirs.config_dir().join("obsidian/obsidian.json"));
    let lists = own.into_iter().chain(LISTS.map(|list| home.join(list)));
    let listed = lists.flat_map(|list| listed(&list));
    // One folder may be named twice, through a link.
    let folders = listed.chain(below(&home)).filter_map(|folder| folder.canonicalize().ok());
    let found: BTreeSet<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    found.into_iter().collect()
}

fn listed(list: &Path) -> Vec<PathBuf> {
    let Ok(text) = std::fs::read_to_string(list) else { return Vec::new() };
    // A list that another version writes differently is no list.
    let list = serde_json::from_str::<List>(&text).ok();
    list.into_iter().flat_map(|list| list.vaults.into_values()).map(|entry| entry.path).collect()
}

/// Folders with `.obsidian` in them. What lies inside a vault belongs to it.
fn below(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(home.to_path_buf(), 0)]);
    let mut seen = 0;
    while let Some((folder, depth)) = waiting.pop_front() {
        seen += 1;
        if seen > FOLDERS {
            break;
        }
        if folder.join(".obsidian").is_dir() {
            found.push(folder);
            continue;
        }
        if depth == DEPTH {
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        waiting.extend(entries.filter(is_candidate).map(|entry| (entry.path(), depth + 1)));
    }
    found
}

/// A real folder that is neither hidden nor known to be large and empty of notes.
fn is_candidate(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    entry.file_type().is_ok_and(|kind| kind.is_dir())
        && !name.starts_with('.')
        && !SKIPPED.contains(&name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vaults_are_found_by_their_folder() {
        let home = tempfile::tempdir().unwrap();
        for folder in [
            "Documents/Notes/.obsidian",
            "Documents/Notes/inner/.obsidian",
            "Заметки/.obsidian",
            "a/b/c/d/e/.obsidian",
            "node_modules/x/.obsidian",
            ".hidden/.obsidian",
            "plain",
        ] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let mut found = below(home.path());
        found.sort();
        let expected = ["Documents/Notes", "Заметки"].map(|path| home.path().join(path));
        assert_eq!(found, expected);
    }

    #[test]
    fn obsidian_s_list_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("obsidian.json");
        assert!(listed(&list).is_empty());
        for (text, count) in [
            (r#"{"vaults":{"1f":{"path":"/a/b","ts":1,"open":true},"2e":{"path":"/c"}},"x":1}"#, 2),
            ("{}", 0),
            ("not JSON", 0),
        ] {
            #[expect(clippy::disallowed_methods, reason = "a test's own file")]
            std::fs::write(&list, text).unwrap();
            assert_eq!(listed(&list).len(), count, "{text}");
        }
    }
}
