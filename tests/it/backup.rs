//! `notewell backup` and `notewell restore`: consistent while others write, verified, and nothing
//! is lost.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    crash::Dice,
    support::{Client, Home, only_sqlite, put, until},
};

const WHY: &str = "a server has backups of its own";

fn filled() -> Home {
    let home = Home::new();
    home.note("garden.md", "# Сад\n\nTomatoes, помидоры, トマト。\n");
    let mut client = home.stdio();
    client
        .call("create_note", json!({ "content": "a card about tea お茶 чай", "labels": ["tea"] }));
    client.call(
        "create_prompt",
        json!({ "name": "brew", "title": "Brew",
            "messages": [{ "role": "user", "content": { "type": "text", "text": "Brew tea." } }] }),
    );
    client.call("add_bookmark", json!({ "url": "https://example.org/tea", "text": "Green tea." }));
    home
}

/// A home without a library, whose vault is that of another.
fn empty() -> Home {
    Home::new()
}

fn restore(to: &Home, backup: &Path, more: &[&str]) -> (bool, String, String) {
    let mut arguments = vec!["restore", backup.to_str().unwrap()];
    arguments.extend(more);
    to.run(&arguments)
}

fn card_texts(home: &Home) -> Vec<String> {
    let out = home.say(&["card", "list", "--json"]);
    let value: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}"));
    let cards = value.as_array().or_else(|| value["notes"].as_array()).unwrap().clone();
    cards.iter().map(|card| card["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_backup_brings_everything_back_on_another_machine() {
    if only_sqlite(WHY) {
        return;
    }
    let home = filled();
    put(&home.dir.path().join("my.toml"), "log = \"warn\"\n");
    let config = home.dir.path().join("my.toml");
    let backup = home.dir.path().join("backup");
    let out = home.say(&["backup", backup.to_str().unwrap(), "--config", config.to_str().unwrap()]);
    assert!(out.contains("not in it: the notes in"), "{out}");
    for name in ["manifest.json", "notewell.db", "cards.db", "prompts/user.jsonl", "notewell.toml"]
    {
        assert!(backup.join(name).is_file(), "{name}: {out}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(backup.join("notewell.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "closed to others");
    }
    let other = empty();
    other.note("garden.md", "# Сад\n\nTomatoes, помидоры, トマト。\n");
    let restored_config = other.dir.path().join("new.toml");
    let (ok, out, err) = restore(&other, &backup, &["--config", restored_config.to_str().unwrap()]);
    assert!(ok && out.contains("restored:"), "{out}{err}");
    assert_eq!(std::fs::read_to_string(&restored_config).unwrap(), "log = \"warn\"\n");
    let mut client = other.stdio();
    for (query, kind) in [
        ("tea", "card"),
        ("чай", "card"),
        ("お茶", "card"),
        ("Green", "bookmark"),
        ("Brew", "prompt"),
        ("помидоры", "page"),
        ("トマト", "page"),
    ] {
        until(query, || {
            let answer = client.call("search", json!({ "query": query }));
            let results = answer["structuredContent"]["results"].as_array().unwrap().clone();
            results.iter().any(|result| result["kind"] == kind)
        });
    }
    let history = |home: &Home| home.say(&["history", "--json"]);
    drop(client);
    assert_eq!(history(&home), history(&other), "the history comes along");
}

#[test]
fn restore_refuses_what_it_would_lose_and_moves_it_aside_when_told_to() {
    if only_sqlite(WHY) {
        return;
    }
    let home = filled();
    let backup = home.dir.path().join("backup");
    home.say(&["backup", backup.to_str().unwrap()]);
    home.say(&["card", "add", "written after the backup"]);
    let (ok, _, err) = restore(&home, &backup, &[]);
    assert!(!ok && err.contains("is there already") && err.contains("--force"), "{err}");
    assert_eq!(card_texts(&home).len(), 2);
    // A process that serves the library keeps it from being moved away under its feet.
    let mut client = home.stdio();
    client.call("get_labels", json!({}));
    let (ok, _, err) = restore(&home, &backup, &["--force"]);
    assert!(
        !ok && err.contains("another process has") && err.contains("Nothing was changed"),
        "{err}"
    );
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    let (ok, out, err) = restore(&home, &backup, &["--force"]);
    assert!(ok, "{err}");
    assert_eq!(card_texts(&home).len(), 1, "as it was");
    let aside =
        PathBuf::from(out.split("before is in `").nth(1).unwrap().split('`').next().unwrap());
    assert!(aside.join("notewell.db").is_file() && aside.join("cards.db").is_file());
    // And back again: what was moved aside is a library.
    let mut command = crate::support::notewell();
    command.args(["card", "list", "--data"]).arg(&aside);
    let listed = command.output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("written after the backup"));
    // A backup is not written over anything.
    let (ok, _, err) = home.run(&["backup", backup.to_str().unwrap()]);
    assert!(!ok && err.contains("is not empty"), "{err}");
}

