//! What the schema refuses, whoever writes to it.

use rusqlite::Connection;

use super::super::Sqlite;
use crate::{
    domain::{Money, UserId},
    store::ledger::{Account, EntryKind, Ledger, NewEntry, Outside},
};

fn books() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notewell.db");
    let database = Sqlite::open(&path).unwrap();
    let entry = NewEntry::new(EntryKind::TopUp, "a")
        .add(Account::Outside(Outside::Manual), Money(-500))
        .add(Account::User(UserId(1)), Money(500));
    database.post(&entry).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    (folder, connection)
}

fn refused(connection: &Connection, sql: &str) -> String {
    let result = connection.execute_batch(&format!("BEGIN; {sql}; COMMIT"));
    let error = result.expect_err(sql).to_string();
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").unwrap();
    }
    error
}

#[test]
fn the_books_are_append_only() {
    let (_folder, db) = books();
    for table in ["accounts", "entries", "postings"] {
        let error = refused(&db, &format!("DELETE FROM {table}"));
        assert!(error.contains("append only"), "{table}: {error}");
    }
    for change in [
        "UPDATE accounts SET floor = NULL",
        "UPDATE entries SET memo = 'x'",
        "UPDATE postings SET amount = -amount",
    ] {
        assert!(refused(&db, change).contains("append only"), "{change}");
    }
    db.execute_batch(
        "INSERT INTO usage (at, method, page, version, price, charged, outcome, ms, request)
         VALUES (0, 'm', 1, 'v', 1, 0, 'failed', 0, '1')",
    )
    .unwrap();
    for change in ["UPDATE usage SET charged = 5", "DELETE FROM usage"] {
        assert!(refused(&db, change).contains("append only"), "{change}");
    }
}

#[test]
fn an_entry_that_does_not_sum_to_zero_is_no_entry() {
    let (_folder, db) = books();
    let entry = "INSERT INTO entries (id, at, kind, key) VALUES (2, 0, 'top_up', 'b')";
    let posting = |account, amount| {
        format!("INSERT INTO postings (entry, account, amount) VALUES (2, {account}, {amount})")
    };
    let zero = "sum to zero";
    assert!(refused(&db, entry).contains(zero), "no postings");
    let single = format!("{}; {entry}", posting(2, 5));
    assert!(refused(&db, &single).contains(zero));
    let uneven = format!("{}; {}; {entry}", posting(1, -5), posting(2, 6));
    assert!(refused(&db, &uneven).contains(zero));
    let orphans = format!("{}; {}", posting(1, -5), posting(2, 5));
    assert!(refused(&db, &orphans).contains("FOREIGN KEY"), "postings without an entry");
    let late = "INSERT INTO postings (entry, account, amount) VALUES (1, 3, 1)";
    assert!(refused(&db, late).contains("no further postings"));
    let twice = format!("{}; {}; {entry}", posting(1, -5), posting(2, 5)).replace("'b'", "'a'");
    assert!(refused(&db, &twice).contains("UNIQUE"), "a key is unique");
    let below = format!("{}; {}; {entry}", posting(1, 501), posting(2, -501));
    assert!(refused(&db, &below).contains("below its floor"));
    let fine = format!("BEGIN; {}; {}; {entry}; COMMIT", posting(1, 500), posting(2, -500));
    db.execute_batch(&fine).unwrap();
}
