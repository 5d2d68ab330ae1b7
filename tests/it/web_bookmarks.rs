//! Bookmarks and trends in a browser without scripts.

use serde_json::{Value, json};

use crate::{
    support::{Home, Server, until},
    web_cards::{Browser, PROBE, is_escaped, percent, result},
};

fn call(server: &Server, token: &str, tool: &str, arguments: Value) -> Value {
    result(server, token, tool, arguments)["structuredContent"].clone()
}

/// Saves through the form; gives the address of the bookmark's page.
fn add(browser: &Browser<'_>, fields: &[(&str, &str)]) -> String {
    let answer = browser.post("/bookmarks/add", fields);
    assert_eq!(answer.status, 303, "{}", answer.body);
    answer.headers["location"].split('?').next().unwrap().to_owned()
}

#[test]
fn a_bookmark_is_added_decided_deleted_and_brought_back() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    assert!(browser.page("/bookmarks").contains("No bookmarks yet"));

    // The address of the bookmarklet and of a share from a phone.
    let form = browser
        .page("/bookmarks/add?url=https%3A%2F%2Fexample.org%2Fa&title=%D0%A1%D0%B0%D0%B4&text=t");
    assert!(
        form.contains("value=\"https://example.org/a\"") && form.contains("value=\"Сад\""),
        "{form}"
    );
    let shared =
        browser.page(&format!("/bookmarks/add?text={}", percent("見て https://example.org/b")));
    assert!(
        shared.contains("value=\"https://example.org/b\"") && shared.contains("見て"),
        "{shared}"
    );
    assert!(
        browser.page("/bookmarks").contains("No bookmarks yet"),
        "opening a form saves nothing"
    );

    let address = add(
        &browser,
        &[
            ("url", "https://example.org/a"),
            ("title", "Сад"),
            ("text", "Поливать розы вечером\r\nи утром"),
            ("tags", "#сад, 庭"),
            ("action", "read_later"),
        ],
    );
    let page = browser.page(&address);
    for part in ["Сад", "Поливать розы", "庭", "read later", "decided by you", "Open example.org"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (_, rest) = page.split_once("name=\"etag\" value=\"").unwrap();
    let etag = rest.split('"').next().unwrap().replace("&#34;", "\"").replace("&quot;", "\"");
    let decided = |summary: &'static str, etag: &str| {
        browser.post(
            &address,
            &[
                ("category", "Learning"),
                ("tags", "сад"),
                ("action", "reference"),
                ("sentiment", "positive"),
                ("summary", summary),
                ("etag", etag),
            ],
        )
    };
    assert_eq!(decided("Коротко", &etag).status, 303);
    let page = browser.page(&address);
    assert!(
        page.contains("Learning") && page.contains("Коротко") && !page.contains("庭"),
        "{page}"
    );
    let stale = decided("Другое", &etag);
    assert_eq!(stale.status, 409, "{}", stale.body);
    assert!(stale.body.contains("Коротко") && stale.body.contains("Другое"), "{}", stale.body);
    assert!(browser.page(&address).contains("Коротко"), "nothing was overwritten");
    assert_eq!(browser.post(&address, &[("action", "dance")]).status, 400);

    let page = browser.follow(&format!("{address}/delete"), &[]);
    assert!(page.contains("The bookmark was deleted") && !page.contains("Поливать"), "{page}");
    assert_eq!(browser.get(&address).status, 404);
    let (_, rest) = page.split_once("name=\"change\" value=\"").unwrap();
    let change = rest.split('"').next().unwrap();
    let page = browser.follow("/undo", &[("change", change), ("back", "/bookmarks")]);
    assert!(page.contains("Сад"), "{page}");
    assert_eq!(browser.post("/bookmarks/add", &[("url", "javascript:alert(1)")]).status, 400);
}

/// One bookmark a day, the newest first in the file.
fn export(number: usize) -> String {
    let line = |n: usize| {
        let (text, author) = [
            ("A database for vectors in Rust", "mira"),
            ("База векторов на Rust для поиска", "анна"),
            ("Rustのベクトルデータベース", "yuki"),
        ][n % 3];
        let day = format!("2026-{:02}-{:02}T10:00:00Z", 1 + n / 28 % 12, 1 + n % 28);
        json!({ "id": format!("b{n}"), "url": format!("https://example.org/{n}"),
            "text": format!("{text} {n}"), "author": author, "date": day,
            "labels": ["rust"], "engagement": { "likes": n + 1 } })
        .to_string()
    };
    (0..number).map(line).collect::<Vec<_>>().join("\n")
}

fn finished(browser: &Browser<'_>, address: &str) -> String {
    let mut page = String::new();
    until("the import is done", || {
        page = browser.page(address);
        !page.contains("data-watch=\"running\"")
    });
    page
}

