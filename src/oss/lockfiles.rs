//! The dependencies of a repository: manifests (what it asks for) and lock files (what it gets).

use std::collections::BTreeSet;

use serde_json::Value;

use super::tree::{File, Tree};

/// One package of a lock file. `ecosystem` is OSV's name of the registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub ecosystem: &'static str,
    pub name: String,
    pub version: String,
    pub file: String,
}

/// A manifest that asks for other packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub file: String,
    /// How many packages it asks for by name.
    pub dependencies: usize,
    /// The lock file that fixes their versions.
    pub lock: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    pub manifests: Vec<Manifest>,
    pub packages: Vec<Package>,
}

type Reader = fn(&File) -> Option<Vec<Package>>;

/// Lock files by name, with their parsers.
const LOCKS: &[(&str, Reader)] = &[
    ("Cargo.lock", cargo),
    ("package-lock.json", npm),
    ("npm-shrinkwrap.json", npm),
    ("yarn.lock", yarn),
    ("pnpm-lock.yaml", pnpm),
    ("poetry.lock", poetry),
    ("uv.lock", poetry),
    ("Pipfile.lock", pipfile),
    ("go.sum", go_sum),
    ("Gemfile.lock", gemfile),
    ("composer.lock", composer),
];

type Counter = fn(&str) -> Option<usize>;

/// Manifests by name, with the counter of their dependencies and their lock files.
const MANIFESTS: &[(&str, Counter, &[&str])] = &[
    ("Cargo.toml", count_cargo, &["Cargo.lock"]),
    (
        "package.json",
        count_npm,
        &[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
        ],
    ),
    (
        "pyproject.toml",
        count_pyproject,
        &["poetry.lock", "uv.lock", "pdm.lock", "requirements.txt", "pylock.toml"],
    ),
    ("Pipfile", count_pipfile, &["Pipfile.lock"]),
    ("go.mod", count_go, &["go.sum"]),
    ("Gemfile", count_gemfile, &["Gemfile.lock"]),
    ("composer.json", count_composer, &["composer.lock"]),
];

pub fn read(tree: &Tree) -> Dependencies {
    let mut found = Dependencies::default();
    let mut packages = BTreeSet::new();
    for file in tree.own().filter(|file| !file.is_test() && file.text.is_some()) {
        if let Some((_, reader)) = LOCKS.iter().find(|(name, _)| file.name() == *name) {
            packages.extend(reader(file).unwrap_or_default());
        } else if file.name().starts_with("requirements") && file.ending() == "txt" {
            let (asked, fixed) = requirements(file);
            let lock = (asked == fixed.len()).then(|| file.path.clone());
            if asked > 0 {
                found.manifests.push(Manifest {
                    file: file.path.clone(),
                    dependencies: asked,
                    lock,
                });
            }
            packages.extend(fixed);
        } else if let Some((_, counter, locks)) =
            MANIFESTS.iter().find(|(name, ..)| file.name() == *name)
            && let Some(dependencies @ 1..) = counter(file.text())
        {
            let lock = lock_of(tree, file, locks);
            found.manifests.push(Manifest { file: file.path.clone(), dependencies, lock });
        }
    }
    found.packages = packages.into_iter().collect();
    found
}

