//! Vaults in trouble: away, empty, unreadable, full of odd files, moved about, changed while the
//! database is locked.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Account, Client, Home, PATIENCE, put, until};

fn passages(home: &Home) -> u64 {
    let status: Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    status["passages"].as_u64().unwrap()
}

fn findings(home: &Home) -> String {
    home.run(&["doctor"]).1
}

/// Three notes, one in each language.
fn three() -> Home {
    let home = Home::new();
    home.note("en.md", "# Garden\n\nTomatoes need warm soil and much water.\n");
    home.note("ru/сад.md", "# Сад\n\nПомидорам нужна тёплая земля и много воды.\n");
    home.note("ja/庭.md", "# 庭\n\nトマトには暖かい土とたくさんの水が必要です。\n");
    home.say(&["index"]);
    home
}

fn finds_all_three(home: &Home) {
    for (query, path) in [("tomatoes", "en.md"), ("помидорам", "ru/сад.md"), ("トマト", "ja/庭.md")]
    {
        let found = home.say(&["search", query]);
        assert!(found.contains(path), "{query}: {found}");
    }
}

#[test]
fn a_rebuild_while_the_vault_is_away_keeps_every_passage() {
    let home = three();
    let before = passages(&home);
    assert!(before >= 3);
    let away = home.dir.path().join("away");
    fs::rename(home.vault(), &away).unwrap();
    let said = home.say(&["index", "--rebuild"]);
    assert!(!said.contains("all of them"), "{said}");
    assert!(said.contains("cannot be read now"), "{said}");
    assert_eq!(passages(&home), before);
    finds_all_three(&home);
    let (_, _, said) = home.run(&["search", "tomatoes"]);
    assert!(said.contains("the vault `vault` cannot be read now"), "{said}");
    let status = home.say(&["status"]);
    assert!(status.contains("cannot be read now"), "{status}");
    let found = findings(&home);
    assert!(found.contains("wrong: the vault `vault` cannot be read"), "{found}");
    assert!(found.contains("vault remove vault"), "{found}");
    fs::rename(&away, home.vault()).unwrap();
    finds_all_three(&home);
    assert!(!home.say(&["status"]).contains("cannot be read now"));
    let (_, out, _) = home.run(&["doctor"]);
    assert!(!out.contains("cannot be read"), "{out}");
}

/// An index that was lost while the vault was away is made whole when it is back.
#[test]
fn an_index_made_without_the_vault_is_completed_when_it_is_back() {
    let home = three();
    let away = home.dir.path().join("away");
    fs::rename(home.vault(), &away).unwrap();
    fs::remove_dir_all(home.data().join("index")).unwrap();
    home.say(&["index"]);
    fs::rename(&away, home.vault()).unwrap();
    finds_all_three(&home);
}

#[test]
fn an_empty_mount_point_removes_nothing_until_a_person_says_so() {
    let home = three();
    let away = home.dir.path().join("away");
    fs::rename(home.vault(), &away).unwrap();
    fs::create_dir(home.vault()).unwrap();
    finds_all_three(&home);
    home.say(&["index", "--rebuild"]);
    finds_all_three(&home);
    let found = findings(&home);
    assert!(found.contains("had notes and its folder is empty now"), "{found}");
    assert!(found.contains("vault rescan --accept-empty vault"), "{found}");
    let said = home.say(&["vault", "rescan"]);
    assert!(said.contains("is empty now"), "{said}");
    // It was only unmounted.
    fs::remove_dir(home.vault()).unwrap();
    fs::rename(&away, home.vault()).unwrap();
    finds_all_three(&home);
    assert!(!home.say(&["status"]).contains("is empty now"));
    // Now it is really emptied.
    for entry in fs::read_dir(home.vault()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
    }
    finds_all_three(&home);
    assert!(!home.run(&["vault", "rescan", "--accept-empty", "nobody"]).0);
    let said = home.say(&["vault", "rescan", "--accept-empty", "vault"]);
    assert!(said.contains("3 gone"), "{said}");
    assert!(!home.run(&["search", "tomatoes"]).1.contains("en.md"));
}

