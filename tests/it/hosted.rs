//! Vaults that live in the library: everything that works on a folder works on them.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
};

use notewell::{
    domain::{Code, Kind, VaultPath},
    store::{
        Store,
        hosted::{Expected, FileStep, HostedLimits, HostedWrite, Property},
        revisions::{Actor, NewChange, Revision},
    },
};
use serde_json::{Value, json};

use crate::{
    dav::Dav,
    edit::refusal,
    store::every_store,
    support::{Client, Home, Server, put},
};

/// The program without a folder of notes.
pub fn command(home: &Home, arguments: &[&str]) -> Command {
    let full = home.command(arguments);
    let mut command = Command::new(full.get_program());
    let vault = home.vault();
    let mut given = full.get_args().peekable();
    while let Some(argument) = given.next() {
        match argument == "--vault" && given.peek().is_some_and(|next| Path::new(next) == vault) {
            true => drop(given.next()),
            false => drop(command.arg(argument)),
        }
    }
    for (name, value) in full.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Runs a command: exit status, stdout, stderr.
pub fn run(home: &Home, arguments: &[&str]) -> (i32, String, String) {
    let output = command(home, arguments).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

pub fn say(home: &Home, arguments: &[&str]) -> String {
    let (status, out, err) = run(home, arguments);
    assert_eq!(status, 0, "{arguments:?} failed: {out}{err}");
    out
}

/// A library with one hosted vault.
pub fn hosted(name: &str) -> Home {
    let home = Home::new();
    say(&home, &["vault", "create", name]);
    home
}

pub fn serve(home: &Home) -> Server {
    Server::start(command(home, &["serve", "--listen", "127.0.0.1:0"]))
}

pub fn token(home: &Home, scope: &str) -> String {
    let out = say(home, &["token", "create", "--scope", scope, "--name", "test"]);
    out.split_whitespace().last().unwrap().to_owned()
}

fn agent(home: &Home) -> Client {
    let mut client = Client::start(command(home, &["mcp"]));
    client.initialize();
    client
}

/// Every file below a folder with its bytes.
pub fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

/// A folder with what a vault may hold: three languages, attachments, hidden files, odd bytes.
pub fn folder(home: &Home) -> std::path::PathBuf {
    let root = home.dir.path().join("author");
    for (path, bytes) in [
        ("Index.md", "# Index\n\n![[pic.png]] [[Roast]]\n".as_bytes()),
        ("coffee/Roast.md", "# Roast\r\n\r\nZanzibarine beans.\r\n".as_bytes()),
        ("кофе/Обжарка.md", "# Обжарка\n\nЗёрна занзибарин.\n".as_bytes()),
        ("珈琲/焙煎.md", "# 焙煎\n\n座安士豆を焙煎します。\n".as_bytes()),
        ("img/pic.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("empty.txt", b""),
        ("latin.md", b"caf\xe9\n"),
        (".obsidian/app.json", b"{}"),
        (".obsidian/secret.md", b"# kumquatish\n"),
        ("odd [name] #1.pdf", b"%PDF-1.7\n"),
    ] {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        put(&file, bytes);
    }
    root
}

fn titles(home: &Home, query: &str) -> Vec<String> {
    let (_, out, _) = run(home, &["search", query, "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap_or_default();
    let results = answer["results"].as_array().cloned().unwrap_or_default();
    results.iter().map(|found| found["title"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_folder_goes_in_and_comes_out_byte_for_byte() {
    let home = hosted("team");
    let root = folder(&home);
    let before = files(&root);
    let out = say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "team"]);
    assert!(out.starts_with("10 added, 0 updated"), "{out}");
    let again = say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "team"]);
    assert!(again.contains("0 added, 0 updated, 10 already there"), "{again}");
    let to = home.dir.path().join("out");
    say(&home, &["export", "vault", "team", to.to_str().unwrap()]);
    assert_eq!(files(&to), before);
    let (status, _, err) = run(&home, &["export", "vault", "nope", to.to_str().unwrap()]);
    assert!(
        status == 2 && err.contains("no hosted vault `nope`; this library has `team`"),
        "{err}"
    );
    let (status, _, err) = run(&home, &["export", "vault", "team", to.to_str().unwrap()]);
    assert!(status == 2 && err.contains("is not empty"), "{err}");
    for (query, title) in
        [("zanzibarine", "Roast"), ("занзибарин", "Обжарка"), ("座安士豆", "焙煎")]
    {
        assert_eq!(titles(&home, query), [title], "{query}");
    }
    assert!(titles(&home, "kumquatish").is_empty(), "a hidden file is not indexed");
    let (_, out, _) = run(&home, &["doctor"]);
    assert!(out.contains("latin.md") && out.contains("UTF-8"), "{out}");
    assert!(!out.contains("is not there"), "a hosted vault needs no folder: {out}");
    let out = say(&home, &["vault", "rescan"]);
    assert!(out.contains("team: 0 new, 0 changed, 0 gone"), "{out}");
}

#[test]
fn what_an_import_replaces_goes_to_the_trash() {
    let home = hosted("team");
    let config = home.dir.path().join("limits.toml");
    put(&config, "[limits]\nnote_bytes = 1000\n");
    let root = home.dir.path().join("author");
    let import = |version: &str| {
        for file in ["a/pic.png", "b/pic.png", "long.md", "short.md", ".obsidian/app.json"] {
            let long = file == "long.md" && version == "new";
            let text = version.repeat(if long { 500 } else { 1 });
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            put(&root.join(file), format!("{text} {file}"));
        }
        let config = config.to_str().unwrap();
        let root = root.to_str().unwrap();
        say(&home, &["import", "vault", root, "--vault", "team", "--config", config])
    };
    assert!(import("old").starts_with("5 added, 0 updated"));
    assert!(import("new").starts_with("0 added, 5 updated"));
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    for (trashed, text) in
        [("pic.png", "old a/pic.png"), ("pic%202.png", "old b/pic.png"), ("long.md", "old long.md")]
    {
        assert_eq!(dav.get(&format!(".trash/{trashed}")).body, text, "{trashed}");
    }
    for kept in ["short.md", "app.json"] {
        assert_eq!(dav.get(&format!(".trash/{kept}")).status, 404, "{kept}");
    }
    assert_eq!(dav.get("b/pic.png").body, "new b/pic.png");
}

#[test]
fn tools_edit_move_and_undo_in_a_hosted_vault() {
    let home = hosted("team");
    let root = folder(&home);
    say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "team"]);
    let mut client = agent(&home);
    let made = client.call(
        "edit_page",
        json!({"path": "Заметки/Новая", "op": "create", "text": "# Новая\n\nСм. [[Roast]].\n"}),
    );
    assert!(made["isError"] != json!(true), "{made}");
    let read = client.call("note_html", json!({"path": "Заметки/Новая.md"}));
    assert!(read.to_string().contains("Новая"), "{read}");
    let moved = client.call("move_page", json!({"path": "coffee/Roast.md", "to": "beans/Roast 2"}));
    assert!(moved["isError"] != json!(true), "{moved}");
    drop(client);
    let to = home.dir.path().join("moved");
    say(&home, &["export", "vault", "team", to.to_str().unwrap()]);
    let after = files(&to);
    assert_eq!(after["beans/Roast 2.md"], files(&root)["coffee/Roast.md"]);
    let index = String::from_utf8(after["Index.md"].clone()).unwrap();
    assert!(index.contains("[[Roast 2]]"), "{index}");
    let note = String::from_utf8(after["Заметки/Новая.md"].clone()).unwrap();
    assert!(note.contains("[[Roast 2]]"), "{note}");
    say(&home, &["undo"]);
    say(&home, &["undo"]);
    let to = home.dir.path().join("undone");
    say(&home, &["export", "vault", "team", to.to_str().unwrap()]);
    assert_eq!(files(&to), files(&root));
    assert_eq!(titles(&home, "zanzibarine"), ["Roast"]);
}

#[test]
fn an_edit_of_an_older_text_is_refused_and_a_trashed_note_comes_back() {
    let home = hosted("team");
    let mut client = agent(&home);
    client.call("edit_page", json!({"path": "a", "op": "create", "text": "# A\n\none\n"}));
    let refused = refusal(
        &mut client,
        "edit_page",
        json!({"path": "a.md", "op": "replace", "text": "x", "etag": "0123456789abcdef"}),
    );
    assert!(refused.contains("conflict"), "{refused}");
    client.call("move_page", json!({"path": "a.md", "to": "@trash"}));
    drop(client);
    assert!(titles(&home, "one").is_empty());
    say(&home, &["undo"]);
    assert_eq!(titles(&home, "one"), ["A"]);
}

#[test]
fn attachments_have_the_readers_of_their_note() {
    let home = hosted("team");
    let root = folder(&home);
    say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "team"]);
    let owner = token(&home, "owner");
    let server = serve(&home);
    let bearer = format!("Bearer {owner}");
    let headers = [("Authorization", bearer.as_str())];
    let found = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "Index"}}});
    let answer = server.post_as(&owner, &found.to_string()).json();
    let pid = answer["result"]["structuredContent"]["results"][0]["pid"].as_i64().unwrap();
    let page = server.get(&format!("/n/{pid}"), &headers);
    assert_eq!(page.status, 200, "{}", page.body);
    let file = server.get(&format!("/n/{pid}/file/pic.png"), &headers);
    assert_eq!((file.status, file.headers["content-type"].as_str()), (200, "image/png"));
    let stranger = server.get(&format!("/n/{pid}/file/pic.png"), &[]);
    assert_ne!(stranger.status, 200);
}

