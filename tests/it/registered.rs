//! Vaults that are removed and added while a server runs: it lets go of the one and reads the other.

use serde_json::{Value, json};

use crate::support::{Account, Client, notewell, store_url, until};

fn said(account: &Account, arguments: &[&str]) -> String {
    let (code, out, error) = account.run(arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{error}");
    out + &error
}

fn serve(account: &Account) -> Client {
    let mut command = notewell();
    command.arg("mcp").env("HOME", account.path()).current_dir(account.path());
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    if let Some(url) = store_url(account.path()) {
        command.env("NOTEWELL_STORE_URL", url);
    }
    let mut server = Client::start(command);
    server.initialize();
    server
}

fn search(server: &mut Client, query: &str) -> Value {
    server.call("search", json!({ "query": query }))
}

/// The first result: its number and path.
fn first(server: &mut Client, query: &str) -> Option<(Value, String)> {
    let found = search(server, query)["structuredContent"]["results"][0].clone();
    Some((found["pid"].clone(), found["path"].as_str()?.to_owned()))
}

#[test]
fn a_removed_vault_stays_removed_under_a_running_server() {
    let account = Account::new();
    account.note("notes/a.md", "# A\n\nzebra\n");
    account.note("other/b.md", "# B\n\nokapi\n");
    for folder in ["notes", "other"] {
        said(&account, &["vault", "add", folder]);
    }
    let mut server = serve(&account);
    until("the first look", || first(&mut server, "zebra").is_some());
    said(&account, &["vault", "remove", "notes"]);
    assert_eq!(first(&mut server, "zebra"), None);
    // A note that is saved afterwards, and one of the other vault after it.
    for (round, word) in ["quagga", "кенгуру", "鶴"].into_iter().enumerate() {
        account.note(&format!("notes/new{round}.md"), "# New\n\nwalrus\n");
        account.note(&format!("other/new{round}.md"), &format!("# New\n\n{word}\n"));
        until("the other vault is followed", || first(&mut server, word).is_some());
    }
    assert_eq!(first(&mut server, "walrus"), None);
    let answer = search(&mut server, "okapi").to_string();
    assert!(!answer.contains("behind"), "{answer}");
    said(&account, &["index", "--rebuild"]);
    let (code, out, error) = account.run(&["search", "walrus"]);
    assert_eq!(code, 1, "{out}{error}");
    assert!(said(&account, &["search", "okapi"]).contains("b.md"));
    assert!(!said(&account, &["vault", "list"]).contains("notes"));
    // Added again, it is read and followed again.
    said(&account, &["vault", "add", "notes"]);
    until("the vault is read", || first(&mut server, "walrus").is_some());
    account.note("notes/newer.md", "# Newer\n\nkudu\n");
    until("the vault is watched", || first(&mut server, "kudu").is_some());
}

#[test]
fn a_vault_that_is_added_under_a_running_server_is_read() {
    let account = Account::new();
    account.note("notes/a.md", "# A\n\nzebra\n");
    account.note("notes/inner/b.md", "# B\n\nokapi\n");
    let mut server = serve(&account);
    let answer = search(&mut server, "zebra").to_string();
    assert!(answer.contains("no vault yet"), "{answer}");
    said(&account, &["vault", "add", "notes"]);
    // Until the note is found, each answer says that it may lack something.
    until("the vault is read", || {
        let answer = search(&mut server, "zebra").to_string();
        let found = answer.contains("a.md");
        assert!(found || answer.contains("still being read"), "{answer}");
        found
    });
    account.note("notes/c.md", "# C\n\nwalrus\n");
    until("the vault is watched", || first(&mut server, "walrus").is_some());
    // Of two vaults the inner one owns its notes, which keep their numbers.
    let (pid, path) = first(&mut server, "okapi").unwrap();
    assert_eq!(path, "inner/b.md");
    said(&account, &["vault", "add", "notes/inner", "--name", "own"]);
    until("the inner vault is read", || {
        first(&mut server, "okapi").is_some_and(|(_, path)| path == "own/b.md")
    });
    assert_eq!(first(&mut server, "okapi").unwrap().0, pid);
    account.note("notes/inner/d.md", "# D\n\nkudu\n");
    until("the inner vault is watched", || {
        first(&mut server, "kudu").is_some_and(|(_, path)| path == "own/d.md")
    });
    // When it goes, the outer one has its notes again.
    said(&account, &["vault", "remove", "own"]);
    until("the outer vault is read", || {
        first(&mut server, "kudu").is_some_and(|(_, path)| path == "inner/d.md")
    });
}
