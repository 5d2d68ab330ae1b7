//! The store over a file of ours and over one that Prisma might have made.

use std::{collections::BTreeMap, path::PathBuf};

use rusqlite::types::Value;
use serde_json::json;

use super::*;
use crate::{
    domain::{
        Timestamp,
        card::{CheckItem, Color, Recurrence, Tick},
    },
    store::cards::Order,
};

fn own() -> (tempfile::TempDir, SqliteCards) {
    let folder = tempfile::tempdir().unwrap();
    let cards = SqliteCards::open_own(&folder.path().join("cards.db")).unwrap();
    (folder, cards)
}

fn text(content: &str) -> NewCard {
    NewCard { content: content.into(), ..NewCard::default() }
}

fn search(cards: &SqliteCards, needle: &str) -> Vec<String> {
    let query =
        CardQuery { contains: Some(needle.into()), order: Order::Newest, ..CardQuery::default() };
    cards.list(&query).unwrap().cards.into_iter().map(|card| card.content).collect()
}

fn listed(cards: &SqliteCards) -> Vec<String> {
    let page = cards.list(&CardQuery::default()).unwrap();
    page.cards.into_iter().map(|card| card.id).collect()
}

/// A `dev.db` with an unknown column, an unknown table, a trigger and dates in three forms.
fn foreign() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(layout::SCHEMA).unwrap();
    connection
        .execute_batch(
            r#"
            ALTER TABLE "Note" ADD COLUMN "mood" BLOB;
            CREATE TABLE "_prisma_migrations" ("id" TEXT PRIMARY KEY, "log" TEXT);
            INSERT INTO "_prisma_migrations" VALUES ('m1', 'done');
            CREATE TABLE "Seen" ("noteId" TEXT);
            CREATE TRIGGER "seen" AFTER UPDATE ON "Note" BEGIN INSERT INTO "Seen" VALUES (NEW."id"); END;
            INSERT INTO "Note" ("id", "content", "createdAt", "updatedAt", "mood", "labels")
                VALUES ('iso', 'ISO text', '2024-01-02T03:04:05.006Z', '2024-01-02T03:04:05.006Z', x'00ff', '["b", "a"]');
            INSERT INTO "Note" ("id", "content", "updatedAt", "mood", "checkItems", "createdAt")
                VALUES ('sql', 'SQL text', '2024-01-03 03:04:05', NULL, '[{"id":"k1","text":"x","checked":false,"extra":[1, 2]}]', '2024-01-03 03:04:05');
            INSERT INTO "Note" ("id", "content", "createdAt", "updatedAt", "mood", "color")
                VALUES ('ms', 'Integer', 1704337445000, 1704337445000, 3.5, 'brown');
            "#,
        )
        .unwrap();
    (folder, path)
}

/// Every value of every table, by table, row and column.
fn dump(path: &Path) -> BTreeMap<(String, String, String), Value> {
    let connection = Connection::open(path).unwrap();
    let mut all = BTreeMap::new();
    for table in ["Note", "_prisma_migrations", "Seen"] {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let names: Vec<String> = statement.column_names().map(Into::into).collect();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let id: String = row.get(0).unwrap();
            for (index, name) in names.iter().enumerate() {
                all.insert((table.into(), id.clone(), name.clone()), row.get(index).unwrap());
            }
        }
    }
    all
}