/// The lock file beside a manifest, or beside one of the folders above it: a workspace has one.
fn lock_of(tree: &Tree, manifest: &File, locks: &[&str]) -> Option<String> {
    let mut folder = manifest.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    loop {
        for lock in locks {
            let path =
                if folder.is_empty() { (*lock).to_owned() } else { format!("{folder}/{lock}") };
            if tree.file(&path).is_some() {
                return Some(path);
            }
        }
        if folder.is_empty() {
            return None;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

fn package(ecosystem: &'static str, name: &str, version: &str, file: &File) -> Package {
    Package {
        ecosystem,
        name: name.to_owned(),
        version: version.trim_start_matches('v').to_owned(),
        file: file.path.clone(),
    }
}

fn toml_packages(
    file: &File,
    ecosystem: &'static str,
    foreign: fn(&toml::Value) -> bool,
) -> Option<Vec<Package>> {
    let parsed: toml::Value = toml::from_str(file.text()).ok()?;
    let listed = parsed.get("package")?.as_array()?;
    let packages = listed.iter().filter(|entry| foreign(entry)).filter_map(|entry| {
        Some(package(
            ecosystem,
            entry.get("name")?.as_str()?,
            entry.get("version")?.as_str()?,
            file,
        ))
    });
    Some(packages.collect())
}

fn cargo(file: &File) -> Option<Vec<Package>> {
    // A package without a source is a member of the workspace.
    toml_packages(file, "crates.io", |entry| entry.get("source").is_some())
}

fn poetry(file: &File) -> Option<Vec<Package>> {
    toml_packages(file, "PyPI", |entry| {
        entry.get("source").is_none_or(|source| {
            source.get("editable").is_none() && source.get("virtual").is_none()
        })
    })
}

fn npm(file: &File) -> Option<Vec<Package>> {
    let parsed: Value = serde_json::from_str(file.text()).ok()?;
    let mut found = Vec::new();
    if let Some(packages) = parsed.get("packages").and_then(Value::as_object) {
        for (path, entry) in packages {
            let Some((_, name)) = path.rsplit_once("node_modules/") else { continue };
            if let Some(version) = entry.get("version").and_then(Value::as_str) {
                let name = entry.get("name").and_then(Value::as_str).unwrap_or(name);
                found.push(package("npm", name, version, file));
            }
        }
    } else {
        npm_nested(parsed.get("dependencies")?, file, &mut found, 0);
    }
    Some(found)
}

fn npm_nested(dependencies: &Value, file: &File, found: &mut Vec<Package>, depth: usize) {
    let Some(map) = dependencies.as_object().filter(|_| depth < 50) else { return };
    for (name, entry) in map {
        if let Some(version) = entry.get("version").and_then(Value::as_str) {
            found.push(package("npm", name, version, file));
        }
        if let Some(inner) = entry.get("dependencies") {
            npm_nested(inner, file, found, depth + 1);
        }
    }
}

fn yarn(file: &File) -> Option<Vec<Package>> {
    let mut found = Vec::new();
    let mut name = None;
    for line in file.text().lines() {
        if !line.starts_with([' ', '#']) && line.ends_with(':') {
            let first =
                line.trim_end_matches(':').split(',').next().unwrap_or_default().trim_matches('"');
            name =
                first.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| &first[..at]);
        } else if let Some(rest) = line.trim().strip_prefix("version")
            && let Some(name) = name.take()
        {
            found.push(package("npm", name, rest.trim_matches([' ', '"', ':']), file));
        }
    }
    Some(found)
}

fn pnpm(file: &File) -> Option<Vec<Package>> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in file.text().lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            inside = line.starts_with("packages:");
        } else if inside && line.starts_with("  ") && !line.starts_with("   ") {
            // `  /@scope/name@1.2.3(peer@1):` or `  name@1.2.3:`
            let entry =
                line.trim().trim_end_matches(':').trim_matches(['\'', '"']).trim_start_matches('/');
            let entry = entry.split('(').next().unwrap_or_default();
            if let Some((name, version)) =
                entry.rsplit_once('@').filter(|(name, _)| !name.is_empty())
            {
                found.push(package("npm", name, version, file));
            }
        }
    }
    Some(found)
}

fn pipfile(file: &File) -> Option<Vec<Package>> {
    let parsed: Value = serde_json::from_str(file.text()).ok()?;
    let mut found = Vec::new();
    for part in ["default", "develop"] {
        for (name, entry) in parsed.get(part).and_then(Value::as_object).into_iter().flatten() {
            if let Some(version) = entry.get("version").and_then(Value::as_str) {
                found.push(package("PyPI", name, version.trim_start_matches('='), file));
            }
        }
    }
    Some(found)
}

fn go_sum(file: &File) -> Option<Vec<Package>> {
    let mut found = Vec::new();
    for line in file.text().lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        // A line for the module's go.mod alone does not mean that its code is used.
        if !version.ends_with("/go.mod") {
            found.push(package("Go", name, version.trim_end_matches("+incompatible"), file));
        }
    }
    Some(found)
}

