//! Rooms depend one way: an import that points down the list is a failure here.

use std::path::{Path, PathBuf};

/// Each room may use only the rooms before it.
const ROOMS: &[&str] = &[
    "domain",
    "config",
    "telemetry",
    "post",
    "markdown",
    "vault",
    "store",
    "embed",
    "index",
    "search",
    "llm",
    "oss",
    "import",
    "enrich",
    "ask",
    "app",
    "eval",
    "tools",
    "serve",
    "bench",
    "cli",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The rooms that a source names after `crate::`, also inside `use crate::{…}`.
fn named(source: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find("crate::") {
        rest = &rest[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => rooms.push(word(rest)),
            Some(list) => {
                let (mut depth, mut start) = (0, true);
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        c if c.is_whitespace() => {}
                        _ if start && depth == 0 => {
                            rooms.push(word(&list[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    rooms
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Imports in `source` of `room` that point the wrong way.
fn upward(room: &str, source: &str) -> Vec<String> {
    let Some(own) = ROOMS.iter().position(|name| *name == room) else {
        return vec![format!("`{room}` is not in the list of rooms")];
    };
    named(source)
        .into_iter()
        .filter(|name| ROOMS.iter().position(|room| room == name).is_some_and(|at| at > own))
        .map(|name| format!("`{room}` uses `{name}`"))
        .collect()
}

#[test]
fn no_room_uses_a_later_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        let inside = file.strip_prefix(&root).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy();
        let room = first.trim_end_matches(".rs");
        if matches!(room, "main" | "lib") {
            continue;
        }
        let source = std::fs::read_to_string(file).unwrap();
        wrong.extend(
            upward(room, &source).into_iter().map(|what| format!("{}: {what}", inside.display())),
        );
    }
    assert!(files.len() > 50, "the sources were not found");
    assert!(wrong.is_empty(), "imports that point the wrong way:\n{}", wrong.join("\n"));
}

#[test]
fn an_upward_import_is_seen() {
    assert_eq!(upward("store", "use crate::app::App;"), ["`store` uses `app`"]);
    assert_eq!(
        upward("markdown", "use crate::{\n    domain::{Result, Error},\n    tools::Tool,\n};"),
        ["`markdown` uses `tools`"]
    );
    assert_eq!(upward("cli", "use crate::{app::App, serve::http};"), [] as [&str; 0]);
    assert_eq!(upward("attic", ""), ["`attic` is not in the list of rooms"]);
}

/// Everything below `serve` is synchronous. The driver of PostgreSQL is asynchronous inside and
/// blocks outside, so that each statement has a time limit.
#[test]
fn only_serve_and_cli_know_tokio() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let inside = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&file).unwrap();
        let driver = inside == "store/postgres/connection.rs";
        if !inside.starts_with("serve") && !inside.starts_with("cli") && !driver {
            assert!(!source.contains("tokio::"), "{inside} uses tokio");
        }
    }
}
