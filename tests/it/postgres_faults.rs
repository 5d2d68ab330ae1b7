//! PostgreSQL that is not there, not ours, paused, crashed, promoted, or full of other libraries:
//! every fault has a sentence and a limit, and ends without a restart.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use notewell::{
    domain::{Bookmark, Code, Error, Kind, Result, Timestamp},
    store::{
        self, Store, StoreLimits, StoreUrl,
        bookmarks::Filed,
        postgres::is_away,
        revisions::{Actor, NewChange, Revision},
    },
};

use crate::{
    cluster::Cluster,
    health::{fill, small_disk},
    replicas::asked,
    support::{Home, PATIENCE, until},
};

/// Short, so that a paused server is noticed soon.
const LIMITS: StoreLimits =
    StoreLimits { readers: 2, timeout: Duration::from_secs(1), ..StoreLimits::DEFAULT };

fn open(url: &str) -> Result<Store> {
    store::open(&StoreUrl::parse(url)?, LIMITS)
}

fn refused(url: &str) -> Error {
    open(url).err().unwrap_or_else(|| panic!("`{url}` was opened"))
}

/// What the program says about an address.
fn says(url: &str) -> String {
    let home = Home::new();
    let output = home.command(&["status"]).env("NOTEWELL_STORE_URL", url).output().unwrap();
    assert!(!output.status.success(), "`{url}` was opened");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_wrong_address_says_what_to_do_and_never_the_password() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.allow("host all guest 127.0.0.1/32 scram-sha-256");
    cluster.sql("CREATE ROLE guest LOGIN PASSWORD 'right'");
    cluster.sql("CREATE DATABASE theirs OWNER guest");
    let port = cluster.port;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (url, parts) in [
        ("mysql://nw:s3cret@h/db".to_owned(), &["`mysql`", "postgres://"][..]),
        ("postgres://nw:s3cret@h/db?colour=red".into(), &["colour", "postgres://USER"]),
        (format!("postgres://guest:s3cret@127.0.0.1:{port}/theirs"), &["password", "[store] url"]),
        (format!("postgres://nw:s3cret@127.0.0.1:{port}/nowhere"), &["nowhere", "createdb"]),
        (format!("postgres://nw:s3cret@127.0.0.1:{closed}/db"), &["refused", "is running"]),
        ("postgres://nw:s3cret@nowhere.invalid/db".into(), &["nowhere.invalid", "is running"]),
        (
            format!("postgres://nw:s3cret@127.0.0.1:{port}/postgres?sslmode=require"),
            &["TLS", "127.0.0.1"],
        ),
        (
            format!("postgres://nw:s3cret@127.0.0.1:{port}/db?sslrootcert=/nowhere.pem"),
            &["/nowhere.pem", "PEM"],
        ),
    ] {
        let said = says(&url);
        for part in parts {
            assert!(said.contains(part), "{url}: no {part} in {said}");
        }
        assert!(!said.contains("s3cret"), "{said}");
    }
    let right = format!("postgres://guest:right@127.0.0.1:{port}/theirs?library=a");
    assert_eq!(open(&right).unwrap().items.head().unwrap(), 0, "an ordinary user owns the tables");
}

/// The migrations, in order.
fn migrations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Names the tables that do not hide the rows of other libraries.
const UNGUARDED: &str = "
    SELECT string_agg(relname, ' ') FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = 'public' AND relkind = 'r' AND relname <> 'schema_version'
      AND NOT (relrowsecurity AND relforcerowsecurity)";

#[test]
fn a_schema_of_another_version_is_migrated_shared_or_left_alone() {
    let Some(cluster) = Cluster::start() else { return };
    let files = migrations();
    // As a version wrote it that knew ten migrations.
    for file in &files[..10] {
        cluster.sql(&std::fs::read_to_string(file).unwrap());
    }
    cluster.sql("INSERT INTO schema_version VALUES (10, 10)");
    let version = || cluster.sql("SELECT version FROM schema_version");
    let old = open(&cluster.url("a")).unwrap();
    assert_eq!(version(), files.len().to_string());
    old.items.record(Kind::Card, "суп", 1).unwrap();
    // A later one that this program still understands.
    cluster.sql("UPDATE schema_version SET version = 99");
    assert_eq!(open(&cluster.url("a")).unwrap().items.count(None).unwrap(), 1);
    assert_eq!(version(), "99");
    // And one that it does not.
    cluster.sql("UPDATE schema_version SET oldest = 98");
    let error = refused(&cluster.url("b"));
    assert!(error.message.contains("newer Notewell"), "{error}");
    assert_eq!(cluster.sql("SELECT count(*) FROM libraries"), "1", "nothing was changed");
}

