//! Properties of notes: shown, filtered and sorted by, in each language, within a caller's rights.

use serde_json::{Value, json};

use crate::support::{Client, Home};

fn page(front: &str, body: &str) -> String {
    format!("---\n{front}\n---\n{body}\n")
}

fn library() -> Home {
    let home = Home::new();
    for (path, front, body) in [
        (
            "en/soup.md",
            "status: Draft\nrating: 4\ndue: 2025-03-01\ntopics: [food, winter]",
            "# Soup\n\nLentil soup with bread.",
        ),
        (
            "en/stew.md",
            "status: done\nrating: 9.5\ndue: 2025-01-15",
            "# Stew\n\nBean soup that cooks all day.",
        ),
        ("en/plain.md", "free: true\nstatus: done\nrating: 10", "# Plain soup\n\nA public soup."),
        (
            "ru/суп.md",
            "статус: Черновик\nоценка: 3\nсрок: 2025-02-01",
            "# Суп\n\nЧечевичный суп с хлебом.",
        ),
        ("ru/борщ.md", "статус: в работе\nоценка: 5", "# Борщ\n\nСуп из свёклы."),
        ("ja/汁.md", "状態: 下書き\n評価: 2\nlang: ja", "# 味噌汁\n\n豆腐の味噌汁の作り方。"),
        ("ja/豚汁.md", "状態: 完成\n評価: 7\nlang: ja", "# 豚汁\n\n豚肉の味噌汁の作り方。"),
        ("bare.md", "secret_plan: yes", "# Bare\n\nSoup without a state."),
    ] {
        home.note(path, &page(front, body));
    }
    home.say(&["index", "--words"]);
    home
}

fn paths(answer: &Value) -> Vec<&str> {
    let results = answer["structuredContent"]["results"].as_array().unwrap();
    results.iter().map(|result| result["path"].as_str().unwrap()).collect()
}

fn sorted(client: &mut Client, arguments: &Value) -> Vec<String> {
    let answer = client.call("search", arguments.clone());
    let mut found: Vec<String> = paths(&answer).into_iter().map(str::to_owned).collect();
    found.sort();
    assert_eq!(answer["structuredContent"]["totalMatches"], found.len(), "{arguments}");
    found
}

#[test]
fn properties_filter_a_ranked_search() {
    let mut client = library().stdio();
    for (arguments, expected) in [
        // In the query string.
        (json!({ "query": "soup status:draft" }), vec!["en/soup.md"]),
        (json!({ "query": "soup STATUS:done" }), vec!["en/plain.md", "en/stew.md"]),
        (json!({ "query": "soup rating:>4" }), vec!["en/plain.md", "en/stew.md"]),
        (json!({ "query": "soup rating:4..9.5" }), vec!["en/soup.md", "en/stew.md"]),
        (json!({ "query": "soup -status:done rating:*" }), vec!["en/soup.md"]),
        (json!({ "query": "topics:winter" }), vec!["en/soup.md"]),
        (json!({ "query": "due:<=2025-01-15" }), vec!["en/stew.md"]),
        (json!({ "query": "суп статус:черновик" }), vec!["ru/суп.md"]),
        (json!({ "query": "суп статус:\"в работе\"" }), vec!["ru/борщ.md"]),
        (json!({ "query": "суп оценка:>3" }), vec!["ru/борщ.md"]),
        (json!({ "query": "味噌汁 状態:下書き" }), vec!["ja/汁.md"]),
        (json!({ "query": "評価:>=2 -状態:完成" }), vec!["ja/汁.md"]),
        // In the arguments.
        (
            json!({ "query": "soup", "filters": { "properties": { "status": "draft" } } }),
            vec!["en/soup.md"],
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "status": ["draft", "DONE"] } } }),
            vec!["en/plain.md", "en/soup.md", "en/stew.md"],
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "rating": { ">=": 4, "<": 10 } } } }),
            vec!["en/soup.md", "en/stew.md"],
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "due": { ">": "2025-01-15" } } } }),
            vec!["en/soup.md"],
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "status": null } } }),
            vec!["bare.md"],
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "due": { "exists": false }, "rating": { "exists": true } } } }),
            vec!["en/plain.md"],
        ),
        (
            json!({ "query": "", "filters": { "properties": { "Срок": "2025-02-01" } } }),
            vec!["ru/суп.md"],
        ),
        (
            json!({ "query": "", "filters": { "properties": { "状態": { "!=": "完成" } }, "path": "ja/" } }),
            vec!["ja/汁.md"],
        ),
    ] {
        assert_eq!(sorted(&mut client, &arguments), expected, "{arguments}");
    }
}

