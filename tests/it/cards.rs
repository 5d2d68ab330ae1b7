//! Memento over the wire: its nine tools, its transport, and its database beside its web app.

use std::collections::BTreeMap;

use rusqlite::{Connection, types::Value as Sql};
use serde_json::{Value, json};

use crate::{
    sse::Events,
    support::{Client, Home, put, shared},
};

/// A small GIF, as an agent would send it.
const IMAGE: &str = "R0lGODlhAQABAAAAACwAAAAAAQABAAA=";

fn open(home: &Home) -> Client {
    let mut client = home.stdio();
    client.initialize();
    client
}

/// The JSON in an answer's text, which must be what its structure says.
fn said(result: &Value) -> Value {
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    let structured = &result["structuredContent"];
    match text {
        Value::Array(_) => assert!(
            *structured == json!({ "labels": text }) || structured["notes"] == text,
            "{structured}"
        ),
        _ => assert_eq!(*structured, text),
    }
    text
}

fn keys(value: &Value) -> String {
    value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap()).collect()
}

#[test]
fn every_request_is_answered_as_memento_answers_it() {
    let home = Home::new();
    let mut client = open(&home);
    let created = said(&client.call(
        "create_note",
        json!({
            "title": "Meeting Notes", "content": "Discussed Q1 roadmap...", "color": "blue", "type": "checklist",
            "checkItems": [{ "id": "a", "text": "Send minutes" }, { "text": "Книга", "checked": true }],
            "labels": ["work", "planning"], "isPinned": true, "isArchived": false, "images": [IMAGE],
        }),
    ));
    assert_eq!(
        keys(&created),
        "id title content color type checkItems labels images isPinned isArchived createdAt updatedAt"
    );
    let id = created["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with('c') && id.len() == 25, "{id}");
    assert_eq!(
        created["checkItems"],
        json!([{ "id": "a", "text": "Send minutes", "checked": false }, { "id": "1", "text": "Книга", "checked": true }])
    );
    assert_eq!((&created["images"], &created["isPinned"]), (&json!([IMAGE]), &json!(true)));
    let stamp = created["createdAt"].as_str().unwrap();
    assert!(stamp.len() == 24 && stamp.ends_with('Z'), "{stamp}");

    let bare = said(&client.call("create_note", json!({ "content": "милый дом" })));
    assert_eq!(
        (&bare["title"], &bare["color"], &bare["type"], &bare["checkItems"], &bare["labels"]),
        (&Value::Null, &json!("default"), &json!("text"), &Value::Null, &Value::Null)
    );

    let listed = said(&client.call("get_notes", json!({})));
    assert_eq!(ids(&listed), [id.as_str(), bare["id"].as_str().unwrap()], "pinned first");
    assert_eq!(
        keys(&listed[0]),
        "id title content color isPinned isArchived type checkItems labels images order createdAt updatedAt"
    );
    assert_eq!(listed[0]["images"], json!([format!("notewell://card/{id}/image/0")]));
    assert_eq!(listed[0]["order"], 0);
    let with_images =
        said(&client.call("get_notes", json!({ "includeImages": true, "search": "ROADMAP" })));
    assert_eq!(
        (ids(&with_images), &with_images[0]["images"]),
        (vec![id.as_str()], &json!([IMAGE]))
    );

    let whole = said(&client.call("get_note", json!({ "id": id })));
    assert_eq!(
        keys(&whole),
        "id title content color isPinned isArchived type checkItems labels images reminder isReminderDone \
         reminderRecurrence reminderLocation isMarkdown size embedding userId order createdAt updatedAt"
    );
    assert_eq!((&whole["images"], &whole["size"]), (&json!([IMAGE]), &json!("small")));

    let updated = said(&client.call(
        "update_note",
        json!({ "id": id, "title": null, "labels": ["дом"], "checkItem": { "id": "a", "checked": true }, "ifUpdatedAt": whole["updatedAt"] }),
    ));
    assert_eq!(keys(&updated), keys(&created));
    assert_eq!((&updated["title"], &updated["labels"]), (&Value::Null, &json!(["дом"])));
    assert_eq!(
        (&updated["checkItems"][0]["checked"], &updated["content"]),
        (&json!(true), &created["content"])
    );
    assert!(updated["updatedAt"].as_str() > created["updatedAt"].as_str());

    let found = said(&client.call("search_notes", json!({ "query": "МИЛЫЙ" })));
    assert_eq!(ids(&found), [bare["id"].as_str().unwrap()]);
    let brief = "id title content color isPinned isArchived type checkItems labels images createdAt updatedAt";
    assert_eq!(keys(&found[0]), brief);
    assert_eq!(said(&client.call("get_labels", json!({}))), json!(["дом"]));

    let unpinned = said(&client.call("toggle_pin", json!({ "id": id })));
    assert_eq!((keys(&unpinned).as_str(), &unpinned["isPinned"]), (brief, &json!(false)));
    let archived = said(&client.call("toggle_archive", json!({ "id": id })));
    assert_eq!((keys(&archived).as_str(), &archived["isArchived"]), (brief, &json!(true)));
    assert_eq!(said(&client.call("search_notes", json!({ "query": "roadmap" }))), json!([]));
    assert_eq!(
        said(&client.call("get_notes", json!({ "includeArchived": true })))
            .as_array()
            .unwrap()
            .len(),
        2
    );

    let deleted = client.call("delete_note", json!({ "id": id }));
    assert_eq!(deleted["content"][0]["text"], r#"{"success":true,"message":"Note deleted"}"#);
    for (tool, arguments) in [
        ("get_note", json!({ "id": id })),
        ("update_note", json!({ "id": id, "isPinned": true })),
        ("delete_note", json!({ "id": id })),
        ("toggle_pin", json!({ "id": id })),
        ("toggle_archive", json!({ "id": id })),
    ] {
        let error = client.refused(tool, arguments);
        assert_eq!(error["code"], -32600, "{tool}: {error}");
        assert!(error["message"].as_str().unwrap().contains(&id), "{error}");
    }
}

/// What n8n does over its SSE connection.
#[test]
fn an_n8n_session() {
    let home = Home::new();
    let owner = home.token("owner");
    let server = home.serve();
    let mut events = Events::open(&server, &owner);
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "n8n", "version": "1" } });
    events.ask(&server, 1, "initialize", hello);
    let tools = events.ask(&server, 2, "tools/list", json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in [
        "create_note",
        "get_notes",
        "get_note",
        "update_note",
        "delete_note",
        "search_notes",
        "get_labels",
        "toggle_pin",
        "toggle_archive",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let mut id = 2;
    let mut call = |name: &str, arguments: Value| {
        id += 1;
        events.ask(&server, id, "tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let created = said(
        &call("create_note", json!({ "content": "会議のメモ", "labels": ["仕事"] }))["result"],
    );
    let found = said(&call("search_notes", json!({ "query": "会議" }))["result"]);
    assert_eq!(found[0]["id"], created["id"]);
    let pinned = said(&call("toggle_pin", json!({ "id": created["id"] }))["result"]);
    assert_eq!(pinned["isPinned"], true);
    assert_eq!(said(&call("get_labels", json!({}))["result"]), json!(["仕事"]));
    let deleted = said(&call("delete_note", json!({ "id": created["id"] }))["result"]);
    assert_eq!(deleted["success"], true);
    assert_eq!(call("get_note", json!({ "id": created["id"] }))["error"]["code"], -32600);
    // Cards are the owner's.
    let bare = server.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_notes","arguments":{}}}"#);
    assert_eq!(bare.json()["error"]["code"], -32601);
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let home = Home::new();
    let mut client = open(&home);
    let card = said(&client.call("create_note", json!({ "content": "whole" })));
    let id = card["id"].as_str().unwrap();
    let large = "a".repeat(6 << 20);
    for (arguments, part) in [
        (json!({}), "content is required"),
        (json!({ "content": 1 }), "content must be a string"),
        (json!({ "content": "x", "color": "brown" }), "color `brown` is not one of default, red"),
        (json!({ "content": "x", "type": "list" }), "type `list`"),
        (
            json!({ "content": "x", "checkItems": [{ "checked": true }] }),
            "checkItems[0].text is required",
        ),
        (json!({ "content": "x", "checkItems": [{ "text": " " }] }), "checkItems[0] has no text"),
        (
            json!({ "content": "x", "checkItems": [{ "text": "a", "done": true }] }),
            "unknown field `done`",
        ),
        (json!({ "content": "x", "labels": "work" }), "labels must be an array"),
        (json!({ "content": "x", "labels": [1] }), "labels[0] must be a string"),
        (json!({ "content": "x", "images": ["фото"] }), "images[0] is not base64"),
        (json!({ "content": "x", "images": [large.repeat(2)] }), "images[0] is about"),
        (json!({ "content": "я".repeat(5 << 20) }), "content is 10485760 bytes"),
        (json!({ "content": "x", "reminder": "soon" }), "reminder `soon` is not a date"),
        (json!({ "content": "x", "colour": "red" }), "unknown argument `colour`"),
    ] {
        let error = client.refused("create_note", arguments.clone());
        assert_eq!(error["code"], -32602, "{part}: {error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{part}: {error}");
        // The same for a change, where it takes the argument.
        let mut change = arguments;
        change["id"] = json!(id);
        if change.get("content") != Some(&json!("x")) || change.get("type").is_some() {
            continue;
        }
        assert_eq!(client.refused("update_note", change)["code"], -32602, "{part}");
    }
    for (arguments, code) in [
        (json!({ "id": id }), -32602),
        (json!({ "id": id, "checkItem": { "id": "9", "checked": true } }), -32602),
        (json!({ "id": id, "content": "x", "ifUpdatedAt": "2020-01-01T00:00:00Z" }), -32600),
        (json!({ "id": "nobody", "content": "x" }), -32600),
    ] {
        assert_eq!(client.refused("update_note", arguments.clone())["code"], code, "{arguments}");
    }
    for arguments in [json!({ "limit": 0 }), json!({ "limit": 100_000 }), json!({ "cursor": "x" })]
    {
        assert_eq!(client.refused("get_notes", arguments)["code"], -32602);
    }
    assert_eq!(client.refused("search_notes", json!({ "query": " " }))["code"], -32602);
    let listed = said(&client.call("get_notes", json!({ "includeArchived": true })));
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["updatedAt"], card["updatedAt"]);
}

#[test]
fn lists_have_pages_and_images_have_links() {
    let home = Home::new();
    let mut client = open(&home);
    let photo = said(&client.call("create_note", json!({ "content": "photo", "images": [IMAGE] })));
    for n in 0..4 {
        client.call("create_note", json!({ "content": format!("n{n}") }));
    }
    let mut seen = Vec::new();
    let mut arguments = json!({ "limit": 2 });
    loop {
        let result = client.call("get_notes", arguments.clone());
        seen.extend(ids(&said(&result)).into_iter().map(str::to_owned));
        let Some(cursor) = result["structuredContent"]["nextCursor"].as_str() else {
            assert_eq!(result["content"].as_array().unwrap().len(), 1);
            break;
        };
        // The notice stands beside the array, which programs can still parse.
        assert!(result["content"][1]["text"].as_str().unwrap().contains(cursor));
        arguments["cursor"] = json!(cursor);
    }
    assert_eq!(seen.len(), 5);
    let uri = format!("notewell://card/{}/image/0", photo["id"].as_str().unwrap());
    let read = client.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(read["result"]["contents"][0]["mimeType"], "image/gif", "{read}");
    assert_eq!(read["result"]["contents"][0]["blob"], IMAGE);
}

#[test]
fn reminders_are_listed_when_due() {
    let home = Home::new();
    let mut client = open(&home);
    let past = json!({ "content": "позвонить", "reminder": "2024-01-31T09:00:00Z", "reminderRecurrence": "monthly" });
    let card = said(&client.call("create_note", past));
    client.call("create_note", json!({ "content": "later", "reminder": "2999-01-01" }));
    let due = said(&client.call("get_notes", json!({ "due": true })));
    assert_eq!(ids(&due), [card["id"].as_str().unwrap()]);
    assert_eq!(due[0]["reminder"], "2024-01-31T09:00:00.000Z");
    client.call("update_note", json!({ "id": card["id"], "isReminderDone": true }));
    assert_eq!(said(&client.call("get_notes", json!({ "due": true }))), json!([]));
    let whole = said(&client.call("get_note", json!({ "id": card["id"] })));
    assert_eq!(whole["isReminderDone"], false);
    assert!(whole["reminder"].as_str().unwrap() > "2026", "{whole}");
}

/// Memento's table with a column, a table and a trigger of which we know nothing, and dates in the
/// three forms of Prisma's versions.
const DEV_DB: &str = r#"
CREATE TABLE "Note" (
    "id" TEXT NOT NULL PRIMARY KEY, "title" TEXT, "content" TEXT NOT NULL, "color" TEXT NOT NULL DEFAULT 'default',
    "isPinned" BOOLEAN NOT NULL DEFAULT false, "isArchived" BOOLEAN NOT NULL DEFAULT false,
    "type" TEXT NOT NULL DEFAULT 'text', "checkItems" TEXT, "labels" TEXT, "images" TEXT, "reminder" DATETIME,
    "isReminderDone" BOOLEAN NOT NULL DEFAULT false, "reminderRecurrence" TEXT, "reminderLocation" TEXT,
    "isMarkdown" BOOLEAN NOT NULL DEFAULT false, "size" TEXT NOT NULL DEFAULT 'small', "embedding" TEXT, "userId" TEXT,
    "order" INTEGER NOT NULL DEFAULT 0, "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" DATETIME NOT NULL,
    "mood" BLOB
);
CREATE TABLE "_prisma_migrations" ("id" TEXT PRIMARY KEY, "checksum" TEXT);
INSERT INTO "_prisma_migrations" VALUES ('1', 'abc');
CREATE TABLE "Seen" ("id" TEXT);
CREATE TRIGGER "seen" AFTER UPDATE ON "Note" BEGIN INSERT INTO "Seen" VALUES (NEW."id"); END;
INSERT INTO "Note" ("id", "content", "labels", "mood", "createdAt", "updatedAt") VALUES
    ('iso', 'ISO', '["b",  "a"]', x'00ff', '2024-01-02T03:04:05.006Z', '2024-01-02T03:04:05.006Z');
INSERT INTO "Note" ("id", "content", "checkItems", "embedding", "createdAt", "updatedAt") VALUES
    ('sql', 'SQL', '[{"id":"k","text":"t","checked":false,"x":1}]', '[0.5]', '2024-01-03 03:04:05', '2024-01-03 03:04:05');
INSERT INTO "Note" ("id", "content", "mood", "color", "order", "createdAt", "updatedAt") VALUES
    ('ms', 'Integer', 3.5, 'brown', -1, 1704337445000, 1704337445000),
    ('bystander', 'stays', 'calm', 'default', 0, 1704337445000, 1704337445000),
    ('doomed', 'goes', NULL, 'default', 0, 1704337445000, 1704337445000);
"#;

/// The statement that makes Memento's table, without the rows.
pub fn note_table() -> &'static str {
    DEV_DB.split_inclusive(");").next().unwrap()
}

