//! The board of cards in a browser without scripts: plain requests, forms and redirects.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Answer, Home, Server};

/// A person with a browser: what a page of ours sends with every request.
pub struct Browser<'a> {
    server: &'a Server,
    authorization: Option<String>,
}

impl<'a> Browser<'a> {
    pub fn of(server: &'a Server, token: &str) -> Self {
        Self { server, authorization: Some(format!("Bearer {token}")) }
    }

    pub fn stranger(server: &'a Server) -> Self {
        Self { server, authorization: None }
    }

    fn headers<'h>(&'h self, more: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
        let token = self.authorization.as_deref().map(|token| ("Authorization", token));
        let own = [("Accept", "text/html"), ("Sec-Fetch-Site", "same-origin")];
        own.into_iter().chain(token).chain(more.iter().copied()).collect()
    }

    pub fn get(&self, path: &str) -> Answer {
        let answer = self.server.send("GET", path, &self.headers(&[]), b"");
        check(&answer, path);
        answer
    }

    /// Opens a page that must be there.
    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = self.server.send("POST", path, &self.headers(&kind), body.as_bytes());
        check(&answer, path);
        answer
    }

    /// Posts a form that must lead somewhere; gives the page it leads to.
    pub fn follow(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(path, fields);
        assert_eq!(answer.status, 303, "{path} {fields:?}: {}", answer.body);
        self.page(&answer.headers["location"])
    }

    pub fn upload(&self, path: &str, name: &str, bytes: &[u8]) -> Answer {
        let name = name.replace('"', "%22");
        let mut body = format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        )
        .into_bytes();
        body.extend(bytes);
        body.extend(b"\r\n--xyz--\r\n");
        let kind = [("Content-Type", "multipart/form-data; boundary=xyz")];
        self.server.send("POST", path, &self.headers(&kind), &body)
    }
}

/// What holds for every answer that is a page.
pub fn check(answer: &Answer, path: &str) {
    let header = |name: &str| answer.headers.get(name).map_or("", String::as_str);
    if !header("content-type").starts_with("text/html") {
        return;
    }
    let policy = header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
        "{path}"
    );
    assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    assert_eq!(header("cache-control"), "no-store", "{path}");
    let bookmarklet = path.starts_with("/bookmarks/add");
    let scripted = if bookmarklet { "<script>" } else { "javascript:" };
    for bad in [" style=", "<style", " onclick=", "<script>", scripted] {
        assert!(!answer.body.contains(bad), "{path} has `{bad}`: {}", answer.body);
    }
}

/// A text that would run if it were not escaped.
pub const PROBE: &str = r#""><img src=x onerror="alert(1)"><script>alert(2)</script>'`{{7*7}}"#;

/// Whether a page shows the probe as text only.
pub fn is_escaped(page: &str) -> bool {
    !page.contains("<img src=x") && !page.contains("<script>alert") && !page.contains("\"><img")
}

/// What a tool answers an agent.
pub fn result(server: &Server, token: &str, tool: &str, arguments: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments } });
    let answer = server.post_as(token, &request.to_string()).json();
    assert!(answer["result"].is_object(), "{tool}: {answer}");
    answer["result"].clone()
}

fn call(server: &Server, token: &str, tool: &str, arguments: Value) -> Value {
    let result = result(server, token, tool, arguments);
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{tool}: {result}"));
    serde_json::from_str(text).unwrap()
}

/// The cards that agents see, by title.
fn cards(server: &Server, token: &str) -> HashMap<String, Value> {
    let all = call(server, token, "get_notes", json!({ "includeArchived": true }));
    let name = |card: &Value| card["title"].as_str().unwrap_or_default().to_owned();
    all.as_array().unwrap().iter().map(|card| (name(card), card.clone())).collect()
}

