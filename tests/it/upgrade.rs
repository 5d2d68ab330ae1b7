//! Data that earlier versions wrote. `scripts/make-data-fixture` makes a folder for each release. That
//! of 0.1.0 holds what 0.1.0 knew, and `v0.2.0-schema13` what a build before 0.2.0 wrote.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use notewell::store::{Hosted, sqlite::Sqlite};

use crate::support::{notewell, only_sqlite};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/data");
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");

fn sorted(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A copy of what a release wrote, with the program of today on it.
struct Old(tempfile::TempDir);

impl Old {
    fn new(fixture: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(fixture, dir.path());
        let old = Self(dir);
        let root = old.path().join("vault").canonicalize().unwrap();
        let change = "UPDATE vaults SET root = ?1 WHERE root = '/fixture/vault'";
        assert_eq!(old.database().execute(change, [root.to_str().unwrap()]).unwrap(), 1);
        old
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path().join("data/notewell.db")).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = notewell();
        command.arg("--config").arg(self.path().join("notewell.toml"));
        command.arg("--data").arg(self.path().join("data")).args(arguments);
        command.env("HOME", self.path()).stdin(Stdio::null());
        command
    }

    /// What a command prints, whatever its exit status.
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let (out, err) = (output.stdout, output.stderr);
        format!("{}{}", String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }
}

#[test]
fn every_release_has_a_fixture() {
    let changelog = concat!(env!("CARGO_MANIFEST_DIR"), "/CHANGELOG.md");
    let changelog = std::fs::read_to_string(changelog).unwrap();
    let headings = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    let released = headings.filter(|heading| !heading.contains("unreleased"));
    for heading in released {
        let version = heading.split_whitespace().next().unwrap();
        let fixture = Path::new(FIXTURES).join(format!("v{version}"));
        assert!(
            fixture.is_dir(),
            "{version} is released and has no fixture: run `scripts/make-data-fixture` with its program"
        );
    }
    assert!(!sorted(FIXTURES).is_empty());
}

/// The first schema with accounts, hosted vaults, the books and a history.
const ACCOUNTS: i64 = 13;

/// A command, and what it prints.
type Expected = (&'static [&'static str], &'static [&'static str]);

const EVERY_RELEASE: &[Expected] = &[
    (&["self", "check"], &["notewell.db: schema"]),
    (&["vault", "list"], &["notes\t"]),
    (&["read", "notes/garden/Roses.md"], &["late frost"]),
    (&["read", "notes/Чай.md"], &["70 градусах"]),
    (&["card", "list"], &["Shopping", "Packing\tpinned"]),
    (&["prompt", "show", "summary"], &["Sum up {{text}} in three sentences."]),
    (&["bookmark", "list"], &["https://example.org/tea", "https://example.org/pruning"]),
    (&["token", "list"], &["owner\tlaptop\tvalid", "\tphone\tvalid"]),
    (&["search", "剪定"], &["薔薇"]),
    (&["search", "чая"], &["Чай"]),
    (&["search", "green tea"], &["Shopping", "example.org/tea"]),
    (&["doctor"], &["Nothing is wrong."]),
];

const WITH_ACCOUNTS: &[Expected] = &[
    (&["vault", "list"], &["team\thosted:team"]),
    (&["read", "team/Plan.md"], &["The plan of the team."]),
    (&["user", "list"], &["ann\treader\tAnn Lee\tpassword"]),
    (&["grant", "list"], &["ann\tread the label `garden`"]),
    (&["token", "list"], &["ann: read\tphone"]),
    (&["market", "balance"], &["user:1 (ann)\t5.00\tUSD"]),
    (&["history"], &["edit_page", "import", "add_bookmark", "create_prompt", "create_note"]),
    (&["audit"], &["market_credit\tann", "user_add\tann"]),
    (&["doctor"], &["the books balance over 1 entry"]),
];

