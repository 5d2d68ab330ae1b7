//! `kill -9` during writes and undo: each change is whole or absent, and history can bring back
//! every state that was acknowledged. An undo of many items that is interrupted goes on.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use crate::{
    crash::Dice,
    history::{history, prompt},
    support::{Client, Home, only_sqlite, put},
};

/// Rounds by default; `NOTEWELL_ROUNDS` asks for more.
const ROUNDS: u64 = 30;

fn rounds() -> u64 {
    std::env::var("NOTEWELL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

/// A request whose answer nobody waits for.
fn send(client: &mut Client, id: u64, tool: &str, arguments: &Value) {
    let params = json!({ "name": tool, "arguments": arguments });
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    client.write(format!("{request}\n").as_bytes());
}

/// The texts of every version of an item.
fn versions(client: &mut Client, path: &str) -> Vec<String> {
    let listed = history(client, json!({ "path": path, "limit": 200 }));
    let changes: Vec<Value> =
        listed["changes"].as_array().unwrap().iter().map(|one| one["change"].clone()).collect();
    changes
        .into_iter()
        .map(|version| {
            let shown = history(client, json!({ "path": path, "version": version }));
            shown["version"]["text"].as_str().unwrap_or_default().to_owned()
        })
        .collect()
}

#[test]
fn kills_leave_each_change_whole_or_absent() {
    let home = Home::new();
    let mut dice = Dice(0xabad_1dea_0017);
    // Words that were acknowledged, by the item that had them.
    let mut acknowledged: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut cards: Vec<String> = Vec::new();
    for round in 0..rounds() {
        let mut client = home.stdio();
        client.initialize();
        let word = |n: u64| format!("слово{round}x{n}語");
        for n in 0..1 + dice.roll(3) {
            let word = word(n);
            match dice.roll(4) {
                0 => {
                    let made = client.call("create_note", json!({ "content": word }));
                    let id = made["structuredContent"]["id"].as_str().unwrap().to_owned();
                    acknowledged.entry(id.clone()).or_default().push(word);
                    cards.push(id);
                }
                1 if !cards.is_empty() => {
                    let id = &cards[dice.roll(cards.len() as u64) as usize];
                    client.call("update_note", json!({ "id": id, "content": word }));
                    acknowledged.entry(id.clone()).or_default().push(word);
                }
                2 => {
                    let name = format!("p{round}_{n}");
                    client.call("create_prompt", prompt(&name, &word));
                    acknowledged.entry(name).or_default().push(word);
                }
                _ => {
                    let url = format!("https://example.org/{round}/{n}");
                    let made = client.call("add_bookmark", json!({ "url": url, "text": word }));
                    let id = made["structuredContent"]["tweetId"].as_str().unwrap().to_owned();
                    acknowledged.entry(id).or_default().push(word);
                }
            }
        }
        // Writes and an undo of which nobody hears whether they happened.
        let last = history(&mut client, json!({ "limit": 1 }))["changes"][0]["change"].clone();
        let late = [
            ("create_note", json!({ "content": "late" })),
            ("create_prompt", prompt(&format!("late{round}"), "late")),
            ("history", json!({ "undo": last })),
            ("add_bookmark", json!({ "url": format!("https://example.org/late/{round}") })),
        ];
        let start = dice.roll(late.len() as u64) as usize;
        for (id, (tool, arguments)) in (1_000..).zip(&late[start..]) {
            send(&mut client, id, tool, arguments);
        }
        std::thread::sleep(Duration::from_micros(dice.roll(12_000)));
        client.child.kill().unwrap();
        client.child.wait().unwrap();
        // A card whose creation was just undone cannot be updated.
        let mut client = home.stdio();
        client.initialize();
        cards.retain(|id| {
            let asked =
                client.ask("tools/call", json!({"name": "get_note", "arguments": {"id": id}}));
            asked.get("error").is_none()
        });
    }
    let mut client = home.stdio();
    client.initialize();
    for (path, words) in &acknowledged {
        let texts = versions(&mut client, path);
        for word in words {
            assert!(texts.iter().any(|text| text.contains(word)), "{path} {word}: {texts:?}");
        }
    }
    let (ok, out, err) = home.run(&["doctor"]);
    assert!(ok, "{out} {err}");
    // Every change that is left can be listed, and its undo works or says why not.
    let listed = history(&mut client, json!({ "limit": 200 }));
    assert!(listed["changes"].as_array().unwrap().iter().all(|one| one["items"] == 1), "{listed}");
}

/// How many bookmarks there are.
fn bookmarks(home: &Home) -> u64 {
    let status: Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    status["bookmarks"].as_u64().unwrap()
}

/// Imports 1,000 bookmarks as change 2, after a bookmark as change 1.
fn imported() -> Home {
    let home = Home::new();
    home.say(&["bookmark", "add", "https://example.org/first", "--text", "first"]);
    let file = home.dir.path().join("saved.jsonl");
    let post = |n| format!("{{\"url\":\"https://example.org/{n}\",\"text\":\"пост {n} 投稿\"}}\n");
    put(&file, (0..1_000).map(post).collect::<String>());
    home.say(&["import", "bookmarks", file.to_str().unwrap()]);
    assert_eq!(bookmarks(&home), 1_001);
    home
}

#[test]
fn an_undo_that_fails_half_way_says_so_and_goes_on() {
    if only_sqlite("the fault is made in the library's file") {
        return;
    }
    let home = imported();
    let fault = |sql: &str| {
        let database = rusqlite::Connection::open(home.data().join("notewell.db")).unwrap();
        database.execute_batch(sql).unwrap();
    };
    fault(
        "CREATE TRIGGER fault BEFORE DELETE ON bookmarks
         WHEN (SELECT count(*) FROM bookmarks) <= 500 BEGIN SELECT raise(ABORT, 'no room'); END",
    );
    let (ok, out, err) = home.run(&["undo"]);
    assert!(!ok && !err.contains("nothing was changed"), "{out}{err}");
    assert!(err.contains("400 of the 1000 items of change 2 are taken back"), "{err}");
    assert!(err.contains("`notewell undo 2` goes on"), "{err}");
    assert_eq!(bookmarks(&home), 601);
    let listed = home.say(&["history"]);
    assert!(listed.contains("in part") && !listed.contains("undone by"), "{listed}");
    // Again, with what the first run took back.
    fault(
        "DROP TRIGGER fault;
         CREATE TRIGGER fault BEFORE DELETE ON bookmarks
         WHEN (SELECT count(*) FROM bookmarks) <= 300 BEGIN SELECT raise(ABORT, 'no room'); END",
    );
    let (_, _, err) = home.run(&["undo"]);
    assert!(err.contains("600 of the 1000 items of change 2 are taken back"), "{err}");
    fault("DROP TRIGGER fault");
    // It goes on, and takes back no other change.
    let out = home.say(&["undo"]);
    assert!(out.contains("Undid change 2: 1000 items (change 3)"), "{out}");
    assert_eq!(bookmarks(&home), 1);
    let listed = home.say(&["history"]);
    assert!(!listed.contains("in part") && listed.contains("[undone by 3]"), "{listed}");
    // And it is one change: undone, all are there again.
    home.say(&["undo", "3"]);
    assert_eq!(bookmarks(&home), 1_001);
}

#[test]
fn an_undo_that_is_killed_goes_on() {
    let home = imported();
    let mut dice = Dice(0x0dd5_0f0d);
    for _ in 0..4 {
        let mut undo = home.command(&["undo", "2"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + dice.roll(120)));
        undo.kill().unwrap();
        undo.wait().unwrap();
    }
    // Whatever the kills left: change 2 is taken back as a whole, and nothing else.
    let (_, out, err) = home.run(&["undo", "2"]);
    assert_eq!(bookmarks(&home), 1, "{out}{err}");
    let listed = home.say(&["history"]);
    assert!(listed.contains("[undone by 3]") && !listed.contains("in part"), "{listed}");
    home.say(&["undo"]);
    assert_eq!(bookmarks(&home), 0);
}
