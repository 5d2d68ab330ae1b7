//! `kill -9` while the index is written: nothing acknowledged is missing afterwards, and what is
//! found is what a fresh index would find.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::support::{Client, Home};

const ROUNDS: u64 = 100;

/// A small generator of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
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