#[test]
fn a_damaged_backup_changes_nothing() {
    if only_sqlite(WHY) {
        return;
    }
    let home = filled();
    let backup = home.dir.path().join("backup");
    home.say(&["backup", backup.to_str().unwrap()]);
    let other = empty();
    let fails = |why: &str| {
        let (ok, _, err) = restore(&other, &backup, &[]);
        assert!(!ok && err.contains(why), "{why}: {err}");
        assert!(!other.data().join("notewell.db").exists());
    };
    let database = backup.join("notewell.db");
    let bytes = std::fs::read(&database).unwrap();
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    put(&database, &flipped);
    fails("is not what the backup wrote");
    std::fs::remove_file(&database).unwrap();
    fails("is missing");
    put(&database, &bytes);
    let manifest = std::fs::read_to_string(backup.join("manifest.json")).unwrap();
    put(&backup.join("manifest.json"), manifest.replace("\"format\": 1", "\"format\": 2"));
    fails("update Notewell");
    put(&backup.join("manifest.json"), manifest.replace("cards.db", "../../cards.db"));
    fails("which no backup has");
    put(&backup.join("manifest.json"), &manifest[..manifest.len() / 2]);
    fails("is damaged");
    std::fs::remove_file(backup.join("manifest.json")).unwrap();
    fails("is no backup");
    put(&backup.join("manifest.json"), &manifest);
    assert!(restore(&other, &backup, &[]).0, "whole again");
    // A restore that was killed is not taken for a library.
    put(&other.data().join("restore-unfinished"), "");
    let (ok, _, err) = other.run(&["status"]);
    assert!(!ok && err.contains("did not finish"), "{err}");
    assert!(restore(&other, &backup, &["--force"]).0);
    other.say(&["status"]);
}

/// It would look like a good one.
#[test]
fn a_backup_without_the_cards_or_prompts_that_were_lost_is_refused() {
    if only_sqlite(WHY) {
        return;
    }
    let home = filled();
    // The registry knows of the card and the prompt.
    home.say(&["search", "tea"]);
    let backup = home.dir.path().join("backup");
    let refused = |why: &str| {
        let (ok, out, err) = home.run(&["backup", backup.to_str().unwrap()]);
        assert!(!ok && err.contains(why) && err.contains("doctor --accept-empty"), "{out}{err}");
        assert!(!backup.exists() && !home.dir.path().join("backup.partial").exists());
    };
    for (file, why) in [("cards.db", "cards"), ("prompts/user.jsonl", "user.jsonl` is")] {
        let file = home.data().join(file);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        refused(why);
        put(&file, "");
        refused(why);
        put(&file, &bytes);
    }
    std::fs::remove_file(home.data().join("cards.db")).unwrap();
    home.say(&["doctor", "--accept-empty", "cards"]);
    home.say(&["backup", backup.to_str().unwrap()]);
}

/// Makes cards until it is stopped, and gives how many were acknowledged.
fn write(client: &mut Client, stop: &AtomicBool, acknowledged: &std::sync::Mutex<usize>) {
    // Also when the other side of the test fails.
    let end = std::time::Instant::now() + crate::support::PATIENCE;
    while !stop.load(Ordering::Acquire) && std::time::Instant::now() < end {
        let number = *acknowledged.lock().unwrap();
        let made =
            client.call("create_note", json!({ "content": format!("card number {number} 番") }));
        assert!(made["structuredContent"]["id"].is_string(), "{made}");
        *acknowledged.lock().unwrap() += 1;
    }
}

#[test]
fn a_backup_during_writes_has_everything_acknowledged_before_it() {
    if only_sqlite(WHY) {
        return;
    }
    let home = Home::new();
    let (stop, acknowledged) = (AtomicBool::new(false), std::sync::Mutex::new(0));
    std::thread::scope(|scope| {
        let mut client = home.stdio();
        scope.spawn(|| {
            let mut writer = home.stdio();
            write(&mut writer, &stop, &acknowledged);
        });
        for round in 0..4 {
            until("some were written", || *acknowledged.lock().unwrap() > (round + 1) * 5);
            let before = *acknowledged.lock().unwrap();
            let backup = home.dir.path().join(format!("backup{round}"));
            home.say(&["backup", backup.to_str().unwrap()]);
            let after = *acknowledged.lock().unwrap();
            let other = empty();
            assert!(restore(&other, &backup, &[]).0);
            other.say(&["index", "--words"]);
            let out = other.say(&["status", "--json"]);
            let status: Value = serde_json::from_str(&out).unwrap();
            let cards = status["cards"].as_u64().unwrap() as usize;
            // One more may be under way.
            assert!((before..=after + 1).contains(&cards), "{before} {cards} {after}");
            // Both databases are of one moment: every card is in the history, and no other.
            let history = other.say(&["history", "--json", "--limit", "200"]);
            assert!(history.matches("create").count() >= cards, "{cards}: {history}");
            let (ok, out, err) = other.run(&["doctor"]);
            assert!(ok, "{out}{err}");
        }
        stop.store(true, Ordering::Release);
        client.call("get_labels", json!({}));
    });
}

#[test]
fn a_killed_backup_is_no_backup_and_the_next_one_is() {
    if only_sqlite(WHY) {
        return;
    }
    let home = filled();
    // Enough that copying takes a moment.
    let mut client = home.stdio();
    for _ in 0..20 {
        client.call("create_note", json!({ "content": "长".repeat(3_000) }));
    }
    drop(client);
    let mut dice = Dice(0xbac_0ff);
    let backup = home.dir.path().join("backup");
    for _ in 0..12 {
        let mut child = home.command(&["backup", backup.to_str().unwrap()]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(dice.roll(60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        if backup.exists() {
            // It was done before the kill, and then it is whole.
            assert!(restore(&empty(), &backup, &[]).0);
            std::fs::remove_dir_all(&backup).unwrap();
        }
    }
    home.say(&["backup", backup.to_str().unwrap()]);
    assert!(!home.dir.path().join("backup.partial").exists());
    let other = empty();
    assert!(restore(&other, &backup, &[]).0);
    assert_eq!(card_texts(&other).len(), 21);
}
