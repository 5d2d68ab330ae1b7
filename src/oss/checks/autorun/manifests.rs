//! Commands in JSON and TOML files that tools run by themselves.
//!
//! The files are read by their tokens and lines, not by a parser: a file that no parser accepts may
//! still be accepted by the tool that runs it.

use super::places::{AutoRun, Snippet};
use crate::oss::{
    checks::links,
    code::{Source, Syntax, TokenKind},
    tree::{File, Tree},
};

/// Scripts that npm and its kin run on an install, and those of `prepare`.
const NPM_HOOKS: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "preprepare",
    "prepare",
    "postprepare",
    "prepublish",
    "dependencies",
];
const COMPOSER_HOOKS: &[&str] = &[
    "pre-install-cmd",
    "post-install-cmd",
    "pre-update-cmd",
    "post-update-cmd",
    "post-autoload-dump",
    "pre-autoload-dump",
    "post-root-package-install",
    "post-create-project-cmd",
    "pre-package-install",
    "post-package-install",
];

/// Adds the commands of a manifest.
pub fn commands<'a>(tree: &'a Tree, file: &'a File, found: &mut Vec<AutoRun<'a>>) {
    let path = file.path.as_str();
    let in_folder = |folder: &str| path.starts_with(folder) || path.contains(&format!("/{folder}"));
    match file.name() {
        "package.json" => json(file, found, "an npm install script", |keys| {
            let hook = keys.first().filter(|first| **first == "scripts").and(keys.get(1));
            hook.filter(|hook| NPM_HOOKS.contains(hook))
                .map(|hook| Some(if hook.contains("prepare") { 8 } else { 5 }))
        }),
        "composer.json" => json(file, found, "a Composer script", |keys| {
            let hook = keys.first().filter(|first| **first == "scripts").and(keys.get(1));
            hook.filter(|hook| COMPOSER_HOOKS.contains(hook)).map(|_| Some(7))
        }),
        "tasks.json" if in_folder(".vscode/") && file.text().contains("folderOpen") => {
            json(file, found, "an editor task that starts when the folder is opened", |keys| {
                keys.iter().any(|key| matches!(*key, "command" | "args")).then_some(Some(5))
            });
        }
        "settings.json" if in_folder(".vscode/") => {
            json(file, found, "an editor setting", |keys| {
                let command = keys.iter().any(|key| {
                    ["path", "command", "interpreter", "shell", "profiles", "args", "executable"]
                        .iter()
                        .any(|word| key.to_lowercase().contains(word))
                });
                command.then_some(None)
            });
        }
        "settings.json" | "settings.local.json"
            if in_folder(".claude/") || in_folder(".gemini/") =>
        {
            json(file, found, "a coding agent's hook", |keys| {
                keys.contains(&"command").then_some(Some(6))
            });
        }
        ".mcp.json" | "mcp.json" => {
            json(file, found, "a coding agent's server", |keys| {
                keys.iter().any(|key| matches!(*key, "command" | "args")).then_some(None)
            });
        }
        "devcontainer.json" | ".devcontainer.json" => {
            json(file, found, "a dev container command", |keys| {
                keys.first().filter(|key| key.ends_with("Command")).map(|_| None)
            })
        }
        "pyproject.toml" => backend(tree, file, found),
        "Cargo.toml" => cargo(tree, file, found),
        "config.toml" | "config" if in_folder(".cargo/") => {
            toml(file, found, "the cargo configuration", |_, key| {
                let runs = matches!(
                    key,
                    "runner"
                        | "rustc-wrapper"
                        | "rustc-workspace-wrapper"
                        | "rustc"
                        | "linker"
                        | "credential-provider"
                        | "rustdoc"
                );
                runs.then_some(Some(6))
            });
        }
        "mise.toml" | ".mise.toml" | ".rtx.toml" => {
            toml(file, found, "the mise configuration", |section, key| {
                let runs = section.starts_with("hooks")
                    || key.contains("source")
                    || key.contains("hook")
                    || section == "env"
                    || key == "run";
                runs.then_some(None)
            })
        }
        ".npmrc" => toml(file, found, "the npm configuration", |_, key| {
            matches!(key, "script-shell" | "node-options" | "git" | "shell").then_some(Some(5))
        }),
        ".gitconfig" => toml(file, found, "the git configuration", |_, key| {
            matches!(key, "hooksPath" | "fsmonitor" | "sshCommand" | "pager" | "editor")
                .then_some(Some(5))
        }),
        _ => {}
    }
}

/// Adds the strings of a JSON file whose keys `wanted` accepts; its answer is the score of a
/// harmless one, if that is worth a mention. Strings under one key are one command.
fn json<'a>(
    file: &'a File,
    found: &mut Vec<AutoRun<'a>>,
    when: &'static str,
    wanted: impl Fn(&[&str]) -> Option<Option<u8>>,
) {
    let mut last: Option<(Vec<String>, usize)> = None;
    for (keys, value, line) in json_strings(file.text()) {
        let names: Vec<&str> = keys.iter().map(String::as_str).collect();
        let Some(notable) = wanted(&names) else { continue };
        if let Some((same, at)) = &last
            && *same == keys
            && let Snippet::Command { text, .. } = &mut found[*at].snippet
        {
            // `["sh", "-c", "…"]` is one command; a list of whole commands is one on several lines.
            text.push(if value.contains(' ') { '\n' } else { ' ' });
            text.push_str(&value);
            continue;
        }
        last = Some((keys, found.len()));
        found.push(AutoRun {
            file,
            when,
            snippet: Snippet::Command { line, text: value },
            notable,
        });
    }
}

