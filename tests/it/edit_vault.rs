//! Edits and moves over the notes of a real vault: only the target changes, and no link is lost.

use std::{collections::BTreeMap, path::Path, process::Command};

use notewell::{
    markdown::{
        Note,
        edit::{Edit, apply, link_places},
    },
    vault::{self, LinkIndex, Scope},
};
use serde_json::json;

use crate::support::{Client, Home, shared};

/// Unpacks the small vault of the real data; `None` where it is not.
fn unpack(to: &Path) -> Option<()> {
    let archive = shared("data/vaults/vault-small.tar.gz")?;
    let done = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(to).status().unwrap();
    assert!(done.success());
    Some(())
}

fn notes(root: &Path) -> BTreeMap<String, String> {
    let walk = vault::walk(root, &Scope::whole(16 << 20)).unwrap();
    let read = |file: &Path| std::fs::read_to_string(file).unwrap();
    walk.files.iter().map(|file| (file.path.as_str().to_owned(), read(&file.file))).collect()
}

#[test]
fn every_section_of_a_real_vault_is_edited_alone() {
    let folder = tempfile::tempdir().unwrap();
    if unpack(folder.path()).is_none() {
        return;
    }
    let (mut sections, mut refused) = (0, 0);
    for (path, text) in notes(folder.path()) {
        let note = Note::parse(&text, &path);
        for section in note.outline.sections() {
            sections += 1;
            let own = note.section(&text, section);
            let same = apply(&text, &note, section, Edit::Replace(own)).unwrap();
            assert!(same.text == text, "{path}: `{}` replaced by itself changes it", section.title);
            // Each edit parses the note anew: every seventh section will do.
            if sections % 7 != 0 {
                continue;
            }
            let start = if section.level == 0 { note.body } else { section.range.start };
            for edit in
                [Edit::Replace("новый текст\n新しい"), Edit::Append("строка"), Edit::Prepend("行")]
            {
                let Ok(edited) = apply(&text, &note, section, edit) else {
                    refused += 1;
                    continue;
                };
                assert!(edited.text.starts_with(&text[..start]), "{path}: {}", section.title);
                assert!(
                    edited.text.ends_with(&text[section.range.end..]),
                    "{path}: {}",
                    section.title
                );
            }
        }
    }
    println!("{sections} sections, {refused} edits refused");
    assert!(sections > 1000, "{sections}");
    assert!(refused * 100 < sections, "{refused} of {sections} edits were refused");
}

/// Where each link of each note leads: the page's content stands for the page.
fn resolved(root: &Path) -> BTreeMap<String, Vec<Option<String>>> {
    let notes = notes(root);
    let paths: Vec<_> =
        notes.keys().map(|path| notewell::domain::VaultPath::parse(path).unwrap()).collect();
    let parsed: Vec<(String, Vec<String>)> = notes
        .iter()
        .zip(&paths)
        .map(|((_, text), path)| {
            let (page, _) = vault::page("v", path, text);
            (page.title, page.aliases)
        })
        .collect();
    let index = LinkIndex::new(
        paths
            .iter()
            .zip(&parsed)
            .map(|(path, (title, aliases))| (path, title.as_str(), aliases.as_slice())),
    );
    let names: Vec<&String> = notes.keys().collect();
    notes
        .iter()
        .zip(&paths)
        .map(|((name, text), path)| {
            let links = link_places(text).into_iter().map(|place| {
                index.resolve_address(Some(path), &place.path).map(|at| names[at].clone())
            });
            (name.clone(), links.collect())
        })
        .collect()
}

#[test]
fn moves_in_a_real_vault_lose_no_link() {
    let home = Home::new();
    if unpack(&home.vault()).is_none() {
        return;
    }
    let mut client = home.stdio();
    crate::support::until("the vault is read", || {
        let answer =
            client.ask("tools/call", json!({ "name": "search", "arguments": { "query": "note" } }));
        !answer.to_string().contains("still being read")
    });
    let before = resolved(&home.vault());
    // The notes that most links lead to, and one that links to many.
    let mut incoming: BTreeMap<&String, usize> = BTreeMap::new();
    for target in before.values().flatten().flatten() {
        *incoming.entry(target).or_default() += 1;
    }
    let mut popular: Vec<(&usize, &&String)> =
        incoming.iter().map(|(path, count)| (count, path)).collect();
    popular.sort();
    let mut chosen: Vec<String> =
        popular.iter().rev().take(12).map(|(_, path)| (**path).clone()).collect();
    chosen.extend(before.iter().max_by_key(|(_, links)| links.len()).map(|(path, _)| path.clone()));
    chosen.sort();
    chosen.dedup();
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    for (number, path) in chosen.iter().enumerate() {
        let text = std::fs::read_to_string(home.vault().join(path)).unwrap();
        let to = format!("moved {number}/Переименовано 名 {number}.md");
        let result = client.call("move_page", json!({ "path": path, "to": to }));
        assert_ne!(result["isError"], true, "{path}: {result}");
        renamed.insert(path.clone(), to.clone());
        let now = std::fs::read_to_string(home.vault().join(&to)).unwrap();
        let outside = |text: &str| {
            let mut rest = String::new();
            let mut at = 0;
            for place in link_places(text) {
                rest += &text[at..place.range.start];
                at = place.range.end;
            }
            rest + &text[at..]
        };
        assert_eq!(outside(&text), outside(&now), "{path}: only paths of links change");
    }
    let after = resolved(&home.vault());
    for (path, links) in &before {
        let now = &after[renamed.get(path).unwrap_or(path)];
        assert_eq!(links.len(), now.len(), "{path}");
        for (old, new) in links.iter().zip(now) {
            if let Some(old) = old {
                let expected = renamed.get(old).unwrap_or(old);
                assert_eq!(new.as_ref(), Some(expected), "{path}");
            }
        }
    }
    drop::<Client>(client);
}
