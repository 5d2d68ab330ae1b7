//! Links between pages.

use std::collections::{BTreeSet, HashMap};

use super::{at_the_root, pages};
use crate::pasted::root;

/// A text without its blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in text.lines() {
        match line.starts_with("```") {
            true => inside = !inside,
            false if inside => {}
            false => prose += &format!("{line}\n"),
        }
    }
    prose
}

/// The targets of the links of a text.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let parts = prose.split("](").skip(1);
    parts.filter_map(|part| part.split([')', ' ']).next()).map(str::to_owned).collect()
}

/// The anchors of the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = prose(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed = targets(&summary);
    let once: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice: {listed:?}");
    let pages = pages();
    let names: BTreeSet<&String> =
        pages.iter().map(|(name, _)| name).filter(|name| *name != "SUMMARY.md").collect();
    assert_eq!(once, names, "docs/SUMMARY.md lists every page, and nothing else");
}

#[test]
fn every_link_leads_somewhere() {
    let mut texts: HashMap<String, String> =
        pages().into_iter().map(|(name, text)| (format!("docs/{name}"), text)).collect();
    texts.extend(
        ["README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTEXT.md", "BENCHMARKS.md"]
            .map(at_the_root),
    );
    let mut followed = 0;
    for (page, text) in &texts {
        for target in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
            let file = match (path, path.strip_prefix("../")) {
                ("", _) => page.clone(),
                (_, Some(above)) => above.to_owned(),
                _ if folder.is_empty() => path.to_owned(),
                _ => format!("{folder}/{path}"),
            };
            assert!(root().join(&file).exists(), "{page}: `{target}` leads nowhere");
            if let (false, Some(there)) = (anchor.is_empty(), texts.get(&file)) {
                assert!(anchors(there).contains(anchor), "{page}: no heading for `{target}`");
            }
            followed += 1;
        }
    }
    assert!(followed > 50, "only {followed} links");
}
