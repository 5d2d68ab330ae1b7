//! `move_page`: a note moves, and every link goes on leading where it led.

use serde_json::{Value, json};

use crate::{
    edit::{edit, refusal},
    support::{Client, Home, put},
};

fn file(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.vault().join(path)).unwrap()
}

fn moved(client: &mut Client, arguments: Value) -> Value {
    let result = client.call("move_page", arguments);
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

#[test]
fn every_form_of_link_follows() {
    let home = Home::new();
    home.note("план/Старый.md", "# Старый\n\n[[сосед]] [сам](Старый.md#a) ![p](img/p.png) [вверх](../top.md) [вне](https://x.y/Старый.md)\n");
    home.note("план/img/p.png", "png")
        .note("план/сосед.md", "![[Старый]] [x](Старый.md) `[[Старый]]`\r\nбез  изменений\t");
    home.note("top.md", "[[Старый]] [[Старый|имя]] [[план/Старый#a|b]] [[Старый#a]] [y](план/Старый.md#a) [z](<план/Старый.md>)\n\n| t |\n|---|\n| [[Старый\\|u]] |\n\n[ref]: план/Старый.md\n");
    home.note("日記/五月.md", "[[../план/Старый]] [e](../%D0%BF%D0%BB%D0%B0%D0%BD/%D0%A1%D1%82%D0%B0%D1%80%D1%8B%D0%B9.md)\n");
    home.note(
        "чужой.md",
        "---\nup: \"[[Старый|с]]\" # мой\nlist:\n  - '[[план/Старый]]'\n---\nничего [[top]]\n",
    );
    let mut client = home.stdio();
    let before = client.call("search", json!({ "query": "Старый" }));
    let pid = before["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|result| result["path"] == "план/Старый.md")
        .unwrap()["pid"]
        .clone();
    let tried = moved(
        &mut client,
        json!({ "path": "план/Старый.md", "to": "архив/Новый", "dry_run": true }),
    );
    assert!(tried.get("change").is_none() && home.vault().join("план/Старый.md").exists());
    let done = moved(&mut client, json!({ "pid": pid, "to": "архив/Новый" }));
    assert_eq!(
        (done["pid"].clone(), done["path"].clone()),
        (pid.clone(), json!("архив/Новый.md")),
        "{done}"
    );
    assert_eq!(done["links"], tried["links"]);
    assert!(!home.vault().join("план/Старый.md").exists());
    assert_eq!(
        file(&home, "архив/Новый.md"),
        "# Старый\n\n[[сосед]] [сам](Новый.md#a) ![p](../план/img/p.png) [вверх](../top.md) [вне](https://x.y/Старый.md)\n"
    );
    assert_eq!(
        file(&home, "план/сосед.md"),
        "![[Новый]] [x](../архив/Новый.md) `[[Старый]]`\r\nбез  изменений\t"
    );
    assert_eq!(
        file(&home, "top.md"),
        "[[Новый]] [[Новый|имя]] [[архив/Новый#a|b]] [[Новый#a]] [y](архив/Новый.md#a) [z](<архив/Новый.md>)\n\n| t |\n|---|\n| [[Новый\\|u]] |\n\n[ref]: архив/Новый.md\n"
    );
    assert_eq!(
        file(&home, "日記/五月.md"),
        "[[../архив/Новый]] [e](../%D0%B0%D1%80%D1%85%D0%B8%D0%B2/%D0%9D%D0%BE%D0%B2%D1%8B%D0%B9.md)\n"
    );
    assert_eq!(
        file(&home, "чужой.md"),
        "---\nup: \"[[Новый|с]]\" # мой\nlist:\n  - '[[архив/Новый]]'\n---\nничего [[top]]\n"
    );
    // Found under its new path at once, with the same number.
    let note = client.call("note_html", json!({ "path": "архив/Новый.md" }));
    assert_eq!(note["structuredContent"]["pid"], pid);
}

#[test]
fn a_name_that_two_notes_have_stays_unambiguous() {
    let home = Home::new();
    home.note("a/Note.md", "a\n").note("b/Note.md", "b\n").note("x.md", "[[b/Note]] [[Note]]\n");
    home.note("b/y.md", "[[Note]]\n").note("c.md", "[[Лист]]\n").note("d/Лист.md", "d\n");
    let mut client = home.stdio();
    // `[[Note]]` in b/y.md means b/Note.md, which leaves.
    moved(&mut client, json!({ "path": "b/Note.md", "to": "e/" }));
    assert_eq!(file(&home, "x.md"), "[[e/Note]] [[Note]]\n");
    assert_eq!(file(&home, "b/y.md"), "[[e/Note]]\n");
    // A note that comes nearer the top would take the name of another.
    moved(&mut client, json!({ "path": "a/Note.md", "to": "Лист" }));
    assert_eq!(file(&home, "c.md"), "[[d/Лист]]\n");
    assert_eq!(file(&home, "x.md"), "[[e/Note]] [[Лист]]\n");
}

#[test]
fn the_trash_is_the_vaults_own() {
    let home = Home::new();
    home.note("a.md", "слово эфемерное\n").note("b.md", "[[a]]\n").note(".trash/a.md", "older\n");
    let mut client = home.stdio();
    let done = moved(&mut client, json!({ "path": "a.md", "to": "@trash" }));
    assert_eq!(done["path"], ".trash/a 2.md");
    assert_eq!(done["broken"], json!(["b.md"]), "{done}");
    assert_eq!(file(&home, ".trash/a 2.md"), "слово эфемерное\n");
    assert_eq!(file(&home, "b.md"), "[[a]]\n");
    let found = client.call("search", json!({ "query": "эфемерное" }));
    assert_eq!(found["structuredContent"]["totalMatches"], 0, "{found}");
}

#[test]
fn a_destination_that_names_no_vault_is_in_the_notes_own() {
    let home = Home::new();
    home.note("guides/Watering.md", "# Watering\n").note("Top.md", "[[guides/Watering]]\n");
    let kitchen = home.dir.path().join("kitchen");
    std::fs::create_dir(&kitchen).unwrap();
    put(&kitchen.join("Soup.md"), "# Soup\n");
    home.say(&["vault", "add", kitchen.to_str().unwrap()]);
    let mut client = home.stdio();
    for (from, to, expected) in [
        ("guides/Watering.md", "beds/", "vault/beds/Watering.md"),
        ("vault/beds/Watering.md", "/", "vault/Watering.md"),
        ("vault/Watering.md", "vault/guides/Roses", "vault/guides/Roses.md"),
        ("kitchen/Soup.md", "Stew", "kitchen/Stew.md"),
    ] {
        let done = moved(&mut client, json!({ "path": from, "to": to }));
        assert_eq!(done["path"], expected, "{done}");
    }
    assert!(file(&home, "Top.md").contains("Roses]]"), "{}", file(&home, "Top.md"));
    // The name of a vault means the vault, as everywhere.
    for (to, expected) in
        [("kitchen/", "moves within its vault"), ("/beds/", "absolute"), ("../x.md", "`..`")]
    {
        let told =
            refusal(&mut client, "move_page", json!({ "path": "guides/Roses.md", "to": to }));
        assert!(told.contains(expected), "{to}: {told}");
    }
    assert!(home.vault().join("guides/Roses.md").exists() && kitchen.join("Stew.md").exists());
}

#[test]
fn bad_moves_change_nothing() {
    let home = Home::new();
    home.note("a.md", "a\n").note("b.md", "[[a]]\n");
    let mut client = home.stdio();
    let etag =
        client.call("note_html", json!({ "path": "a.md" }))["structuredContent"]["etag"].clone();
    for (arguments, expected) in [
        (json!({ "path": "a.md", "to": "b.md" }), "exists already"),
        (json!({ "path": "a.md", "to": "a.md" }), "is there already"),
        (json!({ "path": "a.md", "to": "../x.md" }), "`..`"),
        (json!({ "path": "a.md", "to": "/etc/" }), "absolute"),
        (json!({ "path": "a.md", "to": "/etc/x.md" }), "absolute"),
        (json!({ "path": "a.md", "to": "x/NUL.md" }), "reserved"),
        (json!({ "path": "a.md", "to": "" }), "to is required"),
        (json!({ "path": "a.md" }), "to is required"),
        (json!({ "path": "нет.md", "to": "x.md" }), "no note"),
        (json!({ "to": "x.md" }), "name the note"),
        (
            json!({ "path": "a.md", "to": "x.md", "etag": "0000000000000000" }),
            "Nothing was changed",
        ),
        (json!({ "path": "a.md", "to": ".git/x.md" }), "another program"),
    ] {
        let told = refusal(&mut client, "move_page", arguments.clone());
        assert!(told.contains(expected), "{arguments}: {told}");
    }
    assert_eq!((file(&home, "a.md"), file(&home, "b.md")), ("a\n".into(), "[[a]]\n".into()));
    edit(&mut client, json!({ "path": "a.md", "op": "append", "text": "more" }));
    let told =
        refusal(&mut client, "move_page", json!({ "path": "a.md", "to": "x.md", "etag": etag }));
    assert!(told.contains("more") && home.vault().join("a.md").exists(), "{told}");
}
