//! Files that hold what a person wrote, emptied or damaged behind Notewell's back: nothing is
//! written over the loss, and the answer names the way back.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Home, put};

fn make_cards(home: &Home, count: usize) -> Vec<String> {
    let mut client = home.stdio();
    client.initialize();
    (0..count)
        .map(|n| {
            let content = format!("card{n} общее слово 単語");
            let made = client.call("create_note", json!({ "content": content }));
            made["structuredContent"]["id"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// How many cards a search finds.
fn cards_found(home: &Home, query: &str) -> u64 {
    let arguments = json!({ "query": query, "filters": { "kind": "card" } }).to_string();
    let mut client = home.stdio();
    let answer = client.call("search", serde_json::from_str(&arguments).unwrap());
    answer["structuredContent"]["totalMatches"].as_u64().unwrap()
}

fn truncate(path: &Path) {
    std::fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
}

fn remove_logs(path: &Path) {
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
}

/// Doctor's findings, as JSON.
fn findings(home: &Home) -> Vec<Value> {
    let (_, out, _) = home.run(&["doctor", "--json"]);
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_emptied_cards_file_is_not_written_to_and_its_cards_are_still_found() {
    if crate::support::only_sqlite("cards.db exists only there") {
        return;
    }
    let home = Home::new();
    make_cards(&home, 20);
    home.say(&["index", "--words"]);
    let cards = home.data().join("cards.db");
    let saved = std::fs::read(&cards).unwrap();
    for lose in [0, 1, 2] {
        remove_logs(&cards);
        match lose {
            0 => truncate(&cards),
            1 => std::fs::remove_file(&cards).unwrap(),
            // A fresh database, as another program would make it in its place.
            _ => {
                let _ = std::fs::remove_file(&cards);
                let other = rusqlite::Connection::open(&cards).unwrap();
                other.execute_batch("CREATE TABLE \"Note\" (\"id\" TEXT PRIMARY KEY, \"content\" TEXT NOT NULL, \"updatedAt\" DATETIME)").unwrap();
            }
        }
        let mut client = home.stdio();
        client.initialize();
        for (tool, arguments) in [
            ("create_note", json!({ "content": "over the loss" })),
            ("delete_note", json!({ "id": "x" })),
        ] {
            let error = client.refused(tool, arguments);
            let said = error["message"].as_str().unwrap();
            assert_eq!(error["code"], -32603, "{error}");
            assert!(said.contains("20") && said.contains("--accept-empty cards"), "{said}");
        }
        drop(client);
        let (ok, _, err) = home.run(&["export", "cards", "/nowhere/out.json"]);
        assert!(!ok && err.contains("nothing was written"), "{err}");
        for query in ["card7", "общее", "単語"] {
            assert!(cards_found(&home, query) > 0, "{lose}: {query}");
        }
        let found = findings(&home);
        let wrong = found.iter().find(|finding| finding["level"] == "wrong");
        assert!(
            wrong.unwrap()["remedy"].as_str().unwrap().contains("put the file back"),
            "{found:?}"
        );
    }
    // Put back: everything is as it was.
    remove_logs(&cards);
    put(&cards, &saved);
    let (ok, out, err) = home.run(&["doctor"]);
    assert!(ok, "{out} {err}");
    let made = home.say(&["call", "create_note", r#"{"content":"after"}"#]);
    assert!(made.contains("after"));
    // Meant: accepted once, and a new file is made.
    remove_logs(&cards);
    truncate(&cards);
    let out = home.say(&["doctor", "--accept-empty", "cards"]);
    assert!(out.contains("21 cards"), "{out}");
    home.say(&["call", "create_note", r#"{"content":"новое начало"}"#]);
    assert_eq!(cards_found(&home, "начало"), 1);
    assert_eq!(cards_found(&home, "単語"), 0);
}

/// Cards that the index has still to read when their file is lost stop no search, and are found
/// when the file is back.
#[test]
fn lost_cards_and_prompts_stop_no_search() {
    if crate::support::only_sqlite("cards.db and user.jsonl exist only there") {
        return;
    }
    let home = Home::new();
    home.note("n.md", "# Note\n\nzebra\n");
    make_cards(&home, 5);
    let draft = r#"{"name":"mine","title":"x","messages":[{"role":"user","content":{"type":"text","text":"журавль"}}]}"#;
    home.say(&["call", "create_prompt", draft]);
    home.say(&["index", "--words"]);
    let files = [home.data().join("cards.db"), home.data().join("prompts/user.jsonl")];
    let saved = files.each_ref().map(|file| std::fs::read(file).unwrap());
    let lose = || {
        remove_logs(&files[0]);
        files.iter().for_each(|file| truncate(file));
    };
    let put_back = || {
        remove_logs(&files[0]);
        files.iter().zip(&saved).for_each(|(file, bytes)| put(file, bytes));
    };
    let finds = |query: &str| {
        let (_, out, err) = home.run(&["search", query, "--json"]);
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{query}: {err}"));
        !found["results"].as_array().unwrap().is_empty()
    };
    // A rebuild takes over what the index has.
    lose();
    home.say(&["index", "--rebuild"]);
    assert!(finds("zebra") && cards_found(&home, "card3") > 0);
    // There is nothing to take over.
    std::fs::remove_dir_all(home.data().join("index")).unwrap();
    assert!(finds("zebra"));
    assert_eq!(cards_found(&home, "card3"), 0);
    put_back();
    assert!(finds("zebra") && cards_found(&home, "card3") > 0);
    assert!(home.say(&["search", "журавль", "--kind", "prompt"]).contains("mine"));
}

#[test]
fn a_card_that_is_lost_before_it_was_indexed_is_found_when_it_is_back() {
    if crate::support::only_sqlite("cards.db exists only there") {
        return;
    }
    let home = Home::new();
    home.note("n.md", "# Note\n\nzebra\n");
    home.say(&["search", "zebra"]);
    home.say(&["call", "create_note", r#"{"content":"окапи"}"#]);
    let cards = home.data().join("cards.db");
    let saved = std::fs::read(&cards).unwrap();
    remove_logs(&cards);
    truncate(&cards);
    assert!(home.say(&["search", "zebra"]).contains("n.md"));
    put(&cards, &saved);
    assert!(home.say(&["search", "окапи"]).contains("окапи"));
}

#[test]
fn the_last_card_may_be_deleted_here_and_by_others() {
    if crate::support::only_sqlite("cards.db exists only there") {
        return;
    }
    let home = Home::new();
    let ids = make_cards(&home, 2);
    let mut client = home.stdio();
    client.initialize();
    client.call("delete_note", json!({ "id": ids[0] }));
    client.call("delete_note", json!({ "id": ids[1] }));
    client.call("create_note", json!({ "content": "one more" }));
    // Another program empties the table while it is open here.
    let other = rusqlite::Connection::open(home.data().join("cards.db")).unwrap();
    other.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    client.call("get_notes", json!({}));
    other.execute("DELETE FROM \"Note\"", []).unwrap();
    client.call("create_note", json!({ "content": "and another" }));
}

#[test]
fn a_damaged_cards_file_is_not_written_to() {
    if crate::support::only_sqlite("cards.db exists only there") {
        return;
    }
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    for n in 0..40 {
        let content = format!("card{n} {}", "text ".repeat(400));
        client.call("create_note", json!({ "content": content }));
    }
    drop(client);
    let cards = home.data().join("cards.db");
    let writer = rusqlite::Connection::open(&cards).unwrap();
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(writer);
    remove_logs(&cards);
    // The pages in the middle become noise: the head still reads as a database.
    let mut bytes = std::fs::read(&cards).unwrap();
    let (from, until) = (bytes.len() / 3, bytes.len() / 3 * 2);
    bytes[from..until].fill(0xA5);
    put(&cards, &bytes);
    let (ok, _, err) = home.run(&["call", "create_note", r#"{"content":"x"}"#]);
    assert!(!ok && err.contains("damaged"), "{err}");
    let found = findings(&home);
    assert!(
        found.iter().any(|finding| finding["level"] == "wrong"
            && finding["what"].as_str().unwrap().contains("cards.db")),
        "{found:?}"
    );
    assert_eq!(std::fs::read(&cards).unwrap(), bytes, "not one byte was changed");
}

#[test]
fn emptied_prompts_are_not_written_to_and_a_backup_brings_them_back() {
    if crate::support::only_sqlite("user.jsonl exists only there") {
        return;
    }
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    for n in 0..3 {
        let draft = json!({
            "name": format!("mine_{n}"), "title": "Моя подсказка",
            "messages": [{ "role": "user", "content": { "type": "text", "text": "считай журавлей 鶴" } }],
        });
        client.call("create_prompt", draft);
    }
    drop(client);
    home.say(&["index", "--words"]);
    let file = home.data().join("prompts/user.jsonl");
    let count = |home: &Home| {
        let mut client = home.stdio();
        let filters = json!({ "kind": "prompt" });
        let answer = client.call("search", json!({ "query": "журавли", "filters": filters }));
        answer["structuredContent"]["totalMatches"].as_u64().unwrap()
    };
    assert_eq!(count(&home), 3);
    truncate(&file);
    let draft = r#"{"name":"more","title":"x","messages":[{"role":"user","content":{"type":"text","text":"y"}}]}"#;
    let (ok, _, err) = home.run(&["call", "create_prompt", draft]);
    assert!(!ok && err.contains("prompt restore"), "{err}");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
    assert_eq!(count(&home), 3, "their passages stay");
    let found = findings(&home);
    let told = |finding: &Value| finding["remedy"].as_str().unwrap().contains("prompt restore");
    assert!(found.iter().any(told), "{found:?}");
    let backups = home.say(&["prompt", "backups"]);
    let newest = backups.split_whitespace().next().unwrap();
    home.say(&["prompt", "restore", newest]);
    home.say(&["call", "create_prompt", draft]);
    // Removed on purpose.
    truncate(&file);
    home.say(&["doctor", "--accept-empty", "prompts"]);
    home.say(&["call", "create_prompt", draft]);
    assert_eq!(count(&home), 0);
}

#[test]
fn the_last_prompt_may_be_deleted() {
    if crate::support::only_sqlite("user.jsonl exists only there") {
        return;
    }
    let home = Home::new();
    let draft = r#"{"name":"only","title":"x","messages":[{"role":"user","content":{"type":"text","text":"y"}}]}"#;
    home.say(&["call", "create_prompt", draft]);
    home.say(&["call", "delete_prompt", r#"{"name":"only"}"#]);
    home.say(&["call", "create_prompt", draft]);
    // One that stood before a built-in prompt of the same name, too.
    home.say(&["call", "delete_prompt", r#"{"name":"only"}"#]);
    let hiding = draft.replace("only", "summarize");
    put(&home.data().join("prompts/user.jsonl"), format!("{hiding}\n"));
    home.run(&["search", "anything"]);
    home.say(&["call", "delete_prompt", r#"{"name":"summarize"}"#]);
    home.say(&["call", "create_prompt", draft]);
}

#[test]
fn categories_that_the_taxonomy_does_not_list_are_findings() {
    let home = Home::new();
    home.say(&[
        "bookmark",
        "add",
        "https://example.org/a",
        "--title",
        "A",
        "--category",
        "Рецепты",
    ]);
    home.say(&[
        "bookmark",
        "add",
        "https://example.org/b",
        "--title",
        "B",
        "--category",
        "ai-tools",
    ]);
    let found = findings(&home);
    let what = found.iter().filter_map(|finding| finding["what"].as_str());
    let what: Vec<&str> = what.filter(|what| what.contains("taxonomy")).collect();
    assert_eq!(what.len(), 1, "{found:?}");
    assert!(what[0].contains("`Рецепты` (1)") && !what[0].contains("ai-tools"), "{what:?}");
}