#[test]
fn an_owner_who_sees_one_library_at_a_time_migrates_those_of_all() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.sql("CREATE ROLE ann LOGIN; GRANT ALL ON SCHEMA public TO ann");
    for file in &migrations()[..13] {
        cluster.sql(&format!("SET ROLE ann; {}", std::fs::read_to_string(file).unwrap()));
    }
    cluster.sql(
        "INSERT INTO schema_version VALUES (13, 13);
         INSERT INTO libraries (id, name, number) VALUES (1, 'a', 1), (2, 'b', 2);
         INSERT INTO hosted_files
             (lib, id, vault, path, folder, size, mtime_ns, created_ns, changed)
         VALUES (1, 7, 'h', 'x', '', 0, 1, 1, 1), (2, 8, 'h', 'x', '', 0, 1, 1, 1);
         INSERT INTO hosted_usage (lib, vault, files, bytes) VALUES (1, 'h', 1, 0), (2, 'h', 1, 0);
         INSERT INTO hosted_properties (lib, file, namespace, name, xml)
         VALUES (1, 7, 'ns', 'я', 'xml'), (2, 8, 'n', 'q', 'xx')",
    );
    let counted = |library| {
        let store = open(&cluster.url(library).replace("nw@", "ann@")).unwrap();
        store.hosted.usage("h").unwrap().property_bytes
    };
    assert_eq!((counted("a"), counted("b")), (7, 4));
    assert_eq!(cluster.sql(UNGUARDED), "");
}

#[test]
fn libraries_of_one_database_do_not_see_each_other() {
    let Some(cluster) = Cluster::start() else { return };
    let [a, b] = ["a", "b"].map(|name| open(&cluster.url(name)).unwrap());
    for key in ["soup", "суп", "スープ"] {
        a.items.record(Kind::Card, key, 1).unwrap();
    }
    assert_eq!(b.items.record(Kind::Card, "суп", 1).unwrap().0, 1, "numbers begin anew");
    assert_eq!((a.items.count(None).unwrap(), b.items.count(None).unwrap()), (3, 1));
    assert_eq!((a.items.head().unwrap(), b.items.head().unwrap()), (3, 1));
    assert_ne!(a.items.library().unwrap(), b.items.library().unwrap());
    // Every table with rows of libraries is under the rule, and without a library there are none.
    assert_eq!(cluster.sql(UNGUARDED), "");
    // Plans are for a library of any size, also for one that the statistics do not know yet.
    let counted = cluster.sql(
        "SELECT count(*) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE attname = 'lib' AND relkind = 'r' AND attstattarget IS DISTINCT FROM 0",
    );
    assert_eq!(counted, "0");
    let role = "SET ROLE notewell_library;";
    assert_eq!(cluster.sql(&format!("{role} SELECT count(*) FROM items")), "0");
    let id = cluster.sql("SELECT id FROM libraries WHERE name = 'b'");
    let seen = cluster.sql(&format!("{role} SET nw.lib = '{id}'; SELECT count(*) FROM items"));
    assert_eq!(seen, "1");
}