#[test]
fn what_a_release_wrote_is_all_there() {
    if only_sqlite("the fixtures are data directories") {
        return;
    }
    for fixture in sorted(FIXTURES) {
        let old = Old::new(&fixture);
        let schema: i64 =
            old.database().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        let further = if schema < ACCOUNTS { &[] } else { WITH_ACCOUNTS };
        for (command, texts) in EVERY_RELEASE.iter().chain(further) {
            let printed = old.prints(command);
            for text in *texts {
                assert!(printed.contains(text), "{fixture:?}, {command:?}: no `{text}`: {printed}");
            }
        }
        // What this program changes can be taken back, and so can what the older one did.
        let edit = r#"{"path":"notes/garden/Roses.md","op":"append","text":"Feed them in May."}"#;
        let roses = |old: &Old| old.prints(&["read", "notes/garden/Roses.md"]);
        let before = roses(&old);
        old.prints(&["call", "edit_page", edit]);
        assert!(roses(&old).contains("Feed them in May."), "{fixture:?}");
        old.prints(&["undo"]);
        assert_eq!(roses(&old), before, "{fixture:?}");
        if schema >= ACCOUNTS {
            assert!(before.contains("Water them in the morning."), "{before}");
            old.prints(&["undo", "7"]);
            assert!(!roses(&old).contains("morning"), "{fixture:?}");
        }
    }
}

/// The statements that make up a schema.
fn schema(database: &rusqlite::Connection) -> BTreeMap<String, String> {
    let select = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master";
    let mut statement = database.prepare(select).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn every_earlier_schema_becomes_the_newest() {
    let migrations: Vec<String> =
        sorted(MIGRATIONS).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(migrations.len() >= 14);
    let open = |folder: &Path| {
        drop(Sqlite::open(&folder.join("notewell.db")).unwrap());
        rusqlite::Connection::open(folder.join("notewell.db")).unwrap()
    };
    let fresh = tempfile::tempdir().unwrap();
    let newest = schema(&open(fresh.path()));
    for count in 1..migrations.len() {
        let folder = tempfile::tempdir().unwrap();
        let old = rusqlite::Connection::open(folder.path().join("notewell.db")).unwrap();
        for migration in &migrations[..count] {
            old.execute_batch(migration).unwrap();
        }
        old.pragma_update(None, "user_version", count as i64).unwrap();
        let note = "INSERT INTO vaults (name, root) VALUES ('notes', '/somewhere')";
        old.execute(note, []).unwrap();
        drop(old);
        let opened = open(folder.path());
        let version: i64 = opened.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version as usize, migrations.len(), "from schema {count}");
        assert_eq!(schema(&opened), newest, "from schema {count}");
        let root: String = opened
            .query_row("SELECT root FROM vaults WHERE name = 'notes'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(root, "/somewhere", "from schema {count}");
    }
}

/// Vaults with files and their properties, as schema 13 has them.
const PROPERTIES: &str = "
    INSERT INTO hosted_files (id, vault, path, folder, size, mtime_ns, created_ns, changed)
    VALUES (7, 'h', 'a', '', 0, 1, 1, 1), (8, 'h', 'b', '', 0, 1, 1, 1), (9, 'i', 'c', '', 0, 1, 1, 1);
    INSERT INTO hosted_usage (vault, files, bytes) VALUES ('h', 2, 0), ('i', 1, 0), ('j', 0, 0);
    INSERT INTO hosted_properties (file, namespace, name, xml)
    VALUES (7, 'ns', 'я', x'786d6c'), (8, '', 'p', x''), (9, 'n', 'q', x'7878');
";

#[test]
fn the_properties_of_hosted_vaults_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notewell.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    for migration in &sorted(MIGRATIONS)[..13] {
        old.execute_batch(&std::fs::read_to_string(migration).unwrap()).unwrap();
    }
    old.pragma_update(None, "user_version", 13).unwrap();
    old.execute_batch(PROPERTIES).unwrap();
    drop(old);
    let store = Sqlite::open(&file).unwrap();
    let counted = ["h", "i", "j"].map(|vault| store.usage(vault).unwrap().property_bytes);
    assert_eq!(counted, [8, 4, 0]);
}

#[test]
fn an_older_program_refuses_newer_data_and_changes_nothing() {
    if only_sqlite("the fixtures are data directories") {
        return;
    }
    let fixture = sorted(FIXTURES).pop().unwrap();
    let old = Old::new(&fixture);
    // As a running program leaves it, with a write-ahead log.
    old.prints(&["status"]);
    std::fs::remove_file(old.path().join("data/written-by")).ok();
    old.database().pragma_update(None, "user_version", 1_000).unwrap();
    let file = old.path().join("data/notewell.db");
    let before = std::fs::read(&file).unwrap();
    let output = old.command(&["search", "tea"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("written by a newer Notewell (schema 1000"), "{err}");
    assert!(err.contains("update Notewell") && err.contains("Nothing was changed"), "{err}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
