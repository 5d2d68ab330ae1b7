//! `history`: what was changed, by whom, and every version of every kind of item.

use serde_json::{Value, json};

use crate::support::{Client, Home, put};

pub fn history(client: &mut Client, arguments: Value) -> Value {
    client.call("history", arguments)["structuredContent"].clone()
}

/// The changes that a list of `history` has, as `tool diff`.
fn lines(client: &mut Client, arguments: Value) -> Vec<String> {
    let answer = history(client, arguments);
    let changes = answer["changes"].as_array().unwrap();
    let line = |change: &Value| {
        let diff = change["first"][0]["diff"].as_str().unwrap();
        format!("{} {diff}", change["tool"].as_str().unwrap())
    };
    changes.iter().map(line).collect()
}

pub fn card(client: &mut Client, content: &str) -> String {
    let made = client.call("create_note", json!({ "content": content }));
    made["structuredContent"]["id"].as_str().unwrap().to_owned()
}

pub fn prompt(name: &str, text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "name": name, "title": name, "messages": [{ "role": "user", "content": content }] })
}

#[test]
fn a_deleted_card_comes_back_whole_under_its_pid() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let image = "data:image/png;base64,iVBORw0KGgo=";
    let new = json!({ "title": "買い物 Покупки", "content": "milk", "labels": ["дом"],
        "images": [image], "isPinned": true, "reminder": "2030-01-31T10:00:00Z" });
    let id = client.call("create_note", new)["structuredContent"]["id"].clone();
    let whole = |client: &mut Client| {
        client.call("get_note", json!({ "id": id }))["structuredContent"].clone()
    };
    let before = whole(&mut client);
    let pid_of = |client: &mut Client| {
        let found = client.call("search", json!({ "query": "покупки" }));
        found["structuredContent"]["results"][0]["pid"].clone()
    };
    let pid = pid_of(&mut client);
    assert!(pid.is_i64(), "{pid}");
    client.call("delete_note", json!({ "id": id }));
    assert!(pid_of(&mut client).is_null());

    let told = lines(&mut client, json!({ "path": id }));
    assert_eq!(told, ["delete_note deleted", "create_note created"]);
    let listed = history(&mut client, json!({ "pid": pid }));
    assert_eq!(listed["changes"][0]["first"][0]["name"], "買い物 Покупки", "{listed}");
    assert_eq!(listed["changes"][0]["who"], "owner");
    let version = listed["changes"][1]["change"].clone();
    let shown = history(&mut client, json!({ "pid": pid, "version": version }));
    assert!(shown["version"]["text"].as_str().unwrap().contains("title: 買い物"), "{shown}");

    let restored = history(&mut client, json!({ "pid": pid, "version": version, "restore": true }));
    assert_eq!(whole(&mut client), before);
    assert_eq!(pid_of(&mut client), pid);
    // The restore is a change and can be undone.
    history(&mut client, json!({ "undo": restored["change"] }));
    assert!(pid_of(&mut client).is_null());
}

#[test]
fn a_removed_bookmark_comes_back_whole_under_its_pid() {
    let home = Home::new();
    let url = "https://example.org/заметки";
    home.say(&[
        "bookmark",
        "add",
        url,
        "--title",
        "エージェント",
        "--tag",
        "ИИ",
        "--text",
        "long text",
    ]);
    let show = || home.say(&["bookmark", "show", url, "--json"]);
    let before = show();
    let found = || -> Value {
        let found = home.say(&["search", "エージェント", "--json"]);
        serde_json::from_str::<Value>(&found).unwrap()["results"][0]["pid"].clone()
    };
    let pid = found();
    assert!(pid.is_i64());
    home.say(&["bookmark", "set", url, "--category", "Science"]);
    home.say(&["bookmark", "remove", url]);
    let (ok, ..) = home.run(&["bookmark", "show", url]);
    assert!(!ok);
    let told = home.say(&["history", &pid.to_string()]);
    assert_eq!(home.say(&["history", &format!("p{pid}")]), told);
    let tools: Vec<&str> = told.lines().filter_map(|line| line.split("  ").nth(3)).collect();
    assert_eq!(tools, ["bookmark remove", "bookmark set", "bookmark add"], "{told}");
    assert!(told.lines().all(|line| line.contains("  shell  ")), "{told}");

    assert!(home.say(&["undo"]).starts_with("Undid change 3: 1 item"));
    assert!(home.say(&["undo"]).starts_with("Undid change 2: 1 item"));
    assert_eq!(show(), before);
    assert_eq!(found(), pid);
    home.say(&["undo", "--json"]);
    let (ok, ..) = home.run(&["bookmark", "show", url]);
    assert!(!ok, "the first change made it");
    let (ok, _, err) = home.run(&["undo"]);
    assert!(!ok && err.contains("no change to undo"), "{err}");
}