#[test]
fn a_removed_vault_keeps_its_files_until_they_are_deleted() {
    let home = hosted("team");
    let root = folder(&home);
    say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "team"]);
    let out = say(&home, &["vault", "remove", "team"]);
    assert!(out.contains("its files are kept"), "{out}");
    assert!(titles(&home, "zanzibarine").is_empty());
    say(&home, &["vault", "create", "team"]);
    assert_eq!(titles(&home, "zanzibarine"), ["Roast"]);
    let out = say(&home, &["vault", "remove", "team", "--delete-files"]);
    assert!(out.contains("are deleted"), "{out}");
    say(&home, &["vault", "create", "team"]);
    let to = home.dir.path().join("out");
    say(&home, &["export", "vault", "team", to.to_str().unwrap()]);
    assert!(files(&to).is_empty());
}

#[test]
fn names_and_authors_are_checked() {
    let home = hosted("team");
    for (name, why) in [
        ("a/b", "slash"),
        ("..", "cannot be a vault's name"),
        ("", "empty"),
        ("team", "already"),
        (".hidden", "leading dot"),
    ] {
        let (status, _, err) = run(&home, &["vault", "create", name]);
        assert!(status == 2 && err.contains(why), "`{name}`: {err}");
    }
    say(&home, &["user", "add", "mira", "--role", "author"]);
    say(&home, &["vault", "create", "mira", "--author", "mira"]);
    let root = folder(&home);
    say(&home, &["import", "vault", root.to_str().unwrap(), "--vault", "mira"]);
    // Every page of the vault is its author's.
    let (_, out, _) = run(&home, &["search", "zanzibarine", "--author", "mira"]);
    assert!(out.contains("Roast"), "{out}");
    let (status, _, _) = run(&home, &["search", "zanzibarine", "--author", "ann"]);
    assert_eq!(status, 1);
    let (status, _, err) = run(&home, &["import", "vault", "/nowhere", "--vault", "team"]);
    assert!(status == 2 && err.contains("cannot be opened"), "{err}");
    let (status, _, err) = run(&home, &["import", "vault", "/tmp", "--vault", "nobody"]);
    assert!(status == 2 && err.contains("vault create nobody"), "{err}");
}

