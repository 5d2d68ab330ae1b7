//! The book in `docs`: its pages are linked, its commands run, and what it quotes exists.

mod commands;
mod links;

use std::path::PathBuf;

use crate::pasted::{Block, blocks, root, run};

/// Blocks of commands, in all pages, that a test cannot run.
const MAX_NOT_RUN: usize = 14;

/// The pages of the book in `docs` with their texts, by name.
fn pages() -> Vec<(String, String)> {
    let listed = std::fs::read_dir(root().join("docs")).unwrap();
    let files: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    let mut pages: Vec<(String, String)> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "md"))
        .map(|file| {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(file).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

/// A page that is not in `docs`.
fn at_the_root(name: &str) -> (String, String) {
    (name.to_owned(), std::fs::read_to_string(root().join(name)).unwrap())
}

#[test]
fn every_command_of_the_book_runs() {
    let mut not_run = Vec::new();
    let mut run_here = 0;
    for (name, text) in pages().into_iter().chain([at_the_root("BENCHMARKS.md")]) {
        let hidden = text.split("\n```text\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in hidden.flat_map(str::lines) {
            assert!(!block.starts_with("notewell "), "{name}: `{block}` belongs in a `sh` block");
        }
        let blocks = blocks(&text);
        for Block { line, not_run: reason, .. } in &blocks {
            match reason {
                Some(reason) => {
                    let is_reason = reason.split_whitespace().count() >= 2;
                    assert!(is_reason, "{name}, line {line}: `{reason}` is no reason");
                    not_run.push(format!("{name}, line {line}: {reason}"));
                }
                None => run_here += 1,
            }
        }
        if blocks.iter().any(|block| block.not_run.is_none()) {
            run(&name, &blocks);
        }
    }
    assert!(not_run.len() <= MAX_NOT_RUN, "too many blocks are not run: {not_run:#?}");
    assert!(run_here >= 20, "only {run_here} blocks are run");
}

#[test]
fn every_message_of_the_troubleshooting_page_exists() {
    let mut source = String::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => source += &std::fs::read_to_string(path).unwrap(),
            }
        }
    }
    let page = std::fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let mut messages = 0;
    for line in page.lines() {
        let Some(message) = line.strip_prefix("| `").and_then(|rest| rest.split('`').next()) else {
            continue;
        };
        // What stands for a value in the message is written `…`.
        for part in message.split('…').map(str::trim).filter(|part| part.len() > 3) {
            assert!(source.contains(part), "no message has `{part}`: {line}");
        }
        messages += 1;
    }
    assert!(messages >= 20, "only {messages} messages");
}