/// Each string of a JSON text with the keys above it and its line.
fn json_strings(text: &str) -> Vec<(Vec<String>, String, u32)> {
    let source = Source::parse(text, Syntax::JSON);
    let mut found = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    // For each open bracket, how many keys were above it.
    let mut depths: Vec<usize> = Vec::new();
    let mut tokens = source.tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        match &token.kind {
            TokenKind::Text(text) if tokens.peek().is_some_and(|next| next.is(':')) => {
                keys.truncate(depths.last().copied().unwrap_or(0));
                keys.push(text.clone());
            }
            TokenKind::Text(text) => found.push((keys.clone(), text.clone(), token.line)),
            TokenKind::Symbol('{' | '[') => depths.push(keys.len()),
            TokenKind::Symbol('}' | ']') => keys.truncate(depths.pop().unwrap_or(0)),
            _ => {}
        }
    }
    found
}

/// Adds the values of a TOML or INI file whose section and key `wanted` accepts.
fn toml<'a>(
    file: &'a File,
    found: &mut Vec<AutoRun<'a>>,
    when: &'static str,
    wanted: impl Fn(&str, &str) -> Option<Option<u8>>,
) {
    for (section, key, text, line) in toml_values(file) {
        if let Some(notable) = wanted(&section, &key) {
            found.push(AutoRun { file, when, snippet: Snippet::Command { line, text }, notable });
        }
    }
}

/// Each `key = value` with its section and line; a value may go on over lines.
fn toml_values(file: &File) -> Vec<(String, String, String, u32)> {
    let mut found: Vec<(String, String, String, u32)> = Vec::new();
    let mut section = String::new();
    let mut open = 0_i32;
    for (number, line) in file.lines() {
        let bare = line.trim();
        let depth = bare.matches('[').count() as i32 - bare.matches(']').count() as i32;
        if open > 0 {
            if let Some((_, _, value, _)) = found.last_mut() {
                value.push(' ');
                value.push_str(bare);
            }
            open += depth;
        } else if bare.starts_with('[') {
            section = bare.trim_matches(['[', ']']).to_owned();
        } else if let Some((key, value)) = bare.split_once('=').filter(|_| !bare.starts_with('#')) {
            let value = value.trim().trim_matches(['"', '\'']);
            found.push((
                section.clone(),
                key.trim().trim_matches('"').to_owned(),
                value.to_owned(),
                number,
            ));
            open = depth.max(0);
        }
    }
    found
}

/// The PEP 517 backend of a Python project, where the repository brings its own.
fn backend<'a>(tree: &'a Tree, file: &'a File, found: &mut Vec<AutoRun<'a>>) {
    let values = toml_values(file);
    let value = |name: &str| {
        values
            .iter()
            .find(|(section, key, ..)| section == "build-system" && key == name)
            .map(|(.., value, _)| value.as_str())
    };
    let Some(backend) = value("build-backend") else { return };
    let module = backend.split(':').next().unwrap_or(backend).replace('.', "/");
    let folders = value("backend-path").unwrap_or(".");
    let here = links::folder(&file.path);
    let folders =
        folders.split([',', '"', '\'', '[', ']']).map(str::trim).filter(|part| !part.is_empty());
    for folder in folders {
        let folder = folder.trim_start_matches("./").trim_matches('/');
        let base =
            if matches!(folder, "" | ".") { here.to_owned() } else { format!("{here}{folder}/") };
        for end in [".py", "/__init__.py"] {
            if let Some(module) = tree.exact(&format!("{base}{module}{end}")) {
                found.push(AutoRun {
                    file: module,
                    when: "the build backend",
                    snippet: Snippet::WholeFile,
                    notable: Some(7),
                });
            }
        }
    }
}

/// The build script of a crate under another name, and the sources of a procedural macro.
fn cargo<'a>(tree: &'a Tree, file: &'a File, found: &mut Vec<AutoRun<'a>>) {
    let here = links::folder(&file.path);
    for (section, key, value, _) in toml_values(file) {
        let mut add = |path: &str, when: &'static str| {
            if let Some(file) = tree.exact(&format!("{here}{path}")) {
                found.push(AutoRun { file, when, snippet: Snippet::WholeFile, notable: None });
            }
        };
        match (section.as_str(), key.as_str()) {
            ("package", "build") => add(&value, "the build script"),
            ("lib", "proc-macro" | "proc_macro") if value.starts_with("true") => {
                let sources = format!("{here}src/");
                for source in tree
                    .own()
                    .filter(|file| file.path.starts_with(&sources) && file.ending() == "rs")
                {
                    let snippet = Snippet::WholeFile;
                    found.push(AutoRun {
                        file: source,
                        when: "a procedural macro",
                        snippet,
                        notable: None,
                    });
                }
            }
            _ => {}
        }
    }
}
