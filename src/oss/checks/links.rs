//! Which files of a repository a file starts or imports.

use crate::oss::{
    code::{Source, TokenKind},
    tree::{File, Tree},
};

/// The folder of a path, with its slash; empty for the root.
pub fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

/// Files that a command names: `node scripts/install.js`, `sh ./setup.sh`, `python -m build_ext`.
pub fn started<'a>(tree: &'a Tree, folder: &str, command: &str) -> Vec<&'a File> {
    let words = command.split(|c: char| c.is_whitespace() || ";&|\"'()`<>,=[]{}".contains(c));
    let mut found: Vec<&File> = words
        .map(|word| word.trim_start_matches("${workspaceFolder}/").trim_start_matches("$PWD/"))
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .flat_map(|word| candidates(tree, folder, word))
        .collect();
    found.dedup_by(|a, b| a.path == b.path);
    found
}

/// Files that a source imports, by relative or package-local names.
pub fn imported<'a>(tree: &'a Tree, file: &File, source: &Source) -> Vec<&'a File> {
    let here = folder(&file.path);
    let mut found: Vec<&File> = Vec::new();
    let tokens = &source.tokens;
    for (at, token) in tokens.iter().enumerate() {
        match &token.kind {
            // `require('./x')`, `import x from './x'`, `include!("x.rs")`, `require_relative 'x'`.
            TokenKind::Text(text) => {
                let before =
                    tokens[..at].iter().rev().take(3).filter_map(|token| token.word()).next();
                let imports = before.is_some_and(|word| {
                    matches!(
                        word,
                        "require"
                            | "from"
                            | "import"
                            | "include"
                            | "require_relative"
                            | "require_once"
                            | "load"
                            | "path"
                            | "fork"
                            | "source"
                    )
                });
                if text.starts_with("./") || text.starts_with("../") || imports {
                    found.extend(candidates(tree, here, text));
                }
            }
            // `from . import x`, `import x`, `from pkg.x import y`, `mod x;`.
            TokenKind::Word(word) if matches!(word.as_str(), "import" | "from" | "mod" | "use") => {
                let line = token.line;
                let rest = tokens[at + 1..].iter().take_while(|token| token.line == line).take(12);
                let names: Vec<&str> = rest
                    .filter_map(|token| token.word())
                    .filter(|word| !matches!(*word, "import" | "as" | "crate" | "self" | "super"))
                    .collect();
                for end in 1..=names.len().min(4) {
                    let path = names[..end].join("/");
                    for base in [here, "", "src/"] {
                        found.extend(modules(tree, base, &path));
                    }
                }
                for name in &names {
                    found.extend(modules(tree, here, name));
                }
            }
            _ => {}
        }
    }
    found.retain(|found| found.path != file.path);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    found
}

fn modules<'a>(tree: &'a Tree, base: &str, path: &str) -> impl Iterator<Item = &'a File> {
    [".py", "/__init__.py", ".rs", "/mod.rs"]
        .map(|end| format!("{base}{path}{end}"))
        .into_iter()
        .filter_map(|path| tree.exact(&path))
}

fn candidates<'a>(tree: &'a Tree, folder: &str, name: &str) -> Vec<&'a File> {
    let Some(path) = resolve(folder, name) else { return Vec::new() };
    [
        "",
        ".js",
        ".cjs",
        ".mjs",
        ".ts",
        "/index.js",
        "/index.ts",
        ".json",
        ".py",
        "/__init__.py",
        "/__main__.py",
        ".rb",
        ".sh",
    ]
    .iter()
    .filter_map(|end| tree.exact(&format!("{path}{end}")))
    .collect()
}

/// A relative name as a path from the root; None where it leaves the repository.
fn resolve(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = if name.starts_with('/') {
        Vec::new()
    } else {
        folder.split('/').filter(|part| !part.is_empty()).collect()
    };
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oss::tree::tests::tree;

    fn paths(found: Vec<&File>) -> Vec<&str> {
        found.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn imports_and_commands_lead_to_files() {
        let tree = tree(&[
            ("index.js", "const a = require('./lib/a');\nimport b from '../b';\n"),
            ("lib/a.js", ""),
            ("setup.py", "from tools import x\nimport helper\n"),
            ("tools/x.py", ""),
            ("tools/__init__.py", ""),
            ("helper.py", ""),
            ("scripts/go.sh", ""),
        ]);
        let of = |path: &str| {
            let file = tree.exact(path).unwrap();
            paths(imported(&tree, file, &Source::read(file)))
        };
        assert_eq!(of("index.js"), ["lib/a.js"]);
        assert_eq!(of("setup.py"), ["helper.py", "tools/__init__.py", "tools/x.py"]);
        assert_eq!(
            paths(started(&tree, "", "sh ./scripts/go.sh && node lib/a")),
            ["scripts/go.sh", "lib/a.js"]
        );
    }
}
