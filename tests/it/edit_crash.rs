//! `kill -9` during writes and moves, and several writers at once: each change is whole or absent,
//! and nobody's acknowledged words are lost.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use notewell::{
    app::App,
    config::EmbedProvider,
    domain::Kind,
    store::revisions::{Actor, NewChange, Revision},
    tools,
    vault::staging_prefix,
};
use serde_json::{Value, json};

use crate::{
    edit::edit,
    support::{Client, Home, put, until},
};

/// Rounds of kills; `NOTEWELL_TEST_KILLS=300` for a long run.
fn rounds() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "a test's own setting")]
    let rounds = std::env::var("NOTEWELL_TEST_KILLS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(40)
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const LINKS: usize = 200;

fn text(home: &Home, path: &str) -> Option<String> {
    std::fs::read_to_string(home.vault().join(path)).ok()
}

/// Sends a request and does not wait for the answer.
fn send(client: &mut Client, id: u64, tool: &str, arguments: &Value) {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments } });
    client.write(format!("{request}\n").as_bytes());
}

#[test]
fn kills_leave_each_change_whole_or_absent() {
    let home = Home::new();
    home.note("hub.md", "# Hub\n\n## Журнал\n\nначало\n");
    for number in 0..LINKS {
        home.note(
            &format!("n{number}.md"),
            &format!("# {number}\n\n[[hub]] и [ещё](hub.md) 単語\n"),
        );
    }
    let mut dice = Dice(0x00c0_ffee);
    let mut at = "hub".to_owned();
    let mut acknowledged: Vec<String> = Vec::new();
    let mut possible: BTreeSet<String> = BTreeSet::new();
    for round in 0..rounds() {
        let mut client = home.stdio();
        // One edit that is acknowledged, which also settles what the round before left.
        let word = format!("слово{round}x");
        edit(
            &mut client,
            json!({ "path": format!("{at}.md"), "op": "append", "toc_path": "Журнал", "text": format!("- {word}") }),
        );
        acknowledged.push(word);
        // And one edit or move that is killed somewhere.
        let lost = format!("恐らく{round}y");
        let to = format!("hub{round}");
        let moves = dice.roll(2) == 0;
        match moves {
            true => send(
                &mut client,
                1_000_000,
                "move_page",
                &json!({ "path": format!("{at}.md"), "to": to }),
            ),
            false => send(
                &mut client,
                1_000_000,
                "edit_page",
                &json!({ "path": format!("{at}.md"), "op": "append", "toc_path": "Журнал", "text": format!("- {lost}") }),
            ),
        }
        let pause = if moves { 400_000 } else { 40_000 };
        std::thread::sleep(Duration::from_micros(dice.roll(pause)));
        client.child.kill().unwrap();
        client.child.wait().unwrap();
        drop(client);
        // The next process settles it before it writes; a search or a read needs no such thing.
        let mut client = home.stdio();
        edit(
            &mut client,
            json!({ "path": "n0.md", "op": "find", "find": "# 0", "text": "# 0" , "dry_run": true }),
        );
        let hubs: Vec<String> = std::fs::read_dir(home.vault())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("hub") || name.starts_with('.'))
            .collect();
        assert_eq!(hubs.len(), 1, "round {round}: {hubs:?}");
        at = hubs[0].trim_end_matches(".md").to_owned();
        for number in 0..LINKS {
            let linking = text(&home, &format!("n{number}.md")).unwrap();
            let expected = format!("# {number}\n\n[[{at}]] и [ещё]({at}.md) 単語\n");
            assert_eq!(linking, expected, "round {round}: a move is whole or absent");
        }
        possible.insert(lost);
        let hub = text(&home, &format!("{at}.md")).unwrap();
        let mut lines = hub.lines().filter(|line| line.starts_with("- "));
        assert!(
            lines.all(|line| acknowledged.contains(&line[2..].to_owned())
                || possible.contains(&line[2..])),
            "{hub}"
        );
        for word in &acknowledged {
            assert_eq!(hub.matches(&format!("- {word}\n")).count(), 1, "round {round}: {word}");
        }
    }
    println!("{} rounds", rounds());
    let mut client = home.stdio();
    let last = acknowledged.last().unwrap().clone();
    until("the last word is found", || {
        let found = client.call("search", json!({ "query": last }));
        found["structuredContent"]["results"][0]["path"] == format!("{at}.md")
    });
}

