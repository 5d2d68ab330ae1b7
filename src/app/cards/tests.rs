//! Cards with the registry beside them: imports, exports, changes by others.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use super::*;
use crate::{
    domain::{Caller, Pid, Silent, Timestamp},
    import::ImportReport,
    store,
};

fn room() -> (tempfile::TempDir, CardRoom) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { data: folder.path().to_path_buf(), ..Config::default() };
    let room = room_in(&config);
    (folder, room)
}

fn room_in(config: &Config) -> CardRoom {
    let store = store::open(&config.data.as_path().into(), store::StoreLimits::default()).unwrap();
    CardRoom::new(config, &store, Journal::new(&config.history, store.revisions.clone()))
}

fn me() -> Actor {
    Actor::shell("test")
}

fn owner() -> Rights {
    Rights::new(Caller::Owner, &crate::config::Toolsets::default())
}

fn text(content: &str) -> NewCard {
    NewCard { content: content.into(), ..NewCard::default() }
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut fs::File::create(path).unwrap(), bytes).unwrap();
}

fn all(room: &CardRoom) -> BTreeMap<String, Card> {
    let cards = room.store().unwrap();
    let ids = cards.stamps().unwrap();
    ids.into_iter()
        .map(|(id, _)| (id.clone(), cards.get(&id, Images::Bytes).unwrap().unwrap()))
        .collect()
}

fn import(room: &CardRoom, path: &Path) -> ImportReport {
    room.import(&[path.to_path_buf()], &Silent, &me()).unwrap()
}

fn counts(report: &ImportReport) -> (usize, usize, usize, usize) {
    (report.added, report.updated, report.unchanged, report.skipped.total)
}

