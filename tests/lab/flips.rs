//! One bit of one file of the data directory flips. Derived files repair themselves and the answer
//! stays what it was. Canonical files are not derived from anything: an answer may fail or say what
//! is wrong, and no command panics.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{Dice, rounds, support::Home};

/// Words that every item has, one for each language.
const QUERY: &str = "common общее 単語";
const SEED: u64 = 0x5eed_f11b_0001;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else if entry.metadata().unwrap().len() > 0 {
            found.push(entry.path());
        }
    }
    found.sort();
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            // A copy with another time would be verified even without a flip.
            let time = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().write(true).open(&target).unwrap().set_modified(time).unwrap();
        }
    }
}

/// Pages, cards, bookmarks, a prompt and a token, indexed and embedded.
fn library() -> Home {
    let home = Home::new();
    for number in 0..8 {
        home.note(
            &format!("n{number}.md"),
            &format!("# Note {number}\n\nA common page. Общее слово. 単語 {number}。\n"),
        );
    }
    home.token("owner");
    let mut client = home.stdio();
    client.initialize();
    for number in 0..4 {
        client
            .call("create_note", json!({ "content": format!("common общее 単語 card {number}") }));
        client.call(
            "add_bookmark",
            json!({ "url": format!("https://example.org/{number}"), "text": format!("common общее 単語 link {number}") }),
        );
    }
    client.call(
        "create_prompt",
        json!({ "name": "lab", "title": "Lab", "tags": ["lab"], "description": "common общее 単語",
            "messages": [{ "role": "user", "content": { "type": "text", "text": "Say it." } }] }),
    );
    drop(client);
    let (ok, _, err) = run(&home, &["index"]);
    assert!(ok, "{err}");
    home
}

fn run(home: &Home, arguments: &[&str]) -> (bool, String, String) {
    let mut command = home.command(arguments);
    command.env("NOTEWELL_EMBED_PROVIDER", "embedded");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// What a search finds: every item with its title.
fn results(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let mut found: Vec<String> = answer["results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|result| format!("{} {} {}", result["kind"], result["path"], result["title"]))
        .collect();
    found.sort();
    found
}

#[derive(Default)]
struct Tally {
    derived: u32,
    canonical: u32,
    mended_with_a_word: u32,
    refused: u32,
    said: u32,
    /// SQLite cannot know that a letter of a text is another.
    silent_content: u32,
}

#[test]
fn a_flipped_bit_is_never_answered_from_without_a_word() {
    let home = library();
    let template = tempfile::tempdir().unwrap();
    let search = ["search", QUERY, "--limit", "50", "--json"];
    let (ok, out, err) = run(&home, &search);
    assert!(ok, "{err}");
    let expected = results(&out);
    assert!(expected.len() >= 16, "{expected:?}");
    copy(&home.data(), template.path());
    let mut dice = Dice(SEED);
    let mut tally = Tally::default();
    for round in 0..rounds() {
        fs::remove_dir_all(home.data()).unwrap();
        copy(template.path(), &home.data());
        let mut all = Vec::new();
        files(&home.data(), &mut all);
        // Canonical files are few: every fourth flip is theirs.
        let canonical = dice.roll(4) == 0;
        all.retain(|path| path.starts_with(home.data().join("index")) != canonical);
        let path = &all[usize::try_from(dice.roll(all.len() as u64)).unwrap()];
        let mut bytes = fs::read(path).unwrap();
        let bit = usize::try_from(dice.roll(bytes.len() as u64 * 8)).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, bytes).unwrap();
        let name = path.strip_prefix(home.data()).unwrap().display().to_string();
        let what = format!("round {round}: bit {bit} of {name}");
        let (ok, out, err) = run(&home, &search);
        assert!(!err.contains("panicked"), "{what}: {err}");
        let same = results(&out) == expected;
        if name.starts_with("index") {
            tally.derived += 1;
            assert!(ok && same, "{what}: {out}{err}");
            tally.mended_with_a_word += u32::from(out.contains("damaged"));
            let (ok, out, err) = run(&home, &search);
            assert!(ok && results(&out) == expected, "{what}, again: {out}{err}");
            continue;
        }
        tally.canonical += 1;
        let (sound, doctor, err) = run(&home, &["doctor"]);
        assert!(!err.contains("panicked"), "{what}: {err}");
        if !ok {
            tally.refused += 1;
        } else if !same && !sound {
            tally.said += 1;
        } else if !same {
            tally.silent_content += 1;
            println!("{what}: changed without a word: {doctor}");
        }
    }
    println!(
        "{} flips in derived files, all repaired, {} of them mentioned in the answer; {} in canonical files: {} refused, {} reported by doctor, {} changed a text that nothing can check",
        tally.derived,
        tally.mended_with_a_word,
        tally.canonical,
        tally.refused,
        tally.said,
        tally.silent_content
    );
}
