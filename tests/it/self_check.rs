//! `notewell self check`, as somebody runs it after an update.

use serde_json::Value;

use crate::support::{Account, Home, only_sqlite};

fn check(home: &Home) -> (i32, Value) {
    let output = home.command(&["self", "check", "--json"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    (output.status.code().unwrap(), value)
}

fn findings<'a>(value: &'a Value, level: &str) -> Vec<&'a str> {
    let all = value["findings"].as_array().unwrap().iter();
    all.filter(|finding| finding["level"] == level)
        .map(|finding| finding["what"].as_str().unwrap())
        .collect()
}

#[test]
fn an_account_without_data_gets_none_from_looking() {
    let account = Account::new();
    let (code, out, err) = account.run(&["self", "check"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains(env!("CARGO_PKG_VERSION")), "{out}");
    assert!(out.contains("there is no data directory"), "{out}");
    assert!(out.contains("`notewell init` makes it"), "{out}");
    let left: Vec<_> = std::fs::read_dir(account.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_library_that_fits_is_described() {
    if only_sqlite("a server is not asked") {
        return;
    }
    let home = Home::new();
    home.note("a.md", "# Tea\n\nGreen tea at 70 degrees.\n");
    home.say(&["index"]);
    let (code, value) = check(&home);
    assert_eq!((code, findings(&value, "wrong")), (0, vec![]), "{value:#}");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(value["databases"][0]["fit"], "current");
    assert_eq!(value["databases"][0]["schema"], value["databases"][0]["known"]);
    assert_eq!(value["databases"][0]["written_by"], env!("CARGO_PKG_VERSION"));
    assert!(value["index"]["passages"].as_u64().unwrap() > 0, "{value:#}");
    assert!(value["free_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn an_older_library_is_announced_and_not_migrated() {
    if only_sqlite("the schema's number is in its file") {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    std::fs::create_dir_all(home.data()).unwrap();
    std::fs::set_permissions(home.data(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = home.data().join("notewell.db");
    let first = include_str!("../../migrations/sqlite/0001_start.sql");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch(first).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    drop(database);
    let before = std::fs::read(&path).unwrap();
    let (code, value) = check(&home);
    assert_eq!(code, 1, "the directory is open to others: {value:#}");
    assert_eq!(value["databases"][0]["fit"], "older");
    assert!(findings(&value, "note").iter().any(|what| what.contains("schema 1 ")), "{value:#}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_library_is_refused_by_the_name_of_its_writer() {
    if only_sqlite("the schema's number is in its file") {
        return;
    }
    let home = Home::new();
    home.say(&["status"]);
    let database = rusqlite::Connection::open(home.data().join("notewell.db")).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    crate::support::put(&home.data().join("written-by"), "7.3.0 99\n");
    let (code, value) = check(&home);
    assert_eq!(code, 1);
    assert_eq!(value["databases"][0]["fit"], "newer");
    let wrong = findings(&value, "wrong");
    assert!(
        wrong.iter().any(|what| what.contains("a newer Notewell 7.3.0 (schema 99")),
        "{wrong:?}"
    );
    // The commands that would open it say the same.
    let (ok, _, err) = home.run(&["status"]);
    assert!(!ok && err.contains("a newer Notewell, 7.3.0 (schema 99"), "{err}");
}

#[cfg(unix)]
#[test]
fn settings_that_others_may_change_or_read_are_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.dir.path().join("notewell.toml");
    let text =
        "[[remote]]\nname = \"team\"\nurl = \"http://127.0.0.1:1/mcp\"\ntoken = \"s3cret\"\n";
    crate::support::put(&file, text);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    let mut command = home.command(&["self", "check"]);
    let output = command.arg("--config").arg(&file).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("may change") && out.contains("password or a token"), "{out}");
    assert!(!out.contains("s3cret"), "{out}");
}

#[test]
fn two_programs_in_the_path_are_named() {
    let home = Home::new();
    let folders: Vec<_> = ["one", "two"].iter().map(|name| home.dir.path().join(name)).collect();
    for folder in &folders {
        std::fs::create_dir(folder).unwrap();
        crate::support::put(&folder.join("notewell"), folder.to_str().unwrap());
    }
    let mut command = home.command(&["self", "check", "--json"]);
    let output = command.env("PATH", std::env::join_paths(&folders).unwrap()).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["in_path"].as_array().unwrap().len(), 2);
    let notes = findings(&value, "note");
    assert!(notes.iter().any(|what| what.contains("PATH has 2 programs")), "{notes:?}");
    assert!(notes.iter().any(|what| what.contains("this is another program")), "{notes:?}");
}