fn gemfile(file: &File) -> Option<Vec<Package>> {
    let specs =
        file.text().lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    let found = specs.filter_map(|line| {
        let (name, version) = line.trim().strip_suffix(')')?.split_once(" (")?;
        Some(package("RubyGems", name, version, file))
    });
    Some(found.collect())
}

fn composer(file: &File) -> Option<Vec<Package>> {
    let parsed: Value = serde_json::from_str(file.text()).ok()?;
    let mut found = Vec::new();
    for part in ["packages", "packages-dev"] {
        for entry in parsed.get(part).and_then(Value::as_array).into_iter().flatten() {
            if let (Some(name), Some(version)) = (entry["name"].as_str(), entry["version"].as_str())
            {
                found.push(package("Packagist", name, version, file));
            }
        }
    }
    Some(found)
}

/// How many packages a requirements file asks for, and those with an exact version.
fn requirements(file: &File) -> (usize, Vec<Package>) {
    let mut asked = 0;
    let mut fixed = Vec::new();
    for line in file.text().lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with(['#', '-']) {
            continue;
        }
        asked += 1;
        let wanted = line.split([';', ' ', '\\']).next().unwrap_or_default();
        if let Some((name, version)) =
            wanted.split_once("==").filter(|(_, version)| !version.contains('*'))
        {
            let name = name.split('[').next().unwrap_or(name);
            fixed.push(package("PyPI", name.trim(), version.trim_start_matches('='), file));
        }
    }
    (asked, fixed)
}

fn count_cargo(text: &str) -> Option<usize> {
    let parsed: toml::Value = toml::from_str(text).ok()?;
    let mut tables: Vec<&toml::Value> = vec![&parsed];
    tables.extend(parsed.get("workspace"));
    tables.extend(
        parsed.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|t| t.values()),
    );
    let mut count = 0;
    for table in tables {
        for part in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let listed = table.get(part).and_then(toml::Value::as_table);
            // A path inside the repository is not a dependency on anybody.
            count += listed
                .into_iter()
                .flat_map(|t| t.values())
                .filter(|entry| entry.get("path").is_none())
                .count();
        }
    }
    Some(count)
}

fn count_json(text: &str, parts: &[&str]) -> Option<usize> {
    let parsed: Value = serde_json::from_str(text).ok()?;
    Some(
        parts
            .iter()
            .filter_map(|part| parsed.get(part)?.as_object().map(serde_json::Map::len))
            .sum(),
    )
}

fn count_npm(text: &str) -> Option<usize> {
    count_json(text, &["dependencies", "devDependencies", "optionalDependencies"])
}

fn count_composer(text: &str) -> Option<usize> {
    count_json(text, &["require", "require-dev"])
}

fn count_pyproject(text: &str) -> Option<usize> {
    let parsed: toml::Value = toml::from_str(text).ok()?;
    let listed = parsed.get("project").and_then(|project| project.get("dependencies")?.as_array());
    let poetry =
        parsed.get("tool").and_then(|tool| tool.get("poetry")?.get("dependencies")?.as_table());
    let poetry = poetry.map_or(0, |table| table.keys().filter(|name| *name != "python").count());
    Some(listed.map_or(0, Vec::len) + poetry)
}

fn count_pipfile(text: &str) -> Option<usize> {
    let parsed: toml::Value = toml::from_str(text).ok()?;
    Some(
        ["packages", "dev-packages"]
            .iter()
            .filter_map(|part| parsed.get(part)?.as_table().map(|t| t.len()))
            .sum(),
    )
}

fn count_go(text: &str) -> Option<usize> {
    let mut inside = false;
    let mut count = 0;
    for line in text.lines().map(str::trim) {
        match line {
            ")" => inside = false,
            line if line.starts_with("require (") => inside = true,
            line if line.starts_with("require ") => count += 1,
            line if inside && !line.is_empty() && !line.starts_with("//") => count += 1,
            _ => {}
        }
    }
    Some(count)
}

fn count_gemfile(text: &str) -> Option<usize> {
    Some(text.lines().filter(|line| line.trim_start().starts_with("gem ")).count())
}

#[cfg(test)]
mod tests {
    use super::{super::tree::tests::tree, *};

