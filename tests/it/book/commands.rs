//! Commands that texts name, whether they are run or not.

use clap::{Command, CommandFactory};
use notewell::cli::Cli;

use super::{at_the_root, pages};
use crate::pasted::root;

/// Why a line such as `notewell token create --user ann` is no command line of this program.
/// Words in capitals and after a command without subcommands are arguments, whatever they are.
fn fault(program: &Command, line: &str) -> Option<String> {
    let mut at = program;
    let mut takes_command = true;
    for word in line.split_whitespace().skip(1) {
        if matches!(word, "|" | "||" | "&&" | "&" | ">" | "<" | "2>&1") || word.starts_with('#') {
            break;
        }
        let ends = word.ends_with([')', ';']);
        let word = word.trim_end_matches([')', ';', ',', '.']);
        if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) {
            let flag = flag.split(['=', '|', ']']).next().unwrap_or_default();
            let has = at.get_arguments().any(|argument| {
                let aliases = argument.get_all_aliases().unwrap_or_default();
                argument.get_long() == Some(flag) || aliases.contains(&flag)
            });
            if !has && !matches!(flag, "help" | "version") {
                return Some(format!("`{}` has no `--{flag}`", at.get_name()));
            }
        } else if takes_command && at.has_subcommands() && !word.starts_with('-') {
            let names: Vec<&str> = word.split('|').collect();
            let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            match at.find_subcommand(names[0]) {
                Some(command) => {
                    if let Some(other) =
                        names.iter().find(|name| at.find_subcommand(name).is_none())
                    {
                        return Some(format!("there is no command `{other}`"));
                    }
                    at = command;
                }
                None if names.iter().all(is_name) && at.get_positionals().count() == 0 => {
                    return Some(format!("`{}` has no command `{word}`", at.get_name()));
                }
                None => takes_command = false,
            }
        } else {
            takes_command = false;
        }
        if ends {
            break;
        }
    }
    None
}

fn program() -> Command {
    let mut program = Cli::command();
    program.build();
    program
}

/// The command lines of a Markdown text: code spans, and lines of code blocks.
fn lines_of_page(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
            continue;
        }
        let spans: Vec<&str> = match inside {
            true => line.split("$(").map(|part| part.trim_start_matches("$ ")).collect(),
            false => line.split('`').skip(1).step_by(2).collect(),
        };
        let named = spans.into_iter().filter(|span| span.starts_with("notewell "));
        lines.extend(named.map(str::to_owned));
    }
    lines
}

#[test]
fn commands_that_pages_name_exist() {
    let program = program();
    assert!(fault(&program, "notewell nonsense").is_some());
    assert!(fault(&program, "notewell token make --name x").is_some());
    assert!(fault(&program, "notewell token create --nome x").is_some());
    assert_eq!(fault(&program, "notewell token create --user ann --data DIR | cat"), None);
    let mut all: Vec<(String, String)> = pages();
    all.extend(
        ["README.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md", "BENCHMARKS.md"]
            .map(at_the_root),
    );
    let mut named = 0;
    for (page, text) in all {
        for line in lines_of_page(&text) {
            named += 1;
            if let Some(fault) = fault(&program, &line) {
                panic!("{page}: `{line}`: {fault}");
            }
        }
    }
    assert!(named > 200, "only {named} commands");
}

#[test]
fn commands_that_messages_name_exist() {
    let program = program();
    let mut folders = vec![root().join("src"), root().join("assets")];
    let mut named = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            for line in text.lines() {
                let quoted = line.match_indices("`notewell ").map(|(at, _)| &line[at + 1..]);
                let quoted = quoted.filter_map(|rest| rest.split('`').next());
                // An example of `--help`: the command, a gap, what it does.
                let example = line.trim().strip_prefix("notewell ").map(|_| line.trim());
                let example = example.filter(|_| path.starts_with(root().join("src/cli")));
                let example = example.and_then(|line| line.split("  ").next());
                let example = example.map(|line| line.trim_end_matches("\")]"));
                for command in quoted.chain(example) {
                    named += 1;
                    if let Some(fault) = fault(&program, &command.replace("\\\"", "\"")) {
                        panic!("{}: `{command}`: {fault}", path.display());
                    }
                }
            }
        }
    }
    assert!(named > 150, "only {named} commands");
}
