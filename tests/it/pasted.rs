//! The commands of a page of documentation, pasted block by block into one shell.
//!
//! A block that starts with ```` ```sh ```` is run as it is. In a block that starts with
//! ```` ```console ```` the lines after `$ ` are commands, and each other line must occur, in this
//! order, in what the command before it prints; a line `…` stands for any number of lines. A block
//! that cannot run here says why: ```` ```sh norun="needs Docker" ````.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A block of commands, and why it is not run, if it is not.
pub struct Block {
    /// The line of the page that it starts at.
    pub line: usize,
    /// What is between the fences.
    pub text: String,
    /// Whether output is shown after each command.
    pub has_output: bool,
    /// The reason of a block that is not run.
    pub not_run: Option<String>,
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The blocks of commands of a page.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let fence = line.trim_start().strip_prefix("```");
        if let Some(info) = fence.filter(|info| !info.is_empty()) {
            let inside =
                lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
            let indent = line.len() - line.trim_start().len();
            let unindented = |line: &str| format!("{}\n", line.get(indent..).unwrap_or_default());
            let text: String = inside.map(unindented).collect();
            let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
            let in_info = rest.strip_prefix("norun=\"").and_then(|rest| rest.strip_suffix('"'));
            let above = before
                .trim()
                .strip_prefix("<!-- not run: ")
                .and_then(|rest| rest.strip_suffix(" -->"));
            if matches!(language, "sh" | "console") {
                blocks.push(Block {
                    line: number + 1,
                    text,
                    has_output: language == "console",
                    not_run: in_info.or(above).map(str::to_owned),
                });
            }
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

/// A command of a `console` block with the lines that the page shows after it.
struct Shown {
    line: usize,
    command: String,
    expected: Vec<String>,
}

/// What one page printed.
pub struct Printed {
    /// Everything on stdout.
    pub out: String,
    /// Everything on stderr.
    pub err: String,
}

/// Runs the blocks of a page in a new home, in one shell, as somebody who reads it from top to
/// bottom. `~/notes` and `examples` are there. Every command must succeed.
pub fn run(page: &str, blocks: &[Block]) -> Printed {
    let home = tempfile::tempdir().unwrap();
    let outputs = home.path().join(".outputs");
    std::fs::create_dir(&outputs).unwrap();
    copy(&root().join("examples"), &home.path().join("work/examples"));
    copy(&root().join("examples/vault"), &home.path().join("notes"));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();

    let mut script = String::from("set -euo pipefail\nserver=\ntrap 'kill $server 2>&-' EXIT\n");
    let mut shown: Vec<Shown> = Vec::new();
    for block in blocks.iter().filter(|block| block.not_run.is_none()) {
        script += &format!("echo '== {page}, line {}' >&2\n", block.line);
        let text = block.text.replace("127.0.0.1:7717", &free.to_string());
        match block.has_output {
            false => script += &plain(&text, &free.to_string()),
            true => {
                for one in commands(&text, block.line) {
                    let file = outputs.join(shown.len().to_string());
                    script += &format!("{{ {}\n}} >'{}' 2>&1\n", one.command, file.display());
                    shown.push(one);
                }
            }
        }
    }
    script += "if [ -n \"$server\" ]; then kill $server; wait $server || true; fi\ntrap - EXIT\n";

    let program = Path::new(env!("CARGO_BIN_EXE_notewell")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(home.path().join("work"))
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("LANG", "C.UTF-8")
        .env("EDITOR", "true")
        .env("NOTEWELL_LISTEN", free.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = || {
        let files = (0..shown.len()).map(|number| outputs.join(number.to_string()));
        let last: Option<PathBuf> = files.take_while(|file| file.exists()).last();
        last.map(|file| std::fs::read_to_string(file).unwrap()).unwrap_or_default()
    };
    assert!(output.status.success(), "{page}: {err}\n--- stdout\n{out}\n--- last\n{}", last());
    for (number, one) in shown.iter().enumerate() {
        let printed = std::fs::read_to_string(outputs.join(number.to_string())).unwrap();
        let mut rest = printed.lines();
        for line in one.expected.iter().filter(|line| *line != "…") {
            assert!(
                rest.any(|printed| printed.trim_end() == line.trim_end()),
                "{page}, line {}: `{}` does not print\n{line}\nbut\n{printed}",
                one.line,
                one.command
            );
        }
    }
    Printed { out, err }
}

/// The commands of a block without output. A server is waited for, as a reader gives it a moment.
fn plain(text: &str, address: &str) -> String {
    let mut script = String::new();
    for line in text.lines() {
        script += line;
        if line.starts_with("notewell serve") && line.contains('&') {
            script += &format!(
                "\nserver=$!\nfor try in $(seq 300); do curl -sf http://{address}/healthz && break; sleep 0.2; done"
            );
        }
        script.push('\n');
    }
    script
}

fn commands(text: &str, line: usize) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for (number, text) in text.lines().enumerate() {
        match (text.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push(Shown {
                line: line + number + 1,
                command: command.to_owned(),
                expected: Vec::new(),
            }),
            (None, Some(last)) => last.expected.push(text.to_owned()),
            (None, None) => panic!("line {}: a `console` block starts with `$ `", line + 1),
        }
    }
    found
}
