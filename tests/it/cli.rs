//! The shell.

use crate::support::{Home, Server, put};

#[test]
fn call_is_the_same_door() {
    let home = Home::new();
    home.note("a.md", "# A\n\n## Part\n\nHello there.\n");
    let html = home.say(&["call", "note_html", r#"{"path":"a.md","toc_path":["Part"]}"#]);
    assert!(html.contains("Hello there."), "{html}");
    let (ok, _, err) = home.run(&["call", "note_html", r#"{"path":"a.md","nope":1}"#]);
    assert!(!ok && err.contains("unknown argument `nope`"), "{err}");
    let (ok, _, err) = home.run(&["call", "note_html", "{oops"]);
    assert!(!ok && err.contains("not JSON"), "{err}");
}

#[test]
fn a_token_is_shown_once() {
    let home = Home::new();
    let out =
        home.say(&["token", "create", "--scope", "reader", "--name", "ann", "--expires", "90d"]);
    let secret = out.split_whitespace().last().unwrap();
    assert!(secret.starts_with("nw_") && secret.len() > 40, "{out}");
    let list = home.say(&["token", "list"]);
    assert!(list.contains("ann") && list.contains("valid") && !list.contains(secret), "{list}");
    // Not in any file either.
    for entry in std::fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{path:?} holds the secret");
        }
    }
    let (ok, _, err) = home.run(&["token", "revoke", "77"]);
    assert!(!ok && err.contains("token list"), "{err}");
}

#[test]
fn doctor_tells_remarks_and_cards_as_notes() {
    if crate::support::only_sqlite("cards.db and user.jsonl exist only there") {
        return;
    }
    let home = Home::new();
    let prompt = r#"{"name":"two words","title":"T","messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#;
    std::fs::create_dir_all(home.data().join("prompts")).unwrap();
    put(&home.data().join("prompts/user.jsonl"), prompt);
    home.say(&["call", "create_note", r#"{"title":"札","content":"карточка"}"#]);
    let out = home.say(&["doctor"]);
    assert!(out.contains("note: `user.jsonl` line 1"), "{out}");
    assert!(out.contains("note: 1 card in `") && out.contains("cards.db"), "{out}");
    assert!(out.contains("Nothing is wrong."), "{out}");
    put(&home.data().join("cards.db"), "not a database, and long enough to be looked at as one");
    for tail in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(home.data().join(format!("cards.db{tail}")));
    }
    let (ok, out, _) = home.run(&["doctor"]);
    assert!(!ok && out.contains("wrong: the cards' database is damaged"), "{out}");
}

#[test]
fn doctor_names_what_is_wrong() {
    let home = Home::new();
    home.note("broken.md", "---\ntitle: [oops\n---\nStill here.\n")
        .note("clash.md", "---\nmcp_method: search\n---\nx\n")
        .note("bad-name.md", "---\nmcp_method: два слова\n---\nx\n")
        .note("first.md", "---\nmcp_method: twice\n---\nx\n")
        .note("second.md", "---\nmcp_method: twice\n---\nx\n");
    put(&home.vault().join("binary.md"), b"\xff\xfe\x00\x01");
    let (ok, out, _) = home.run(&["doctor"]);
    assert!(!ok);
    for expected in ["broken.md", "clash.md", "bad-name.md", "second.md", "binary.md"] {
        assert!(out.contains(expected), "{expected} is not in {out}");
    }
    assert!(!out.contains("`first.md`"), "{out}");
    // A broken frontmatter hides nothing.
    assert!(home.say(&["call", "note_html", r#"{"path":"broken.md"}"#]).contains("Still here."));
}

/// As the README's first command does: a port that is named, not any that is free.
#[test]
fn serve_answers_on_the_port_it_was_given() {
    let home = Home::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listen = free.to_string();
    let server = Server::start(home.command(&["serve", "--demo", "--listen", &listen]));
    assert_eq!(server.get("/healthz", &[]).status, 200);
    let (ok, _, err) = home.run(&["serve", "--listen", &listen]);
    assert!(!ok && err.contains(&listen) && err.contains("--listen"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let home = Home::new();
    home.note("a.md", "# A\n\nHello there.\n");
    for arguments in [&["read", "a.md"][..], &["search", "hello"], &["status", "--json"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = home.command(arguments).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert!(err.contains("could not write the result"), "{err}");
    }
}

#[test]
fn completions_name_the_program() {
    assert!(Home::new().say(&["completions", "bash"]).contains("_notewell"));
}

#[test]
fn a_newer_data_directory_is_refused() {
    if crate::support::only_sqlite("postgres_faults has the same for a server") {
        return;
    }
    let home = Home::new();
    home.say(&["token", "list"]);
    let database = home.data().join("notewell.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let before = std::fs::read(&database).unwrap();
    let (ok, _, err) = home.run(&["token", "list"]);
    assert!(!ok && err.contains("newer Notewell"), "{err}");
    assert_eq!(std::fs::read(&database).unwrap(), before);
}