    #[test]
    fn every_lock_file_is_read() {
        let all = tree(&[
            (
                "Cargo.lock",
                "[[package]]\nname = \"me\"\nversion = \"0.1.0\"\n[[package]]\nname = \"libc\"\nversion = \"0.2.1\"\nsource = \"registry+x\"\n",
            ),
            (
                "a/package-lock.json",
                r#"{"packages":{"":{"name":"me"},"node_modules/@s/left":{"version":"1.2.3"},"node_modules/a/node_modules/b":{"version":"2.0.0"}}}"#,
            ),
            (
                "b/package-lock.json",
                r#"{"dependencies":{"old":{"version":"1.0.0","dependencies":{"older":{"version":"0.1.0"}}}}}"#,
            ),
            (
                "yarn.lock",
                "# yarn\n\n\"@a/b@^1.0.0\", \"@a/b@^1.1.0\":\n  version \"1.1.5\"\n  resolved \"x\"\n\nlodash@^4:\n  version \"4.17.21\"\n",
            ),
            (
                "pnpm-lock.yaml",
                "lockfileVersion: '9.0'\npackages:\n\n  '@p/q@1.0.0':\n    resolution: {}\n\n  r@2.0.0(s@1):\n    resolution: {}\n",
            ),
            ("poetry.lock", "[[package]]\nname = \"flask\"\nversion = \"3.0.0\"\n"),
            ("go.sum", "example.org/x v1.2.3 h1:abc=\nexample.org/x v1.2.3/go.mod h1:abc=\n"),
            (
                "requirements.txt",
                "# all\nrequests==2.31.0 ; python_version > '3'\nflask>=2\n-r other.txt\n",
            ),
            ("Gemfile.lock", "GEM\n  specs:\n    rake (13.0.6)\n      dep (>= 1)\n"),
            ("composer.lock", r#"{"packages":[{"name":"a/b","version":"v1.0.0"}]}"#),
            ("Pipfile.lock", r#"{"default":{"six":{"version":"==1.16.0"}}}"#),
        ]);
        let found = read(&all);
        let names: Vec<String> = found
            .packages
            .iter()
            .map(|p| format!("{} {} {}", p.ecosystem, p.name, p.version))
            .collect();
        for expected in [
            "crates.io libc 0.2.1",
            "npm @s/left 1.2.3",
            "npm b 2.0.0",
            "npm old 1.0.0",
            "npm older 0.1.0",
            "npm @a/b 1.1.5",
            "npm lodash 4.17.21",
            "npm @p/q 1.0.0",
            "npm r 2.0.0",
            "PyPI flask 3.0.0",
            "Go example.org/x 1.2.3",
            "PyPI requests 2.31.0",
            "RubyGems rake 13.0.6",
            "Packagist a/b 1.0.0",
            "PyPI six 1.16.0",
        ] {
            assert!(names.iter().any(|name| name == expected), "{expected} is not in {names:?}");
        }
        assert_eq!(names.len(), 15, "{names:?}");
    }

    #[test]
    fn a_workspace_has_one_lock() {
        let all = tree(&[
            ("Cargo.lock", ""),
            ("crates/a/Cargo.toml", "[dependencies]\nserde = \"1\"\nb = { path = \"../b\" }\n"),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("web/package.json", r#"{"dependencies":{"left-pad":"*"}}"#),
            (
                "go.mod",
                "module m\nrequire example.org/x v1.0.0\nrequire (\n\texample.org/y v1.0.0 // indirect\n)\n",
            ),
        ]);
        let manifests = read(&all).manifests;
        let seen: Vec<(&str, usize, Option<&str>)> = manifests
            .iter()
            .map(|m| (m.file.as_str(), m.dependencies, m.lock.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                ("crates/a/Cargo.toml", 1, Some("Cargo.lock")),
                ("go.mod", 2, None),
                ("web/package.json", 1, None),
            ]
        );
    }

    #[test]
    fn garbage_is_nothing() {
        for (name, _) in LOCKS {
            assert_eq!(read(&tree(&[(name, "{[<garbage\u{0}")])).packages, []);
        }
    }
}