#[test]
fn a_prompt_keeps_every_byte_of_its_line() {
    let home = Home::new();
    let file = home.data().join("prompts/user.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    // Spaces, an unknown field and a date in a form of its own, as another program wrote them.
    let line = r#"{"name":"обзор", "title":"レビュー","created":"yesterday","zeta":1.10,"messages":[{"role":"user","content":{"type":"text","text":"проверь {{code}}"}}],"arguments":[{"name":"code"}]}"#;
    let other = line.replace("обзор", "other");
    put(&file, format!("{other}\r\n{line}\r\n"));
    let mut client = home.stdio();
    client.initialize();
    client.call("update_prompt", json!({ "name": "обзор", "title": "Review" }));
    client.call("update_prompt", json!({ "name": "обзор", "newName": "review" }));
    client.call("delete_prompt", json!({ "name": "review" }));
    for _ in 0..3 {
        home.say(&["undo"]);
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{other}\r\n{line}\r\n"));
    let told = lines(&mut client, json!({ "path": "обзор" }));
    assert!(told.contains(&"update_prompt title: レビュー → title: Review".to_owned()), "{told:?}");
    let backups = home.say(&["prompt", "backups"]);
    assert!(backups.lines().count() >= 3, "the dated backups stay: {backups}");
}

#[test]
fn an_import_is_one_change() {
    let home = Home::new();
    let file = home.data().join("saved.jsonl");
    std::fs::create_dir_all(home.data()).unwrap();
    let post = |n: usize| {
        json!({ "id": n.to_string(), "kind": "tweet", "author": "a", "text": format!("пост {n} 投稿"),
            "created_at": "2025-01-10T09:00:00Z", "url": format!("https://x.com/a/status/{n}") })
        .to_string()
    };
    put(&file, (1..=450).map(post).collect::<Vec<_>>().join("\n"));
    home.say(&["import", "bookmarks", file.to_str().unwrap()]);
    let cards = home.data().join("cards");
    std::fs::create_dir_all(&cards).unwrap();
    for n in 0..250 {
        put(&cards.join(format!("{n}.md")), format!("# Карта {n}\n\nカード {n}\n"));
    }
    home.say(&["import", "cards", cards.to_str().unwrap()]);
    let library = home.data().join("library.csv");
    put(&library, "act,prompt\nOne,text one\nДва,текст\n");
    home.say(&["import", "prompts", library.to_str().unwrap()]);
    let listed: Value = serde_json::from_str(&home.say(&["history", "--json"])).unwrap();
    let counts: Vec<&Value> =
        listed["changes"].as_array().unwrap().iter().map(|change| &change["items"]).collect();
    assert_eq!(counts, [2, 250, 450], "{listed}");
    // A second import changes nothing, and is no change.
    home.say(&["import", "bookmarks", file.to_str().unwrap()]);
    home.say(&["import", "cards", cards.to_str().unwrap()]);
    // One that was changed since is not taken away with the others.
    home.say(&["bookmark", "set", "7", "--category", "Science"]);
    let (ok, _, err) = home.run(&["undo", "1"]);
    assert!(!ok && err.contains("1 of its 450 items was changed since"), "{err}");
    let undone = home.say(&["undo", "1", "--keep-changed"]);
    assert!(undone.contains("449 items"), "{undone}");
    for import in ["2", "3"] {
        home.say(&["undo", import]);
    }
    let status: Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    assert_eq!((&status["bookmarks"], &status["cards"]), (&json!(1), &json!(0)), "{status}");
    assert_eq!(status["prompts"], 0, "{status}");
    let (ok, out, err) = home.run(&["doctor"]);
    assert!(ok && out.contains("the history has"), "{out} {err}");
}

/// One change may say twice what an item is.
#[test]
fn before_an_import_of_two_files_nothing_existed() {
    let home = Home::new();
    // The longest text is the whole one.
    let files = ["short", "much longer"].map(|text| {
        let file = home.dir.path().join(format!("{text}.jsonl"));
        let post = json!({ "id": "1", "kind": "tweet", "author": "a", "text": format!("{text} 投稿"),
            "url": "https://x.com/a/status/1" });
        put(&file, post.to_string());
        file.to_str().unwrap().to_owned()
    });
    home.say(&["import", "bookmarks", &files[0], &files[1]]);
    assert!(home.say(&["history", "1", "--at", "1"]).contains("longer 投稿"));
    let (_, out, err) = home.run(&["history", "1", "--at", "0"]);
    assert!(out.contains("does not exist in version 0"), "{out}{err}");
    let (ok, out, err) = home.run(&["history", "1", "--at", "0", "--restore"]);
    assert!(!ok && err.contains("does not exist in version 0"), "{out}{err}");
    // It was added and changed under one change: both are taken back.
    assert!(home.say(&["undo"]).contains("Undid change 1: 1 item"));
    let (_, out, _) = home.run(&["search", "投稿"]);
    assert!(!out.contains("longer"), "{out}");
    home.say(&["undo", "2"]);
    assert!(home.say(&["search", "投稿"]).contains("longer"));
}

#[test]
fn what_cannot_be_done_is_told() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let empty = client.call("history", json!({}));
    assert_eq!(empty["content"][0]["text"], "No changes are recorded.", "{empty}");
    let id = card(&mut client, "one");
    let other = card(&mut client, "other");
    let message = |client: &mut Client, arguments: Value| {
        client.refused("history", arguments)["message"].as_str().unwrap().to_owned()
    };
    for (arguments, told) in [
        (json!({ "undo": 99 }), "there is no change 99"),
        (json!({ "path": id, "version": 2 }), "has no version 2"),
        (json!({ "path": id, "version": -1 }), "has no version -1"),
        (json!({ "path": "no such" }), "there is no item `no such`"),
        (json!({ "pid": 9999 }), "there is no item pid 9999"),
        (json!({ "version": 1 }), "name the item"),
        (json!({ "path": id, "restore": true }), "`restore` needs the `version`"),
        (json!({ "path": id, "version": 1, "restore": true }), "is the same as in version 1"),
        (json!({ "path": id, "version": 0, "restore": true }), "does not exist in version 0"),
        (json!({ "path": id, "undo": 1 }), "goes alone"),
        (json!({ "limit": 0 }), "between 1 and 200"),
        (json!({ "content": "x" }), "content"),
    ] {
        let found = message(&mut client, arguments.clone());
        assert!(found.contains(told), "{arguments}: {found}");
    }
    for id in [&id, &other] {
        client.call("get_note", json!({ "id": id }));
    }
}

#[test]
fn pages_of_changes_follow_one_another() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let id = card(&mut client, "0");
    for n in 1..7 {
        client.call("update_note", json!({ "id": id, "content": n.to_string() }));
    }
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "path": id, "limit": 3 });
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let page = history(&mut client, arguments);
        let changes = page["changes"].as_array().unwrap().clone();
        seen.extend(changes.iter().map(|change| change["change"].as_i64().unwrap()));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn old_changes_go_and_the_newest_stays() {
    let home = Home::new();
    let config = home.data().join("limits.toml");
    std::fs::create_dir_all(home.data()).unwrap();
    put(&config, "[history]\nchanges = 10\n");
    let command = home.command(&["mcp", "--config", config.to_str().unwrap()]);
    let mut client = Client::start(command);
    client.initialize();
    let id = card(&mut client, "0");
    for n in 1..140 {
        client.call("update_note", json!({ "id": id, "content": n.to_string() }));
    }
    let left = history(&mut client, json!({ "path": id, "limit": 200 }));
    let left = left["changes"].as_array().unwrap().len();
    assert!((10..=80).contains(&left), "{left} changes are left");
    history(&mut client, json!({ "undo": 140 }));
    let now = client.call("get_note", json!({ "id": id }));
    assert_eq!(now["structuredContent"]["content"], "138");
}
