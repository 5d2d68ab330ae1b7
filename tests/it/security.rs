//! Attacks that belong to no other file, and the threat model: what it names exists.

use std::path::Path;

use crate::support::{Home, put};

#[cfg(target_os = "linux")]
#[test]
fn a_bookmark_of_another_scheme_is_not_handed_to_the_desktop() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let programs = home.dir.path().join("bin");
    let started = home.dir.path().join("started");
    std::fs::create_dir(&programs).unwrap();
    let desktop = programs.join("xdg-open");
    put(&desktop, format!("#!/bin/sh\necho \"$@\" >>'{}'\n", started.display()));
    std::fs::set_permissions(&desktop, PermissionsExt::from_mode(0o755)).unwrap();
    let export = home.dir.path().join("export.jsonl");
    put(
        &export,
        concat!(
            r#"{"id":"b1","url":"file:///bin/sh","title":"Trap","text":"a trap","date":"2026-01-01T00:00:00Z"}"#,
            "\n",
            r#"{"id":"b2","url":"https://example.org/page","title":"Page","text":"a page","date":"2026-01-01T00:00:00Z"}"#,
            "\n",
        ),
    );
    home.say(&["import", "bookmarks", export.to_str().unwrap()]);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let listed: serde_json::Value =
        serde_json::from_str(&home.say(&["search", "--kind", "bookmark", "trap", "--json"]))
            .unwrap();
    let page: serde_json::Value =
        serde_json::from_str(&home.say(&["search", "--kind", "bookmark", "page", "--json"]))
            .unwrap();
    let open = |found: &serde_json::Value| {
        let pid = found["results"][0]["pid"].as_i64().unwrap().to_string();
        let output = home.command(&["open", &pid]).env("PATH", &path).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(open(&listed).trim(), "file:///bin/sh", "shown, for the person to decide");
    assert!(!started.exists(), "nothing was started");
    open(&page);
    assert_eq!(std::fs::read_to_string(&started).unwrap(), "https://example.org/page\n");
}

#[cfg(unix)]
#[test]
fn a_config_with_a_secret_that_everybody_can_read_is_a_finding() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let config = home.dir.path().join("notewell.toml");
    let doctor = |text: &str, mode: u32| {
        put(&config, text);
        std::fs::set_permissions(&config, PermissionsExt::from_mode(mode)).unwrap();
        let (_, out, err) = home.run(&["doctor", "--config", config.to_str().unwrap()]);
        out + &err
    };
    let secret =
        "[[remote]]\nname = \"team\"\nurl = \"http://127.0.0.1:9/mcp\"\ntoken = \"nw_x\"\n";
    let found = doctor(secret, 0o644);
    assert!(found.contains("which holds a password or a token"), "{found}");
    assert!(found.contains("chmod o-rwx"), "{found}");
    for (text, mode) in [(secret, 0o640), (secret, 0o600), ("log = \"info\"\n", 0o644)] {
        let found = doctor(text, mode);
        assert!(!found.contains("which holds a password"), "{mode:o} {found}");
    }
}

#[test]
fn no_other_site_can_show_an_answer() {
    let home = Home::new();
    home.note("a.md", "---\nfree: true\n---\n# A\n\n![](pic.png)\n");
    put(&home.vault().join("pic.png"), b"\x89PNG\r\n\x1a\n");
    let server = home.serve();
    for path in ["/", "/healthz", "/n/1/file/pic.png", "/feed.xml", "/_system/mcp", "/nowhere"] {
        let answer = server.get(path, &[("Accept", "text/html")]);
        let header = |name: &str| answer.headers.get(name).map(String::as_str);
        assert_eq!(header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert_eq!(header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn backups_and_exports_are_private() {
    use std::os::unix::fs::PermissionsExt;
    if crate::support::only_sqlite("a backup of a server's library is the server's") {
        return;
    }
    let home = Home::new();
    home.say(&["card", "add", "a secret"]);
    let backup = home.dir.path().join("backup");
    home.say(&["backup", backup.to_str().unwrap()]);
    let cards = home.dir.path().join("cards.json");
    home.say(&["export", "cards", cards.to_str().unwrap()]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&backup), mode(&cards)), (0o700, 0o600));
    for entry in std::fs::read_dir(&backup).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

/// The text between backquotes of a page.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_threat_model_names_files_and_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let (mut files, mut tests) = (0, 0);
    for name in quoted(&page) {
        if let Some((file, test)) = name.rsplit_once("::") {
            let places = match file.contains('.') {
                true => vec![root.join(file)],
                false => vec![
                    root.join(format!("tests/it/{file}.rs")),
                    root.join(format!("tests/it/{file}/mod.rs")),
                ],
            };
            let text = places.iter().find_map(|place| std::fs::read_to_string(place).ok());
            let text = text.unwrap_or_else(|| panic!("`{name}`: there is no such file"));
            let is_test = text.split("#[test]\n").skip(1).any(|after| {
                after.split_once('(').is_some_and(|(head, _)| head.trim() == format!("fn {test}"))
            });
            assert!(is_test, "`{name}` is no test");
            tests += 1;
        } else if name.starts_with("src/") || name.starts_with("tests/") || name.ends_with(".toml")
        {
            assert!(root.join(name).exists(), "`{name}` does not exist");
            files += 1;
        }
    }
    assert!(files >= 25 && tests >= 40, "{files} files and {tests} tests");
    // Each attacker has a table, and each row of it a place and a test.
    for line in page.lines().filter(|line| line.starts_with("| ") && line.contains(" | `src/")) {
        assert!(line.contains("::"), "no test: {line}");
    }
}