#[test]
fn a_card_is_made_read_changed_and_deleted() {
    let (_folder, cards) = own();
    let new = NewCard {
        title: Some("Список".into()),
        color: Some(Color::Blue),
        check_items: Some(vec![CheckItem {
            id: None, text: "молоко".into(), checked: false
        }]),
        labels: Some(vec!["дом".into(), "家".into()]),
        is_pinned: true,
        images: Some(vec!["iVBORw0KGgo=".into()]),
        ..text("")
    };
    let made = cards.create(new).unwrap();
    assert_eq!(made.created_at, made.updated_at);
    assert_eq!(cards.get(&made.id, Images::Bytes).unwrap().unwrap(), made);
    let links = cards.get(&made.id, Images::Links).unwrap().unwrap();
    assert_eq!(links.images.unwrap(), [format!("notewell://card/{}/image/0", made.id)]);
    assert_eq!(cards.labels().unwrap(), ["дом", "家"]);

    let change = CardChange {
        title: Some(None),
        tick: Some(Tick { id: "1".into(), checked: true }),
        ..CardChange::default()
    };
    let changed = cards.update(&made.id, change).unwrap();
    assert_eq!(changed.title, None);
    assert_eq!(
        changed.check_items,
        Some(vec![json!({"id": "1", "text": "молоко", "checked": true})])
    );
    assert!(changed.updated_at > made.updated_at);
    assert!(!cards.toggle(&made.id, Flag::Pinned).unwrap().is_pinned);
    assert!(cards.toggle(&made.id, Flag::Archived).unwrap().is_archived);
    assert!(listed(&cards).is_empty());

    cards.delete(&made.id).unwrap();
    for error in [
        cards.delete(&made.id).unwrap_err(),
        cards.toggle(&made.id, Flag::Pinned).unwrap_err(),
        cards
            .update(&made.id, CardChange { is_pinned: Some(true), ..CardChange::default() })
            .unwrap_err(),
    ] {
        assert_eq!(error.code.json_rpc(), -32600);
    }
    assert_eq!(cards.get(&made.id, Images::Bytes).unwrap(), None);
}

#[test]
fn contains_ignores_case_in_every_script_and_follows_changes() {
    let (_folder, cards) = own();
    let russian = cards.create(text("Купить ЁЛКУ и Молоко")).unwrap();
    cards.create(text("Ｔｏｋｙｏ: 東京タワーへ行く")).unwrap();
    cards.create(NewCard { title: Some("Roadmap".into()), ..text("Q1") }).unwrap();
    let item = CheckItem { id: None, text: "Хлеб".into(), checked: true };
    cards.create(NewCard { check_items: Some(vec![item]), ..text("list") }).unwrap();
    for (needle, expected) in [
        ("елку И МОЛОКО", "Купить ЁЛКУ и Молоко"),
        ("TOKYO", "Ｔｏｋｙｏ: 東京タワーへ行く"),
        ("東京タワー", "Ｔｏｋｙｏ: 東京タワーへ行く"),
        ("ROADMAP", "Q1"),
        ("хлеб", "list"),
    ] {
        assert_eq!(search(&cards, needle), [expected], "{needle}");
    }
    // A match does not reach from the title into the content, and `%` is only a character.
    assert!(search(&cards, "mapQ1").is_empty() && search(&cards, "%").is_empty());
    let change = CardChange { content: Some("чай".into()), ..CardChange::default() };
    cards.update(&russian.id, change).unwrap();
    assert!(search(&cards, "молоко").is_empty());
    assert_eq!(search(&cards, "ЧАЙ"), ["чай"]);
    cards.toggle(&russian.id, Flag::Archived).unwrap();
    assert!(search(&cards, "чай").is_empty());
}

#[test]
fn pages_follow_the_order_and_lose_nothing() {
    let (_folder, cards) = own();
    let card = |id: &str, pinned, order, updated| Card {
        id: id.into(),
        content: id.into(),
        is_pinned: pinned,
        order,
        updated_at: Some(Timestamp(updated)),
        ..Card::default()
    };
    let all = [
        card("a", false, 0.0, 10),
        card("b", false, 0.0, 20),
        card("c", false, -1.0, 5),
        card("d", true, 9.0, 1),
        card("e", false, 0.0, 20),
    ];
    assert_eq!(cards.import(&all).unwrap(), vec![Imported::Added; 5]);
    assert_eq!(listed(&cards), ["d", "c", "b", "e", "a"]);
    let mut query = CardQuery { limit: Some(2), order: Order::Newest, ..CardQuery::default() };
    let mut pages = Vec::new();
    loop {
        let page = cards.list(&query).unwrap();
        pages.push(page.cards.iter().map(|card| card.id.as_str()).collect::<String>());
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, ["db", "ea", "c"]);
    query.cursor = Some("nonsense".into());
    assert_eq!(cards.list(&query).unwrap_err().code.json_rpc(), -32602);
    let none = CardQuery { limit: Some(0), ..CardQuery::default() };
    assert_eq!(cards.list(&none).unwrap_err().code.json_rpc(), -32602);
}

