//! How the project is run: licence, policy, tests, pipelines, people.

use super::{Outcome, Subject};
use crate::oss::{
    language,
    report::{Evidence, quote},
    tree::File,
};

pub fn licence(subject: &Subject) -> Outcome {
    match &subject.licence {
        None => Outcome::bad("there is no licence file: nobody may use, change or share it"),
        Some(found) => match &found.spdx {
            Some(spdx) => Outcome::new(10, vec![Evidence::in_file(&found.file, spdx.clone())]),
            None => Outcome::new(
                5,
                vec![Evidence::in_file(&found.file, "its text is none of the licences known here")],
            ),
        },
    }
}

pub fn security_policy(subject: &Subject) -> Outcome {
    let found =
        ["SECURITY.md", ".github/SECURITY.md", "docs/SECURITY.md", "SECURITY.txt", "SECURITY.rst"]
            .iter()
            .find_map(|path| subject.tree.file(path));
    let Some(file) = found else {
        return Outcome::bad("there is no SECURITY.md");
    };
    let text = file.text();
    let reachable = text.contains('@') || text.contains("http") || text.contains("advisor");
    if reachable && text.len() > 60 {
        Outcome::new(10, vec![Evidence::in_file(&file.path, "says how to report a vulnerability")])
    } else {
        Outcome::new(5, vec![Evidence::in_file(&file.path, "names no contact for reports")])
    }
}

const TEST_COMMANDS: &[&str] = &[
    "cargo test",
    "cargo nextest",
    "npm test",
    "npm run test",
    "npm t",
    "yarn test",
    "pnpm test",
    "pytest",
    "tox",
    "nox",
    "unittest",
    "go test",
    "make test",
    "make check",
    "ctest",
    "mvn test",
    "mvn verify",
    "gradle test",
    "gradlew test",
    "gradlew check",
    "bundle exec",
    "rake test",
    "rspec",
    "phpunit",
    "mix test",
    "dotnet test",
    "./test",
    "bun test",
    "deno test",
    "vitest",
    "jest",
    "zig build test",
    "swift test",
];

pub fn ci(subject: &Subject) -> Outcome {
    let pipelines: Vec<&File> =
        subject.tree.files.iter().filter(|file| file.is_pipeline()).collect();
    let Some(first) = pipelines.first() else {
        return Outcome::bad("no pipeline was found");
    };
    for file in &pipelines {
        let line = file
            .lines()
            .find(|(_, line)| TEST_COMMANDS.iter().any(|command| line.contains(command)));
        if let Some((number, line)) = line {
            return Outcome::new(10, vec![Evidence::at(&file.path, number, quote(line))]);
        }
    }
    Outcome::new(
        6,
        vec![Evidence::in_file(&first.path, "a pipeline, but no test command was seen in it")],
    )
}

/// Lines that begin a test inside a source file.
const TEST_MARKS: &[(&str, &[&str])] = &[
    ("rs", &["#[test]", "#[cfg(test)]", "::test]", "::test("]),
    ("go", &["func Test"]),
    ("py", &["def test_", "import unittest"]),
    ("java", &["@Test"]),
    ("kt", &["@Test"]),
    ("zig", &["test \""]),
    ("d", &["unittest"]),
];

fn is_source(file: &File) -> bool {
    language::of_ending(&file.ending()).is_some_and(|name| !matches!(name, "HTML" | "CSS"))
}

pub fn tests(subject: &Subject) -> Outcome {
    let sources: Vec<&File> = subject.tree.own().filter(|file| is_source(file)).collect();
    if sources.is_empty() {
        return Outcome::not_checked("there is no source code in a known language");
    }
    let marked = |file: &File| {
        let ending = file.ending();
        let marks = TEST_MARKS.iter().find(|(known, _)| *known == ending).map(|(_, marks)| *marks);
        marks.is_some_and(|marks| marks.iter().any(|mark| file.text().contains(mark)))
    };
    let with_tests: Vec<&&File> =
        sources.iter().filter(|file| file.is_test() || marked(file)).collect();
    if let Some(first) = with_tests.first() {
        let text = format!("{} of {} source files hold tests", with_tests.len(), sources.len());
        let score = if with_tests.len() * 10 >= sources.len() { 10 } else { 7 };
        return Outcome::new(score, vec![Evidence::in_file(&first.path, text)]);
    }
    let target = subject.tree.named("Makefile").find_map(|file| {
        let line =
            file.lines().find(|(_, line)| line.starts_with("test:") || line.starts_with("check:"));
        line.map(|(number, _)| (file, number))
    });
    match target {
        Some((file, line)) => Outcome::new(
            6,
            vec![Evidence::at(&file.path, line, "a test target, but no test files")],
        ),
        None => Outcome::bad(format!("none of {} source files is a test", sources.len())),
    }
}

