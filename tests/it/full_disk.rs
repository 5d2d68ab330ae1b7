//! A disk without room: the write is refused in words, nothing is half written, reads go on.
//!
//! The disk is a small file system in memory, which takes the right to mount one.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::support::{Client, Home, notewell};

/// The script that mounts a small disk, and then becomes the program that is given to it.
const ON_A_SMALL_DISK: &str =
    "mount -t tmpfs -o size=3m tmpfs \"$DISK\" && exec \"$0\" \"$@\" --data \"$DISK/data\"";

fn on_a_small_disk(disk: &Path, arguments: &[&str]) -> Command {
    let program = notewell();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", ON_A_SMALL_DISK]).arg(program.get_program()).args(arguments);
    command.env("DISK", disk).env("NOTEWELL_EMBED_PROVIDER", "none");
    command.env("HOME", disk).env("XDG_CONFIG_HOME", disk);
    command
}

fn can_mount(disk: &Path) -> bool {
    let probe = on_a_small_disk(disk, &["--version"]).stderr(Stdio::null()).output();
    let ok = probe.is_ok_and(|output| output.stdout.starts_with(b"notewell"));
    if !ok {
        eprintln!("skipped: no small disk can be mounted here");
    }
    ok
}

#[test]
fn a_full_disk_is_told_and_reads_go_on() {
    let home = Home::new();
    let disk = home.dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    if !can_mount(&disk) {
        return;
    }
    let mut client = Client::start(on_a_small_disk(&disk, &["mcp"]));
    client.initialize();
    let first = client.call("create_note", json!({ "content": "первая карточка 札" }));
    let id = first["structuredContent"]["id"].clone();
    let large = "слово ".repeat(9_000);
    let mut refused = None;
    for n in 0..200 {
        let card =
            json!({ "name": "create_note", "arguments": { "content": format!("{n} {large}") } });
        let answer = client.ask("tools/call", card);
        if let Some(error) = answer.get("error") {
            refused = Some(error.clone());
            break;
        }
    }
    let error = refused.expect("three megabytes are full by now");
    let said = error["message"].as_str().unwrap();
    assert_eq!(error["code"], -32603, "{error}");
    assert!(said.contains("disk full: nothing was changed; free space and try again"), "{said}");
    // Prompts and bookmarks say the same.
    let text = "текст ".repeat(60_000);
    let prompt = json!({ "name": "large", "title": "t",
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] });
    for (tool, arguments) in [
        ("create_prompt", prompt),
        ("add_bookmark", json!({ "url": "https://example.org/a", "text": text })),
    ] {
        let error = client.refused(tool, arguments);
        let said = error["message"].as_str().unwrap();
        assert!(said.contains("disk full: nothing was changed"), "{tool}: {said}");
    }
    // What there is can be read.
    let read = client.call("get_note", json!({ "id": id }));
    assert_eq!(read["structuredContent"]["content"], "первая карточка 札");
    let found = client.call("search_notes", json!({ "query": "КАРТОЧКА" }));
    assert_eq!(found["structuredContent"]["notes"].as_array().unwrap().len(), 1);
}