#[test]
fn a_page_of_large_cards_ends_early_and_goes_on() {
    let (_folder, cards) = own();
    for _ in 0..4 {
        cards.create(text(&"я".repeat(200_000))).unwrap();
    }
    let page = cards.list(&CardQuery::default()).unwrap();
    assert_eq!(page.cards.len(), 3);
    let rest = cards.list(&CardQuery { cursor: page.next, ..CardQuery::default() }).unwrap();
    assert_eq!((rest.cards.len(), rest.next), (1, None));
}

#[test]
fn another_connection_is_seen_and_nothing_is_lost() {
    let (folder, cards) = own();
    let made = cards.create(text("first")).unwrap();
    let before = (cards.version().unwrap(), cards.stamps().unwrap());
    let other = SqliteCards::open_own(&folder.path().join("cards.db")).unwrap();
    // Their change to one field, ours to another: both stay.
    other
        .update(&made.id, CardChange { color: Some(Color::Red), ..CardChange::default() })
        .unwrap();
    let after = cards
        .update(&made.id, CardChange { content: Some("second".into()), ..CardChange::default() })
        .unwrap();
    assert_eq!((after.color.as_str(), after.content.as_str()), ("red", "second"));
    let stale = CardChange {
        content: Some("third".into()),
        if_updated_at: made.updated_at,
        ..CardChange::default()
    };
    let error = other.update(&made.id, stale.clone()).unwrap_err();
    assert_eq!(error.code.json_rpc(), -32600);
    other.update(&made.id, CardChange { if_updated_at: after.updated_at, ..stale }).unwrap();
    assert_ne!(cards.version().unwrap(), before.0);
    assert_ne!(cards.stamps().unwrap(), before.1);
    assert_eq!(search(&cards, "THIRD"), ["third"]);
    // A change that leaves `updatedAt` alone is a change too.
    let stamps = cards.stamps().unwrap();
    other
        .lock()
        .unwrap()
        .connection
        .execute(r#"UPDATE "Note" SET "content" = 'fourth'"#, [])
        .unwrap();
    assert_ne!(cards.stamps().unwrap(), stamps);
    assert_eq!(search(&cards, "fourth"), ["fourth"]);
    other.delete(&made.id).unwrap();
    assert!(cards.stamps().unwrap().is_empty());
    assert!(search(&cards, "fourth").is_empty());
}

#[test]
fn two_writers_at_once_lose_nothing() {
    let (folder, path) = foreign();
    let cards = SqliteCards::open_existing(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let web = Connection::open(&path).unwrap();
            // SQLite's lock is not fair: on a busy machine one of two may wait for long.
            web.busy_timeout(Duration::from_secs(60)).unwrap();
            for n in 0..20 {
                web.execute(r#"UPDATE "Note" SET "size" = ?1 WHERE "id" = 'ms'"#, [n.to_string()])
                    .unwrap();
                web.execute(
                    r#"INSERT INTO "Note" ("id", "content", "updatedAt") VALUES (?1, 'web', 1)"#,
                    [format!("web{n}")],
                )
                .unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        for n in 0..20 {
            let change = CardChange { content: Some(format!("ours {n}")), ..CardChange::default() };
            cards.update("ms", change).unwrap();
            cards.create(text("ours")).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let card = cards.get("ms", Images::Bytes).unwrap().unwrap();
    assert_eq!((card.content.as_str(), card.size.as_str()), ("ours 19", "19"));
    assert_eq!(cards.stamps().unwrap().len(), 43);
    drop(folder);
}

#[test]
fn a_foreign_database_keeps_everything_that_was_not_asked_for() {
    let (_folder, path) = foreign();
    let before = dump(&path);
    let bytes = std::fs::read(&path).unwrap();
    let cards = SqliteCards::open_existing(&path).unwrap();
    assert_eq!(listed(&cards), ["ms", "sql", "iso"], "three forms of dates, one order");
    assert_eq!(cards.labels().unwrap(), ["a", "b"]);
    search(&cards, "text");
    let read = cards.get("sql", Images::Bytes).unwrap().unwrap();
    assert_eq!(read.updated_at.unwrap().to_string(), "2024-01-03T03:04:05.000Z");
    assert_eq!(cards.get("ms", Images::Bytes).unwrap().unwrap().color, "brown");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "reading writes nothing");
    assert!(!path.with_file_name("dev.db-wal").exists());

    cards
        .update(
            "sql",
            CardChange {
                tick: Some(Tick { id: "k1".into(), checked: true }),
                ..CardChange::default()
            },
        )
        .unwrap();
    cards.toggle("iso", Flag::Pinned).unwrap();
    let made = cards.create(text("ours")).unwrap();
    cards.delete("ms").unwrap();
    drop(cards);

    let after = dump(&path);
    let key = |id: &str, column: &str| ("Note".to_owned(), id.to_owned(), column.to_owned());
    let changed: Vec<_> = before
        .iter()
        .filter(|(key, value)| after.get(*key) != Some(value))
        .map(|(key, _)| key.clone())
        .collect();
    let mut expected = vec![
        key("iso", "isPinned"),
        key("iso", "updatedAt"),
        key("sql", "checkItems"),
        key("sql", "updatedAt"),
    ];
    expected.extend(before.keys().filter(|key| key.1 == "ms").cloned());
    expected.sort();
    assert_eq!(changed, expected);
    assert_eq!(
        after[&key("sql", "checkItems")],
        Value::Text(r#"[{"id":"k1","text":"x","checked":true,"extra":[1,2]}]"#.into())
    );
    // A row keeps its form; a new one gets that of the newest.
    assert!(matches!(&after[&key("iso", "updatedAt")], Value::Text(text) if text.len() == 24));
    assert!(matches!(after[&key(&made.id, "createdAt")], Value::Integer(_)));
    let mode: String = Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete");
}

#[test]
fn dates_are_written_in_the_form_of_the_column() {
    for (form, now) in [
        ("'2024-01-02T03:04:05.006Z'", 24),
        ("'2024-01-02 03:04:05'", 23),
        ("'2024-01-02T03:04:05.006+00:00'", 29),
    ] {
        let (_folder, path) = foreign();
        let web = Connection::open(&path).unwrap();
        web.execute_batch(&format!(
            r#"UPDATE "Note" SET "createdAt" = {form}, "updatedAt" = {form}"#
        ))
        .unwrap();
        let cards = SqliteCards::open_existing(&path).unwrap();
        let made = cards.create(text("ours")).unwrap();
        let first = cards.toggle(&made.id, Flag::Pinned).unwrap();
        let second = cards
            .update(
                &made.id,
                CardChange {
                    reminder: Some(Some(Timestamp(1_700_000_000_000))),
                    ..CardChange::default()
                },
            )
            .unwrap();
        assert!(first.updated_at > made.updated_at && second.updated_at > first.updated_at);
        for column in ["createdAt", "updatedAt", "reminder"] {
            let length: i64 = web
                .query_row(&format!(r#"SELECT length("{column}") FROM "Note" WHERE "id" = ?1 AND typeof("{column}") = 'text'"#), [&made.id], |row| row.get(0))
                .unwrap();
            assert_eq!(length, now, "{column} {form}");
        }
    }
}

#[test]
fn a_bare_table_serves_and_says_what_it_cannot_keep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bare.db");
    let web = Connection::open(&path).unwrap();
    web.execute_batch(r#"CREATE TABLE "Note" (id TEXT PRIMARY KEY, content TEXT); INSERT INTO "Note" VALUES ('a', 'привет')"#).unwrap();
    let cards = SqliteCards::open_existing(&path).unwrap();
    let card = cards.get("a", Images::Bytes).unwrap().unwrap();
    assert_eq!(card, Card { id: "a".into(), content: "привет".into(), ..Card::default() });
    assert_eq!(search(&cards, "ПРИВЕТ"), ["привет"]);
    assert!(cards.labels().unwrap().is_empty());
    assert_eq!(cards.create(text("b")).unwrap().created_at, None);
    let pinned = NewCard { is_pinned: true, ..text("c") };
    let error = cards.create(pinned).unwrap_err();
    assert!(error.code.json_rpc() == -32602 && error.message.contains("isPinned"), "{error}");
    assert_eq!(cards.toggle("a", Flag::Pinned).unwrap_err().code.json_rpc(), -32602);
    cards
        .update("a", CardChange { content: Some("пока".into()), ..CardChange::default() })
        .unwrap();
    // A column that must be filled and that nobody told us of; the web app migrates under us.
    web.execute_batch(r#"DROP TABLE "Note"; CREATE TABLE "Note" (id TEXT PRIMARY KEY, content TEXT, "tenant" TEXT NOT NULL)"#).unwrap();
    let error = cards.create(text("d")).unwrap_err();
    assert!(error.code.json_rpc() == -32600 && error.message.contains("`tenant`"), "{error}");
    assert!(listed(&cards).is_empty());
    web.execute_batch(r#"DROP TABLE "Note""#).unwrap();
    assert!(cards.list(&CardQuery::default()).unwrap_err().message.contains("no table `Note`"));
}

#[test]
fn a_file_that_is_not_there_or_not_a_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.db");
    let error = SqliteCards::open_existing(&path).err().unwrap();
    assert!(error.message.contains("is not there"), "{error}");
    assert!(!path.exists());
    std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), &[b'x'; 4096]).unwrap();
    let error = SqliteCards::open_existing(&path).err().unwrap();
    assert!(error.message.contains("not a database"), "{error}");
}

#[test]
fn reminders_come_due_and_recurring_ones_move_on() {
    let (_folder, cards) = own();
    let now = Timestamp::now();
    let at = |recurrence| NewCard {
        reminder: Some(now.plus_days(-10)),
        reminder_recurrence: recurrence,
        ..text("позвонить")
    };
    let once = cards.create(at(None)).unwrap();
    let weekly = cards.create(at(Some(Recurrence::Weekly))).unwrap();
    cards.create(NewCard { reminder: Some(now.plus_days(1)), ..text("later") }).unwrap();
    let due = || {
        let page = cards.list(&CardQuery { due: Some(now), ..CardQuery::default() }).unwrap();
        page.cards.len()
    };
    assert_eq!(due(), 2);
    let done = CardChange { is_reminder_done: Some(true), ..CardChange::default() };
    let moved = cards.update(&weekly.id, done.clone()).unwrap();
    assert_eq!(moved.reminder, Some(now.plus_days(4)));
    assert!(!moved.is_reminder_done);
    assert_eq!(due(), 1);
    assert!(cards.update(&once.id, done).unwrap().is_reminder_done);
    assert_eq!(due(), 0);
    // A new time is a new reminder.
    let again = CardChange { reminder: Some(Some(now)), ..CardChange::default() };
    assert!(!cards.update(&once.id, again).unwrap().is_reminder_done);
    assert_eq!(due(), 1);
}

#[test]
fn an_import_adds_once_and_the_newer_wins() {
    let (_folder, cards) = own();
    let card = |content: &str, updated| Card {
        id: "k".into(),
        content: content.into(),
        updated_at: Some(Timestamp(updated)),
        created_at: Some(Timestamp(1)),
        ..Card::default()
    };
    for (content, updated, expected, holds) in [
        ("a", 10, Imported::Added, "a"),
        ("a", 10, Imported::Present, "a"),
        ("old", 9, Imported::Present, "a"),
        ("new", 11, Imported::Updated, "new"),
    ] {
        assert_eq!(cards.import(&[card(content, updated)]).unwrap(), [expected]);
        assert_eq!(
            cards.get("k", Images::Bytes).unwrap().unwrap(),
            card(holds, if holds == "a" { 10 } else { 11 })
        );
    }
}
