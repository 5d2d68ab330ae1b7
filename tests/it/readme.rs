//! The commands of the README, pasted block by block.

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Blocks that a test cannot run.
const MAX_NOT_RUN: usize = 4;

/// A block of commands, and why it is not run, if it is not.
struct Block {
    line: usize,
    commands: String,
    not_run: Option<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line == "```sh" {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let commands: String = inside.map(|line| format!("{line}\n")).collect();
            let reason =
                before.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
            blocks.push(Block { line: number + 1, commands, not_run: reason.map(str::to_owned) });
        }
        before = line;
    }
    blocks
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn every_block_can_be_pasted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let blocks = blocks(&std::fs::read_to_string(root.join("README.md")).unwrap());
    let not_run: Vec<usize> =
        blocks.iter().filter(|block| block.not_run.is_some()).map(|block| block.line).collect();
    assert!(not_run.len() <= MAX_NOT_RUN, "too many blocks are not run: lines {not_run:?}");
    assert!(blocks.len() - not_run.len() >= 7, "only {} blocks", blocks.len());

    let home = tempfile::tempdir().unwrap();
    copy(&root.join("examples"), &home.path().join("work/examples"));
    copy(&root.join("examples/vault"), &home.path().join("notes"));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();

    // One shell for the whole page, as for somebody who reads it from top to bottom.
    let mut script = String::from("set -euo pipefail\n");
    for block in blocks.iter().filter(|block| block.not_run.is_none()) {
        script += &format!("echo '== README.md, line {}' >&2\n", block.line);
        for line in block.commands.replace("127.0.0.1:7717", &free.to_string()).lines() {
            script += line;
            if line.starts_with("notewell serve") {
                // A reader gives it a moment.
                script += &format!(
                    "\nserver=$!\ntrap 'kill $server' EXIT\nfor try in $(seq 300); do curl -sf http://{free}/healthz && break; sleep 0.2; done"
                );
            }
            script.push('\n');
        }
    }
    script += "kill $server\ntrap - EXIT\nwait $server || true\n";

    let program = Path::new(env!("CARGO_BIN_EXE_notewell")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(home.path().join("work"))
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("LANG", "C.UTF-8")
        .env("NOTEWELL_LISTEN", free.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}\n--- stdout\n{out}");
    for expected in [
        "A first search",
        "`notewell` is set up in",
        "1. Coffee brewing",
        "Grind finer first",
        "Nothing is wrong.",
        "\"jsonrpc\"",
        "vector",
        "complete -F _notewell",
    ] {
        assert!(out.contains(expected), "`{expected}` is not in\n{out}\n---\n{err}");
    }
}
