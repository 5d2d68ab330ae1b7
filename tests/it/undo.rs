//! Undo keeps what somebody changed since, and takes back everything else.

use std::collections::BTreeMap;

use notewell::{
    app::App,
    domain::Caller,
    store::{cards::Images, revisions::Actor},
    tools,
};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::{
    edit::refusal,
    history::{card, history, prompt},
    support::{Client, Home},
};

fn content(client: &mut Client, id: &str) -> Value {
    client.call("get_note", json!({ "id": id }))["structuredContent"].clone()
}

#[test]
fn what_was_changed_since_stays() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let id = card(&mut client, "первая\nвторая\n三行目\nfourth\n");
    let edited = "первая!\nвторая\n三行目\nfourth\n";
    client.call("update_note", json!({ "id": id, "content": edited }));
    // A person pins it, and adds a line elsewhere.
    client.call("toggle_pin", json!({ "id": id }));
    let mine = format!("{edited}и моё\n");
    client.call("update_note", json!({ "id": id, "content": mine }));
    let undone = client.call("history", json!({ "undo": 2 }));
    assert!(undone["content"][0]["text"].as_str().unwrap().contains("Kept what was changed"));
    let now = content(&mut client, &id);
    assert_eq!(now["content"], "первая\nвторая\n三行目\nfourth\nи моё\n");
    assert_eq!(now["isPinned"], true);
}

#[test]
fn the_same_place_is_not_overwritten() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let id = card(&mut client, "老 старое");
    client.call("update_note", json!({ "id": id, "content": "ours" }));
    client.call("update_note", json!({ "id": id, "content": "моё слово" }));
    let message = refusal(&mut client, "history", json!({ "undo": 2 }));
    assert!(message.contains("change 2 was not undone"), "{message}");
    assert!(message.contains("-content: ours\n+content: моё слово"), "{message}");
    assert_eq!(content(&mut client, &id)["content"], "моё слово");
    // A card that was changed since is not deleted by the undo of its creation.
    refusal(&mut client, "history", json!({ "undo": 1 }));
    assert_eq!(content(&mut client, &id)["content"], "моё слово");
    // It can be said that the old version is wanted all the same, and that can be undone.
    let restored = history(&mut client, json!({ "path": id, "version": 1, "restore": true }));
    assert_eq!(content(&mut client, &id)["content"], "老 старое");
    history(&mut client, json!({ "undo": restored["change"] }));
    assert_eq!(content(&mut client, &id)["content"], "моё слово");
}

#[test]
fn an_undo_is_undone() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let draft = prompt("review", "Review this: {{code}}");
    client.call("create_prompt", draft);
    let first = history(&mut client, json!({ "undo": 1 }));
    assert_eq!(first["change"], 2);
    let again = client.refused("history", json!({ "undo": 1 }));
    assert!(again["message"].as_str().unwrap().contains("undone already, by change 2"), "{again}");
    history(&mut client, json!({ "undo": 2 }));
    assert!(home.say(&["prompt", "show", "review"]).contains("Review this"));
    let listed = history(&mut client, json!({}));
    let undone: Vec<&Value> =
        listed["changes"].as_array().unwrap().iter().map(|change| &change["undone_by"]).collect();
    assert_eq!(undone, [&Value::Null, &json!(3), &Value::Null], "{listed}");
}

/// Everything that a person wrote, by kind and key.
fn library(app: &App) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let cards = app.cards.store().unwrap();
    for (id, _) in cards.stamps().unwrap() {
        let card = cards.get(&id, Images::Bytes).unwrap().unwrap();
        let text = card.to_json(notewell::domain::card::View::Whole).to_string();
        all.insert(format!("card {id}"), text);
    }
    for stored in app.prompts.all().unwrap().iter().filter(|stored| stored.origin.is_user()) {
        let name = &stored.prompt.name;
        all.insert(format!("prompt {name}"), app.prompts.record(name).unwrap().unwrap());
    }
    for (pid, bookmark) in app.store.bookmarks.list(None, 1_000).unwrap() {
        all.insert(format!("bookmark {pid}"), serde_json::to_string(&bookmark).unwrap());
    }
    all
}

fn card_ids(app: &App) -> Vec<String> {
    let all = app.cards.store().unwrap().stamps().unwrap();
    let mut ids: Vec<String> = all.into_iter().map(|(id, _)| id).collect();
    ids.sort();
    ids
}

/// One write of an agent or a person; what does not fit the state is refused and changes nothing.
fn write(app: &App, (op, which, text): &(u8, usize, String)) {
    let call = |tool: &str, arguments: Value| {
        drop(tools::call(
            app,
            &app.rights(Caller::Owner),
            tool,
            arguments,
            &tools::Call::default(),
        ));
    };
    let ids = card_ids(app);
    let id = ids.get(which % ids.len().max(1)).cloned().unwrap_or_default();
    let name = ["обзор", "要約", "review"][which % 3];
    let url = format!("https://example.org/{}", which % 3);
    match op % 10 {
        0 => call("create_note", json!({ "content": text, "labels": [text] })),
        1 => call("update_note", json!({ "id": id, "content": text })),
        2 => call("update_note", json!({ "id": id, "title": text, "color": "red" })),
        3 => call("toggle_pin", json!({ "id": id })),
        4 => call("delete_note", json!({ "id": id })),
        5 => call("create_prompt", prompt(name, text)),
        6 => call("update_prompt", json!({ "name": name, "title": text })),
        7 => call("delete_prompt", json!({ "name": name })),
        8 => call("add_bookmark", json!({ "url": url, "text": text, "tags": [text] })),
        _ => drop(app.remove_bookmark(&url, &Actor::shell("bookmark remove"))),
    }
}

#[test]
fn any_writes_undone_leave_the_library_as_it_was() {
    let op = (any::<u8>(), any::<usize>(), "[a-zа-я日本語 \n]{1,12}");
    let case = (proptest::collection::vec(op, 0..6), proptest::collection::vec(op, 1..14));
    let mut runner = TestRunner::new(ProptestConfig { cases: 12, ..ProptestConfig::default() });
    let ran = runner.run(&case, |(first, then)| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = crate::support::config(folder.path());
        config.embed.provider = "none".parse().unwrap();
        let app = App::open(config, tools::names()).unwrap();
        app.cards.store().unwrap();
        first.iter().for_each(|op| write(&app, op));
        let start = library(&app);
        let newest =
            || app.store.revisions.recent(None, 1).unwrap().first().map(|change| change.id);
        let before = newest();
        let mut states = vec![start.clone()];
        for op in &then {
            write(&app, op);
            if states.last() != Some(&library(&app)) {
                states.push(library(&app));
            }
        }
        let made: Vec<_> = app.store.revisions.recent(None, 1_000).unwrap();
        let made = made.into_iter().filter(|change| Some(change.id) > before).count();
        // Each undo leads to the state before, and the last one to the first.
        for _ in 0..made {
            let undone = app.undo(None, false, &Actor::shell("undo")).unwrap();
            prop_assert!(undone.merged.is_empty() && undone.kept.is_empty());
            states.pop();
            let now = library(&app);
            prop_assert_eq!(Some(&now), states.last());
        }
        prop_assert_eq!(library(&app), start);
        prop_assert!(app.store.revisions.damage().unwrap().is_empty());
        prop_assert!(app.store.revisions.pending().unwrap().is_empty());
        Ok(())
    });
    ran.unwrap();
}
