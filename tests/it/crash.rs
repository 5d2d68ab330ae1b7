//! `kill -9` while the index is written: nothing acknowledged is missing afterwards, and what is
//! found is what a fresh index would find.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::support::{Client, Home};

const ROUNDS: u64 = 100;

/// A small generator of numbers, so that a failure can be repeated.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn found(client: &mut Client, query: &str) -> BTreeSet<String> {
    let answer = client.call("search", json!({ "query": query, "limit": 100 }));
    let results = answer["structuredContent"]["results"].as_array().unwrap();
    let notes = &answer["structuredContent"]["notes"];
    assert!(!notes.to_string().contains("not in this answer"), "{notes}");
    results.iter().map(|result| result["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_hundred_kills_lose_nothing() {
    let home = Home::new();
    for number in 0..30 {
        home.note(
            &format!("n{number}.md"),
            &format!("# Заметка {number}\n\nСлово общее и word{number} и 単語。\n"),
        );
    }
    let mut dice = Dice(0x5eed_1234_abcd);
    // What was acknowledged: a word, and the card that has it.
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    let mut deleted: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        let mut client = home.stdio();
        let mut making = format!("r{round}");
        for change in 0..1 + dice.roll(4) {
            let word = format!("unique{round}x{change}");
            let made =
                client.call("create_note", json!({ "content": format!("общее {word} 単語") }));
            acknowledged.push((word, made["structuredContent"]["id"].as_str().unwrap().to_owned()));
            making += &format!("-{change}");
        }
        if dice.roll(3) == 0 && acknowledged.len() > 5 {
            let at = dice.roll(acknowledged.len() as u64) as usize;
            let (word, id) = acknowledged.remove(at);
            client.call("delete_note", json!({ "id": id }));
            deleted.push(word);
        }
        let number = dice.roll(30);
        home.note(
            &format!("n{number}.md"),
            &format!("# Заметка {number}\n\nСлово общее и word{number} {making} 単語。\n"),
        );
        // While the change log is followed and committed, or a little later.
        std::thread::sleep(Duration::from_micros(dice.roll(80_000)));
        client.child.kill().unwrap();
        client.child.wait().unwrap();
    }
    let mut client = home.stdio();
    crate::support::until("the vault is read", || found(&mut client, "word0").contains("n0.md"));
    for (word, id) in &acknowledged {
        assert!(found(&mut client, word).contains(id), "{word} is missing");
    }
    for word in &deleted {
        assert!(found(&mut client, &format!("\"{word}\"")).is_empty(), "{word} is still found");
    }
    // As many as a fresh index finds, for common words and for rare ones.
    let count = |client: &mut Client, query: &str| {
        let answer = client.call("search", json!({ "query": query }));
        answer["structuredContent"]["totalMatches"].as_u64().unwrap()
    };
    let queries = ["общее", "単語", "word", "заметка", "unique", "r50"];
    let before: Vec<u64> = queries.iter().map(|query| count(&mut client, query)).collect();
    drop(client);
    home.say(&["index", "--rebuild", "--words"]);
    let mut client = home.stdio();
    let after: Vec<u64> = queries.iter().map(|query| count(&mut client, query)).collect();
    assert_eq!(before, after);
    assert!(before[0] >= 30 + acknowledged.len() as u64, "{before:?}");
    let status: Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    assert_eq!(status["cards"], acknowledged.len(), "{status}");
    assert_eq!(status["behind"], 0);
}

/// Prompts, bookmarks and tokens: what was acknowledged before the kill is there after it, and what
/// was under way is there whole or not at all.
#[test]
fn kills_lose_no_prompt_bookmark_or_token() {
    let home = Home::new();
    let mut dice = Dice(0xfeed_5678_beef);
    let (mut prompts, mut bookmarks, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..25 {
        let mut client = home.stdio();
        client.initialize();
        for change in 0..1 + dice.roll(3) {
            let name = format!("p{round}x{change}");
            let text = json!({ "type": "text", "text": format!("общее {name} 単語") });
            let messages = json!([{ "role": "user", "content": text }]);
            client.call(
                "create_prompt",
                json!({ "name": name, "title": name, "messages": messages }),
            );
            prompts.push(name);
            let url = format!("https://example.org/{round}/{change}");
            client.call("add_bookmark", json!({ "url": url, "title": "Закладка 本" }));
            bookmarks.push(url);
        }
        // One more of each, of which nobody hears whether it was made.
        let late = [
            json!({ "name": "add_bookmark", "arguments": { "url": format!("https://example.org/late/{round}"), "title": "x" } }),
            json!({ "name": "create_prompt", "arguments": { "name": format!("late{round}"), "title": "x",
                "messages": [{ "role": "user", "content": { "type": "text", "text": "y" } }] } }),
        ];
        for (id, params) in (1000..).zip(late) {
            let request =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            client.write(format!("{request}\n").as_bytes());
        }
        std::thread::sleep(Duration::from_micros(dice.roll(15_000)));
        client.child.kill().unwrap();
        client.child.wait().unwrap();
        // A token that was printed is kept.
        let name = format!("token{round}");
        let mut command = home.command(&["token", "create", "--scope", "reader", "--name", &name]);
        let mut child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(dice.roll(60_000)));
        child.kill().unwrap();
        if !child.wait_with_output().unwrap().stdout.is_empty() {
            tokens.push(name);
        }
    }
    let listed = home.say(&["prompt", "list"]);
    for name in &prompts {
        assert!(listed.contains(&format!("{name}\t")), "{name} is missing");
    }
    for url in &bookmarks {
        assert!(home.say(&["bookmark", "show", url]).contains("Закладка"), "{url}");
    }
    let kept = home.say(&["token", "list"]);
    for name in &tokens {
        assert!(kept.contains(name.as_str()), "{name}: {kept}");
    }
    let (ok, out, err) = home.run(&["doctor"]);
    assert!(ok, "{out} {err}");
    let mut client = home.stdio();
    client.initialize();
    let found = client.call("search", json!({ "query": "kind:bookmark закладка", "limit": 1 }));
    let total = found["structuredContent"]["totalMatches"].as_u64().unwrap();
    assert_eq!(total, bookmarks.len() as u64);
}
