//! History and undo of notes: what a person wrote since stays.

use serde_json::{Value, json};

use crate::{
    edit::{edit, refusal},
    history::history,
    support::{Client, Home, put},
};

const NOTE: &str = "# Кофе\r\n\r\n## Помол\r\n\r\nКрупный.\r\n\r\n## 抽出\r\n\r\n九十二度。\r\n\r\n## Notes\r\n\r\n- one";

fn file(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.vault().join(path)).unwrap()
}

fn home() -> (Home, Client) {
    let home = Home::new();
    home.note("кофе.md", NOTE).note("other.md", "# Other\n\n[[кофе|the note]]\n");
    let client = home.stdio();
    (home, client)
}

fn append(client: &mut Client, section: &str, text: &str) -> Value {
    edit(client, json!({ "path": "кофе.md", "toc_path": [section], "op": "append", "text": text }))
}

#[test]
fn an_edit_is_undone_byte_by_byte() {
    let (home, mut client) = home();
    for (section, text) in [("Помол", "Средний."), ("抽出", "八十八度。"), ("Notes", "- two")]
    {
        append(&mut client, section, text);
    }
    let made =
        edit(&mut client, json!({ "path": "new/заметка.md", "op": "create", "text": "# 新" }));
    let listed = history(&mut client, json!({ "path": "кофе.md" }));
    let diffs: Vec<&str> = listed["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["first"][0]["diff"].as_str().unwrap())
        .collect();
    assert_eq!(diffs.len(), 3, "{listed}");
    assert!(diffs[1].contains("八十八度。"), "{diffs:?}");
    let oldest = history(&mut client, json!({ "path": "кофе.md", "version": 0 }));
    assert_eq!(oldest["version"]["text"], NOTE);
    for _ in 0..4 {
        home.say(&["undo"]);
    }
    assert_eq!(file(&home, "кофе.md"), NOTE);
    assert!(!home.vault().join("new/заметка.md").exists());
    // A note whose creation was undone comes back by its path.
    let version = made["change"].clone();
    history(&mut client, json!({ "path": "new/заметка.md", "version": version, "restore": true }));
    assert!(file(&home, "new/заметка.md").starts_with("# 新"));
    let found = client.call("search", json!({ "query": "新" }));
    assert_eq!(found["structuredContent"]["results"][0]["path"], "new/заметка.md", "{found}");
}

#[test]
fn a_persons_words_survive_undo() {
    let (home, mut client) = home();
    let change = append(&mut client, "Помол", "Средний.")["change"].clone();
    let edited = file(&home, "кофе.md");
    put(&home.vault().join("кофе.md"), edited.replace("- one", "- one\r\n- моё слово"));
    let undone = history(&mut client, json!({ "undo": change }));
    assert_eq!(undone["undone"]["merged"], json!(["кофе.md"]), "{undone}");
    assert_eq!(file(&home, "кофе.md"), NOTE.replace("- one", "- one\r\n- моё слово"));

    // In the same place nothing is overwritten, and the difference is shown.
    let change = append(&mut client, "抽出", "八十八度。")["change"].clone();
    let mine = file(&home, "кофе.md").replace("八十八度。", "八十八度。と私の言葉");
    put(&home.vault().join("кофе.md"), &mine);
    let told = refusal(&mut client, "history", json!({ "undo": change }));
    assert!(told.contains("+八十八度。と私の言葉"), "{told}");
    assert_eq!(file(&home, "кофе.md"), mine);
}

#[test]
fn a_move_is_undone_with_its_links() {
    let (home, mut client) = home();
    let other = file(&home, "other.md");
    let moved = client.call("move_page", json!({ "path": "кофе.md", "to": "кухня/" }));
    let change = moved["structuredContent"]["change"].clone();
    assert!(home.vault().join("кухня/кофе.md").exists(), "{moved}");
    // Somebody writes to the note where it is now.
    put(&home.vault().join("кухня/кофе.md"), format!("{NOTE}\r\n- mine"));
    history(&mut client, json!({ "undo": change }));
    assert_eq!(file(&home, "кофе.md"), format!("{NOTE}\r\n- mine"));
    assert!(!home.vault().join("кухня/кофе.md").exists());
    assert_eq!(file(&home, "other.md"), other);
    let trashed = client.call("move_page", json!({ "path": "кофе.md", "to": "@trash" }));
    let change = trashed["structuredContent"]["change"].clone();
    assert!(!home.vault().join("кофе.md").exists(), "{trashed}");
    history(&mut client, json!({ "undo": change }));
    assert_eq!(file(&home, "кофе.md"), format!("{NOTE}\r\n- mine"));
}

#[test]
fn a_vault_that_is_away_is_told() {
    let (home, mut client) = home();
    let change = append(&mut client, "Notes", "- two")["change"].clone();
    drop(client);
    let away = home.vault().with_extension("away");
    std::fs::rename(home.vault(), &away).unwrap();
    let change = change.to_string();
    for arguments in [&["undo", &change][..], &["history", "кофе.md", "--at", "0", "--restore"]]
    {
        let (ok, _, err) = home.run(arguments);
        assert!(!ok && err.contains("is not there, so nothing was changed"), "{err}");
    }
    std::fs::rename(&away, home.vault()).unwrap();
    home.say(&["undo", &change]);
    assert_eq!(file(&home, "кофе.md"), NOTE);
}
