//! `notewell store copy`: a library with data of all kinds goes from SQLite to PostgreSQL and back,
//! and is the same.

use std::{collections::BTreeMap, path::Path, process::Output};

use notewell::{
    domain::{
        Bookmark, Kind, Money, Pid, Scopes, Timestamp, UserName, VaultPath,
        card::NewCard,
        prompt::Draft,
        user::{Extent, Grant, Role},
    },
    store::{
        self, Cards, Prompts, Store, StoreLimits, StoreUrl,
        audit::NewAuditEntry,
        bookmarks::{Filed, Topic},
        cards::Images,
        jsonl::JsonlPrompts,
        ledger::{Account, CallIdentity, EntryKind, NewEntry, NewHold, Outside},
        oauth::{Code, Pair},
        pages::{Facts, NewPage, PageChange},
        payments::NewPayment,
        postgres::PostgresPrompts,
        reports::StoredReport,
        revisions::{Actor, NewChange, Revision},
        sessions::NewSession,
        sqlite::cards::SqliteCards,
        tokens::{NewToken, Power},
        usage::{Call, NewUsage, Outcome},
        users::{NewAccount, PasskeyRow},
    },
    vault,
};
use rusqlite::{Connection, types::Value};
use serde_json::json;

use crate::support::{notewell, store_url};

fn sqlite(directory: &Path) -> String {
    format!("sqlite:{}", directory.display())
}

fn open(url: &str) -> Store {
    store::open(&StoreUrl::parse(url).unwrap(), StoreLimits::DEFAULT).unwrap()
}

fn copy(from: &str, to: &str, home: &Path) -> Output {
    let mut command = notewell();
    command.args(["store", "copy", "--from", from, "--to", to]).env("HOME", home);
    command.env("XDG_CONFIG_HOME", home.join("config")).output().unwrap()
}

