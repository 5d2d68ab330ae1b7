//! The search of the board shows every card that it finds, page after page.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    support::{Home, put},
    web_cards::Browser,
};

/// Imports cards that all have one word; the archived ones fit a question less well.
fn filled(active: usize, archived: usize) -> Home {
    let home = Home::new();
    let card = |n: usize, is_archived: bool| -> Value {
        let content = match is_archived {
            true => format!("A long text about many other things, and then a meeting, {n}"),
            false => "meeting meeting".to_owned(),
        };
        let title = format!("{}{n}", if is_archived { "Old" } else { "New" });
        json!({ "id": format!("card{is_archived}{n}"), "title": title, "content": content,
            "isArchived": is_archived, "createdAt": "2025-01-10T09:00:00.000Z",
            "updatedAt": "2025-01-10T09:00:00.000Z" })
    };
    let cards: Vec<Value> =
        (0..active).map(|n| card(n, false)).chain((0..archived).map(|n| card(n, true))).collect();
    let file = home.dir.path().join("cards.json");
    put(&file, Value::from(cards).to_string());
    home.say(&["import", "cards", file.to_str().unwrap()]);
    home
}

/// The titles on a page, and the address of the next one.
fn read(page: &str) -> (BTreeSet<String>, Option<String>) {
    let mut titles = BTreeSet::new();
    for kind in ["New", "Old"] {
        for part in page.split(&format!(">{kind}")).skip(1) {
            let number = part.split_once("</a>").map_or("", |(number, _)| number);
            titles.extend(number.parse::<usize>().map(|number| format!("{kind}{number}")));
        }
    }
    let more = page.split_once(">More cards<").map(|(before, _)| {
        let href = before.rsplit("href=\"").next().unwrap();
        href.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
    });
    (titles, more)
}

#[test]
fn every_card_that_is_found_is_on_some_page() {
    let home = filled(150, 5);
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let (mut seen, mut next, mut pages) = (BTreeSet::new(), Some("/cards?q=meeting".into()), 0);
    while let Some(address) = next {
        let address: String = address;
        let (titles, more) = read(&browser.page(&address));
        assert!(titles.len() >= 30 && titles.is_disjoint(&seen), "{address}: {titles:?}");
        seen.extend(titles);
        (next, pages) = (more, pages + 1);
    }
    assert_eq!((seen.len(), pages), (150, 3), "{seen:?}");
    // The archived ones come after all the others.
    let (titles, more) = read(&browser.page("/cards?q=meeting&archived=1"));
    assert_eq!((titles.len(), more), (5, None), "{titles:?}");
    assert!(titles.iter().all(|title| title.starts_with("Old")), "{titles:?}");
    let wrong = browser.get("/cards?q=meeting&cursor=nonsense");
    assert!(wrong.status == 400 && wrong.body.contains("first page"), "{}", wrong.body);
}

#[test]
fn a_search_that_ends_before_its_last_card_says_so() {
    let home = filled(1_010, 2);
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    // The archived ones come after the last result that a search has.
    let page = browser.page("/cards?q=meeting&archived=1");
    assert!(page.contains("Only the first 1000 results were looked through"), "{page}");
    let page = browser.page("/cards?q=meeting&cursor=960");
    assert!(page.contains("Only the first 1000 results were looked through"), "{page}");
    assert!(!browser.page("/cards?q=meeting").contains("Only the first"));
}