#[test]
fn results_are_sorted_and_paged_by_a_property() {
    let mut client = library().stdio();
    let mut order = |arguments: Value| -> Vec<String> {
        paths(&client.call("search", arguments)).into_iter().map(str::to_owned).collect()
    };
    let rated = ["en/soup.md", "en/stew.md", "en/plain.md", "bare.md"];
    assert_eq!(order(json!({ "query": "soup path:en/", "sort": "rating" })), rated[..3]);
    assert_eq!(
        order(json!({ "query": "soup", "sort": "-rating" })),
        ["en/plain.md", "en/stew.md", "en/soup.md", "bare.md"]
    );
    assert_eq!(
        order(json!({ "query": "path:ru/", "sort": "-оценка" })),
        ["ru/борщ.md", "ru/суп.md"]
    );
    assert_eq!(order(json!({ "query": "味噌汁", "sort": "評価" })), ["ja/汁.md", "ja/豚汁.md"]);
    assert_eq!(order(json!({ "query": "due:*", "sort": "due" })), ["en/stew.md", "en/soup.md"]);
    // Page by page, the same order.
    let mut client = library().stdio();
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut arguments = json!({ "query": "soup", "sort": "rating", "limit": 1,
            "filters": { "properties": { "rating": { "exists": true } } } });
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let answer = client.call("search", arguments);
        assert_eq!(answer["structuredContent"]["totalMatches"], 3);
        seen.extend(paths(&answer).into_iter().map(str::to_owned));
        cursor = answer["structuredContent"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, rated[..3]);
}

#[test]
fn what_is_not_a_property_is_told() {
    let mut client = library().stdio();
    for (arguments, expected) in [
        (
            json!({ "query": "soup", "filters": { "properties": { "rating": { "~": 3 } } } }),
            "`~` is not one of",
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "rating": { ">": "big" } } } }),
            "numbers and dates",
        ),
        (
            json!({ "query": "soup", "filters": { "properties": { "rating": { "exists": "no" } } } }),
            "true or false",
        ),
        (json!({ "query": "soup", "filters": { "properties": "draft" } }), "object"),
        (json!({ "query": "soup rating:>big" }), "numbers and dates"),
        (json!({ "query": "soup", "sort": "-" }), "sort"),
        (json!({ "query": "soup", "filters": { "status": "draft" } }), "properties"),
    ] {
        let error = client.refused("search", arguments.clone());
        assert_eq!(error["code"], -32602, "{arguments}");
        assert!(error["message"].as_str().unwrap().contains(expected), "{arguments}: {error}");
    }
    let answer = client.call(
        "search",
        json!({ "query": "soup", "filters": { "properties": { "statsu": "draft" } } }),
    );
    let notes = answer["structuredContent"]["notes"].to_string();
    assert!(
        notes.contains("no note has the property `statsu`") && notes.contains("rating"),
        "{notes}"
    );
    // A word before a colon that is no property is searched for, and reported, as before.
    let answer = client.call("search", json!({ "query": "soup mood:happy" }));
    assert!(answer["structuredContent"]["notes"].to_string().contains("`mood:` is not a filter"));
}

#[test]
fn a_note_shows_its_properties() {
    let mut client = library().stdio();
    let all = |result: &Value| crate::cost::shown(result);
    let whole = client.call("note_html", json!({ "path": "en/soup.md" }));
    assert_eq!(whole["structuredContent"]["properties"]["rating"], 4);
    assert!(
        all(&whole).contains("status: Draft; rating: 4; due: 2025-03-01; topics: food, winter"),
        "{}",
        all(&whole)
    );
    let found = client.call("search", json!({ "query": "статус:черновик" }));
    assert_eq!(
        found["structuredContent"]["results"][0]["properties"],
        json!({ "статус": "Черновик" })
    );
    assert!(all(&found).contains("статус: Черновик"), "{}", all(&found));
    let id = &found["structuredContent"]["results"][0]["matches"][0]["match_id"];
    let window = client.call("note_html", json!({ "match_id": id }));
    assert!(window["structuredContent"].get("properties").is_none());
    let window = client.call("note_html", json!({ "match_id": id, "include": ["properties"] }));
    assert_eq!(window["structuredContent"]["properties"]["оценка"], 3);
}

/// A caller who does not see a page learns nothing of its properties.
#[test]
fn private_properties_change_nothing() {
    let home = library();
    let server = home.serve();
    let ask = |query: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "search", "arguments": query } });
        server.post(&body.to_string()).json()["result"].clone()
    };
    // `due` is a property of private pages only: for this caller it is an ordinary word.
    let private = ask(json!({ "query": "soup due:2025-03-01" }));
    let absent = ask(json!({ "query": "soup dua:2025-03-01" }));
    let told =
        |answer: &Value| answer["structuredContent"]["notes"].to_string().replace("dua", "due");
    assert_eq!(told(&private), told(&absent));
    assert_eq!(paths(&private), paths(&absent));
    let listed = ask(json!({ "query": "soup", "filters": { "properties": { "nothing": 1 } } }));
    let notes = listed["structuredContent"]["notes"].to_string();
    assert!(
        notes.contains("rating") && !notes.contains("secret_plan") && !notes.contains("due"),
        "{notes}"
    );
    let found = ask(json!({ "query": "soup status:done" }));
    assert_eq!(paths(&found), ["en/plain.md"]);
    assert_eq!(found["structuredContent"]["totalMatches"], 1);
}
