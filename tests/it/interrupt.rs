//! Ctrl-C during long work.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::support::{Home, put, until};

/// How many bookmarks are in the library, as another process sees it.
pub fn saved(home: &Home) -> u64 {
    let status: serde_json::Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    status["bookmarks"].as_u64().unwrap()
}

/// A file with so many posts.
fn posts(home: &Home, count: u64) -> PathBuf {
    let lines: String = (0..count)
        .map(|n| {
            let text = format!("post {n} about beets, свёкла and 味噌汁");
            format!("{{\"id\":\"{n}\",\"url\":\"https://example.org/{n}\",\"text\":\"{text}\"}}\n")
        })
        .collect();
    let file = home.dir.path().join("many.jsonl");
    put(&file, lines);
    file
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_says_what_is_kept() {
    const ALL: u64 = 30_000;
    let home = Home::new();
    let file = posts(&home, ALL);
    let mut command = home.command(&["import", "bookmarks", file.to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("a first batch", || saved(&home) > 0);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("imported so far is kept"), "{err}");
    let kept = saved(&home);
    assert!(kept > 0 && kept < ALL, "{kept}");
    // What it said is true.
    assert!(home.say(&["bookmark", "show", "https://example.org/0"]).contains("post 0"));
}

#[cfg(unix)]
#[test]
fn what_follows_an_import_ends_at_once() {
    const ALL: u64 = 6_000;
    let home = Home::new();
    let file = posts(&home, ALL);
    let mut command = home.command(&["import", "bookmarks", file.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut report = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut report).unwrap();
    assert!(report.starts_with("6000 added"), "{report}");
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("Everything is imported"), "{err}");
    let status: serde_json::Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    assert_eq!(status["bookmarks"], ALL, "{status}");
    assert!(home.say(&["search", "свёкла"]).contains("post"), "found by words");
}
