//! The gaps of a report: what was not examined. A reader must not take silence for a clean bill.

use std::collections::BTreeMap;

use super::{checks::is_minified, code::has_rules, language, lockfiles::Dependencies, tree::Tree};

/// File names shown of each group.
const MAX_NAMES_SHOWN: usize = 3;

/// One sentence for each part of the repository that no check understood.
pub fn not_examined(tree: &Tree, dependencies: &Dependencies) -> Vec<String> {
    let mut found = Vec::new();
    let paths = |fits: &dyn Fn(&super::tree::File) -> bool| -> Vec<&str> {
        tree.files.iter().filter(|file| fits(file)).map(|file| file.path.as_str()).collect()
    };
    let mut add = |what: &str, paths: &[&str], why: &str| {
        if !paths.is_empty() {
            found.push(format!("{}: {why} ({})", counted(paths.len(), what), shown(paths)));
        }
    };
    add("binary file", &paths(&|file| file.text.is_none()), "only the first bytes were read");
    add(
        "minified file",
        &paths(&|file| file.text.is_some() && is_minified(file)),
        "nobody can review them",
    );
    let cut: Vec<&str> = tree.cut.iter().map(String::as_str).collect();
    add("large file", &cut, "only the beginning was read");
    add("test file", &paths(&|file| file.is_test()), "searched for secrets and programs only");
    let mut languages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in tree.own().filter(|file| file.text.is_some() && !has_rules(&file.ending())) {
        if let Some(language) =
            language::of_ending(&file.ending()).filter(|name| !matches!(*name, "HTML" | "CSS"))
        {
            languages.entry(language).or_default().push(&file.path);
        }
    }
    for (language, paths) in languages {
        add(&format!("{language} file"), &paths, "there are no rules for this language");
    }
    if tree.links > 0 {
        found.push(format!("{}: not followed", counted(tree.links, "symbolic link")));
    }
    let modules =
        tree.exact(".gitmodules").map_or(0, |file| file.text().matches("[submodule").count());
    if modules > 0 {
        found.push(format!("{}: not fetched", counted(modules, "submodule")));
    }
    let asked: usize = dependencies.manifests.iter().map(|manifest| manifest.dependencies).sum();
    match (dependencies.packages.len(), asked) {
        (0, 0) => {}
        (0, asked) => found.push(format!("{}: code not read", counted(asked, "dependency"))),
        (locked, _) => found.push(format!("{}: code not read", counted(locked, "dependency"))),
    }
    found.push("older commits and other branches: only the newest commit was read".into());
    found
}

fn counted(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}

fn shown(paths: &[&str]) -> String {
    let names: Vec<String> =
        paths.iter().take(MAX_NAMES_SHOWN).map(|path| super::report::clean(path, 80)).collect();
    let more = paths.len().saturating_sub(MAX_NAMES_SHOWN);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{lockfiles, tree::tests::tree},
        *,
    };

    #[test]
    fn every_gap_is_named() {
        let minified = "var a=1;".repeat(2000);
        let mut tree = tree(&[
            ("a.rs", "fn main() {}"),
            ("b.erl", "x"),
            ("dist/c.js", &minified),
            ("tests/d.rs", ""),
            ("logo.png", ""),
            (".gitmodules", "[submodule \"x\"]\n"),
            ("package.json", r#"{"dependencies":{"left":"1"}}"#),
        ]);
        tree.files.iter_mut().find(|file| file.path == "logo.png").unwrap().text = None;
        tree.cut = vec!["big.sql".into(), "huge.sql".into()];
        tree.links = 2;
        let dependencies = lockfiles::read(&tree);
        let found = not_examined(&tree, &dependencies).join("\n");
        for gap in [
            "1 binary file: only the first bytes were read (logo.png)",
            "1 minified file",
            "2 large files: only the beginning was read (big.sql, huge.sql)",
            "1 test file",
            "1 Erlang file: there are no rules",
            "2 symbolic links: not followed",
            "1 submodule: not fetched",
            "1 dependency: code not read",
            "older commits",
        ] {
            assert!(found.contains(gap), "{gap} is not in\n{found}");
        }
    }
}