/// Every value of every table, by table, row and column.
fn dump(connection: &Connection) -> BTreeMap<(String, String, String), Sql> {
    let mut all = BTreeMap::new();
    for table in ["Note", "_prisma_migrations"] {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let names: Vec<String> = statement.column_names().map(Into::into).collect();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let id: String = row.get(0).unwrap();
            for (index, name) in names.iter().enumerate() {
                all.insert((table.into(), id.clone(), name.clone()), row.get(index).unwrap());
            }
        }
    }
    all
}

#[test]
fn mementos_own_database_keeps_what_we_were_not_asked_to_change() {
    let home = Home::new();
    let path = home.dir.path().join("dev.db");
    let web = Connection::open(&path).unwrap();
    web.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    web.execute_batch(DEV_DB).unwrap();
    let before = dump(&web);
    let mut command = home.command(&["mcp"]);
    command.env("NOTEWELL_CARDS_DATABASE", &path);
    let mut client = Client::start(command);
    client.initialize();

    let listed = said(&client.call("get_notes", json!({})));
    assert_eq!(
        ids(&listed),
        ["ms", "bystander", "doomed", "sql", "iso"],
        "by order, then by date in any form"
    );
    said(&client.call("search_notes", json!({ "query": "integer" })));
    assert_eq!(said(&client.call("get_labels", json!({}))), json!(["a", "b"]));
    said(&client.call("get_note", json!({ "id": "iso" })));
    let made = said(&client.call("create_note", json!({ "content": "ours", "labels": ["c"] })));
    // The web app writes between our calls and is not overwritten.
    web.execute_batch(r#"UPDATE "Note" SET "title" = 'theirs' WHERE "id" = 'sql'; INSERT INTO "Note" ("id", "content", "updatedAt") VALUES ('web', 'web', 5);"#).unwrap();
    let updated =
        said(&client.call(
            "update_note",
            json!({ "id": "sql", "checkItem": { "id": "k", "checked": true } }),
        ));
    assert_eq!(updated["title"], "theirs");
    assert_eq!(said(&client.call("search_notes", json!({ "query": "WEB" })))[0]["id"], "web");
    said(&client.call("toggle_pin", json!({ "id": "iso" })));
    said(&client.call("toggle_archive", json!({ "id": "ms" })));
    said(&client.call("delete_note", json!({ "id": "doomed" })));
    drop(client);

    let after = dump(&web);
    let key = |id: &str, column: &str| ("Note".to_owned(), id.to_owned(), column.to_owned());
    let mut asked = vec![
        key("sql", "title"),
        key("sql", "checkItems"),
        key("sql", "updatedAt"),
        key("iso", "isPinned"),
        key("iso", "updatedAt"),
        key("ms", "isArchived"),
        key("ms", "updatedAt"),
    ];
    asked.extend(before.keys().filter(|key| key.1 == "doomed").cloned());
    asked.sort();
    let changed: Vec<_> = before
        .iter()
        .filter(|(key, value)| after.get(*key) != Some(value))
        .map(|(key, _)| key.clone())
        .collect();
    assert_eq!(changed, asked);
    assert_eq!(
        after[&key("sql", "checkItems")],
        Sql::Text(r#"[{"id":"k","text":"t","checked":true,"x":1}]"#.into())
    );
    let ours = after.keys().filter(|key| !before.contains_key(*key)).map(|key| key.1.as_str());
    let ours: std::collections::BTreeSet<&str> = ours.collect();
    assert_eq!(ours, [made["id"].as_str().unwrap(), "web"].into_iter().collect());
    let mode: String = web.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    let tables: i64 =
        web.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 6, "three tables, their two keys, one trigger: nothing of ours");
}

#[test]
fn imports_and_exports_at_the_shell() {
    let home = Home::new();
    let folder = home.dir.path().join("Keep");
    std::fs::create_dir(&folder).unwrap();
    put(
        &folder.join("a.json"),
        r#"{"title":"Чай","textContent":"купить","isTrashed":false,"createdTimestampUsec":1690426307496000}"#,
    );
    put(&folder.join("bin.json"), r#"{"title":"x","isTrashed":true,"createdTimestampUsec":1}"#);
    put(&folder.join("Labels.txt"), "a");
    let keep = folder.to_str().unwrap();
    let (ok, out, err) = home.run(&["import", "cards", keep]);
    assert!(ok, "{err}");
    assert_eq!(out.trim(), "1 added, 0 updated, 0 already there, 1 skipped, 1 other file");
    assert!(err.contains("`bin.json`: was in Keep's bin"), "{err}");
    assert!(
        home.say(&["import", "cards", keep]).starts_with("0 added, 0 updated, 1 already there")
    );

    let out = home.dir.path().join("out.json");
    assert!(home.say(&["export", "cards", out.to_str().unwrap()]).starts_with("1 card in"));
    let other = Home::new();
    assert!(other.say(&["import", "cards", out.to_str().unwrap()]).starts_with("1 added"));
    let call = ["call", "search_notes", r#"{"query":"ЧАЙ"}"#];
    assert_eq!(other.say(&call), home.say(&call));
    let (ok, _, err) = home.run(&["import", "cards", "/nowhere"]);
    assert!(!ok && err.contains("could not open `/nowhere`"), "{err}");
}

#[test]
fn the_filled_takeout_is_found() {
    let Some(zip) = shared("data/keep/takeout-filled.zip") else { return };
    let home = Home::new();
    let zip = zip.to_str().unwrap();
    assert!(
        home.say(&["import", "cards", zip])
            .starts_with("480 added, 0 updated, 0 already there, 0 skipped")
    );
    assert!(
        home.say(&["import", "cards", zip])
            .starts_with("0 added, 0 updated, 480 already there, 0 skipped")
    );
    let mut client = open(&home);
    for query in ["СМОТРИ ДОКУМЕНТАЦИЮ", "を表示", "Aperture PROBLEM"] {
        let found = said(&client.call("search_notes", json!({ "query": query })));
        assert!(!found.as_array().unwrap().is_empty(), "{query}");
    }
    let first = client.call("get_notes", json!({ "includeArchived": true }));
    assert_eq!(said(&first).as_array().unwrap().len(), 100);
    assert!(first["structuredContent"]["nextCursor"].is_string());
}