#[test]
fn the_registry_follows_our_changes_and_those_of_others() {
    let (folder, room) = room();
    assert_eq!(room.sync().unwrap(), Synced::default());
    assert!(!folder.path().join("cards.db").exists(), "looking makes no database");
    let card = room.create(text("first"), &owner(), &me()).unwrap();
    let item = room.items.find(Kind::Card, &card.id).unwrap().unwrap();
    // The record of our own change and the comparison agree: nothing is indexed twice.
    assert_eq!(room.sync().unwrap(), Synced::default());
    room.toggle(&card.id, Flag::Pinned, &owner(), &me()).unwrap();
    assert_eq!(room.sync().unwrap(), Synced::default());
    assert_ne!(room.items.find(Kind::Card, &card.id).unwrap().unwrap().stamp, item.stamp);

    let web = rusqlite::Connection::open(folder.path().join("cards.db")).unwrap();
    web.execute(r#"UPDATE "Note" SET "content" = 'theirs'"#, []).unwrap();
    web.execute(r#"INSERT INTO "Note" ("id", "content", "updatedAt") VALUES ('w', 'new', 1)"#, [])
        .unwrap();
    assert_eq!(room.sync().unwrap(), Synced { new: 1, changed: 1, gone: 0 });
    assert_eq!(room.sync().unwrap(), Synced::default());
    let document = room.document(&item).unwrap().unwrap();
    assert_eq!(document.chunks[0].text, "theirs");
    room.delete(&card.id, &owner(), &me()).unwrap();
    assert_eq!(room.document(&item).unwrap(), None);
    assert_eq!(room.items.find(Kind::Card, &card.id).unwrap(), None);
    assert_eq!(room.items.count(Some(Kind::Card)).unwrap(), 1);
}

#[test]
fn a_missing_foreign_database_is_an_error_of_the_cards() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config { data: folder.path().to_path_buf(), ..Config::default() };
    config.cards.database = folder.path().join("dev.db");
    let room = room_in(&config);
    assert!(room.labels(&owner()).unwrap_err().message.contains("is not there"));
    assert!(room.sync().is_err());
    assert!(!config.cards.database.exists());
}

#[test]
fn images_are_read_by_their_links() {
    let (_folder, room) = room();
    let images = Some(vec!["data:image/png;base64,iVBORw0KGgo=".to_owned()]);
    let card = room.create(NewCard { images, ..text("photo") }, &owner(), &me()).unwrap();
    let listed = room.list(&CardQuery::default()).unwrap().cards.remove(0);
    let link = &listed.images.unwrap()[0];
    assert_eq!(room.image(link, &owner()).unwrap().bytes.len(), 8);
    assert_eq!(room.get(&card.id, &owner()).unwrap().images, card.images);
    assert_eq!(
        room.image(&link.replace("/0", "/1"), &owner()).unwrap_err().code.json_rpc(),
        -32602
    );
    assert_eq!(
        room.image("notewell://card/x/image/0", &owner()).unwrap_err().code.json_rpc(),
        -32600
    );
}

#[test]
fn keep_notes_come_in_whole_and_once() {
    let (folder, room) = room();
    let keep = folder.path().join("Takeout/Keep");
    let note = json!({
        "title": "Список", "textContent": "", "color": "CERULEAN", "isTrashed": false, "isPinned": true, "isArchived": false,
        "listContent": [{"text": "молоко", "isChecked": true}, {"text": "", "isChecked": false}],
        "labels": [{"name": "дом"}], "createdTimestampUsec": 1_690_426_307_496_123_i64, "userEditedTimestampUsec": 1_690_426_307_500_000_i64,
        "attachments": [{"filePath": "a.jpeg", "mimetype": "image/jpeg"}, {"filePath": "b.3gp", "mimetype": "audio/3gp"}],
    });
    put(&keep, "Список.json", note.to_string().as_bytes());
    put(&keep, "Список.html", b"<p>");
    put(&keep, "a.jpg", &[0xFF, 0xD8, 0xFF]);
    put(&keep, "Bin.json", br#"{"title": "x", "isTrashed": true, "createdTimestampUsec": 1}"#);
    put(&keep, "Broken.json", br#"{"title": "x" "isTrashed": false}"#);
    put(&keep, "Other.json", br#"{"kind": "notes#downSync"}"#);
    // Two notes of one moment and title are two notes.
    for (n, text) in ["a", "b"].iter().enumerate() {
        let twin = json!({"title": "双子", "textContent": text, "isTrashed": false, "createdTimestampUsec": 5});
        put(&keep, &format!("双子({n}).json"), twin.to_string().as_bytes());
    }
    let report = import(&room, folder.path().join("Takeout").as_path());
    assert_eq!(counts(&report), (3, 0, 0, 3), "{report:?}");
    assert_eq!((report.other_files, report.changed.total), (2, 2), "{report:?}");
    let card = all(&room).into_values().find(|card| card.is_pinned).unwrap();
    let expected = Card {
        id: card.id.clone(),
        title: Some("Список".into()),
        color: "blue".into(),
        kind: "checklist".into(),
        check_items: Some(vec![json!({"id": "1", "text": "молоко", "checked": true})]),
        labels: Some(vec!["дом".into()]),
        images: Some(vec![Image::data_url("image/jpeg", &[0xFF, 0xD8, 0xFF])]),
        is_pinned: true,
        created_at: Some(Timestamp(1_690_426_307_496)),
        updated_at: Some(Timestamp(1_690_426_307_500)),
        ..Card::default()
    };
    assert_eq!(card, expected);
    assert_eq!(counts(&import(&room, &keep)), (0, 0, 3, 3), "the same folder from another root");
    // Edited in Keep since: the card follows.
    let mut edited = note;
    edited["userEditedTimestampUsec"] = json!(1_690_426_307_600_000_i64);
    edited["isPinned"] = Value::Bool(false);
    put(&keep, "Список.json", edited.to_string().as_bytes());
    assert_eq!(counts(&import(&room, &keep)), (0, 1, 2, 3));
    assert!(all(&room).values().all(|card| !card.is_pinned));
    assert_eq!(room.items.count(Some(Kind::Card)).unwrap(), 3);
}

#[test]
fn the_filled_takeout_comes_in_whole() {
    let zip = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/keep/takeout-filled.zip");
    if !zip.exists() {
        eprintln!("skipped: the shared Takeout is not here");
        return;
    }
    let (_folder, room) = room();
    let report = import(&room, &zip);
    assert_eq!(counts(&report), (480, 0, 0, 0), "{:?}", report.skipped);
    assert_eq!(counts(&import(&room, &zip)), (0, 0, 480, 0));
    let cards = all(&room);
    assert_eq!(cards.values().filter(|card| card.kind == "checklist").count(), 120);
    assert_eq!(cards.values().filter(|card| card.is_archived).count(), 55);
    for (needle, least) in [("СМОТРИ ДОКУМЕНТАЦИЮ", 1), ("を表示", 1), ("ARCOSANTI", 1)]
    {
        let query =
            CardQuery { contains: Some(needle.into()), archived: true, ..CardQuery::default() };
        assert!(room.list(&query).unwrap().cards.len() >= least, "{needle}");
    }
}

#[test]
fn an_export_comes_back_as_it_was() {
    let (folder, room) = room();
    let odd = Card {
        id: "odd".into(),
        title: Some("Имя: \"кавычки\" / 名前 \u{85}\u{2028}\n- x".into()),
        content: "---\nid: no\n---\n# 見出し\r\n\n  текст \n\n".into(),
        color: "brown".into(),
        kind: "checklist".into(),
        check_items: Some(vec![
            json!({"id": 1, "text": "a: [b]\n#c", "checked": true, "extra": {"x": [null, 1.5]}}),
        ]),
        labels: Some(vec!["1.10".into(), "да".into(), "#家".into()]),
        images: Some(vec![
            "iVBORw0KGgo=".into(),
            "data:image/gif;base64,R0lGODlh".into(),
            "aGk".into(),
        ]),
        is_archived: true,
        reminder: Some(Timestamp(1_700_000_000_000)),
        reminder_recurrence: Some("weekly".into()),
        is_markdown: true,
        user_id: Some("u1".into()),
        embedding: Some("[0.1]".into()),
        order: -3.0,
        created_at: Some(Timestamp(1)),
        updated_at: Some(Timestamp(2)),
        ..Card::default()
    };
    let same_name = Card {
        id: "same".into(),
        labels: Some(vec![]),
        created_at: Some(Timestamp(0)),
        updated_at: Some(Timestamp(0)),
        ..odd.clone()
    };
    let plain = Card {
        id: "plain".into(),
        content: "".into(),
        created_at: Some(Timestamp(3)),
        updated_at: Some(Timestamp(3)),
        ..Card::default()
    };
    room.store().unwrap().import(&[odd, same_name, plain]).unwrap();
    let before = all(&room);
    for (name, format) in [("out.json", Format::Json), ("out", Format::Markdown)] {
        let path = folder.path().join(name);
        assert_eq!(room.export(&path, format, &Silent).unwrap().cards, 3);
        let (_other, other) = self::room();
        let report = import(&other, &path);
        assert_eq!(counts(&report), (3, 0, 0, 0), "{name}: {:?}", report.skipped);
        assert_eq!(all(&other), before, "{name}");
        assert_eq!(counts(&import(&other, &path)), (0, 0, 3, 0), "{name}");
    }
    let full = room.export(&folder.path().join("out"), Format::Markdown, &Silent);
    assert_eq!(full.unwrap_err().code.json_rpc(), -32602);
}

#[test]
fn a_note_cannot_fetch_files_from_elsewhere() {
    let (folder, room) = room();
    put(folder.path(), "secret.png", b"secret");
    let secret = folder.path().join("secret.png");
    for path in ["../secret.png", secret.to_str().unwrap()] {
        let note = json!({
            "title": path, "isTrashed": false, "createdTimestampUsec": 7,
            "attachments": [{"filePath": path, "mimetype": "image/png"}],
        });
        put(folder.path(), "in/note.json", note.to_string().as_bytes());
        for root in ["in/note.json", "in", ""] {
            import(&room, &folder.path().join(root));
        }
    }
    assert!(all(&room).values().all(|card| card.images.is_none()));
    assert_eq!(all(&room).len(), 2);
}

#[test]
fn markdown_of_other_programs_becomes_cards_once() {
    let (folder, room) = room();
    let notes = folder.path().join("notes");
    put(
        &notes,
        "a/Рецепт.md",
        "---\ntags: [еда, 料理]\ncreated: 2024-05-01\n---\n\n# Суп\n\nборщ\n".as_bytes(),
    );
    put(&notes, "plain.md", b"just text\n");
    put(&notes, "bad.md", b"---\na: [\n---\nx");
    put(&notes, "latin.md", &[0xFF, 0xFE, 0x00]);
    let report = import(&room, &notes);
    assert_eq!(counts(&report), (2, 0, 0, 2), "{report:?}");
    assert_eq!(counts(&import(&room, &notes)), (0, 0, 2, 2));
    let card = all(&room).into_values().find(|card| card.labels.is_some()).unwrap();
    assert_eq!(card.title.as_deref(), Some("Рецепт"));
    assert_eq!(card.content, "# Суп\n\nборщ");
    assert_eq!(card.created_at, Timestamp::parse("2024-05-01"));
    assert!(document(Pid(1), &card).labels.contains(&"料理".to_owned()));
}

type Doing = Box<dyn FnOnce() + Send>;

/// A registry, during whose first comparison something happens to the cards.
struct Slow {
    items: Arc<dyn Items>,
    meanwhile: Mutex<Option<Doing>>,
}

macro_rules! hand_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> Result<$out> {
            self.items.$name($($argument),*)
        })*
    };
}

impl Items for Slow {
    fn sync(&self, kind: Kind, all: &[(String, i64)]) -> Result<Synced> {
        let synced = self.items.sync(kind, all);
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        synced
    }

    hand_on! {
        get(pid: Pid) -> Option<Item>;
        get_many(pids: &[Pid]) -> Vec<Item>;
        find(kind: Kind, key: &str) -> Option<Item>;
        list(kind: Option<Kind>, after: Option<Pid>, limit: usize) -> Vec<Item>;
        count(kind: Option<Kind>) -> u64;
        record(kind: Kind, key: &str, stamp: i64) -> Pid;
        remove(kind: Kind, key: &str) -> Option<Pid>;
        forget_stamps(kind: Kind) -> ();
        changes(after: i64, limit: usize) -> Vec<(i64, Pid)>;
        head() -> i64;
        library() -> i64;
    }
}

#[test]
fn a_file_that_is_emptied_during_a_comparison_removes_no_card() {
    let (folder, mut room) = room();
    room.create(text("first"), &owner(), &me()).unwrap();
    let (other_folder, other) = self::room();
    other.store().unwrap();
    drop(other);
    let (empty, file) = (other_folder.path().join("cards.db"), folder.path().join("cards.db"));
    let replace = move || {
        for log in ["cards.db-wal", "cards.db-shm"] {
            let _ = fs::remove_file(file.with_file_name(log));
        }
        fs::rename(empty, file).unwrap();
    };
    let meanwhile = Mutex::new(Some(Box::new(replace) as Doing));
    room.items = Arc::new(Slow { items: room.items.clone(), meanwhile });
    room.sync().unwrap();
    assert!(room.suspicion().unwrap().is_some());
    assert_eq!(room.sync().unwrap(), Synced::default());
    assert_eq!(room.items.count(Some(Kind::Card)).unwrap(), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_survives_a_markdown_export(title in ".{0,30}", content in "(?s).{0,80}", label in ".{1,20}") {
        let (folder, room) = room();
        let card = Card {
            id: "c".into(), title: Some(title), content, labels: Some(vec![label]),
            created_at: Some(Timestamp(1)), updated_at: Some(Timestamp(1)), ..Card::default()
        };
        room.store().unwrap().import(std::slice::from_ref(&card)).unwrap();
        let path = folder.path().join("out");
        room.export(&path, Format::Markdown, &Silent).unwrap();
        let (_other, other) = self::room();
        let report = import(&other, &path);
        let back = all(&other);
        proptest::prop_assert_eq!(back.get("c"), Some(&card), "{:?}", report);
    }
}