/// A person whose editor saves the whole file: reads it, adds a line, writes it beside and renames.
fn person(file: &Path, word: &str) {
    let mut text = std::fs::read_to_string(file).unwrap();
    text = text.replace("## Человек\n", &format!("## Человек\n- {word}\n"));
    let beside = file.with_extension("swp");
    put(&beside, text);
    std::fs::rename(&beside, file).unwrap();
}

#[test]
fn two_agents_and_a_person_lose_no_acknowledged_word() {
    let home = Home::new();
    home.note(
        "общая.md",
        "# Общая\n\n## Первый\n\n- начало\n\n## 二番\n\n- 始め\n\n## Человек\n- start\n",
    );
    // Both processes know the vault before they begin.
    let mut agents: Vec<Client> = (0..2).map(|_| home.stdio()).collect();
    for agent in &mut agents {
        agent.call("note_html", json!({ "path": "общая.md" }));
    }
    let each = 60;
    let answered: Arc<AtomicUsize> = Arc::default();
    let threads: Vec<_> = agents
        .into_iter()
        .zip(["Первый", "二番"])
        .map(|(mut agent, section)| {
            let answered = answered.clone();
            std::thread::spawn(move || {
                let mut acknowledged = Vec::new();
                for number in 0..each {
                    let word = format!("{section}{number}");
                    let arguments = json!({ "path": "общая.md", "op": "append", "toc_path": section, "text": format!("- {word}") });
                    let answer = agent.ask("tools/call", json!({ "name": "edit_page", "arguments": arguments }));
                    answered.fetch_add(1, Ordering::Relaxed);
                    // Either it is acknowledged, or the loser gets an error.
                    match answer["result"]["isError"] == true {
                        true => assert!(answer.to_string().contains("nothing was changed"), "{answer}"),
                        false => {
                            let change = answer["result"]["structuredContent"]["change"].as_i64();
                            acknowledged.push((word, change.unwrap_or_else(|| panic!("{answer}"))));
                        }
                    }
                }
                acknowledged
            })
        })
        .collect();
    let file = home.vault().join("общая.md");
    let mut typed = 0;
    let are_writing = || threads.iter().any(|thread| !thread.is_finished());
    while are_writing() {
        person(&file, &format!("person{typed}"));
        typed += 1;
        // A save may cost each agent an edit: where edits are slow, saves are rare.
        let before = answered.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(45));
        while are_writing() && answered.load(Ordering::Relaxed) < before + 6 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let acknowledged: Vec<(String, i64)> =
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let text = std::fs::read_to_string(&file).unwrap();
    // What the person's editor overwrote by saving an older text is in the journal; what the agents
    // wrote never overwrote the person.
    for number in 0..typed {
        assert!(text.contains(&format!("- person{number}\n")), "person{number} is lost: {text}");
    }
    let missing: Vec<&(String, i64)> =
        acknowledged.iter().filter(|(word, _)| !text.contains(&format!("- {word}\n"))).collect();
    // A person's editor cannot compare and swap. What it saved over is in the history.
    for (word, change) in &missing {
        let version = home.say(&["history", "общая.md", "--at", &change.to_string()]);
        assert!(version.contains(&format!("- {word}\n")), "{word} is lost: {version}");
    }
    println!(
        "{} of {} agents' edits, {typed} by the person, {} overwritten by the person's editor",
        acknowledged.len(),
        2 * each,
        missing.len()
    );
    assert!(acknowledged.len() > usize::try_from(each).unwrap(), "most edits succeed");
    assert!(missing.len() * 10 < acknowledged.len(), "{missing:?}");
}