#[test]
fn a_standby_is_named_and_a_promoted_one_is_found() {
    let Some(primary) = Cluster::start() else { return };
    let both = |standby: &Cluster| {
        format!(
            "postgres://nw@127.0.0.1:{},127.0.0.1:{}/postgres?library=a",
            standby.port, primary.port
        )
    };
    open(&primary.url("a")).unwrap();
    let standby = primary.standby();
    let error = refused(&standby.url("a"));
    assert!(error.message.contains("read-only standby"), "{error}");
    let store = open(&both(&standby)).unwrap();
    store.items.record(Kind::Card, "before", 1).unwrap();
    until("the standby has it", || standby.sql("SELECT count(*) FROM items") == "1");
    // It may be read where the address says so; a write is refused with a sentence.
    let reader = open(&format!("{}&target_session_attrs=any", standby.url("a"))).unwrap();
    assert_eq!(reader.items.count(None).unwrap(), 1);
    let error = reader.items.record(Kind::Card, "x", 1).unwrap_err();
    assert!(error.message.contains("read-only standby"), "{error}");
    assert_eq!(error.code, Code::Storage);
    primary.crash();
    assert!(is_away(&store.items.record(Kind::Card, "lost", 1).unwrap_err()));
    standby.promote();
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = store.items.record(Kind::Card, "after", 1) {
        assert!(Instant::now() < deadline, "the new primary takes no writes: {error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(store.items.count(None).unwrap(), 2);
}

#[test]
fn connections_that_were_cut_are_replaced_at_once() {
    let Some(cluster) = Cluster::start() else { return };
    let store = open(&cluster.url("a")).unwrap();
    let cut = || {
        cluster.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = 'notewell'",
        )
    };
    for round in 0..10 {
        store.items.record(Kind::Card, "суп", round).unwrap();
        cut();
        assert_eq!(store.items.count(None).unwrap(), 1);
        cut();
    }
    // A crash of the server: until it is up again every call fails with the same kind of error.
    cluster.crash();
    let error = store.items.head().unwrap_err();
    assert!(is_away(&error), "{error}");
    cluster.up();
    until("it is back", || store.items.head().is_ok());
    assert_eq!(store.items.head().unwrap(), 10, "nothing acknowledged was lost");
}

#[test]
fn a_paused_server_holds_nobody() {
    let Some(cluster) = Cluster::start() else { return };
    let store = open(&cluster.url("a")).unwrap();
    store.items.record(Kind::Card, "суп", 1).unwrap();
    cluster.pause(true);
    let begun = Instant::now();
    let error = store.items.record(Kind::Card, "スープ", 1).unwrap_err();
    assert!(is_away(&error), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // Most callers learn it at once; now and then one tries to connect.
    let mut at_once = 0;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let begun = Instant::now();
                    assert!(is_away(&store.items.head().unwrap_err()));
                    begun.elapsed()
                })
            })
            .collect();
        for caller in callers {
            at_once += usize::from(caller.join().unwrap() < Duration::from_millis(500));
        }
    });
    assert!(at_once >= 7, "{at_once} of 8");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    // However long it lasts.
    let end = Instant::now() + Duration::from_secs(asked("NOTEWELL_PAUSE_SECONDS", 1) as u64);
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        let begun = Instant::now();
        assert!(is_away(&store.items.head().unwrap_err()));
        slowest = slowest.max(begun.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("the slowest call during the pause took {slowest:?}");
    assert!(slowest < Duration::from_secs(8), "{slowest:?}");
    cluster.pause(false);
    until("it answers again", || store.items.head().is_ok());
    // The change that had no answer was not acknowledged; it may have been made, but not twice.
    assert!(store.items.count(None).unwrap() <= 2);
    store.items.record(Kind::Card, "スープ", 1).unwrap();
    assert_eq!(store.items.count(None).unwrap(), 2);
}

