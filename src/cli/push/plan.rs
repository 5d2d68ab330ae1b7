//! What to do with each file: from what is here, what is on the server, and what was pushed last.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    folder::LocalFile,
    state::{Known, State},
};
use crate::{domain::VaultPath, post::webdav::RemoteFile};

/// A request that changes the server.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends a file; `expected` is the etag that it replaces.
    Put { file: LocalFile, expected: Option<String> },
    /// Deletes a file that was deleted here.
    Delete { path: VaultPath, etag: String },
}

impl Step {
    pub fn path(&self) -> &VaultPath {
        match self {
            Self::Put { file, .. } => &file.path,
            Self::Delete { path, .. } => path,
        }
    }
}

#[derive(Debug, Default)]
pub struct Plan {
    /// Folders to make, those above first.
    pub folders: Vec<VaultPath>,
    pub steps: Vec<Step>,
    pub unchanged: usize,
    /// Files that are equal on both sides, to be remembered.
    pub known: Vec<(String, Known)>,
    /// Files that are on neither side any more.
    pub forgotten: Vec<String>,
    /// What stays as it is on the server, with the reason.
    pub left: Vec<(String, String)>,
}

impl Plan {
    pub fn new(
        local: &BTreeMap<VaultPath, LocalFile>,
        remote: &[RemoteFile],
        state: &State,
        force: bool,
    ) -> Self {
        let there: HashMap<&VaultPath, Option<&String>> =
            remote.iter().map(|file| (&file.path, file.etag.as_ref())).collect();
        let mut plan = Self::default();
        let mut folders = BTreeSet::new();
        for (path, file) in local {
            let pushed = state.files.get(path.as_str()).map(|known| &known.etag);
            let left = |plan: &mut Self, why: &str| {
                plan.left.push((path.as_str().to_owned(), why.to_owned()));
            };
            let expected = match there.get(path) {
                Some(None) => {
                    left(&mut plan, "is a folder on the server");
                    continue;
                }
                Some(Some(etag)) if **etag == file.etag => {
                    plan.unchanged += 1;
                    plan.known.push((path.as_str().to_owned(), file.known()));
                    continue;
                }
                Some(Some(etag)) if force || pushed == Some(*etag) => Some((*etag).clone()),
                Some(Some(_)) => {
                    let why = match pushed == Some(&file.etag) {
                        true => "is newer on the server",
                        false => "was changed both here and on the server; --force overwrites",
                    };
                    left(&mut plan, why);
                    continue;
                }
                None if pushed.is_some() && !force => {
                    left(&mut plan, "was deleted on the server; --force brings it back");
                    continue;
                }
                None => None,
            };
            if expected.is_none() {
                for (at, _) in path.as_str().match_indices('/') {
                    let folder = VaultPath::parse(&path.as_str()[..at]);
                    folders.extend(folder.ok().filter(|folder| !there.contains_key(folder)));
                }
            }
            plan.steps.push(Step::Put { file: file.clone(), expected });
        }
        for (name, known) in &state.files {
            let Ok(path) = VaultPath::parse(name) else { continue };
            if local.contains_key(&path) {
                continue;
            }
            match there.get(&path).copied().flatten() {
                None => plan.forgotten.push(name.clone()),
                Some(etag) if *etag == known.etag || force => {
                    plan.steps.push(Step::Delete { path, etag: etag.clone() });
                }
                Some(_) => plan.left.push((
                    name.clone(),
                    "was deleted here and changed on the server; --force deletes it".to_owned(),
                )),
            }
        }
        plan.folders = folders.into_iter().collect();
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, etag: &str) -> (VaultPath, LocalFile) {
        let path = VaultPath::parse(path).unwrap();
        let name = path.as_str().to_owned();
        (path.clone(), LocalFile { path, name, etag: etag.into(), size: 1, mtime_ns: 1 })
    }

    fn remote(path: &str, etag: &str) -> RemoteFile {
        RemoteFile { path: VaultPath::parse(path).unwrap(), etag: Some(etag.into()) }
    }

    fn state(files: &[(&str, &str)]) -> State {
        let known = |etag: &str| Known { etag: etag.into(), size: 1, mtime_ns: 1 };
        State { files: files.iter().map(|(path, etag)| ((*path).into(), known(etag))).collect() }
    }

    #[test]
    fn what_others_changed_is_left_alone() {
        let local = BTreeMap::from([
            file("a/new.md", "1"),
            file("b.md", "2"),
            file("changed.md", "3"),
            file("both.md", "4"),
            file("older.md", "5"),
            file("deleted.md", "6"),
        ]);
        let there = [
            remote("b.md", "2"),
            remote("changed.md", "old"),
            remote("both.md", "theirs"),
            remote("older.md", "newer"),
            remote("gone.md", "7"),
            remote("gone-changed.md", "theirs"),
            remote("foreign.md", "8"),
        ];
        let known = state(&[
            ("changed.md", "old"),
            ("both.md", "old"),
            ("older.md", "5"),
            ("deleted.md", "6"),
            ("gone.md", "7"),
            ("gone-changed.md", "mine"),
            ("nowhere.md", "9"),
        ]);
        let plan = Plan::new(&local, &there, &known, false);
        let steps: Vec<String> =
            plan.steps.iter().map(|step| step.path().as_str().to_owned()).collect();
        assert_eq!(steps, ["a/new.md", "changed.md", "gone.md"]);
        assert_eq!(plan.folders.len(), 1);
        assert_eq!(plan.unchanged, 1);
        assert_eq!(plan.forgotten, ["nowhere.md"]);
        let left: Vec<&str> = plan.left.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(left, ["both.md", "deleted.md", "older.md", "gone-changed.md"]);
        let forced = Plan::new(&local, &there, &known, true);
        assert_eq!((forced.steps.len(), forced.left.len()), (7, 0));
    }
}
