//! The query string, its filters, cursors and formats, through the tool door.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::support::{Client, Home};

fn library() -> (Home, Client) {
    let home = Home::new();
    let page = |facts: &str, body: &str| format!("---\ndate: 2025-05-10\n{facts}---\n{body}\n");
    home.note(
        "en/soup.md",
        &page(
            "tags: [kitchen]\nauthor: ann\ncategory: Cooking\n",
            "# Soup\n\nLentil soup with bread.",
        ),
    )
    .note(
        "en/stew.md",
        &page(
            "tags: [kitchen, slow]\nauthor: bob\n",
            "# Stew\n\nBean soup that cooks all day. std::fmt at 10:30.",
        ),
    )
    .note("ru/суп.md", &page("tags: [кухня]\nauthor: аня\n", "# Суп\n\nЧечевичный суп с хлебом."))
    .note("ru/борщ.md", &page("tags: [кухня]\n", "# Борщ\n\nСуп из свёклы, лучший суп."))
    .note("ja/汁.md", &page("tags: [台所]\nlang: ja\n", "# 味噌汁\n\n豆腐の味噌汁の作り方。"))
    .note("ja/豚汁.md", &page("tags: [台所, 冬]\nlang: ja\n", "# 豚汁\n\n豚肉の味噌汁の作り方。"));
    home.say(&["call", "create_note", r#"{"title": "Shopping", "content": "soup bowls"}"#]);
    home.say(&["index", "--words"]);
    let mut client = home.stdio();
    client.initialize();
    (home, client)
}

fn found(client: &mut Client, arguments: Value) -> (Vec<String>, String) {
    let answer = client.call("search", arguments);
    let results = answer["structuredContent"]["results"].as_array().unwrap();
    let mut paths: Vec<String> = results
        .iter()
        .map(|result| match result["kind"].as_str() {
            Some("page") => result["path"].as_str().unwrap().to_owned(),
            kind => kind.unwrap().to_owned(),
        })
        .collect();
    paths.sort();
    (paths, answer["structuredContent"]["notes"].to_string())
}

#[test]
fn filters_of_the_query_narrow_and_exclude_in_three_languages() {
    let (_home, mut client) = library();
    for (query, expected) in [
        ("soup tag:kitchen", vec!["en/soup.md", "en/stew.md"]),
        ("soup author:ann", vec!["en/soup.md"]),
        ("soup category:Cooking", vec!["en/soup.md"]),
        ("soup -lentil", vec!["card", "en/stew.md"]),
        ("soup -kind:card", vec!["en/soup.md", "en/stew.md"]),
        ("soup -tag:slow -kind:card", vec!["en/soup.md"]),
        ("soup -author:bob -path:en/", vec!["card"]),
        ("суп tag:кухня -чечевичный", vec!["ru/борщ.md"]),
        ("суп author:аня", vec!["ru/суп.md"]),
        ("суп -author:аня", vec!["ru/борщ.md"]),
        ("味噌汁 tag:台所 -tag:冬", vec!["ja/汁.md"]),
        ("味噌汁 -豆腐", vec!["ja/豚汁.md"]),
        ("tag:台所", vec!["ja/汁.md", "ja/豚汁.md"]),
        ("-kind:page", vec!["card"]),
    ] {
        let (paths, notes) = found(&mut client, json!({ "query": query }));
        assert_eq!(paths, expected, "{query} {notes}");
        assert!(!notes.contains("filter"), "{query}: {notes}");
    }
}

#[test]
fn filters_alone_are_a_question() {
    let (_home, mut client) = library();
    let filters = json!({ "label": "kitchen" });
    let expected = ["en/soup.md", "en/stew.md"];
    for arguments in [
        json!({ "filters": filters }),
        json!({ "query": "", "filters": filters }),
        json!({ "query": null, "filters": { "label": "kitchen", "category": "", "author": " ", "dateFrom": "" } }),
    ] {
        assert_eq!(found(&mut client, arguments).0, expected);
    }
    for arguments in [json!({}), json!({ "query": "" }), json!({ "filters": { "category": "" } })] {
        let error = client.refused("search", arguments);
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains("query is required"), "{error}");
    }
    let error =
        client.refused("search", json!({ "query": "author:ann", "filters": { "author": "bob" } }));
    assert!(error["message"].as_str().unwrap().contains("cannot both hold"), "{error}");
}

#[test]
fn a_word_that_only_looks_like_a_filter_is_reported() {
    let (_home, mut client) = library();
    for (query, name) in
        [("soup topic:lentil", "topic"), ("суп тема:борщ", "тема"), ("味噌汁 タグ:冬", "タグ")]
    {
        let (paths, notes) = found(&mut client, json!({ "query": query }));
        assert!(!paths.is_empty(), "{query}");
        assert!(
            notes.contains(&format!("`{name}:` is not a filter; searched as words")),
            "{notes}"
        );
    }
    for query in [
        "soup https://example.org/a",
        "std::fmt",
        "soup 10:30",
        "soup: lentil",
        "localhost:8080 soup",
    ] {
        let (_, notes) = found(&mut client, json!({ "query": query }));
        assert!(!notes.contains("filter"), "{query}: {notes}");
    }
}

fn cursor(offset: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("v1:{offset}"))
}