pub fn signed_tags(subject: &Subject) -> Outcome {
    let history = match &subject.history {
        Ok(history) => history,
        Err(why) => return Outcome::not_checked(why),
    };
    match history.signed {
        (0, _) => Outcome::not_checked("there are no tags"),
        (seen, signed) => Outcome::new(
            (signed * 10 / seen) as u8,
            vec![Evidence::text(format!("{signed} of the newest {seen} tags are signed"))],
        ),
    }
}

const PROPERTY_TESTS: &[&str] = &[
    "proptest",
    "quickcheck",
    "hypothesis",
    "fast-check",
    "rapidcheck",
    "jqwik",
    "arbtest",
    "bolero",
];

pub fn fuzzing(subject: &Subject) -> Outcome {
    for file in subject.tree.own() {
        let path = file.path.to_lowercase();
        let target = path.contains("fuzz_targets/")
            || path.starts_with(".clusterfuzzlite/")
            || path.starts_with("oss-fuzz/")
            || (path.ends_with("_fuzzer.cc") || path.ends_with("_fuzzer.cpp"))
            || (path.ends_with("_test.go") && file.text().contains("func Fuzz"))
            || file.text().contains("LLVMFuzzerTestOneInput");
        if target {
            return Outcome::new(10, vec![Evidence::in_file(&file.path, "a fuzz target")]);
        }
    }
    let manifests = [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "requirements-dev.txt",
        "requirements.txt",
        "pom.xml",
        "build.gradle",
    ];
    for file in subject.tree.own().filter(|file| manifests.contains(&file.name())) {
        for (number, line) in file.lines() {
            if PROPERTY_TESTS.iter().any(|name| line.contains(name)) {
                return Outcome::new(
                    7,
                    vec![Evidence::at(&file.path, number, "property tests, no fuzz target")],
                );
            }
        }
    }
    Outcome::bad("no fuzz target was found")
}

pub fn maintained(subject: &Subject) -> Outcome {
    let history = match &subject.history {
        Ok(history) => history,
        Err(why) => return Outcome::not_checked(why),
    };
    let by_commits = match history.commits {
        50.. => 10,
        24.. => 9,
        12.. => 8,
        4.. => 6,
        2.. => 4,
        _ => 2,
    };
    let by_people = match history.contributors {
        3.. => 10,
        2 => 9,
        _ => 8,
    };
    Outcome::new(
        by_commits.min(by_people),
        vec![Evidence::text(format!(
            "{} commits by {} people in the year before the newest commit",
            history.commits, history.contributors
        ))],
    )
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    #[test]
    fn policy_and_pipelines() {
        let policy =
            "Write to security@example.org and we will answer within three days. Thank you.";
        assert_eq!(security_policy(&subject(&[(".github/SECURITY.md", policy)])).score, Some(10));
        assert_eq!(security_policy(&subject(&[("SECURITY.md", "soon")])).score, Some(5));
        assert_eq!(security_policy(&subject(&[])).score, Some(0));
        let ci_of = |text| ci(&subject(&[(".github/workflows/ci.yml", text)]));
        assert_eq!(ci_of("steps:\n  - run: cargo test").evidence[0].line, Some(2));
        assert_eq!(ci_of("steps:\n  - run: cargo build").score, Some(6));
        assert_eq!(ci(&subject(&[("ci.yml", "cargo test")])).score, Some(0));
    }

    #[test]
    fn tests_are_found_wherever_they_are() {
        for (files, score) in [
            (&[("src/lib.rs", "#[test]\nfn a() {}")][..], Some(10)),
            (&[("src/a.py", ""), ("tests/test_a.py", "")][..], Some(10)),
            (&[("a.go", ""), ("a_test.go", "")][..], Some(10)),
            (&[("index.js", ""), ("index.test.js", "")][..], Some(10)),
            (&[("a.c", ""), ("Makefile", "all:\ntest:\n")][..], Some(6)),
            (&[("a.c", "")][..], Some(0)),
            (&[("README.md", "")][..], None),
        ] {
            assert_eq!(tests(&subject(files)).score, score, "{files:?}");
        }
    }
}
