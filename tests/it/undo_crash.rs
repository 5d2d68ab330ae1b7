//! `kill -9` during writes and undo: each change is whole or absent, and history can bring back
//! every state that was acknowledged.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use crate::{
    crash::Dice,
    history::{history, prompt},
    support::{Client, Home},
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