#[test]
fn a_cursor_leads_on_and_cannot_wrap() {
    let (_home, mut client) = library();
    let first = client.call("search", json!({ "query": "tag:kitchen", "limit": 1 }));
    let next = first["structuredContent"]["nextCursor"].clone();
    let second =
        client.call("search", json!({ "query": "tag:kitchen", "limit": 1, "cursor": next }));
    assert_ne!(
        first["structuredContent"]["results"][0]["pid"],
        second["structuredContent"]["results"][0]["pid"]
    );
    for offset in ["18446744073709551615", "18446744073709551616", "-1", "1000", "x", ""] {
        for (tool, arguments) in [
            ("search", json!({ "query": "soup", "cursor": cursor(offset) })),
            ("similar", json!({ "text": "soup", "cursor": cursor(offset) })),
        ] {
            let error = client.refused(tool, arguments);
            assert_eq!(error["code"], -32602, "{tool} {offset}: {error}");
        }
    }
}

#[test]
fn json_as_text_is_what_the_structure_says() {
    let (_home, mut client) = library();
    for query in ["soup", "суп", "味噌汁"] {
        let answer = client.call("search", json!({ "query": query, "format": "json" }));
        let text: Value =
            serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, answer["structuredContent"]);
        assert!(text["totalMatches"].as_u64().unwrap() > 0);
        let plain = client.call("search", json!({ "query": query, "format": "text" }));
        assert!(plain["content"][0]["text"].as_str().unwrap().starts_with("Found"));
    }
    let error = client.refused("search", json!({ "query": "soup", "format": "xml" }));
    assert!(error["message"].as_str().unwrap().contains("text, json"), "{error}");
}

#[test]
fn an_address_is_given_only_where_a_server_answers() {
    let (home, mut client) = library();
    let read = |answer: &Value| {
        let result = &answer["structuredContent"]["results"][0];
        let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
        (result["url"].as_str().unwrap().to_owned(), text)
    };
    let (url, text) = read(&client.call("search", json!({ "query": "味噌汁 豆腐" })));
    assert_eq!(url, "ja/汁.md");
    assert!(!text.contains("http"), "{text}");
    let page = client.call("note_html", json!({ "path": "ja/汁.md" }));
    assert!(!page.to_string().contains("http://"), "{page}");
    drop(client);
    let owner = home.token("owner");
    let server = home.serve();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search", "arguments": { "query": "味噌汁 豆腐" } } });
    let answer = server.post_as(&owner, &body.to_string()).json();
    let (url, _) = read(&answer["result"]);
    let path = url.strip_prefix(&format!("http://{}", server.address)).unwrap();
    let bearer = format!("Bearer {owner}");
    assert_eq!(server.get(path, &[("Authorization", &bearer)]).status, 200, "{url}");
}

/// Letters that mean nothing find nothing, and the answer says why.
#[test]
fn gibberish_finds_nothing_in_three_languages() {
    let home = Home::new();
    let vault = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/vault");
    let with_model = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("NOTEWELL_EMBED_PROVIDER", "embedded");
        command
    };
    assert!(with_model(&["index", "--vault", vault]).status().unwrap().success());
    let mut client = Client::start(with_model(&["mcp"]));
    client.initialize();
    for query in ["zzzzqqq", "щщщъъъы", "ヌヌヂヂヅ"] {
        let (paths, notes) = found(&mut client, json!({ "query": query }));
        assert!(paths.is_empty(), "{query}: {paths:?}");
        assert!(notes.contains("close enough in meaning"), "{query}: {notes}");
    }
    for query in ["how do I brew coffee", "как варить кофе", "コーヒーの淹れ方"]
    {
        let (paths, _) = found(&mut client, json!({ "query": query }));
        assert!(!paths.is_empty(), "{query}");
    }
}
