//! Memento's database while Memento uses it: replaced, locked, with dates in its own forms, with
//! images too large for an answer.

use std::time::{Duration, Instant};

use rusqlite::{Connection, types::Value as Sql};
use serde_json::{Value, json};

use crate::{
    cards::note_table,
    support::{Client, Home, until},
};

fn memento(path: &std::path::Path, rows: &[(&str, Sql)]) -> Connection {
    let web = Connection::open(path).unwrap();
    web.busy_timeout(Duration::from_secs(10)).unwrap();
    web.execute_batch(note_table()).unwrap();
    for (id, date) in rows {
        web.execute(
            r#"INSERT INTO "Note" ("id", "content", "createdAt", "updatedAt") VALUES (?1, ?2, ?3, ?3)"#,
            rusqlite::params![id, format!("text of {id}"), date],
        )
        .unwrap();
    }
    web
}

fn open(home: &Home, path: &std::path::Path) -> Client {
    let mut command = home.command(&["mcp"]);
    command.env("NOTEWELL_CARDS_DATABASE", path);
    let mut client = Client::start(command);
    client.initialize();
    client
}

fn text(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn a_replaced_database_is_opened_anew() {
    let home = Home::new();
    let path = home.dir.path().join("dev.db");
    drop(memento(&path, &[("old", Sql::Integer(1_700_000_000_000))]));
    let mut client = open(&home, &path);
    assert_eq!(text(&client.call("get_notes", json!({})))[0]["id"], "old");
    // A migration or a restored backup puts another file in its place.
    let fresh = home.dir.path().join("fresh.db");
    drop(memento(&fresh, &[("new", Sql::Integer(1_700_000_000_000))]));
    std::fs::rename(&fresh, &path).unwrap();
    let listed = text(&client.call("get_notes", json!({})));
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &json!("new")));
    client.call("update_note", json!({ "id": "new", "content": "журавль" }));
    let web = Connection::open(&path).unwrap();
    let content: String =
        web.query_row(r#"SELECT "content" FROM "Note""#, [], |row| row.get(0)).unwrap();
    assert_eq!(content, "журавль", "written to the file that is there");
    until("search follows the new file", || {
        let found = client.call("search", json!({ "query": "kind:card text" }));
        let results = found["structuredContent"]["results"].as_array().unwrap().clone();
        results.iter().all(|result| result["path"] != "old")
    });
    // Gone altogether: an error that says so, not writes into a deleted file.
    std::fs::remove_file(&path).unwrap();
    let error = client.refused("create_note", json!({ "content": "lost?" }));
    assert!(error["message"].as_str().unwrap().contains("is not there"), "{error}");
}

#[test]
fn a_locked_database_is_told_within_seconds_however_many_ask() {
    let home = Home::new();
    let path = home.dir.path().join("dev.db");
    let web = memento(&path, &[("a", Sql::Integer(1_700_000_000_000))]);
    let mut client = open(&home, &path);
    client.call("get_notes", json!({}));
    web.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    // All at once: none waits for the others to give up.
    for id in 100..106 {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "get_notes", "arguments": {} } });
        client.write(format!("{call}\n").as_bytes());
    }
    let mut answered = 0;
    while answered < 6 {
        let answer = client.read();
        if answer["id"].as_i64().is_some_and(|id| id >= 100) {
            let error = &answer["error"];
            assert_eq!(error["code"], -32603, "{answer}");
            let said = error["message"].as_str().unwrap();
            assert!(said.contains("locked by another program; try again"), "{said}");
            answered += 1;
        }
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    web.execute_batch("ROLLBACK").unwrap();
    assert_eq!(text(&client.call("get_notes", json!({})))[0]["id"], "a");
}

#[test]
fn each_row_keeps_the_form_of_its_dates() {
    let home = Home::new();
    let path = home.dir.path().join("dev.db");
    let date = |text: &str| Sql::Text(text.to_owned());
    // The newest rows were written by hand, in seconds: the others are not rewritten like them.
    let rows = [
        ("millis", Sql::Integer(1_704_337_445_000)),
        ("iso", date("2024-01-02T03:04:05.006Z")),
        ("offset", date("2024-01-02T03:04:05.006+00:00")),
        ("sql", date("2024-01-03 03:04:05")),
        ("sql2", date("2024-01-03 03:04:05")),
    ];
    let web = memento(&path, &rows);
    let mut client = open(&home, &path);
    let stored = |id: &str| -> Sql {
        web.query_row(r#"SELECT "updatedAt" FROM "Note" WHERE "id" = ?1"#, [id], |row| row.get(0))
            .unwrap()
    };
    for (id, _) in &rows {
        client.call("toggle_pin", json!({ "id": id }));
        client.call("update_note", json!({ "id": id, "reminder": "2030-01-01T00:00:00Z" }));
    }
    assert!(matches!(stored("millis"), Sql::Integer(ms) if ms > 1_704_337_445_000));
    for (id, ending, length) in [("iso", "Z", 24), ("offset", "+00:00", 29), ("sql", "", 23)] {
        let Sql::Text(written) = stored(id) else { panic!("{id} became a number") };
        assert!(written.ends_with(ending) && written.len() == length, "{id}: {written}");
        assert!(written.contains('.'), "{id} lost its milliseconds: {written}");
    }
}

#[test]
fn a_link_given_back_keeps_its_image() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    // Two images that are together too large for an answer, and base64 each.
    let large = |byte: char| byte.to_string().repeat(1_200_000);
    let made = client
        .call("create_note", json!({ "content": "photos", "images": [large('A'), large('B')] }));
    let card = text(&made);
    let said = made["content"][1]["text"].as_str().unwrap();
    assert!(said.contains("2 images are links"), "{said}");
    let links = card["images"].as_array().unwrap().clone();
    assert!(links[0].as_str().unwrap().starts_with("notewell://card/"), "{links:?}");
    // The second is kept, the first goes, a third comes.
    client.call("update_note", json!({ "id": card["id"], "images": [links[1], "aGVsbG8="] }));
    let whole = text(&client.call("get_note", json!({ "id": card["id"] })));
    assert_eq!(whole["images"], json!([large('B'), "aGVsbG8="]));
    for (link, why) in [
        (format!("notewell://card/{}/image/7", card["id"].as_str().unwrap()), "counted from 0"),
        ("notewell://card/other/image/0".to_owned(), "of the card `other`"),
    ] {
        let arguments = json!({ "id": card["id"], "images": [link] });
        let error = client.refused("update_note", arguments);
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }
    assert_eq!(
        text(&client.call("get_note", json!({ "id": card["id"] })))["images"],
        whole["images"]
    );
}