#[test]
fn an_export_is_imported_listed_filtered_and_exported_again() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let mut file = export(70);
    file.push_str("\n{\"broken\": \n{\"nothing\": true}");
    let started = browser.upload("/bookmarks/import", "мой <экспорт>.jsonl", file.as_bytes());
    assert_eq!(started.status, 303, "{}", started.body);
    let page = finished(&browser, &started.headers["location"]);
    assert!(page.contains("<td class=\"number\">70</td>"), "{page}");
    assert!(page.contains("line 71") && page.contains("line 72"), "every record is named: {page}");
    assert!(page.contains("мой &#60;экспорт&#62;.jsonl"), "{page}");
    assert!(browser.page("/bookmarks/import").contains("мой"));
    let leftovers = std::fs::read_dir(home.data()).unwrap();
    let leftovers = leftovers.filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".upload")
    });
    assert_eq!(leftovers.count(), 0);

    // The same file again adds nothing.
    let again = browser.upload("/bookmarks/import", "again.jsonl", file.as_bytes());
    let page = finished(&browser, &again.headers["location"]);
    assert!(page.contains("already there</td><td class=\"number\">70</td>"), "{page}");

    let first = browser.page("/bookmarks");
    assert!(first.contains("70 bookmarks") && first.contains("start=30"), "{first}");
    let pages =
        [first, browser.page("/bookmarks?start=30"), browser.page("/bookmarks?start=60&view=grid")];
    let on_page: usize = pages.iter().map(|page| page.matches("href=\"/bookmarks/").count()).sum();
    assert!(on_page >= 70, "{on_page}");
    // The order is the tool's.
    for (query, author) in [("vectors", "mira"), ("векторы", "анна"), ("ベクトル", "yuki")]
    {
        let page =
            browser.page(&format!("/bookmarks?q={}&author={}", percent(query), percent(author)));
        let told = call(
            &server,
            &token,
            "search",
            json!({
                "query": query, "limit": 30, "filters": { "kind": "bookmark", "author": author },
            }),
        );
        let pids = told["results"].as_array().unwrap().iter().map(|hit| hit["pid"].to_string());
        let places: Vec<usize> = pids
            .map(|pid| page.find(&format!("<h2><a href=\"/bookmarks/{pid}\"")).expect(query))
            .collect();
        assert!(places.len() > 5 && places.is_sorted(), "{query}: {places:?}");
    }
    let filtered = browser.page("/bookmarks?from=2026-02-01&to=2026-02-03&label=rust");
    assert!(filtered.contains("3 bookmarks"), "{filtered}");
    for bad in [
        "/bookmarks?from=soon",
        "/bookmarks?action=dance",
        "/bookmarks?from=2026-02-01&to=2026-01-01",
    ] {
        assert_eq!(browser.get(bad).status, 400, "{bad}");
    }
    let exported = browser.get("/bookmarks/export.jsonl");
    assert_eq!(exported.status, 200);
    assert_eq!(exported.body.lines().count(), 70);
    assert!(exported.headers["content-disposition"].starts_with("attachment"));

    let bad = browser.upload("/bookmarks/import", "notes.txt", "просто текст".as_bytes());
    let page = finished(&browser, &bad.headers["location"]);
    assert!(page.contains("no known format") && !page.contains(".upload-"), "{page}");
    let nothing = browser.upload("/bookmarks/import", "", b"");
    assert_eq!(nothing.status, 400, "{}", nothing.body);
    assert_eq!(browser.get("/bookmarks/import/999").status, 404);
}

#[test]
fn an_upload_is_within_its_limit() {
    let home = Home::new();
    let token = home.token("owner");
    let config = home.dir.path().join("small.toml");
    crate::support::put(&config, "[limits]\nupload_bytes = 2000\n");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--config").arg(&config);
    let server = Server::start(command);
    let browser = Browser::of(&server, &token);
    assert!(browser.page("/bookmarks/import").contains("At most"));
    let large = browser.upload("/bookmarks/import", "a.jsonl", export(50).as_bytes());
    assert_eq!(large.status, 429);
    assert!(large.body.contains("upload_bytes"), "{}", large.body);
    assert!(browser.page("/bookmarks").contains("No bookmarks yet"));
}

