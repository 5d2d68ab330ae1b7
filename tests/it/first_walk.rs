//! Somebody's first hour: set up, search, read, ask, import, look at the state; then the states in
//! which a program likes to say something false.

use std::path::Path;

use crate::support::Account;

/// An account with the example notes in `~/notes`.
fn account() -> Account {
    let account = Account::new();
    for (path, text) in notewell::app::demo::PAGES {
        account.note(&format!("notes/{path}"), text);
    }
    account
}

fn ok(account: &Account, arguments: &[&str]) -> String {
    let (status, out, err) = account.run(arguments);
    assert_eq!(status, 0, "{arguments:?}: {out}{err}");
    out
}

#[test]
fn a_first_hour() {
    let account = account();
    let out = ok(&account, &["init", "--yes", "--vault", "~/notes"]);
    assert!(out.contains("20 notes") && out.contains("A first search"), "{out}");

    // Three languages: find, read the passage, read the section.
    for (query, title, path, toc, inside) in [
        (
            "sour coffee",
            "Coffee brewing",
            "coffee/Coffee brewing.md",
            Some("When it tastes wrong > Sour"),
            "Grind finer",
        ),
        ("борщ свёкла", "Борщ", "Заметки/Борщ.md", None, "свёкл"),
        ("京都旅行", "京都旅行", "日本語/京都旅行.md", None, "京都"),
    ] {
        let out = ok(&account, &["search", query]);
        assert!(out.contains(title) && out.contains(path), "{query}: {out}");
        let id = out.split_once("  [").unwrap().1.split_once(']').unwrap().0;
        assert!(!ok(&account, &["read", id]).trim().is_empty());
        let mut read = vec!["read", path];
        read.extend(toc.iter().flat_map(|toc| ["--toc", *toc]));
        assert!(ok(&account, &read).contains(inside), "{path}");
    }
    let (status, _, err) = account.run(&["read", "coffee/Coffee brewing.md", "--toc", "Nowhere"]);
    assert!(status == 2 && err.contains("When it tastes wrong"), "{err}");
    let answer = ok(&account, &["ask", "how long do I wait for the coffee to bloom?"]);
    assert!(answer.contains("40 seconds") && answer.contains("Coffee brewing"), "{answer}");

    // What was elsewhere comes in once.
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bookmarks.jsonl");
    let out = ok(&account, &["import", "bookmarks", examples.to_str().unwrap()]);
    assert!(out.contains(" added, 0 updated"), "{out}");
    let again = ok(&account, &["import", "bookmarks", examples.to_str().unwrap()]);
    assert!(again.contains("0 added"), "{again}");
    account.note("cards/Milk.md", "Buy milk.\n");
    let cards = account.path().join("cards");
    assert!(ok(&account, &["import", "cards", cards.to_str().unwrap()]).contains("1 added"));
    assert!(ok(&account, &["search", "milk", "--kind", "card"]).contains("(card)"));
    assert!(ok(&account, &["bookmark", "list"]).contains("qdrant"));

    let status = ok(&account, &["status"]);
    assert!(status.contains("20 pages") && status.contains("1 card"), "{status}");
    assert!(status.contains("up to date"), "{status}");
    assert!(ok(&account, &["doctor"]).contains("Nothing is wrong."));
}

#[test]
fn an_empty_library_says_so() {
    let account = Account::new();
    let (status, out, err) = account.run(&["search", "anything"]);
    assert_eq!(status, 1, "{out}{err}");
    assert!(out.is_empty() && err.contains("Nothing found."), "{out}{err}");
    let (status, out, err) = account.run(&["read", "Coffee"]);
    assert!(status == 2 && out.is_empty() && err.contains("Coffee"), "{out}{err}");
    let (_, out, _) = account.run(&["status"]);
    assert!(out.contains("0 pages") && !out.contains("NOT REACHABLE"), "{out}");
    let (_, out, err) = account.run(&["doctor"]);
    assert!(out.contains("vault") && out.contains("--vault"), "{out}{err}");
    let (_, out, err) = account.run(&["ask", "what do I know?"]);
    assert!(!(out + &err).trim().is_empty());
}

#[test]
fn a_vault_that_goes_away_and_comes_back() {
    let account = account();
    ok(&account, &["init", "--yes", "--vault", "~/notes"]);
    let (notes, away) = (account.path().join("notes"), account.path().join("away"));
    std::fs::rename(&notes, &away).unwrap();
    // What was indexed is still found; nothing claims that all is well.
    let (_, out, err) = account.run(&["search", "sour coffee"]);
    assert!(out.contains("Coffee brewing") || err.contains("notes"), "{out}{err}");
    let (status, out, err) = account.run(&["doctor"]);
    assert!(status != 0 && !out.contains("Nothing is wrong."), "{out}{err}");
    assert!((out + &err).contains("notes"));
    let (status, out, err) = account.run(&["read", "coffee/Coffee brewing.md"]);
    assert!(status == 2 && out.is_empty(), "{out}");
    assert!(!err.trim().is_empty());
    std::fs::rename(&away, &notes).unwrap();
    assert!(ok(&account, &["read", "coffee/Coffee brewing.md"]).contains("# Coffee brewing"));
    assert!(ok(&account, &["search", "sour coffee"]).contains("Coffee brewing"));
    assert!(ok(&account, &["doctor"]).contains("Nothing is wrong."));
    assert!(ok(&account, &["status"]).contains("20 pages"));
}
