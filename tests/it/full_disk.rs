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
    on_a_disk(ON_A_SMALL_DISK, disk, arguments)
}

fn on_a_disk(script: &str, disk: &Path, arguments: &[&str]) -> Command {
    let program = notewell();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script]).arg(program.get_program()).args(arguments);
    command.env("DISK", disk).env("NOTEWELL_EMBED_PROVIDER", "none");
    command.env("HOME", disk).env("XDG_CONFIG_HOME", disk);
    command
}

/// The same with a vault of one note on that disk.
const VAULT_ON_A_SMALL_DISK: &str = "mount -t tmpfs -o size=6m tmpfs \"$DISK\" && mkdir \"$DISK/vault\" \
    && printf '# Note\n\nначало\n' > \"$DISK/vault/a.md\" \
    && exec \"$0\" \"$@\" --data \"$DISK/data\" --vault \"$DISK/vault\"";

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
    if crate::support::only_sqlite("the disk that is full holds the files of the library") {
        return;
    }
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

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    if crate::support::only_sqlite("the disk that is full holds the files of the library") {
        return;
    }
    let home = Home::new();
    let disk = home.dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    if !can_mount(&disk) {
        return;
    }
    let mut client = Client::start(on_a_disk(VAULT_ON_A_SMALL_DISK, &disk, &["mcp"]));
    client.initialize();
    // Words that compress badly, so that the journal grows too.
    let line = |round: usize| -> String {
        (0..6_000_u64)
            .map(|n| format!("{:x} ", (n + 7 * round as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect()
    };
    let mut refused = None;
    for round in 0..200 {
        let arguments = json!({ "path": "a.md", "op": "append", "text": line(round) });
        let answer =
            client.ask("tools/call", json!({ "name": "edit_page", "arguments": arguments }));
        if let Some(error) = answer.get("error") {
            refused = Some((round, error["message"].as_str().unwrap().to_owned()));
            break;
        }
    }
    let (rounds, said) = refused.expect("the disk is full by now");
    assert!(rounds > 0 && said.contains("disk full: nothing was changed"), "{rounds}: {said}");
    // The note is what was acknowledged, and can be read.
    let note = client.call("note_html", json!({ "path": "a.md", "format": "markdown" }));
    let content = note["structuredContent"]["content"].as_str().unwrap();
    assert_eq!(content.lines().filter(|line| line.len() > 1000).count(), rounds);
}

#[test]
fn an_import_that_does_not_fit_says_what_was_filed() {
    if crate::support::only_sqlite("the disk that is full holds the files of the library") {
        return;
    }
    let home = Home::new();
    let disk = home.dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    if !can_mount(&disk) {
        return;
    }
    let file = home.dir.path().join("saved.jsonl");
    let post = |n: u64| {
        let text: String = (0..12)
            .map(|at| format!("{:x} ", (n * 12 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        json!({ "url": format!("https://example.org/{n}"), "text": text }).to_string() + "\n"
    };
    crate::support::put(&file, (0..30_000).map(post).collect::<String>());
    let script =
        "mount -t tmpfs -o size=12m tmpfs \"$DISK\" && exec \"$0\" \"$@\" --data \"$DISK/data\"";
    let arguments = ["import", "bookmarks", file.to_str().unwrap()];
    let output = on_a_disk(script, &disk, &arguments).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("the import stopped: ") && said.contains("disk full. "), "{said}");
    assert!(said.contains(" are filed and stay.") && said.contains("not added twice"), "{said}");
    assert!(!said.contains("nothing was changed"), "{said}");
}

/// Runs a command on a disk made by `script`, with its data below that disk; gives what it says.
fn refused_on(script: &str, arguments: &[&str]) -> Option<String> {
    let home = Home::new();
    let disk = home.dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    if !can_mount(&disk) {
        return None;
    }
    let output = on_a_disk(script, &disk, arguments).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?}: {said}");
    // The same words, wherever the disk is.
    Some(said.replace(disk.to_str().unwrap(), "DISK"))
}

#[test]
fn a_library_that_cannot_be_made_says_why() {
    if crate::support::only_sqlite("the disk holds the files of the library") {
        return;
    }
    // Room for the folder, and no file number left for the database.
    let full =
        "mount -t tmpfs -o nr_inodes=2 tmpfs \"$DISK\" && exec \"$0\" \"$@\" --data \"$DISK/data\"";
    let read_only = "mount -t tmpfs tmpfs \"$DISK\" && mkdir \"$DISK/data\" && mount -o remount,ro \"$DISK\" \
        && exec \"$0\" \"$@\" --data \"$DISK/data\"";
    let no_folder =
        "mount -t tmpfs -o ro tmpfs \"$DISK\" && exec \"$0\" \"$@\" --data \"$DISK/data\"";
    for arguments in [&["status"] as &[&str], &["search", "x"], &["mcp"], &["doctor"]] {
        let Some(said) = refused_on(full, arguments) else { return };
        assert_eq!(
            said,
            "notewell: disk full: nothing was changed; free space and try again (could not open `DISK/data/notewell.db`: no new file fits into `DISK/data`; `df` and `df -i` show what is used up)\n"
        );
    }
    assert_eq!(
        refused_on(read_only, &["status"]).unwrap(),
        "notewell: could not open `DISK/data/notewell.db`: `DISK/data` is on a read-only file system; nothing was changed. Mount it writable, or name another folder with `--data DIR`\n"
    );
    assert_eq!(
        refused_on(no_folder, &["status"]).unwrap(),
        "notewell: could not make the data directory `DISK/data`: `DISK` is on a read-only file system; nothing was changed. Mount it writable, or name another folder with `--data DIR`\n"
    );
}