/// Copies, and gives what was printed.
fn copied(from: &str, to: &str, home: &Path) -> String {
    let output = copy(from, to, home);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(from: &str, to: &str, home: &Path) -> String {
    let output = copy(from, to, home);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn change() -> NewChange {
    NewChange::new(&Actor::shell("test"), "проба 試し")
}

/// Fills a library with rows of every table.
fn fill(store: &Store) {
    fill_items(store);
    let user = fill_accounts(store);
    fill_market(store, user);
}

fn fill_items(store: &Store) {
    store.pages.add_vault("v", "somewhere", true).unwrap();
    let path = VaultPath::parse("日記/суп.md").unwrap();
    let (page, _) = vault::page("v", &path, "---\nmcp_method: soup\n---\nтекст");
    let facts = Facts { page, links: vec!["суп".into()], toc: Vec::new(), slow_ms: None };
    let page = Box::new(NewPage {
        vault: "v".into(),
        path: path.as_str().to_owned(),
        size: 5,
        mtime_ns: 7,
        hash: [9; 32],
        facts,
    });
    store.pages.apply(&[PageChange::Put { pid: None, page }]).unwrap();
    let filed = |id: Option<&str>, url: &str| Filed {
        bookmark: Bookmark::new(id, url, "пост 日本", Timestamp(5)).unwrap(),
        topics: vec![Topic { key: "агент".into(), form: "агенты".into() }],
        tool: Some("CrewAI".into()),
    };
    // One whose key is given up to another: the row that SQLite writes with a NUL.
    let batch = [filed(None, "https://a.example/x"), filed(Some("n.2"), "https://b.example")];
    store.bookmarks.put(&batch, &mut change()).unwrap();
    store.bookmarks.put(&[filed(Some("n.1"), "https://a.example/x")], &mut change()).unwrap();
    assert!(store.bookmarks.remove("n.2", &mut change()).unwrap());
    let turn = store.revisions.turn().unwrap();
    let revision = Revision {
        pid: Some(Pid(1)),
        kind: Kind::Page,
        key: "v/日記/суп.md".into(),
        moved_to: None,
        before: Some(b"\0\xff bytes".to_vec()),
        after: None,
    };
    let begun = store.revisions.begin(&turn, &mut change(), &[revision]).unwrap();
    store.revisions.finish(begun).unwrap();
    let report = StoredReport {
        repo: "https://github.com/a/b".into(),
        commit: "c1".into(),
        verified: Timestamp(1),
        score: 70,
        verdict: "SAFE".into(),
        json: "{\"имя\": \"日本\"}".into(),
    };
    store.reports.put(&report).unwrap();
}

fn fill_accounts(store: &Store) -> notewell::domain::UserId {
    let account = |name: &str, role| NewAccount {
        name: UserName::new(name).unwrap(),
        display_name: "Мира 山田".into(),
        role,
        password: Some("$argon2id$x".into()),
    };
    let user = store.users.add(&account("mira", Role::Owner)).unwrap().id;
    let gone = store.users.add(&account("ann", Role::Reader)).unwrap().id;
    let grant = Grant { extent: Extent::Label("чай".into()), write: true };
    store.users.grant(user, &grant).unwrap();
    store.users.grant(gone, &grant).unwrap();
    assert!(store.users.remove(gone).unwrap());
    let passkey = PasskeyRow {
        credential: vec![0, 255, 7],
        user,
        name: "ключ".into(),
        data: "{}".into(),
        created: Timestamp(1),
        used: None,
    };
    store.users.put_passkey(&passkey).unwrap();
    let session = NewSession {
        user,
        expires: Timestamp(i64::MAX),
        agent: "б".into(),
        address: "10.0.0.1".into(),
    };
    store.sessions.open(&[3; 32], &session).unwrap();
    let token = NewToken {
        name: "ноутбук".into(),
        power: Power::User(user, Scopes::ALL),
        audience: None,
        connection: None,
        expires: Some(Timestamp(9)),
    };
    store.tokens.create(&token, &[1; 32]).unwrap();
    store
        .audit
        .record(&NewAuditEntry { who: "mira".into(), ..NewAuditEntry::default() }, 10)
        .unwrap();
    let now = Timestamp::now();
    let code = Code {
        client: "client".into(),
        client_name: "Клиент".into(),
        user,
        redirect_uri: "http://localhost/cb".into(),
        challenge: "challenge".into(),
        resource: "http://localhost/mcp".into(),
        scopes: Scopes::ALL,
        expires: now.plus_days(1),
    };
    store.oauth.keep_code(&[4; 32], &code).unwrap();
    let pair = Pair {
        access: [5; 32],
        access_expires: now.plus_days(1),
        refresh: [6; 32],
        refresh_expires: now.plus_days(2),
    };
    store.oauth.redeem(&[4; 32], &pair, now, &|_| true).unwrap();
    user
}

fn fill_market(store: &Store, user: notewell::domain::UserId) {
    let top_up = NewEntry::new(EntryKind::TopUp, "перевод")
        .add(Account::Outside(Outside::Manual), Money(-1_000))
        .add(Account::User(user), Money(1_000));
    store.ledger.post(&top_up).unwrap();
    let call = Call {
        user: Some(user),
        token: Some(1),
        method: "обзор".into(),
        page: Pid(1),
        author: None,
        version: "v1".into(),
        price: Money(10),
        request: "1".into(),
    };
    let hold = |identity: u8| NewHold {
        call: call.clone(),
        identity: CallIdentity { call: [identity; 32], arguments: [identity; 32] },
        trial_calls: 0,
        user_cap: Money(1_000),
        token_cap: Money(1_000),
        day: Timestamp(0),
        repeat_since: Timestamp(0),
    };
    let process = store.ledger.enlist().unwrap();
    for identity in [1, 2] {
        let begun = store.ledger.begin(&process, &hold(identity)).unwrap();
        let store::ledger::Admission::Held(held) = begun else { panic!("{begun:?}") };
        // One that is charged, and one that is still under way.
        if identity == 1 {
            store.ledger.capture(held, Money::ZERO, 3).unwrap();
        }
    }
    let failed = NewUsage { call, outcome: Outcome::Failed, ms: 1 };
    store.usage.record(&failed).unwrap();
    let payment = NewPayment {
        provider: Outside::Stripe,
        reference: "r".into(),
        user: Some(user),
        amount: Money(5),
        currency: "USD".into(),
        call: Some([8; 32]),
    };
    store.payments.begin(&payment).unwrap();
    store.payments.add_event(Outside::Stripe, "evt").unwrap();
}

fn fill_cards(cards: &dyn Cards) {
    for (number, title) in ["soup", "суп", "スープ"].into_iter().enumerate() {
        let new = NewCard {
            title: Some(title.into()),
            content: "строка\nдве\0три".into(),
            labels: Some(vec!["чай".into()]),
            images: Some(vec!["iVBORw0KGgo=".into(); number]),
            ..NewCard::default()
        };
        let card = cards.create(new).unwrap();
        cards.arrange(&[(card.id, number as f64 - 1.0)]).unwrap();
    }
}

fn fill_prompts(prompts: &dyn Prompts) {
    for name in ["soup", "суп"] {
        let draft = Draft::parse(json!({"name": name, "title": name,
            "messages": [{"role": "user", "content": {"type": "text", "text": "Текст {{x}}"}}]}));
        prompts.create(draft.unwrap()).unwrap();
    }
    for value in ["Go", "Русский"] {
        let values = json!({"x": value, "y": "日本"});
        prompts.remember("суп", values.as_object().unwrap()).unwrap();
    }
}

/// Rows of the tables that nothing above fills.
const OTHER_ROWS: &str = "
    INSERT INTO hosted_files (id, vault, path, folder, hash, size, mtime_ns, created_ns, changed)
    VALUES (7, 'h', '日記', '', NULL, 0, 1, 1, 1), (8, 'h', '日記/a.md', '日記', x'00ff', 3, 2, 3, 4);
    INSERT INTO hosted_contents (file, data) VALUES (8, x'00ff0a');
    INSERT INTO hosted_properties (file, namespace, name, xml) VALUES (8, 'ns', 'имя', x'3c');
    INSERT INTO hosted_usage (vault, files, bytes, property_bytes) VALUES ('h', 1, 3, 9);
    INSERT INTO skipped (vault, path, reason, kind) VALUES ('v', 'x.md', 'причина', 'size');
    INSERT INTO oauth_clients (id, secret, metadata, created) VALUES ('c', x'01', '{}', 1);
    INSERT INTO tasks (id, caller, tool, status, created, updated, expires, requests, answers,
                       cancelled, runner, alive)
    VALUES ('t', 'user:1', 'oss_report', 'working', 1, 2, 3, '{}', '{}', 1, 'r', 4);
";

/// Every row of every table of a file but the library's own number, as text.
fn rows(directory: &Path) -> BTreeMap<String, Vec<String>> {
    let db = Connection::open(directory.join("notewell.db")).unwrap();
    let names: Vec<String> = db
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'library'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    names
        .into_iter()
        .map(|name| {
            let mut statement = db.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
            let columns = statement.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                Ok((0..columns).map(|at| row.get::<_, Value>(at).unwrap()).collect::<Vec<_>>())
            };
            let rows = statement.query_map([], row).unwrap();
            let mut rows: Vec<String> = rows.map(|row| format!("{:?}", row.unwrap())).collect();
            rows.sort();
            (name, rows)
        })
        .collect()
}

#[test]
fn a_library_goes_to_postgres_and_back_and_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let Some(server) = store_url(folder.path()) else { return };
    let store = open(&sqlite(&first));
    fill(&store);
    let own = SqliteCards::open_own(&first.join("cards.db")).unwrap();
    fill_cards(&own);
    let stamps =
        |cards: &dyn Cards| cards.stamps().unwrap().into_iter().collect::<BTreeMap<_, _>>();
    let known: Vec<(String, i64)> =
        stamps(&own).into_iter().map(|(id, stamp)| (id, stamp as i64)).collect();
    store.items.sync(Kind::Card, &known).unwrap();
    let completions = |directory: &Path| Some(directory.join("completions.json"));
    fill_prompts(&JsonlPrompts::open(first.join("prompts"), 10, completions(&first)));
    Connection::open(first.join("notewell.db")).unwrap().execute_batch(OTHER_ROWS).unwrap();
    let before = rows(&first);
    for (table, rows) in &before {
        assert!(!rows.is_empty(), "the table `{table}` has no row to test");
    }

    let summary = copied(&sqlite(&first), &server, folder.path());
    assert!(summary.contains("3 cards, 2 prompts and 1 prompt backup copied"), "{summary}");
    assert!(summary.contains("users\t2 rows"), "{summary}");
    assert_eq!(rows(&first), before, "the source is as it was");
    let there = open(&server);
    let postgres = there.server.clone().unwrap();
    let cards: &dyn Cards = &*postgres;
    assert_eq!(stamps(cards), stamps(&own), "the registry needs no change");
    let prompts = PostgresPrompts::new(postgres.clone(), 10);
    assert_eq!(prompts.complete("суп", "x", "").unwrap(), ["Русский", "Go"]);
    assert_eq!(prompts.find("soup").unwrap().unwrap().prompt.title, "soup");
    assert!(there.ledger.damage().unwrap().is_empty());
    assert_eq!(there.items.head().unwrap(), store.items.head().unwrap());

    let summary = copied(&server, &sqlite(&second), folder.path());
    assert!(summary.contains("3 cards, 2 prompts and 1 prompt backup copied"), "{summary}");
    for (table, rows) in rows(&second) {
        assert_eq!(rows, before[&table], "{table}");
    }
    for file in ["prompts/user.jsonl", "completions.json"] {
        let read = |directory: &Path| std::fs::read(directory.join(file)).unwrap();
        assert_eq!(read(&first), read(&second), "{file}");
    }
    let back = SqliteCards::open_own(&second.join("cards.db")).unwrap();
    for id in stamps(&own).keys() {
        assert_eq!(back.get(id, Images::Bytes).unwrap(), own.get(id, Images::Bytes).unwrap());
    }

    // Numbers go on where they were.
    let user = |store: &Store| {
        let name = UserName::new("later").unwrap();
        let new =
            NewAccount { name, display_name: String::new(), role: Role::Reader, password: None };
        store.users.add(&new).unwrap().id
    };
    let pid = |store: &Store| store.items.record(Kind::Card, "later", 1).unwrap();
    let again = open(&sqlite(&second));
    assert_eq!((user(&there), pid(&there)), (user(&again), pid(&again)));
    assert_eq!(user_of(&store) + 1, user_of(&again));
}

