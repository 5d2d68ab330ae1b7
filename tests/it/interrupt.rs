//! Ctrl-C during long work.

use std::process::{Command, Stdio};

use crate::support::{Home, put, until};

/// How many bookmarks are in the library, as another process sees it.
pub fn saved(home: &Home) -> u64 {
    let status: serde_json::Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    status["bookmarks"].as_u64().unwrap()
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_says_what_is_kept() {
    const ALL: u64 = 30_000;
    let home = Home::new();
    let lines: String = (0..ALL)
        .map(|n| {
            let text = format!("post {n} about beets, свёкла and 味噌汁");
            format!("{{\"id\":\"{n}\",\"url\":\"https://example.org/{n}\",\"text\":\"{text}\"}}\n")
        })
        .collect();
    let file = home.dir.path().join("many.jsonl");
    put(&file, lines);
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