/// The power went in the middle of a change, and the vault is on a drive that is mounted late: what
/// is not seen is not gone.
#[test]
fn half_a_change_waits_for_its_vault() {
    let home = Home::new();
    for name in ["сад.md", "庭.md"] {
        home.note(name, "# Before\n\nпервая 行\n");
    }
    home.say(&["index", "--words"]);
    let mut config = crate::support::config(&home.data());
    config.embed.provider = EmbedProvider::None;
    let app = App::open(config, tools::names()).unwrap();
    let before = text(&home, "сад.md").unwrap();
    let rewritten = |name: &str| Revision {
        pid: None,
        kind: Kind::Page,
        key: format!("vault/{name}"),
        moved_to: None,
        before: Some(before.clone().into()),
        after: Some("# After\n".into()),
    };
    let mut change = NewChange::new(&Actor::shell("move"), "two links");
    {
        let turn = app.store.revisions.turn().unwrap();
        let revisions = [rewritten("сад.md"), rewritten("庭.md")];
        app.store.revisions.begin(&turn, &mut change, &revisions).unwrap();
    }
    home.note("сад.md", "# After\n");
    let is_pending = || !app.store.revisions.pending().unwrap().is_empty();
    // Away, and then an empty place to mount it at.
    let away = home.dir.path().join("away");
    std::fs::rename(home.vault(), &away).unwrap();
    home.run(&["status"]);
    assert!(is_pending());
    std::fs::create_dir(home.vault()).unwrap();
    home.run(&["status"]);
    assert!(is_pending());
    assert!(home.run(&["doctor"]).1.contains("was begun and is not finished"));
    std::fs::remove_dir(home.vault()).unwrap();
    // There, with one file that cannot be read: its name leads to itself.
    let (second, aside) = (away.join("庭.md"), home.dir.path().join("aside"));
    std::fs::rename(&second, &aside).unwrap();
    std::os::unix::fs::symlink("庭.md", &second).unwrap();
    std::fs::rename(&away, home.vault()).unwrap();
    home.run(&["status"]);
    assert!(is_pending());
    assert_eq!(text(&home, "сад.md").as_deref(), Some("# After\n"));
    std::fs::rename(&aside, home.vault().join("庭.md")).unwrap();
    home.say(&["status"]);
    assert!(!is_pending());
    for name in ["сад.md", "庭.md"] {
        assert_eq!(text(&home, name).as_ref(), Some(&before), "{name}");
    }
}

/// The disk kept that the note left its folder, and not that it came to another one.
#[test]
fn a_move_of_which_a_power_cut_left_neither_file_is_taken_back() {
    let home = Home::new();
    let (gone, kept) = ("# Gone\n\nпервая 行\n", "# Kept\n");
    home.note("gone.md", gone);
    home.note("person.md", kept);
    home.say(&["index", "--words"]);
    let mut config = crate::support::config(&home.data());
    config.embed.provider = EmbedProvider::None;
    let app = App::open(config, tools::names()).unwrap();
    let moved = |name: &str, text: &str| Revision {
        pid: None,
        kind: Kind::Page,
        key: format!("vault/{name}.md"),
        moved_to: Some(format!("vault/folder/{name}.md")),
        before: Some(text.into()),
        after: Some(text.into()),
    };
    let mut change = NewChange::new(&Actor::shell("move"), "two moves");
    let begun = {
        let turn = app.store.revisions.turn().unwrap();
        let revisions = [moved("gone", gone), moved("person", kept)];
        app.store.revisions.begin(&turn, &mut change, &revisions).unwrap()
    };
    let aside = home.vault().join(format!("{}x.tmp", staging_prefix(begun.id.0)));
    std::fs::rename(home.vault().join("gone.md"), &aside).unwrap();
    // This one a person took elsewhere, and it stays there.
    std::fs::rename(home.vault().join("person.md"), home.vault().join("mine.md")).unwrap();
    app.recover().unwrap();
    assert_eq!(text(&home, "gone.md").as_deref(), Some(gone));
    assert_eq!(text(&home, "mine.md").as_deref(), Some(kept));
    assert!(!aside.exists() && text(&home, "person.md").is_none());
    assert!(app.store.revisions.pending().unwrap().is_empty());
}