fn user_of(store: &Store) -> i64 {
    store.users.all().unwrap().last().unwrap().id.0
}

#[test]
fn a_copy_refuses_what_it_would_mix_or_cannot_find() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (full, other) = (at("full"), at("other"));
    fill_items(&open(&sqlite(&full)));
    let said = refused(&sqlite(&at("nowhere")), &sqlite(&other), folder.path());
    assert!(said.contains("there is no library"), "{said}");
    let said = refused(&sqlite(&full), &sqlite(&full), folder.path());
    assert!(said.contains("the same store"), "{said}");
    let said = refused(&sqlite(&full), "mysql://x", folder.path());
    assert!(said.contains("`mysql`"), "{said}");
    fill_items(&open(&sqlite(&other)));
    let said = refused(&sqlite(&full), &sqlite(&other), folder.path());
    assert!(said.contains("not empty") && said.contains("Nothing was copied"), "{said}");
    let cards = at("cards");
    std::fs::create_dir_all(&cards).unwrap();
    drop(SqliteCards::open_own(&cards.join("cards.db")).unwrap());
    let said = refused(&sqlite(&full), &sqlite(&cards), folder.path());
    assert!(said.contains("cards.db` exists"), "{said}");
    let Some(server) = store_url(folder.path()) else { return };
    copied(&sqlite(&full), &server, folder.path());
    let said = refused(&sqlite(&full), &server, folder.path());
    assert!(said.contains("not empty") && said.contains("?library=NAME"), "{said}");
}

#[test]
fn a_text_that_postgres_cannot_keep_stops_the_copy_before_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = store_url(folder.path()) else { return };
    let source = folder.path().join("data");
    let store = open(&sqlite(&source));
    store.pages.add_vault("v", "some\0where", false).unwrap();
    let said = refused(&sqlite(&source), &server, folder.path());
    assert!(said.contains("`root`") && said.contains("NUL"), "{said}");
    assert!(open(&server).pages.vaults().unwrap().is_empty(), "nothing was copied");
}
