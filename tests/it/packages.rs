//! What packages rely on: folders as arguments of `mcp`, the health check of an image, and addresses
//! that agree. `./test release` reads the packages themselves.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use crate::support::{Client, Home, put};

/// A bundle hands over the folders that a person chose as arguments, one after the other.
#[test]
fn folders_of_notes_are_arguments_of_mcp() {
    let home = Home::new();
    home.note("tea.md", "# Tea\n\nSteep the leaves for three minutes.\n");
    let others = tempfile::tempdir().unwrap();
    let folders = ["garden", "with a space"].map(|name| others.path().join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
    }
    put(&folders[0].join("frost.md"), "# Frost\n\nLate frost killed the apricots.\n");
    put(&folders[1].join("soup.md"), "# Soup\n\nLentils need an hour.\n");
    let [garden, kitchen] = folders.each_ref().map(|folder| folder.to_str().unwrap());
    let mut client = Client::start(home.command(&["mcp", garden, kitchen]));
    client.initialize();
    for (words, text) in
        [("steep", "three minutes"), ("apricots", "Late frost"), ("lentils", "an hour")]
    {
        let found = client.call("search", json!({ "query": words })).to_string();
        assert!(found.contains(text), "{words}: {found}");
    }
}

#[test]
fn health_of_a_server_is_asked_without_curl() {
    let home = Home::new();
    let (ok, _, error) = home.run(&["serve", "--health", "--listen", "127.0.0.1:9"]);
    assert!(!ok);
    assert!(error.contains("no server answers at `http://127.0.0.1:9`"), "{error}");
    let server = home.serve();
    assert_eq!(server.get("/readyz", &[]).status, 200);
    // Found by the data directory, whatever the port.
    assert_eq!(home.say(&["serve", "--health"]).trim(), "ready");
    drop(server);
    assert!(!home.run(&["serve", "--health", "--listen", "127.0.0.1:9"]).0);
}

/// Runs a line of bash with the settings of a release.
fn settings(repository: Option<&str>, line: &str) -> String {
    let mut command = Command::new("bash");
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env_remove("NOTEWELL_REPOSITORY");
    if let Some(repository) = repository {
        command.env("NOTEWELL_REPOSITORY", repository);
    }
    let output =
        command.args(["-euo", "pipefail", "-c", &format!(". release/settings; {line}")]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn names_of_a_release_follow_from_one_address() {
    assert_eq!(settings(None, "echo $VERSION"), env!("CARGO_PKG_VERSION"));
    assert_eq!(settings(None, "echo $REPOSITORY"), env!("CARGO_PKG_REPOSITORY"));
    let names = "echo $SERVER_NAME $IMAGE";
    assert_eq!(
        settings(Some("https://github.com/Mira/notewell"), names),
        "io.github.Mira/notewell ghcr.io/mira/notewell"
    );
    assert_eq!(
        settings(Some("https://git.example.org/mira/notewell"), names),
        "org.example.git/notewell git.example.org/mira/notewell"
    );
}

/// A tag is no release before its version, its day, its fixture and its address are there.
#[test]
fn a_tag_without_its_parts_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = tempfile::tempdir().unwrap();
    let at = |name: &str| copy.path().join(name);
    fs::create_dir(at("release")).unwrap();
    for name in ["release/settings", "release/tag"] {
        fs::copy(root.join(name), at(name)).unwrap();
    }
    // The address in the copy, whatever it is in our files.
    let set_address = |name: &str, address: &str| {
        let text = fs::read_to_string(root.join(name)).unwrap();
        let ours = env!("CARGO_PKG_REPOSITORY");
        assert!(text.contains(ours), "{name} does not name `{ours}`");
        put(&at(name), text.replace(ours, address));
    };
    set_address("Cargo.toml", "https://code.example.org/mira/notewell");
    set_address("install.sh", "https://code.example.org/mira/notewell");
    let version = env!("CARGO_PKG_VERSION");
    let refused = |tag: &str, address: Option<&str>| {
        let mut command = Command::new("bash");
        command.arg(at("release/tag")).arg(tag).env_remove("NOTEWELL_REPOSITORY");
        if let Some(address) = address {
            command.env("NOTEWELL_REPOSITORY", address);
        }
        let output = command.output().unwrap();
        (!output.status.success()).then(|| String::from_utf8(output.stderr).unwrap())
    };
    let tag = format!("v{version}");
    put(&at("CHANGELOG.md"), format!("## {version} (unreleased)\n"));
    for (tag, why) in [("v9.9.9", "Cargo.toml has version"), (&tag, "the top section")] {
        let error = refused(tag, None).unwrap();
        assert!(error.contains(why), "{error}");
    }
    put(&at("CHANGELOG.md"), format!("## 9.9.9 (unreleased)\n\n## {version} (2026-11-18)\n"));
    assert!(refused(&tag, None).unwrap().contains("the top section"));
    put(&at("CHANGELOG.md"), format!("## {version} (2026-11-18)\n"));
    let error = refused(&tag, None).unwrap();
    assert!(error.contains("make-data-fixture"), "{error}");
    fs::create_dir_all(at("tests/fixtures/data").join(&tag)).unwrap();

    let address = "https://github.com/mira/notewell";
    let error = refused(&tag, None).unwrap();
    assert!(error.contains("is a placeholder"), "{error}");
    let error = refused(&tag, Some(address)).unwrap();
    assert!(error.contains(&format!("this is `{address}`")), "{error}");
    set_address("Cargo.toml", address);
    let error = refused(&tag, Some(address)).unwrap();
    assert!(error.contains("install.sh downloads from another address"), "{error}");
    set_address("install.sh", address);
    let error = refused(&tag, Some("https://github.com/someone/notewell")).unwrap();
    assert!(error.contains("this is `https://github.com/someone/notewell`"), "{error}");
    assert_eq!(refused(&tag, Some(address)), None);
    assert_eq!(refused(&tag, None), None);
}

/// `cargo binstall`, the formula and install.sh look for the same file.
#[test]
fn binstall_looks_for_the_tarball() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest: toml::Table =
        fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let fill = |text: &toml::Value| {
        let mut text = text.as_str().unwrap().to_owned();
        for (key, value) in [
            ("repo", env!("CARGO_PKG_REPOSITORY")),
            ("name", "notewell"),
            ("version", "1.2.3"),
            ("target", "x86_64-unknown-linux-musl"),
            ("bin", "notewell"),
            ("binary-ext", ""),
        ] {
            text = text.replace(&format!("{{ {key} }}"), value);
        }
        text
    };
    let name = "notewell-1.2.3-x86_64-unknown-linux-musl";
    assert_eq!(
        fill(&binstall["pkg-url"]),
        format!("{}/releases/download/v1.2.3/{name}.tar.gz", env!("CARGO_PKG_REPOSITORY"))
    );
    assert_eq!(fill(&binstall["bin-dir"]), format!("{name}/notewell"));
    let tarball = fs::read_to_string(root.join("release/tarball.py")).unwrap();
    assert!(tarball.contains("f\"notewell-{setting('VERSION')}-{target}\""), "{tarball}");
}