#[test]
fn trends_are_plots_with_their_numbers() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let empty = browser.page("/trends");
    assert!(empty.contains("Nothing was saved in this time"), "{empty}");
    let started = browser.upload("/bookmarks/import", "a.jsonl", export(84).as_bytes());
    finished(&browser, &started.headers["location"]);
    let page = browser.page("/trends?period=1m&as_of=2026-03-28");
    assert!(page.contains("<svg class=\"plot\" role=\"img\""), "{page}");
    assert!(page.contains("Topics over time") && page.contains("Authors"), "{page}");
    assert!(page.contains("<caption class=\"hidden\">Topics over time</caption>"), "{page}");
    let told =
        call(&server, &token, "trends", json!({ "period": "1m", "asOf": "2026-03-29T00:00:00Z" }));
    for topic in told["top_topics"].as_array().or(told["topTopics"].as_array()).unwrap() {
        let row = format!(
            "<bdi>{}</bdi></a></th><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>",
            topic["topic"].as_str().unwrap(),
            topic["count"],
            topic["previous"],
            topic["trend"].as_str().unwrap()
        );
        assert!(page.contains(&row), "{row}: {page}");
    }
    assert_eq!(browser.get("/trends?period=1y").status, 400);
    assert!(browser.page("/trends?category=none").contains("Nothing was saved"));
}

#[test]
fn what_a_bookmark_says_never_runs() {
    let home = Home::new();
    let token = home.token("owner");
    let server = home.serve();
    let browser = Browser::of(&server, &token);
    let probes = [
        json!({ "id": "p1", "url": "javascript:alert(1)", "title": PROBE, "text": PROBE,
            "author": PROBE, "labels": [PROBE], "date": "2026-01-01T00:00:00Z",
            "engagement": { PROBE: 5 }, "category": { "value": PROBE, "confidence": 1.0, "source": "user" },
            "tags": { "value": [PROBE], "confidence": 1.0, "source": "user" } }),
        json!({ "id": "p2", "url": format!("https://example.org/?x={PROBE}"), "text": PROBE,
            "date": "2026-01-02T00:00:00Z" }),
    ];
    let file = probes.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let started = browser.upload("/bookmarks/import", PROBE, file.as_bytes());
    let done = finished(&browser, &started.headers["location"]);
    assert!(is_escaped(&done), "{done}");
    let list = browser.page("/bookmarks");
    assert!(is_escaped(&list), "{list}");
    let mut opened = 0;
    for part in list.split("<h2><a href=\"").skip(1) {
        let page = browser.page(part.split('"').next().unwrap());
        assert!(is_escaped(&page), "{page}");
        opened += 1;
    }
    assert_eq!(opened, 2);
    let probe = percent(PROBE);
    for path in [
        format!("/bookmarks?q={probe}"),
        format!("/bookmarks?label={probe}&author={probe}&category={probe}"),
        "/trends?period=3m&as_of=2026-02-01".to_owned(),
        "/bookmarks/import".to_owned(),
    ] {
        let page = browser.page(&path);
        assert!(is_escaped(&page), "{path}: {page}");
    }
    let bearer = format!("Bearer {token}");
    let add = server.get(
        &format!("/bookmarks/add?url={probe}&title={probe}&text={probe}"),
        &[("Authorization", &bearer)],
    );
    assert!(add.status == 200 && is_escaped(&add.body), "{}", add.body);
}

#[test]
fn only_those_who_may_see_bookmarks_see_them_and_only_our_pages_change_them() {
    let home = Home::new();
    let (owner, reader) = (home.token("owner"), home.token("reader"));
    let server = home.serve();
    let browser = Browser::of(&server, &owner);
    let address = add(&browser, &[("url", "https://secret.example/a"), ("title", "Secret")]);
    for browser in [Browser::stranger(&server), Browser::of(&server, &reader)] {
        let paths = [
            "/bookmarks",
            &address,
            "/bookmarks/add",
            "/bookmarks/import",
            "/bookmarks/import/1",
            "/bookmarks/export.jsonl",
            "/trends",
        ];
        for path in paths {
            let answer = browser.get(path);
            assert_eq!(answer.status, 403, "{path}");
            assert!(!answer.body.to_lowercase().contains("secret"), "{path}: {}", answer.body);
        }
        for path in [
            address.clone(),
            format!("{address}/delete"),
            "/bookmarks/add".into(),
            "/bookmarks/import/1".into(),
        ] {
            assert_eq!(browser.post(&path, &[("url", "https://a.example")]).status, 403, "{path}");
        }
        assert_eq!(browser.upload("/bookmarks/import", "a.jsonl", b"{}").status, 403);
    }
    let bearer = format!("Bearer {owner}");
    for (path, kind) in [
        ("/bookmarks/add", "application/x-www-form-urlencoded"),
        ("/bookmarks/import", "multipart/form-data; boundary=xyz"),
        (&format!("{address}/delete"), "application/x-www-form-urlencoded"),
    ] {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", kind),
            ("Sec-Fetch-Site", "cross-site"),
        ];
        assert_eq!(
            server.send("POST", path, &headers, b"url=https://evil.example").status,
            403,
            "{path}"
        );
    }
    assert!(browser.page("/bookmarks").contains("1 bookmark"));
    let manifest = server.get("/manifest.webmanifest", &[]).json();
    assert_eq!(manifest["share_target"]["action"], "/bookmarks/add");
}