/// The program itself over a server that stops for a while: an answer within the limits, and
/// again a good one without a restart.
#[test]
fn a_client_gets_a_sentence_while_the_server_is_paused() {
    let Some(cluster) = Cluster::start() else { return };
    let home = Home::new();
    home.note("a.md", "# Борщ\n\nСвёкла и капуста.\n");
    let mut command = home.command(&["call", "note_html", r#"{"path": "a.md"}"#]);
    let config = home.dir.path().join("notewell.toml");
    let url = cluster.url("a");
    crate::support::put(&config, format!("[store]\nurl = \"{url}\"\ntimeout_seconds = 1\n"));
    command.arg("--config").arg(&config).env_remove("NOTEWELL_STORE_URL");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    cluster.pause(true);
    let begun = Instant::now();
    let output = command.output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("does not answer"), "{said}");
    cluster.pause(false);
    let deadline = Instant::now() + PATIENCE;
    while !command.output().unwrap().status.success() {
        assert!(Instant::now() < deadline, "it did not recover");
    }
}

#[test]
fn the_turn_is_one_for_all_processes_and_is_lost_with_its_session() {
    let Some(cluster) = Cluster::start() else { return };
    let [a, b, other] = ["a", "a", "other"].map(|name| open(&cluster.url(name)).unwrap());
    let turn = a.revisions.turn().unwrap();
    assert!(b.revisions.try_turn().unwrap().is_none());
    let error = b.revisions.turn().err().unwrap();
    assert!(error.message.contains("another Notewell process"), "{error}");
    assert!(other.revisions.try_turn().unwrap().is_some(), "another library is not concerned");
    drop(turn);
    drop(b.revisions.turn().unwrap());
    let turn = a.revisions.turn().unwrap();
    cluster.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted",
    );
    until("the lock is free", || b.revisions.try_turn().unwrap().is_some());
    let revision = Revision {
        pid: None,
        kind: Kind::Page,
        key: "v/a.md".into(),
        moved_to: None,
        before: None,
        after: Some(b"x".to_vec()),
    };
    let mut change = NewChange::new(&Actor::shell("test"), "made a.md");
    let error = a.revisions.begin(&turn, &mut change, &[revision]).unwrap_err();
    assert!(error.message.contains("nothing was changed"), "{error}");
    assert!(a.revisions.pending().unwrap().is_empty());
}

#[test]
fn a_text_that_the_server_cannot_keep_is_refused_with_a_sentence() {
    let Some(cluster) = Cluster::start() else { return };
    let store = open(&cluster.url("a")).unwrap();
    let error = store.items.record(Kind::Card, "a\0b", 1).unwrap_err();
    assert!(error.message.contains("NUL"), "{error}");
    assert_eq!(error.code, Code::InvalidParams);
    assert_eq!(store.items.count(None).unwrap(), 0);
    assert!(store.pages.find("v", "a\0.md").unwrap().is_none());
}

/// The tables are on a small disk of their own: what does not fit is refused, what is there can be
/// read, and with room again writes work.
#[test]
fn a_full_disk_of_the_server_is_named_and_heals() {
    let Some(cluster) = Cluster::start() else { return };
    let folder = tempfile::Builder::new().prefix("nw-full").tempdir_in("/tmp").unwrap();
    let Some(_disk) = small_disk(folder.path(), "24m") else { return };
    let place = folder.path().display();
    let owner = if rustix::process::geteuid().is_root() { "nobody:nogroup" } else { "" };
    if !owner.is_empty() {
        let status = std::process::Command::new("chown").arg(owner).arg(folder.path()).status();
        assert!(status.unwrap().success());
    }
    cluster.sql(&format!("CREATE TABLESPACE small LOCATION '{place}'"));
    cluster.sql("CREATE DATABASE small TABLESPACE small");
    let url = format!("postgres://nw@127.0.0.1:{}/small?library=a", cluster.port);
    let store = open(&url).unwrap();
    let pid = store.items.record(Kind::Card, "раньше", 1).unwrap();
    fill(folder.path());
    let mut dice = crate::crash::Dice(0xd15c);
    let mut large = || -> String { (0..20_000).map(|_| format!("{:x}", dice.roll(16))).collect() };
    let mut written = 0;
    let error = loop {
        let bookmark = Bookmark::new(None, "", &large(), Timestamp(0)).unwrap();
        let filed = Filed { bookmark, topics: Vec::new(), tool: None };
        let mut change = NewChange::new(&Actor::shell("test"), "saved");
        match store.bookmarks.put(&[filed], &mut change) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 2_000, "the disk is never full");
    };
    let said = &error.message;
    assert!(said.contains("is full: nothing was changed; free space there"), "{said}");
    assert_eq!(error.code, Code::Storage);
    assert!(!is_away(&error), "it answers");
    assert_eq!(store.items.get(pid).unwrap().unwrap().key, "раньше");
    assert_eq!(store.bookmarks.list(None, 10_000).unwrap().len(), written);
    std::fs::remove_file(folder.path().join("filler")).unwrap();
    until("writes work again", || store.items.record(Kind::Card, "позже", 1).is_ok());
    drop(store);
    // The disk can be unmounted when nobody has a file of it open.
    cluster.crash();
}
