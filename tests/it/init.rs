//! `notewell init`.

use std::process::Stdio;

use crate::support::{Account, SETTINGS, notewell, put};

fn config(account: &Account) -> String {
    let file = account.path().join(SETTINGS).join("notewell/notewell.toml");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn init_writes_a_config_sets_up_a_client_and_searches() {
    let account = Account::new();
    account.note("my \"notes\"/Борщ.md", "# Борщ\n\nСуп из свёклы.\n");
    let (status, out, err) =
        account.run(&["init", "--yes", "--vault", "~/my \"notes\"", "--client", "cursor"]);
    assert_eq!(status, 0, "{err}");
    assert!(out.contains("1 note") && !out.contains("1 notes"), "{out}");
    assert!(out.contains("A first search: notewell search Борщ"), "{out}");
    assert!(out.contains("1. Борщ") && out.contains("Суп из свёклы"), "{out}");
    let settings = std::fs::read_to_string(account.path().join(".cursor/mcp.json")).unwrap();
    assert!(settings.contains("notewell"), "{settings}");
    // Nothing needs a flag from now on.
    let (status, out, _) = account.run(&["search", "свёкла"]);
    assert!(status == 0 && out.contains("Борщ.md"), "{out}");
    // A second run changes no config.
    let before = config(&account);
    account.note("more/茶.md", "# 茶\n\n抹茶を買う。\n");
    let (status, out, err) = account.run(&["init", "--yes", "--vault", "more"]);
    assert_eq!(status, 0, "{err}");
    assert!(out.contains("stays as it is"), "{out}");
    assert_eq!(config(&account), before);
    let (status, out, _) = account.run(&["search", "抹茶"]);
    assert!(status == 0 && out.contains("茶.md"), "{out}");
}

#[test]
fn init_finds_obsidian_s_vaults() {
    let account = Account::new();
    account.note("Documents/Work/Plan.md", "# Plan\n\nShip it.\n");
    account.note("Documents/Work/.obsidian/app.json", "{}");
    account.note("deep/a/b/c/d/e/Far.md", "# Far\n\nAway.\n");
    let far = account.path().join("deep/a/b/c/d/e");
    let list = serde_json::json!({ "vaults": { "1f": { "path": far, "ts": 1 }, "2e": { "path": "/gone" } } });
    account.note(&format!("{SETTINGS}/obsidian/obsidian.json"), &list.to_string());
    // Without a terminal and without flags it says what it needs, and does nothing.
    let (status, _, err) = account.run(&["init"]);
    assert_eq!(status, 2);
    assert!(err.contains("--yes") && err.contains("Documents/Work"), "{err}");
    assert!(!account.path().join(SETTINGS).join("notewell").exists());
    let (status, out, err) = account.run(&["init", "--yes"]);
    assert_eq!(status, 0, "{err}");
    let config = config(&account);
    assert!(config.contains("Documents/Work") && config.contains("d/e"), "{config}");
    assert!(!config.contains("/gone"), "{config}");
    assert!(out.contains("Client:  none yet"), "{out}");
}

#[test]
fn init_without_notes_says_which_flag_it_needs() {
    let account = Account::new();
    for arguments in [&["init"][..], &["init", "--yes"]] {
        let (status, _, err) = account.run(arguments);
        assert!(status == 2 && err.contains("--vault DIR"), "{err}");
    }
    let (status, _, err) = account.run(&["init", "--yes", "--vault", "~/nowhere"]);
    assert!(status == 2 && err.contains("nowhere"), "{err}");
    // An empty folder is a vault without notes.
    std::fs::create_dir(account.path().join("empty")).unwrap();
    let (status, out, err) = account.run(&["init", "--yes", "--vault", "~/empty"]);
    assert_eq!(status, 0, "{err}");
    assert!(out.contains("0 notes") && out.contains("No note can be searched yet"), "{out}");
}

#[cfg(target_os = "linux")]
#[test]
fn init_asks_on_a_terminal() {
    let home = crate::support::Home::new();
    for (name, text) in [("One", "first"), ("Two", "second")] {
        let folder = home.dir.path().join(name);
        std::fs::create_dir_all(folder.join(".obsidian")).unwrap();
        put(&folder.join(format!("{name}.md")), format!("# {name}\n\nThe {text} note.\n"));
    }
    let mut bare = notewell();
    bare.arg("init");
    let line = format!("'{}' init", bare.get_program().to_str().unwrap());
    let mut terminal = std::process::Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).env("HOME", home.dir.path());
    terminal.env("NOTEWELL_EMBED_PROVIDER", "none").env_remove("XDG_CONFIG_HOME");
    terminal.env_remove("XDG_DATA_HOME").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = terminal.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"9\n2\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("These vaults were found") && out.contains("from 1 to 2"), "{out}");
    let config = home.dir.path().join(SETTINGS).join("notewell/notewell.toml");
    let config = std::fs::read_to_string(config).unwrap();
    assert!(config.contains("/Two\"") && !config.contains("/One\""), "{config}\n{out}");
}