/// Whether permissions hold for whoever runs the tests: for root they do not.
fn permissions_hold(folder: &Path) -> bool {
    let probe = folder.join("probe");
    put(&probe, "x");
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o000)).unwrap();
    let hold = fs::read(&probe).is_err();
    fs::remove_file(&probe).unwrap();
    hold
}

#[test]
fn a_note_that_cannot_be_read_keeps_its_passages_and_is_named() {
    let home = three();
    if !permissions_hold(home.dir.path()) {
        eprintln!("skipped: permissions do not bind this account");
        return;
    }
    let lock = |path: &str, mode| {
        fs::set_permissions(home.vault().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    // A changed file that cannot be read, and a folder that cannot be listed.
    home.note("en.md", "# Garden\n\nTomatoes need warm soil and much water. More.\n");
    lock("en.md", 0o000);
    lock("ru", 0o000);
    finds_all_three(&home);
    home.say(&["index", "--rebuild"]);
    finds_all_three(&home);
    let found = findings(&home);
    assert!(found.contains("`en.md` in the vault `vault` cannot be read"), "{found}");
    assert!(found.contains("`ru` in the vault `vault` cannot be read"), "{found}");
    lock("en.md", 0o644);
    lock("ru", 0o755);
    finds_all_three(&home);
    assert!(!findings(&home).contains("cannot be read"));
}

#[test]
fn doctor_names_what_is_odd_in_a_vault_with_its_remedy() {
    let home = Home::new();
    home.note("open.md", "---\ntitle: Never closed\n\nText.\n");
    home.note("filed.md", "---\ncategory: Nonsense\n---\nText.\n");
    for name in ["b", "c"] {
        home.note(&format!("filed-{name}.md"), "---\ncategory: nonsense\n---\nText.\n");
    }
    home.note("review.md", "---\nmcp_method: review\n---\n{{note:nowhere.md#A}}{{note:no|x}}\n");
    home.note("inner/a.md", "# Inner\n\nA note of the inner vault.\n");
    symlink("open.md", home.vault().join("link.md")).unwrap();
    let made = Command::new("mkfifo").arg(home.vault().join("pipe.md")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(home.vault().join("socket.md")).unwrap();
    home.say(&["search", "inner"]);
    let inner = home.vault().join("inner");
    home.say(&["vault", "add", inner.to_str().unwrap(), "--name", "inner"]);
    let found = findings(&home);
    for part in [
        "`open.md`: the frontmatter starts with `---` and is never closed",
        " and 2 other notes have the category `nonsense`",
        "`review.md` includes `{{note:nowhere.md#A}}`",
        "`link.md` in the vault `vault` is left out: a symbolic link",
        "`pipe.md` in the vault `vault` is left out: a named pipe",
        "`socket.md` in the vault `vault` is left out: a socket",
        "the vault `inner` lies inside the vault `vault`",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(!found.contains("{{note:no|x}}"), "a default is a default: {found}");
    let symlink = found.split("`link.md`").nth(1).unwrap().lines().nth(1).unwrap();
    assert!(!symlink.contains("UTF-8"), "{symlink}");
    // The inner vault owns its notes, once.
    let said = home.say(&["search", "inner note"]);
    assert_eq!(said.matches("A note of the inner vault").count(), 1, "{said}");
}

#[test]
fn an_ignored_file_stays_ignored_when_it_changes() {
    let home = Home::new();
    home.note("seen.md", "# Seen\n\nzebra\n");
    home.note("drafts/secret.md", "---\nfree: true\n---\nwalrus\n");
    home.note("later/plan.md", "# Plan\n\npelican\n");
    put(&home.vault().join(".gitignore"), "drafts/\n");
    let mut client = home.stdio();
    client.initialize();
    let mut finds = |query: &str| {
        let found = client.call("search", json!({ "query": query }));
        found["structuredContent"]["results"].as_array().unwrap().len()
    };
    until("the first look", || finds("zebra") == 1);
    assert_eq!(finds("walrus"), 0);
    home.note("drafts/secret.md", "---\nfree: true\n---\nwalrus changed\n");
    home.note("_private/x.md", "walrus private\n");
    home.note("seen.md", "# Seen\n\nzebra okapi\n");
    until("the change", || finds("okapi") == 1);
    assert_eq!(finds("walrus"), 0);
    // A rule that is added applies to what was read before, and back.
    assert_eq!(finds("pelican"), 1);
    put(&home.vault().join(".gitignore"), "drafts/\nlater/\n");
    until("the new rule", || finds("pelican") == 0);
    put(&home.vault().join(".gitignore"), "later/\n");
    until("the old rule's end", || finds("walrus") == 1);
}

#[test]
fn moves_of_many_files_keep_every_pid() {
    const FILES: usize = 2000;
    let home = Home::new();
    for n in 0..FILES {
        home.note(&format!("a/{}/n{n}.md", n % 20), &format!("# Note {n}\n\nbody {n}\n"));
    }
    let mut client = home.stdio();
    client.initialize();
    let pids = |client: &mut Client| -> Vec<(String, i64)> {
        let mut found = Vec::new();
        let mut cursor = Value::Null;
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let answer = client.ask("resources/list", params);
            for resource in answer["result"]["resources"].as_array().unwrap() {
                let uri = resource["uri"].as_str().unwrap();
                let pid = uri.rsplit('/').next().unwrap().parse().unwrap();
                let name = resource["name"].as_str().unwrap().rsplit('/').next().unwrap();
                found.push((name.to_owned(), pid));
            }
            cursor = answer["result"]["nextCursor"].clone();
            if cursor.is_null() {
                found.sort();
                return found;
            }
        }
    };
    until("every note", || pids(&mut client).len() == FILES);
    let before = pids(&mut client);
    for n in 0..FILES {
        let to = home.vault().join(format!("b/{}", n % 7));
        fs::create_dir_all(&to).unwrap();
        let from = home.vault().join(format!("a/{}/n{n}.md", n % 20));
        fs::rename(from, to.join(format!("n{n}.md"))).unwrap();
        // One by one, so that the halves of a move fall into different batches.
        std::thread::sleep(Duration::from_millis(1));
    }
    let moved = |client: &mut Client| {
        let answer = client.call("search", json!({ "query": "path:b/", "limit": 1 }));
        answer["structuredContent"]["totalMatches"].as_u64() == Some(FILES as u64)
    };
    until("every move", || moved(&mut client));
    assert_eq!(pids(&mut client), before);
}

#[test]
fn a_change_made_while_the_database_is_locked_is_read_afterwards() {
    if crate::support::only_sqlite("it locks the file; postgres_faults pauses the server") {
        return;
    }
    let home = Home::new();
    home.note("a.md", "# A\n\nzebra\n");
    let mut client = home.stdio();
    client.initialize();
    let count = |client: &mut Client, query: &str| {
        let found = client.call("search", json!({ "query": query }));
        found["structuredContent"]["results"].as_array().unwrap().len()
    };
    until("the first look", || count(&mut client, "zebra") == 1);
    let lock = rusqlite::Connection::open(home.data().join("notewell.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.note("b.md", "# B\n\nwalrus\n");
    // Longer than a writer waits.
    std::thread::sleep(Duration::from_secs(14));
    let answer = client.call("search", json!({ "query": "zebra" }));
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("behind"), "{answer}");
    lock.execute_batch("ROLLBACK").unwrap();
    until("the change", || count(&mut client, "walrus") == 1);
    let answer = client.call("search", json!({ "query": "zebra" }));
    assert!(!answer["content"][0]["text"].as_str().unwrap().contains("behind"), "{answer}");
}

/// A command that reads the vault and then cannot write what it read, as when the disk is full, does
/// not answer as if there were nothing.
#[test]
fn a_command_that_could_not_record_a_change_says_that_it_is_behind() {
    if crate::support::only_sqlite("the rules that refuse the writes are SQLite's") {
        return;
    }
    let home = three();
    home.say(&["card", "add", "зебра"]);
    home.say(&["search", "зебра"]);
    let refuse = |name: &str, what: &str| {
        let rule = format!("CREATE TRIGGER {name} {what} BEGIN SELECT RAISE(ABORT, 'full'); END");
        crate::support::sql(&home.data(), &rule);
    };
    let allow = |name: &str| crate::support::sql(&home.data(), &format!("DROP TRIGGER {name}"));
    let search = |query: &str| {
        let (_, out, err) = home.run(&["search", query]);
        out + &err
    };
    refuse("pages_full", "BEFORE INSERT ON pages");
    home.note("new.md", "# New\n\nwalrus\n");
    let said = search("walrus");
    assert!(said.contains("Nothing found") && said.contains("the answer is behind"), "{said}");
    allow("pages_full");
    let said = search("walrus");
    assert!(said.contains("new.md") && !said.contains("behind"), "{said}");
    // Another program changes a card.
    refuse("cards_full", "BEFORE UPDATE ON items WHEN NEW.kind = 'card'");
    let cards = rusqlite::Connection::open(home.data().join("cards.db")).unwrap();
    let change = "UPDATE \"Note\" SET \"content\" = 'okapi', \"updatedAt\" = \"updatedAt\" + 1";
    assert_eq!(cards.execute(change, []).unwrap(), 1);
    let said = search("okapi");
    assert!(said.contains("the answer is behind"), "{said}");
    allow("cards_full");
    let said = search("okapi");
    assert!(said.contains("okapi") && !said.contains("behind"), "{said}");
}

#[test]
fn a_vault_that_comes_back_while_serving_is_followed_again() {
    let home = three();
    let away = home.dir.path().join("away");
    fs::rename(home.vault(), &away).unwrap();
    let mut client = home.stdio();
    client.initialize();
    let count = |client: &mut Client, query: &str| {
        let found = client.call("search", json!({ "query": query }));
        found["structuredContent"]["results"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut client, "tomatoes"), 1);
    fs::rename(&away, home.vault()).unwrap();
    until("the vault is read", || {
        home.note("new.md", "# New\n\nwalrus\n");
        count(&mut client, "walrus") == 1
    });
    home.note("newer.md", "# Newer\n\nokapi\n");
    until("it is watched", || count(&mut client, "okapi") == 1);
}

#[test]
fn a_note_that_became_a_pipe_holds_nothing_up() {
    let home = three();
    let mut server = home.serve();
    fs::remove_file(home.vault().join("en.md")).unwrap();
    let made = Command::new("mkfifo").arg(home.vault().join("en.md")).status().unwrap();
    assert!(made.success());
    home.note("other.md", "walrus\n");
    let token = home.token("owner");
    let call = |tool: &str, arguments: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        server.post_as(&token, &body.to_string()).body
    };
    until("other changes are read", || {
        call("search", json!({ "query": "walrus" })).contains("other.md")
    });
    call("note_html", json!({ "path": "en.md" }));
    let started = Instant::now();
    let pid = server.child.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).stdin(Stdio::null()).status().unwrap();
    let mut ended = false;
    while started.elapsed() < PATIENCE && !ended {
        ended = server.child.try_wait().unwrap().is_some();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ended, "the server ends");
}

fn said(account: &Account, arguments: &[&str]) -> String {
    let (code, out, error) = account.run(arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{error}");
    out + &error
}

/// A vault whose folder moved is not added a second time: a command points it at the new folder,
/// and numbers, history and grants stay.
#[test]
fn names_that_another_system_decomposed_are_the_same_notes() {
    let account = Account::new();
    account.note("notes/чай.md", "# Чай\n\nЗаварка.\n");
    account.note("notes/がく.md", "# がく\n\n茶。\n");
    said(&account, &["vault", "add", "notes"]);
    said(&account, &["vault", "rescan"]);
    // As a copy from a Mac has them: the letter and its mark apart.
    account.note("copy/ча\u{438}\u{306}.md", "# Чай\n\nЗаварка.\n");
    account.note("copy/\u{304b}\u{3099}く.md", "# がく\n\n茶。\n");
    fs::remove_dir_all(account.path().join("notes")).unwrap();
    let (code, _, error) = account.run(&["vault", "add", "copy"]);
    assert!(code != 0 && error.contains("notewell vault move notes"), "{error}");
    let moved = said(&account, &["vault", "move", "notes", "copy"]);
    assert!(moved.contains("notes: 0 new,") && moved.contains("0 gone"), "{moved}");
}

#[test]
fn a_vault_whose_folder_moved_is_pointed_at_the_new_one() {
    let account = Account::new();
    account.note("notes/en.md", "# Garden\n\nTomatoes need warm soil.\n");
    account.note("notes/ru/сад.md", "# Сад\n\nПомидорам нужна вода.\n");
    account.note("other/else.md", "# Else\n\nSomething else.\n");
    let folder = |name: &str| account.path().canonicalize().unwrap().join(name);
    said(&account, &["vault", "add", "notes"]);
    said(&account, &["vault", "rescan"]);
    said(&account, &["user", "add", "ann"]);
    said(&account, &["grant", "add", "ann", "--whole-vault", "notes"]);
    let edit = r#"{"path":"en.md","op":"append","text":"Водой."}"#;
    said(&account, &["call", "edit_page", edit]);
    let pid = |out: String| -> Value {
        let found: Value = serde_json::from_str(&out).unwrap();
        found["results"][0]["pid"].clone()
    };
    let before = pid(account.run(&["search", "tomatoes", "--json"]).1);
    fs::rename(folder("notes"), folder("moved")).unwrap();
    // Adding it says what to do, and adds nothing.
    let (code, _, error) = account.run(&["vault", "add", "moved"]);
    let new = folder("moved");
    let command = format!("notewell vault move notes {}", new.display());
    assert!(code != 0 && error.contains(&command), "{error}");
    // A config that names the new folder keeps the library at work, and it says what is wrong.
    put(&folder("notewell.toml"), "[[vault]]\nname = \"notes\"\npath = \"moved\"\n");
    let found = said(&account, &["search", "tomatoes", "--config", "notewell.toml"]);
    assert!(found.contains("en.md") && found.contains("notewell vault move notes DIR"), "{found}");
    // A folder with other notes is no place to move to, and can be added.
    let (code, _, error) = account.run(&["vault", "move", "notes", "other"]);
    assert!(code != 0 && error.contains("none of the notes"), "{error}");
    said(&account, &["vault", "add", "other"]);
    let (code, _, error) = account.run(&["vault", "move", "notes", "other"]);
    assert!(code != 0 && error.contains("`notewell vault remove other`"), "{error}");
    // A server that runs meanwhile follows.
    let mut command = crate::support::notewell();
    command.args(["mcp"]).env("HOME", account.path()).current_dir(account.path());
    if let Some(url) = crate::support::store_url(account.path()) {
        command.env("NOTEWELL_STORE_URL", url);
    }
    let mut server = Client::start(command);
    server.initialize();
    let moved = said(&account, &["vault", "move", "notes", "moved"]);
    assert!(moved.contains("notes: 0 new,") && moved.contains("0 gone"), "{moved}");
    let listed = said(&account, &["vault", "list"]);
    assert_eq!(listed, format!("notes\t{}\nother\t{}\n", new.display(), folder("other").display()));
    assert_eq!(pid(account.run(&["search", "tomatoes", "--json"]).1), before);
    assert!(said(&account, &["grant", "list"]).contains("notes"));
    account.note("moved/new.md", "# New\n\nzanzibarine\n");
    until("the server follows", || {
        let found = server.call("search", json!({ "query": "zanzibarine" }));
        found.to_string().contains("new.md")
    });
    drop(server);
    said(&account, &["undo"]);
    let text = fs::read_to_string(new.join("en.md")).unwrap();
    assert_eq!(text, "# Garden\n\nTomatoes need warm soil.\n");
    // Under a name of its own a copy is another vault.
    fs::rename(&new, folder("gone")).unwrap();
    said(&account, &["vault", "add", "gone", "--name", "copy"]);
}
