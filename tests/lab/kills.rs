//! `kill -9` at any moment of any write: what was acknowledged is there afterwards.

use std::{
    collections::BTreeSet,
    io::Read,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    Dice, rounds,
    support::{Client, Home, until},
};

const SEED: u64 = 0x5eed_1234_abcd;

/// What was acknowledged.
#[derive(Default)]
struct Acknowledged {
    cards: Vec<String>,
    bookmarks: Vec<String>,
    prompts: Vec<String>,
    tokens: Vec<String>,
}

/// Lets a process run for a random while, then kills it. Returns what it printed.
fn kill_soon(mut command: Command, dice: &mut Dice) -> String {
    let mut child: Child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_micros(dice.roll(150_000)));
    let _ = child.kill();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.wait().unwrap();
    out
}

/// One round: some writes through one process, which is killed during or after them.
fn round(home: &Home, number: u64, dice: &mut Dice, kept: &mut Acknowledged) {
    match dice.roll(6) {
        0 => {
            let arguments: &[&str] = match dice.roll(2) {
                0 => &["index", "--rebuild", "--words"],
                _ => &["index", "--words"],
            };
            kill_soon(home.command(arguments), dice);
        }
        1 => {
            let name = format!("token{number}");
            let command =
                home.command(&["token", "create", "--scope", "reader", "--name", name.as_str()]);
            if kill_soon(command, dice).ends_with('\n') {
                kept.tokens.push(name);
            }
        }
        kind => {
            let mut client = home.stdio();
            for change in 0..1 + dice.roll(4) {
                write(&mut client, kind, &format!("unique{number}x{change}"), kept);
            }
            std::thread::sleep(Duration::from_micros(dice.roll(60_000)));
            client.child.kill().unwrap();
            client.child.wait().unwrap();
        }
    }
}

fn write(client: &mut Client, kind: u64, word: &str, kept: &mut Acknowledged) {
    match kind {
        2 | 3 => {
            client.call("create_note", json!({ "content": format!("общее {word} 単語") }));
            kept.cards.push(word.to_owned());
        }
        4 => {
            let url = format!("https://example.org/{word}");
            client.call("add_bookmark", json!({ "url": url, "text": word }));
            kept.bookmarks.push(url);
        }
        _ => {
            let text = json!({ "type": "text", "text": "Say it." });
            let messages = json!([{ "role": "user", "content": text }]);
            let draft = json!({ "name": word, "title": word, "tags": [], "description": word,
                "messages": messages });
            client.call("create_prompt", draft);
            kept.prompts.push(word.to_owned());
        }
    }
}

fn found(client: &mut Client, query: &str) -> Value {
    client.call("search", json!({ "query": query, "limit": 10 }))["structuredContent"].clone()
}

#[test]
fn kills_lose_nothing_that_was_acknowledged() {
    let home = Home::new();
    for number in 0..20 {
        home.note(
            &format!("n{number}.md"),
            &format!("# Заметка {number}\n\nСлово общее и word{number} и 単語。\n"),
        );
    }
    let mut dice = Dice(SEED);
    let mut kept = Acknowledged::default();
    for number in 0..rounds() {
        round(&home, number, &mut dice, &mut kept);
    }
    let mut client = home.stdio();
    client.initialize();
    until("the vault is read", || found(&mut client, "word0").to_string().contains("n0.md"));
    for word in kept.cards.iter().chain(&kept.prompts) {
        let answer = found(&mut client, word).to_string();
        assert!(answer.contains(word.as_str()), "{word} is missing: {answer}");
    }
    let exported = home.dir.path().join("all.jsonl");
    home.say(&["export", "bookmarks", exported.to_str().unwrap()]);
    let bookmarks = std::fs::read_to_string(&exported).unwrap_or_default();
    for url in &kept.bookmarks {
        assert!(bookmarks.contains(url.as_str()), "{url} is missing");
    }
    let tokens: BTreeSet<String> =
        home.say(&["token", "list"]).split_whitespace().map(str::to_owned).collect();
    for name in &kept.tokens {
        assert!(tokens.contains(name), "{name} is missing");
    }
    home.say(&["doctor"]);
    println!(
        "{} kills; kept {} cards, {} bookmarks, {} prompts, {} tokens",
        rounds(),
        kept.cards.len(),
        kept.bookmarks.len(),
        kept.prompts.len(),
        kept.tokens.len()
    );
}
