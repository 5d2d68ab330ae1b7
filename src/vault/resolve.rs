//! Where a link leads: the rules of Obsidian over all pages of a vault. Pure; built once, asked
//! often.

use std::collections::HashMap;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::domain::VaultPath;

/// Parts of a path by which its end is known.
const MAX_END: usize = 16;

/// All names of all pages. Pages are numbered in the order they are given.
#[derive(Debug, Clone, Default)]
pub struct LinkIndex {
    /// Folded paths without `.md`.
    paths: Vec<String>,
    by_path: HashMap<String, u32>,
    /// Pages by the ends of their paths, cut at slashes. Of several with one end, the one nearest
    /// the top.
    by_end: HashMap<String, u32>,
    by_alias: HashMap<String, u32>,
    by_title: HashMap<String, u32>,
}

impl LinkIndex {
    /// Builds the index from `(path, title, aliases)`.
    pub fn new<'a>(
        pages: impl IntoIterator<Item = (&'a VaultPath, &'a str, &'a [String])>,
    ) -> Self {
        let mut index = Self::default();
        for (path, title, aliases) in pages {
            let number = u32::try_from(index.paths.len()).unwrap_or(u32::MAX);
            let path = bare(&fold(path.as_str())).to_owned();
            for alias in aliases {
                index.by_alias.entry(fold(alias)).or_insert(number);
            }
            index.by_title.entry(fold(title)).or_insert(number);
            index.by_path.entry(path.clone()).or_insert(number);
            index.paths.push(path);
        }
        let mut nearest: Vec<(usize, &str, u32)> = index
            .paths
            .iter()
            .zip(0..)
            .map(|(path, number)| (path.matches('/').count(), path.as_str(), number))
            .collect();
        nearest.sort_unstable();
        for (_, path, number) in nearest {
            let cuts = path.rmatch_indices('/').map(|(at, _)| at + 1).take(MAX_END);
            for cut in cuts.chain([0]) {
                index.by_end.entry(path[cut..].to_owned()).or_insert(number);
            }
        }
        index
    }

    /// The page that a link in `from` names: the path as written, beside `from`, the end of some
    /// path (beside `from` first, then nearest the top), an alias, or a title.
    pub fn resolve(&self, from: Option<&VaultPath>, target: &str) -> Option<usize> {
        self.resolve_path(from, target).or_else(|| self.named(target))
    }

    /// The page whose alias or title this is.
    fn named(&self, target: &str) -> Option<usize> {
        let target = fold(target.trim());
        let target = bare(target.trim_end_matches('/'));
        if target.starts_with("./") || target.starts_with("../") || target.starts_with('/') {
            return None;
        }
        let page = self.by_alias.get(target).or_else(|| self.by_title.get(target))?;
        Some(*page as usize)
    }

    /// As [`Self::resolve`], by paths alone: every program that reads the vault follows these.
    fn resolve_path(&self, from: Option<&VaultPath>, target: &str) -> Option<usize> {
        let target = fold(target.trim());
        let target = bare(target.trim_end_matches('/'));
        if target.is_empty() {
            return None;
        }
        let folder = from.map(|from| fold(from.folder())).unwrap_or_default();
        if target.starts_with("./") || target.starts_with("../") {
            return self.at(&join_path(&folder, target)?);
        }
        if let Some(absolute) = target.strip_prefix('/') {
            return self.at(absolute);
        }
        self.at(target)
            .or_else(|| self.at(&join_path(&folder, target)?))
            .or_else(|| self.ending(target))
    }

    /// As [`Self::resolve`], for a Markdown link: beside the note comes before the top.
    pub fn resolve_address(&self, from: Option<&VaultPath>, target: &str) -> Option<usize> {
        self.resolve_address_path(from, target).or_else(|| self.named(target))
    }

    /// As [`Self::resolve_address`], by paths alone.
    pub fn resolve_address_path(&self, from: Option<&VaultPath>, target: &str) -> Option<usize> {
        let folder = from.map(|from| fold(from.folder())).unwrap_or_default();
        let beside = match target.starts_with('/') {
            true => None,
            false => join_path(&folder, bare(&fold(target))).and_then(|path| self.at(&path)),
        };
        beside.or_else(|| self.resolve_path(from, target))
    }

    fn at(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).map(|page| *page as usize)
    }

    fn ending(&self, target: &str) -> Option<usize> {
        self.by_end.get(target).map(|page| *page as usize)
    }
}

/// A path relative to a folder; nothing when it leaves the vault.
pub fn join_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn bare(path: &str) -> &str {
    path.strip_suffix(".md").filter(|bare| !bare.is_empty() && !bare.ends_with('/')).unwrap_or(path)
}

fn fold(text: &str) -> String {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.to_lowercase(),
        _ => text.nfc().collect::<String>().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn links_resolve_as_in_obsidian() {
        let paths: Vec<VaultPath> = [
            "Index.md",
            "a/Note.md",
            "b/deep/Note.md",
            "b/c/Заметка.md",
            "日記/五月.md",
            "_private/secret.md",
            "a/v1.2.md",
        ]
        .map(path)
        .to_vec();
        let aliases = [
            vec!["Главная".to_owned()],
            vec![],
            vec![],
            vec![],
            vec!["May".to_owned()],
            vec![],
            vec![],
        ];
        let titles = ["Home", "Note", "Other", "Сон", "五月の日記", "Secret", "Version"];
        let pages = paths.iter().zip(titles).zip(&aliases);
        let index =
            LinkIndex::new(pages.map(|((path, title), aliases)| (path, title, aliases.as_slice())));
        let from = |text: &str| Some(path(text));
        for (at, target, expected) in [
            (None, "index", Some(0)),
            (None, "Index.md", Some(0)),
            (None, "Note", Some(1)),
            (from("b/deep/x.md"), "Note", Some(2)),
            (from("b/deep/x.md"), "a/Note", Some(1)),
            (None, "deep/note", Some(2)),
            (None, "eep/note", None),
            (None, "заметка", Some(3)),
            (None, "ЗАМЕТКА", Some(3)),
            (None, "五月", Some(4)),
            (None, "may", Some(4)),
            (None, "главная", Some(0)),
            (None, "сон", Some(3)),
            (None, "secret", Some(5)),
            (None, "v1.2", Some(6)),
            (from("b/c/Заметка.md"), "../deep/Note", Some(2)),
            (from("b/c/Заметка.md"), "./Note", None),
            (from("a/x.md"), "../../etc", None),
            (None, "/a/note", Some(1)),
            (None, "", None),
            (None, "nowhere", None),
        ] {
            assert_eq!(index.resolve(at.as_ref(), target), expected, "{target} from {at:?}");
        }
        assert_eq!(index.resolve_address(from("b/deep/x.md").as_ref(), "Note.md"), Some(2));
        assert_eq!(index.resolve_address(from("b/deep/x.md").as_ref(), "../../Index.md"), Some(0));
    }

    proptest::proptest! {
        #[test]
        fn every_page_is_found_by_its_own_path(names in proptest::collection::btree_set("[a-cа-вあ-う]{1,2}(/[a-c]{1,2}){0,2}", 1..20)) {
            let paths: Vec<VaultPath> = names.iter().map(|name| path(&format!("{name}.md"))).collect();
            let index = LinkIndex::new(paths.iter().map(|path| (path, "t", &[][..])));
            for (number, path) in paths.iter().enumerate() {
                proptest::prop_assert_eq!(index.resolve(None, path.as_str()), Some(number));
            }
        }
    }
}