fn order(page: &str, names: &[&str]) -> String {
    let mut found: Vec<(usize, &str)> = names
        .iter()
        .map(|name| (page.find(&format!(">{name}</a>")).unwrap_or(usize::MAX), *name))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_card_is_made_ticked_changed_archived_deleted_and_brought_back() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let empty = browser.page("/cards");
    assert!(empty.contains("No cards yet"), "{empty}");
    assert!(!home.data().join("cards.db").exists(), "looking makes no database");

    let page = browser.follow(
        "/cards",
        &[
            ("title", "Покупки"),
            ("text", "в магазине\r\nрядом"),
            ("items", "молоко\r\n[x] パン\r\n"),
            ("labels", "дом, 買い物"),
            ("color", "teal"),
            ("reminder", "2020-01-31T10:00"),
            ("recurrence", "weekly"),
            ("back", "/cards"),
        ],
    );
    for part in ["Due now", "Покупки", "молоко", "パン", "買い物", "c-teal", "1 of 2 done"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let card = &cards(&server, &token)["Покупки"];
    let id = card["id"].as_str().unwrap();
    assert_eq!(
        (&card["content"], &card["type"]),
        (&json!("в магазине\nрядом"), &json!("checklist"))
    );

    let address = format!("/cards/{id}");
    let tick = format!("tick {}", card["checkItems"][0]["id"].as_str().unwrap());
    let page = browser.follow(&address, &[("do", &tick), ("back", "/cards")]);
    assert!(page.contains("2 of 2 done"), "{page}");
    browser.follow(&address, &[("do", "done"), ("back", "/cards")]);
    let page = browser.follow(&address, &[("do", "color pink"), ("back", "/cards")]);
    assert!(page.contains("c-pink") && !page.contains("Due now"), "{page}");
    let page = browser.follow(&address, &[("do", "pin"), ("back", "/cards?label=дом")]);
    assert!(page.contains("Pinned") && page.contains("Покупки"), "{page}");
    assert!(!browser.page("/cards?label=other").contains("Покупки"));

    let page = browser.follow(&address, &[("do", "archive"), ("back", "/cards")]);
    assert!(!page.contains("Покупки"), "{page}");
    assert!(browser.page("/cards?archived=1").contains("Покупки"));
    browser.follow(&address, &[("do", "archive"), ("back", "/cards")]);

    let page = browser.follow(&address, &[("do", "delete"), ("back", "/cards")]);
    assert!(!page.contains("Покупки") && page.contains("The card was deleted"), "{page}");
    assert_eq!(browser.get(&address).status, 404);
    let (_, rest) = page.split_once("name=\"change\" value=\"").unwrap();
    let change = rest.split('"').next().unwrap();
    let page = browser.follow("/undo", &[("change", change), ("back", "/cards")]);
    assert!(page.contains("Покупки"), "{page}");
    assert_eq!(cards(&server, &token)["Покупки"]["id"], id);
    let refused = browser.post(&address, &[("do", "explode"), ("back", "/cards")]);
    assert_eq!(refused.status, 400);
}

#[test]
fn an_edit_changes_what_differs_and_a_stale_one_shows_both_versions() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let made = call(
        &server,
        &token,
        "create_note",
        json!({
            "title": "План", "content": "first", "labels": ["a, b", "家"],
            "checkItems": [{"id": "x", "text": "один", "checked": false}],
        }),
    );
    let id = made["id"].as_str().unwrap();
    let address = format!("/cards/{id}");
    let edit = format!("{address}/edit");
    let updated = made["updatedAt"].as_str().unwrap();
    let form = |title: &'static str, text: &'static str| {
        vec![
            ("title", title),
            ("text", text),
            ("items", "один\r\nдва"),
            ("labels", "a, b, 家"),
            ("color", "default"),
            ("reminder", ""),
            ("recurrence", "none"),
        ]
    };
    let mut fields = form("План", "second");
    fields.push(("updated", updated));
    let page = browser.follow(&edit, &fields);
    assert!(page.contains("Saved.") && page.contains("second"), "{page}");
    let card = &cards(&server, &token)["План"];
    assert_eq!(card["labels"], json!(["a, b", "家"]), "labels that nobody touched stay");
    assert_eq!(card["checkItems"][0]["id"], "x");
    assert_eq!(card["checkItems"][1]["text"], "два");

    // The form was opened before the change above.
    let mut fields = form("План", "mine");
    fields.push(("updated", updated));
    let stale = browser.post(&edit, &fields);
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("second") && stale.body.contains("mine"), "{}", stale.body);
    assert!(stale.body.contains("As it is now") && stale.body.contains("Your version"));
    assert_eq!(cards(&server, &token)["План"]["content"], "second", "nothing was overwritten");
    let now = card["updatedAt"].as_str().unwrap();
    let mut fields = form("План", "mine");
    fields.push(("updated", now));
    browser.follow(&edit, &fields);
    assert_eq!(cards(&server, &token)["План"]["content"], "mine");
    assert_eq!(browser.post("/cards/none/edit", &fields).status, 404);
}

