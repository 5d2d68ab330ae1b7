//! Every note of a vault is read or named: counts of characters, headings and wiki-links against a
//! list that was made by other means, over a small vault of our own and over a large one where it
//! is at hand. Every note read is also cut, and the cuts are checked against its text.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use notewell::{
    markdown::{self, Counts, Note},
    vault::{self, Reason},
};

const LIMIT: u64 = 10_000_000;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What a manifest says of each note, by path. Its first line names the columns.
fn manifest(file: &Path) -> BTreeMap<String, Counts> {
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (path, chars) = (column("path"), column("chars"));
    let (links, headings, front) = (column("wikilinks"), column("headings"), column("frontmatter"));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| fields[at].parse::<usize>().unwrap();
            let counts = Counts {
                chars: number(chars),
                headings: number(headings),
                wikilinks: number(links),
                frontmatter: number(front) == 1,
            };
            (fields[path].to_owned(), counts)
        })
        .collect()
}

/// Reads a vault and compares it with its manifest; answers what was left out.
fn check(root: &Path, expected: &BTreeMap<String, Counts>) -> Vec<(String, Reason)> {
    let walk = vault::walk(root, &vault::Scope::whole(LIMIT)).unwrap();
    let mut left_out: Vec<(String, Reason)> =
        walk.skipped.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect();
    let mut counted = BTreeMap::new();
    for found in walk.files {
        match vault::read(&found.file, LIMIT) {
            Ok(file) => {
                check_cuts(found.path.as_str(), &file.text);
                counted.insert(found.path.to_string(), markdown::count(&file.text));
            }
            Err(reason) => left_out.push((found.path.to_string(), reason)),
        }
    }
    for (path, counts) in expected {
        assert_eq!(counted.get(path), Some(counts), "{path}");
    }
    assert_eq!(counted.len(), expected.len());
    left_out.sort_by(|a, b| a.0.cmp(&b.0));
    left_out
}

fn check_cuts(path: &str, text: &str) {
    let note = Note::parse(text, "name");
    let sections = note.outline.sections();
    let joined: String = sections.iter().map(|section| &text[section.own.clone()]).collect();
    assert_eq!(joined, text, "the sections of {path} are the note");
    for (index, section) in sections.iter().enumerate() {
        let found = note.outline.find(&note.outline.path(index)).unwrap();
        assert_eq!(found.range, section.range, "{path}: {:?}", note.outline.path(index));
    }
    for chunk in note.chunks() {
        let window = note.window(text, chunk.range.clone(), 0);
        assert!(window.range.start <= chunk.range.start, "{path} {}", chunk.ordinal);
        assert!(window.range.end >= chunk.range.end, "{path} {}", chunk.ordinal);
        assert!(note.outline.find(&chunk.toc_path).is_ok(), "{path} {:?}", chunk.toc_path);
    }
}

#[test]
fn every_note_of_our_own_vault_is_read_or_named() {
    let fixtures = repository().join("tests/fixtures");
    let left_out = check(&fixtures.join("vault"), &manifest(&fixtures.join("vault.manifest.tsv")));
    assert_eq!(
        left_out,
        [
            ("latin1.md".to_owned(), Reason::NotUtf8 { at: 3 }),
            ("picture.md".to_owned(), Reason::Binary),
        ]
    );
}

#[test]
fn every_note_of_the_large_sample_is_read() {
    let vaults = repository().join("../shared/data/vaults");
    let archive = vaults.join("vault-small.tar.gz");
    if !archive.exists() {
        eprintln!("skipped: {} is not there", archive.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unpacked =
        Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder.path()).status();
    assert!(unpacked.unwrap().success());
    let expected = manifest(&vaults.join("vault-small.manifest.tsv"));
    assert!(expected.len() > 2000);
    assert_eq!(check(&folder.path().join("vault-small"), &expected), []);
}

#[test]
fn pages_of_our_own_vault_say_what_they_are() {
    let root = repository().join("tests/fixtures/vault");
    let page = |path: &str| {
        let path = notewell::domain::VaultPath::parse(path).unwrap();
        let file = vault::read(&vault::locate(&root, &path), LIMIT).unwrap();
        vault::page("own", &path, &file.text)
    };
    let (home, _) = page("Home.md");
    assert!(home.free && home.searchable);
    assert_eq!(home.labels, ["start", "garden/map", "garden/water"]);
    let (method, _) = page("guides/review.md");
    assert_eq!(method.method.as_deref(), Some("code-review"));
    assert_eq!(method.price.as_deref(), Some("0.01"));
    let (broken, note) = page("Сад/сломано.md");
    assert_eq!((broken.problems.len(), broken.free), (1, false));
    assert!(note.plain().contains("Незакрытая скобка"));
    assert_eq!(page("duplicate-keys.md").0.problems.len(), 1);
    assert_eq!(page("wrong-types.md").0.problems.len(), 2);
    assert!(!page("hidden.md").0.searchable && !page("_private/draft.md").0.searchable);
    let (_, watering) = page("guides/Watering.md");
    assert!(watering.outline.find(&["Tools[2]"]).is_ok());
    assert!(watering.outline.find(&["Winter"]).is_ok());
    let (windows, note) = page("Сад/crlf.md");
    assert_eq!((windows.title.as_str(), note.outline.sections().len()), ("Windows", 2));
    let (_, water) = page("日記/水やり.md");
    assert!(water.plain().contains("濡れたままになるので避けた"), "{}", water.plain());
}
