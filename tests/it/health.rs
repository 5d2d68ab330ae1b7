//! What is derived from the library is damaged, missing or of another library: nothing dies, nothing
//! is answered from it without a word, and it repairs itself.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Home, put, until};

/// Notes in three languages, and questions that share no word with them.
const NOTES: [(&str, &str); 3] = [
    ("en.md", "# Physician\n\nThe doctor prescribed medicine for the sick child.\n"),
    ("ru.md", "# Машина\n\nАвтомобиль сломался по дороге на дачу.\n"),
    ("ja.md", "# 天気\n\n明日は雨が降るでしょう。\n"),
];

fn home() -> Home {
    let home = Home::new();
    for (path, text) in NOTES {
        home.note(path, text);
    }
    home
}

/// A command with the embedded model.
fn run(home: &Home, arguments: &[&str]) -> (bool, String, String) {
    let mut command = home.command(arguments);
    command.env("NOTEWELL_EMBED_PROVIDER", "embedded");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn say(home: &Home, arguments: &[&str]) -> String {
    let (ok, out, err) = run(home, arguments);
    assert!(ok, "{arguments:?} failed: {out}{err}");
    assert!(!err.contains("panicked"), "{err}");
    out
}

/// The results of a search and what was said about them.
fn answer(home: &Home, question: &str) -> String {
    let (ok, out, err) = run(home, &["search", question]);
    assert!(ok, "{question} failed: {out}{err}");
    out + &err
}

fn status(home: &Home) -> Value {
    serde_json::from_str(&say(home, &["status", "--json"])).unwrap()
}

/// Passages that can be found by meaning, and passages in all.
fn vectors(home: &Home) -> (u64, u64) {
    let status = status(home);
    (status["vectors"][0].as_u64().unwrap(), status["vectors"][1].as_u64().unwrap())
}

/// Every file below a folder whose path contains `part`.
fn files(folder: &Path, part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path(), part));
        } else if entry.path().to_str().unwrap().contains(part) {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn cut_in_half(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

#[test]
fn commands_that_end_embed_what_is_missing() {
    let home = home();
    // Each search computes some vectors; a few of them compute all.
    for _ in 0..10 {
        run(&home, &["search", "anything"]);
        let (done, total) = vectors(&home);
        if done == total {
            break;
        }
    }
    let (done, total) = vectors(&home);
    assert_eq!(done, total);
    assert!(total >= 3);
    for (question, path) in
        [("hospital treatment", "en.md"), ("транспорт поломка", "ru.md"), ("weather 傘", "ja.md")]
    {
        let found = answer(&home, question);
        assert!(found.contains(path), "{question}: {found}");
        assert!(!found.contains("so far"), "{found}");
    }
    // A note that is new is found by meaning by the next command.
    home.note("new.md", "# Violin\n\nShe practised the instrument every evening.\n");
    let found = say(&home, &["call", "search", r#"{"query": "music lessons"}"#]);
    assert!(found.contains("new.md"), "{found}");
    let (done, more) = vectors(&home);
    assert_eq!((done, more), (total + 1, total + 1));
}

#[test]
fn an_import_embeds_what_it_brings() {
    let home = home();
    let file = home.dir.path().join("saved.jsonl");
    let line = |n: u32| json!({ "url": format!("https://example.org/{n}"), "title": format!("Page {n}"), "text": "kept" });
    put(&file, (0..40).map(|n| line(n).to_string() + "\n").collect::<String>());
    say(&home, &["import", "bookmarks", file.to_str().unwrap()]);
    let (done, total) = vectors(&home);
    assert_eq!(done, total);
    assert!(total >= 40, "{total}");
}

#[test]
fn a_cut_vector_file_is_noticed_counted_and_mended() {
    let home = home();
    say(&home, &["index"]);
    let (before, _) = vectors(&home);
    let codes = files(&home.data(), "/codes");
    cut_in_half(&codes[0]);
    let (done, total) = vectors(&home);
    assert!(done < total && total == before, "{done} of {total}");
    let repairs = status(&home)["repairs"].to_string();
    assert!(repairs.contains("damaged"), "{repairs}");
    let doctor = say(&home, &["doctor"]);
    assert!(doctor.contains("damaged and"), "{doctor}");
    assert!(doctor.contains(&format!("{done} of {total} passages")), "{doctor}");
    say(&home, &["search", "medicine"]);
    assert_eq!(vectors(&home), (before, before));
}

#[test]
fn a_damaged_index_of_words_is_made_anew_and_the_answer_says_so() {
    let home = home();
    say(&home, &["index"]);
    for ending in [".term", ".idx", ".store", ".fast", "meta.json", "/current"] {
        for file in files(&home.data().join("index"), ending) {
            put(&file, "not what it was");
        }
        for (word, path) in [("medicine", "en.md"), ("дачу", "ru.md"), ("明日", "ja.md")] {
            let found = say(&home, &["search", word]);
            assert!(found.contains(path), "{ending}: {found}");
        }
        let doctor = say(&home, &["doctor"]);
        assert!(doctor.contains("the index of words was damaged"), "{ending}: {doctor}");
        assert!(status(&home)["repairs"].to_string().contains("made anew"));
        home.say(&["index", "--rebuild", "--words"]);
        assert_eq!(status(&home)["repairs"], json!([]), "a rebuild on purpose ends the report");
    }
    for file in files(&home.data().join("index"), ".term") {
        put(&file, "not what it was");
    }
    let found = answer(&home, "medicine");
    assert!(found.contains("en.md") && found.contains("was damaged"), "{found}");
}

#[test]
fn a_running_server_mends_the_index_under_it() {
    let home = home();
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    let found = |client: &mut crate::support::Client, word: &str| {
        let answer =
            client.ask("tools/call", json!({ "name": "search", "arguments": { "query": word } }));
        answer.to_string()
    };
    until("the vault is read", || found(&mut client, "medicine").contains("en.md"));
    // Bits change under the server without a trace in the files' times.
    for ending in [".term", ".idx", ".store", ".fast"] {
        for path in files(&home.data().join("index"), ending) {
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
            file.seek(SeekFrom::Start(0)).unwrap();
            file.write_all(&bytes).unwrap();
            file.set_modified(time).unwrap();
        }
    }
    home.note("later.md", "# Later\n\nA kangaroo arrives.\n");
    until("the index is repaired", || {
        found(&mut client, "kangaroo").contains("later.md")
            && found(&mut client, "дачу").contains("ru.md")
    });
}

#[test]
fn an_index_of_another_database_is_not_answered_from() {
    if crate::support::only_sqlite("it deletes the file of the library") {
        return;
    }
    let home = Home::new();
    home.say(&["bookmark", "add", "https://example.org/gone", "--title", "Pelican crossing"]);
    assert!(home.say(&["search", "pelican"]).contains("Pelican"));
    for name in ["notewell.db", "notewell.db-wal", "notewell.db-shm"] {
        let _ = fs::remove_file(home.data().join(name));
    }
    let (_, found, said) = home.run(&["search", "pelican"]);
    let found = found + &said;
    assert!(!found.contains("example.org/gone"), "{found}");
    assert!(found.contains("another database"), "{found}");
    let (ok, doctor, _) = home.run(&["doctor"]);
    assert!(!ok, "a database that is gone is not papered over");
    assert!(doctor.contains("another database") && doctor.contains("backup"), "{doctor}");
    home.say(&["index", "--rebuild"]);
    home.say(&["doctor"]);
}

/// Breaks something.
type Break<'a> = Box<dyn Fn() + 'a>;

#[test]
fn a_rebuild_works_whatever_is_broken() {
    let home = home();
    say(&home, &["index"]);
    let index = home.data().join("index");
    let remove = |path: &Path| match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    };
    let vectors_folder = || {
        let entries = fs::read_dir(&index).unwrap().flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.to_str().unwrap().contains("vectors-")).unwrap()
    };
    let mut broken: Vec<(&str, Break<'_>)> = Vec::new();
    for name in ["current", "lease", "repairs"] {
        let path = index.join(name);
        broken.push((
            name,
            Box::new(move || {
                if path.exists() {
                    remove(&path);
                }
                fs::create_dir(&path).unwrap();
            }),
        ));
    }
    broken.push((
        "vectors",
        Box::new(|| {
            let folder = vectors_folder();
            remove(&folder);
            put(&folder, "a file");
        }),
    ));
    broken.push((
        "everything",
        Box::new(|| {
            remove(&index);
            put(&index, "a file");
        }),
    ));
    for (name, break_it) in broken {
        break_it();
        say(&home, &["index", "--rebuild"]);
        assert!(say(&home, &["search", "medicine"]).contains("en.md"), "{name}");
        let (done, total) = vectors(&home);
        assert_eq!(done, total, "{name}");
    }
}

#[test]
fn a_second_index_says_whom_it_waits_for_and_what_an_interrupt_keeps() {
    let home = home();
    home.say(&["index", "--words"]);
    let path = home.data().join("index/lease");
    let mut lease = OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
    lease.lock().unwrap();
    lease.write_all(br#"{"pid":4242,"since":"2026-01-02T03:04:05.000Z"}"#).unwrap();
    home.note("more.md", "# More\n\nA kangaroo arrives.\n");
    let start = || {
        let mut command = home.command(&["index", "--words"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = start();
    let mut said = Vec::new();
    let mut stderr = first.stderr.take().unwrap();
    let mut byte = [0];
    while !said.ends_with(b"\n") && stderr.read(&mut byte).unwrap() > 0 {
        said.push(byte[0]);
    }
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("process 4242") && said.contains("2026-01-02"), "{said}");
    let interrupted = Command::new("kill").args(["-INT", &first.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert!(rest.contains("is kept"), "{rest}");
    let second = start();
    drop(lease);
    let output = second.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(home.say(&["search", "kangaroo"]).contains("more.md"));
}

/// Unmounts when it is dropped.
pub struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A disk of a few megabytes, where mounting one is allowed.
pub fn small_disk(path: &Path, size: &str) -> Option<Mounted> {
    fs::create_dir_all(path).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(path);
    let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !mounted {
        eprintln!("skipped: a small disk cannot be mounted here");
    }
    mounted.then(|| Mounted(path.to_owned()))
}

/// Leaves nothing free.
pub fn fill(folder: &Path) {
    let mut file = File::create(folder.join("filler")).unwrap();
    let mut block = 1 << 16;
    while block > 0 {
        match file.write(&vec![1; block]) {
            Ok(0) | Err(_) => block /= 2,
            Ok(_) => {}
        }
    }
}

#[test]
fn a_full_disk_stops_neither_reading_nor_searching() {
    let home = home();
    let Some(_disk) = small_disk(&home.data(), "24m") else { return };
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    let mut search = |word: &str| {
        let answer = client.call("search", json!({ "query": word }));
        answer["structuredContent"].to_string()
    };
    until("the vault is read", || search("medicine").contains("en.md"));
    fill(&home.data());
    let before = search("дачу");
    assert!(before.contains("ru.md"), "{before}");
    // One shot: what is there is found, and nothing dies.
    let (ok, found, err) = home.run(&["search", "明日"]);
    assert!(ok && found.contains("ja.md"), "{found}{err}");
    let (ok, doctor, _) = home.run(&["doctor"]);
    assert!(!ok && doctor.contains("the disk is full"), "{doctor}");
    fs::remove_file(home.data().join("filler")).unwrap();
    home.note("later.md", "# Later\n\nA kangaroo arrives.\n");
    until("the index follows again", || search("kangaroo").contains("later.md"));
}

#[test]
fn nothing_is_repaired_in_ordinary_use() {
    let home = Home::new();
    for round in 0..8 {
        let lines: String = (0..20)
            .map(|n| {
                let more = if n < round { " and soup" } else { "" };
                let text = format!("beets {n}, свёкла, 味噌汁{more}");
                format!("{}\n", json!({ "id": n.to_string(), "url": format!("https://example.org/{n}"), "text": text }))
            })
            .collect();
        let file = home.dir.path().join("posts.jsonl");
        put(&file, lines);
        // A process each: every one takes back a part of a segment that the ones before wrote.
        home.say(&["import", "bookmarks", file.to_str().unwrap()]);
    }
    let status = home.say(&["status"]);
    assert!(!status.contains("repaired"), "{status}");
    assert!(home.say(&["search", "soup"]).contains("beets"));
}