const LIMITS: HostedLimits = HostedLimits { files: 10, bytes: 100 };

fn write(store: &Store, steps: &[FileStep]) -> notewell::domain::Result<()> {
    let mut change = NewChange::new(&Actor::shell("test"), "test");
    let write = HostedWrite { vault: "v", steps, pages: &[], limits: LIMITS };
    store.hosted.write(&write, &mut change, &mut [])
}

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn put_step(at: &str, bytes: &[u8], expected: Expected) -> FileStep {
    FileStep::Put { path: path(at), bytes: bytes.to_vec(), mtime_ns: 7, expected }
}

#[test]
fn every_store_keeps_files() {
    every_store(|store, _| {
        let hosted = &store.hosted;
        let paths = |folder: &str| -> Vec<String> {
            hosted.below("v", folder).unwrap().into_iter().map(|file| file.path).collect()
        };
        write(store, &[put_step("а/б/в.md", b"1", Expected::Absent)]).unwrap();
        write(store, &[put_step("а0.md", b"22", Expected::Any)]).unwrap();
        assert_eq!(paths(""), ["а", "а/б", "а/б/в.md", "а0.md"]);
        assert_eq!(hosted.list("v", "а").unwrap().len(), 1);
        assert_eq!((hosted.usage("v").unwrap().files, hosted.usage("v").unwrap().bytes), (4, 3));
        let (file, bytes) = hosted.read("v", "а/б/в.md").unwrap().unwrap();
        assert_eq!((bytes.as_slice(), file.size, file.mtime_ns), (&b"1"[..], 1, 7));
        // What somebody else wrote is not overwritten, and a refused write changes nothing.
        let old = Expected::Content([9; 32]);
        let both = [put_step("x.md", b"x", Expected::Any), put_step("а0.md", b"3", old)];
        assert_eq!(write(store, &both).unwrap_err().code, Code::Conflict);
        assert!(hosted.stat("v", "x.md").unwrap().is_none());
        let again = [put_step("а0.md", b"3", Expected::Absent)];
        assert_eq!(write(store, &again).unwrap_err().code, Code::Conflict);
        write(store, &[put_step("а0.md", b"4", Expected::Content(file_hash(store, "а0.md")))])
            .unwrap();
        // A folder moves with everything below it, and not into itself.
        let property =
            Property { namespace: "n:".into(), name: "p".into(), xml: b"<p xmlns=\"n:\"/>".into() };
        hosted.set_properties("v", "а/б/в.md", &[(property.clone(), true)]).unwrap();
        let into =
            FileStep::Move { from: path("а"), to: path("а/б/c"), expected: Expected::Any };
        assert!(write(store, &[into]).is_err());
        let away =
            FileStep::Move { from: path("а"), to: path("日/本"), expected: Expected::Any };
        write(store, &[away]).unwrap();
        assert_eq!(paths(""), ["а0.md", "日", "日/本", "日/本/б", "日/本/б/в.md"]);
        assert_eq!(hosted.list("v", "日/本/б").unwrap().len(), 1);
        assert_eq!(
            hosted.properties("v", "日/本/б/в.md").unwrap(),
            std::slice::from_ref(&property)
        );
        let copy = FileStep::Copy {
            from: path("日/本/б/в.md"),
            to: path("copy.md"),
            expected: Expected::Absent,
        };
        write(store, std::slice::from_ref(&copy)).unwrap();
        assert_eq!(write(store, &[copy]).unwrap_err().code, Code::Conflict, "it is there now");
        assert_eq!(hosted.properties("v", "copy.md").unwrap(), std::slice::from_ref(&property));
        hosted.set_properties("v", "copy.md", &[(property, false)]).unwrap();
        assert!(hosted.properties("v", "copy.md").unwrap().is_empty());
        // What does not fit is refused, and the trash makes room first.
        let large = [put_step("large.bin", &[0; 99], Expected::Any)];
        let refused = write(store, &large).unwrap_err();
        assert!(refused.code == Code::Limit && refused.message.contains("hosted.vault_bytes"));
        assert!(hosted.stat("v", "large.bin").unwrap().is_none());
        write(store, &[put_step(".trash/old.bin", &[0; 90], Expected::Any)]).unwrap();
        write(store, &[put_step("new.bin", &[0; 60], Expected::Any)]).unwrap();
        assert!(hosted.stat("v", ".trash/old.bin").unwrap().is_none());
        // A folder goes when it is empty, whoever put something into it a moment ago.
        let remove = |at| [FileStep::Remove { path: path(at), expected: Expected::Any }];
        let folder = |at| [FileStep::Remove { path: path(at), expected: Expected::Folder }];
        for full in ["日", "日/本", "日/本/б"] {
            let refused = write(store, &folder(full)).unwrap_err();
            assert_eq!(refused.code, Code::Conflict);
            let why = format!("the folder `{full}` is not empty; nothing was changed");
            assert_eq!(refused.message, why);
        }
        assert_eq!(write(store, &folder("日/本/б/в.md")).unwrap_err().code, Code::Conflict);
        assert!(hosted.stat("v", "日/本/б/в.md").unwrap().is_some());
        write(store, &remove("日/本/б/в.md")).unwrap();
        for empty in ["日/本/б", "日/本", "日"] {
            write(store, &folder(empty)).unwrap();
        }
        assert_eq!(paths(""), [".trash", "copy.md", "new.bin", "а0.md"]);
        let usage = hosted.usage("v").unwrap();
        assert_eq!((usage.files, usage.bytes, usage.property_bytes), (4, 62, 0));
        // Another vault has files of its own.
        assert!(hosted.below("w", "").unwrap().is_empty());
        hosted.delete_files("v").unwrap();
        assert!(paths("").is_empty() && hosted.usage("v").unwrap().files == 0);
    });
}