#[test]
fn cards_are_moved_past_each_other() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    for name in ["one", "два", "三"] {
        browser.follow("/cards", &[("title", name), ("text", "x"), ("back", "/cards")]);
    }
    let names = ["one", "два", "三"];
    assert_eq!(order(&browser.page("/cards"), &names), "三 два one");
    let known = cards(&server, &token);
    let id = |name: &str| known[name]["id"].as_str().unwrap();
    let act = |name: &str, deed: String| {
        let page =
            browser.follow(&format!("/cards/{}", id(name)), &[("do", &deed), ("back", "/cards")]);
        order(&page, &names)
    };
    assert_eq!(act("one", format!("before {}", id("два"))), "三 one два");
    assert_eq!(act("三", format!("after {}", id("два"))), "one два 三");
    assert_eq!(act("два", format!("before {}", id("one"))), "два one 三");
    let after = cards(&server, &token);
    for name in names {
        assert_eq!(
            after[name]["updatedAt"], known[name]["updatedAt"],
            "a move is no change of text"
        );
    }
    let gone = browser.post(&format!("/cards/{}", id("one")), &[("do", "before none")]);
    assert_eq!(gone.status, 400);
}

#[test]
fn the_search_of_the_board_is_the_one_search() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    for (title, text) in [
        ("Garden", "Water the roses in the evening"),
        ("Сад", "Поливать розы вечером"),
        ("庭", "夕方にバラに水をやる"),
    ] {
        call(&server, &token, "create_note", json!({ "title": title, "content": text }));
    }
    for (query, title) in [("roses", "Garden"), ("роза", "Сад"), ("バラ", "庭")] {
        let page = browser.page(&format!("/cards?q={}", percent(query)));
        for other in ["Garden", "Сад", "庭"] {
            assert_eq!(page.contains(&format!(">{other}</a>")), other == title, "{query}: {page}");
        }
    }
    assert!(browser.page("/cards?q=nowhere").contains("No card matches"));
}

/// A text as a part of an address.
pub fn percent(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[test]
fn pictures_are_what_their_bytes_say() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let made = call(
        &server,
        &token,
        "create_note",
        json!({
            "title": "Photo", "content": "",
            "images": ["data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"],
        }),
    );
    let address = format!("/cards/{}", made["id"].as_str().unwrap());
    let pictures = format!("{address}/pictures");
    assert_eq!(browser.upload(&pictures, "a.png", PNG).status, 303);
    let page = browser.page(&address);
    assert!(page.contains(&format!("{pictures}/1")), "{page}");
    let shown = browser.get(&format!("{pictures}/1"));
    assert_eq!(shown.headers["content-type"], "image/png");
    // An image that can carry a script is a file to save, whatever it was declared as.
    let svg = browser.get(&format!("{pictures}/0"));
    assert_eq!(svg.headers["content-type"], "application/octet-stream");
    assert_eq!(svg.headers["content-disposition"], "attachment");
    let refused = browser.upload(&pictures, "<b>.png", b"<svg onload=alert(1)>");
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("&#60;b&#62;.png"), "{}", refused.body);
    assert_eq!(browser.get(&format!("{pictures}/9")).status, 400);
    browser.follow(&address, &[("do", "unpicture 0"), ("back", &address)]);
    assert_eq!(browser.get(&format!("{pictures}/0")).headers["content-type"], "image/png");
    let stranger = Browser::stranger(&server).get(&format!("{pictures}/0"));
    assert_eq!(stranger.status, 403);
}

#[test]
fn what_a_card_says_never_runs() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let made = call(
        &server,
        &token,
        "create_note",
        json!({
            "title": PROBE, "content": PROBE, "labels": [PROBE],
            "checkItems": [{"id": PROBE, "text": PROBE, "checked": false}],
        }),
    );
    let address = format!("/cards/{}", made["id"].as_str().unwrap());
    for path in [
        "/cards",
        &address,
        &format!("/cards?q={}", percent(PROBE)),
        &format!("/cards?label={}", percent(PROBE)),
    ] {
        let page = browser.page(path);
        assert!(is_escaped(&page), "{path}: {page}");
    }
    let tick = format!("tick {PROBE}");
    let page = browser.follow(&address, &[("do", &tick), ("back", "/cards")]);
    assert!(page.contains("1 of 1 done") && is_escaped(&page), "{page}");
    let stale = browser.post(
        &format!("{address}/edit"),
        &[
            ("title", PROBE),
            ("text", "x"),
            ("updated", "2020-01-01T00:00:00Z"),
            ("color", "default"),
        ],
    );
    assert_eq!(stale.status, 409);
    assert!(is_escaped(&stale.body), "{}", stale.body);
    let refused = browser.post("/cards", &[("text", "x"), ("color", PROBE)]);
    assert_eq!(refused.status, 400);
    assert!(is_escaped(&refused.body), "{}", refused.body);
    // Where a form asks to go afterwards is an address of this site.
    for bad in ["https://evil.example", "//evil.example", "/\\evil.example"] {
        let answer = browser.post(&address, &[("do", "pin"), ("back", bad)]);
        assert_eq!(answer.headers["location"], "/");
    }
}