fn file_hash(store: &Store, at: &str) -> [u8; 32] {
    store.hosted.stat("v", at).unwrap().unwrap().hash.unwrap()
}

#[test]
fn a_write_is_in_the_journal_with_its_file() {
    every_store(|store, _| {
        let mut change = NewChange::new(&Actor::shell("test"), "test");
        let steps = [put_step("n.md", b"text", Expected::Absent)];
        let mut revisions = [Revision {
            pid: None,
            kind: Kind::Page,
            key: "v/n.md".into(),
            moved_to: None,
            before: None,
            after: Some(b"text".to_vec()),
        }];
        let write = HostedWrite { vault: "v", steps: &steps, pages: &[], limits: LIMITS };
        store.hosted.write(&write, &mut change, &mut revisions).unwrap();
        let id = change.id.unwrap();
        assert_eq!(store.revisions.revisions(id, 0, 10).unwrap()[0].key, "v/n.md");
        // A write that is refused leaves no trace there.
        let mut change = NewChange::new(&Actor::shell("test"), "test");
        assert!(store.hosted.write(&write, &mut change, &mut revisions).is_err());
        assert_eq!((change.id, store.revisions.recent(None, 10).unwrap().len()), (None, 1));
    });
}

#[test]
fn versions_that_are_replaced_at_once_are_all_in_the_trash() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let put = |folder: usize, version: usize| {
        let dav = Dav::new(&server, &owner, "team");
        let text = format!("{folder}.{version}");
        let status = dav.put(&format!("{folder}/cover.png"), &text).status;
        assert!(matches!(status, 201 | 204), "{text}: {status}");
    };
    let dav = Dav::new(&server, &owner, "team");
    for folder in 0..6 {
        assert_eq!(dav.send("MKCOL", &folder.to_string(), &[], b"").status, 201);
    }
    std::thread::scope(|scope| {
        let put = &put;
        for folder in 0..6 {
            scope.spawn(move || (0..6).for_each(|version| put(folder, version)));
        }
    });
    let listing = dav.send("PROPFIND", ".trash", &[("Depth", "1")], b"").body;
    let names = listing.split("<D:href>").filter_map(|rest| rest.split("</D:href>").next());
    let mut kept: Vec<String> = names
        .filter(|name| name.ends_with(".png"))
        .map(|name| dav.get(&format!(".trash/{}", name.rsplit('/').next().unwrap())).body)
        .collect();
    kept.sort();
    let replaced = (0..6).flat_map(|at| (0..5).map(move |version| format!("{at}.{version}")));
    assert_eq!(kept, replaced.collect::<Vec<_>>());
}