#[test]
fn only_those_who_may_see_cards_see_them_and_only_our_pages_change_them() {
    let home = Home::new();
    let (owner, reader) = (home.token("owner"), home.token("reader"));
    let server = home.serve();
    let made = call(&server, &owner, "create_note", json!({ "title": "Secret", "content": "s" }));
    let address = format!("/cards/{}", made["id"].as_str().unwrap());
    for browser in [Browser::stranger(&server), Browser::of(&server, &reader)] {
        for path in ["/cards", &address, "/cards?q=s", "/cards?label=x", "/cards/none"] {
            let answer = browser.get(path);
            assert_eq!(answer.status, 403, "{path}");
            assert!(!answer.body.contains("Secret"), "{path}: {}", answer.body);
        }
        assert_eq!(browser.post("/cards", &[("title", "x")]).status, 403);
        assert_eq!(browser.post(&address, &[("do", "delete")]).status, 403);
        assert_eq!(browser.post(&format!("{address}/edit"), &[("title", "x")]).status, 403);
        assert_eq!(browser.upload(&format!("{address}/pictures"), "a", b"x").status, 403);
    }
    let bearer = format!("Bearer {owner}");
    for from in ["cross-site", "same-site", "none"] {
        for (path, kind) in [
            ("/cards", "application/x-www-form-urlencoded"),
            (address.as_str(), "application/x-www-form-urlencoded"),
            (&format!("{address}/pictures"), "multipart/form-data; boundary=b"),
        ] {
            let headers = [
                ("Authorization", bearer.as_str()),
                ("Content-Type", kind),
                ("Sec-Fetch-Site", from),
            ];
            let answer = server.send("POST", path, &headers, b"title=x&do=delete");
            assert_eq!(answer.status, 403, "{path} from {from}");
        }
    }
    assert_eq!(cards(&server, &owner).len(), 1, "nothing was made and nothing deleted");
}

#[test]
fn a_person_with_a_grant_sees_and_changes_that_part_only() {
    let home = Home::new();
    let owner = home.token("owner");
    home.say(&["user", "add", "ann"]);
    home.say(&["user", "add", "taro"]);
    for (user, more) in [("ann", &["--write"][..]), ("taro", &[])] {
        let mut grant = vec!["grant", "add", user, "--label", "дом"];
        grant.extend(more);
        home.say(&grant);
    }
    let token = |user: &str| {
        let out = home.say(&["token", "create", "--user", user, "--scope", "read,write"]);
        out.split_whitespace().last().unwrap().to_owned()
    };
    let (ann, taro) = (token("ann"), token("taro"));
    let server = home.serve();
    let make = |title: &str, label: &str| {
        let made = json!({ "title": title, "content": "x", "labels": [label] });
        let made = call(&server, &owner, "create_note", made);
        format!("/cards/{}", made["id"].as_str().unwrap())
    };
    let (shared, hidden) = (make("Общая", "дом"), make("Hidden", "work"));
    for token in [&ann, &taro] {
        let browser = Browser::of(&server, token);
        for path in ["/cards", "/cards?archived=1", "/cards?q=x", "/cards?label=work"] {
            let page = browser.page(path);
            assert!(!page.contains("Hidden") && !page.contains(">work<"), "{path}: {page}");
        }
        assert!(browser.page("/cards").contains("Общая"));
        assert_eq!(browser.get(&hidden).status, 404);
        // Counts and exports are about everything.
        assert_eq!(browser.get("/trends").status, 403);
        assert_eq!(browser.get("/bookmarks/export.jsonl").status, 403);
    }
    let writer = Browser::of(&server, &ann);
    assert!(writer.page("/cards").contains("New card"));
    writer.follow(&shared, &[("do", "pin"), ("back", "/cards")]);
    assert!(cards(&server, &owner)["Общая"]["isPinned"].as_bool().unwrap());
    for deed in ["pin", "archive", "delete", "color red"] {
        assert_ne!(writer.post(&hidden, &[("do", deed)]).status, 303, "{deed}");
    }
    assert_ne!(writer.post("/cards", &[("title", "x"), ("labels", "work")]).status, 303);
    writer.follow("/cards", &[("title", "Моя"), ("labels", "дом"), ("back", "/cards")]);
    let reader = Browser::of(&server, &taro);
    assert!(!reader.page("/cards").contains("New card"));
    assert_eq!(reader.post(&shared, &[("do", "pin")]).status, 403);
    assert_eq!(reader.post("/cards", &[("title", "x"), ("labels", "дом")]).status, 403);
    assert_eq!(cards(&server, &owner).len(), 3);
}
