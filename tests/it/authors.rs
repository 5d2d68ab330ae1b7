//! `/_system/mcp/{username}`: one author's pages, whatever the case of the letters, and nothing else.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::support::{Answer, Home, Server};

/// An author in each language: as the page spells the name, other spellings of it, a word of the
/// page, and its method.
const AUTHORS: [(&str, &[&str], &str, &str); 3] = [
    ("Mira", &["Mira", "mira", "MIRA", "@mira"], "coffee", "mira-says"),
    ("Анна", &["Анна", "анна", "АННА"], "чайник", "anna-says"),
    ("ヤマダ Tarō", &["ヤマダ Tarō", "ﾔﾏﾀﾞ tarō", "ヤマダ　TARŌ"], "旅行", "yamada-says"),
];

fn library() -> Home {
    let home = Home::new();
    home.note("Mira.md", "---\nfree: true\nauthor: Mira\nmcp_method: mira-says\n---\n# Coffee\n\nSlow coffee. See [[Анна]].\n")
        .note("Анна.md", "---\nfree: true\nauthor: Анна\nmcp_method: anna-says\n---\n# Чайник\n\nГорячий чайник. [[Mira]]\n")
        .note("ヤマダ.md", "---\nfree: true\nlang: ja\nauthor: ヤマダ Tarō\nmcp_method: yamada-says\n---\n# 旅行\n\n京都への旅行。\n")
        .note("Start.md", "---\nfree: true\nmcp_method: initialize\n---\nNobody's instructions.\n")
        .note("Private.md", "---\nauthor: ghost\n---\n# Private\n\nA private coffee.\n");
    home.say(&["call", "create_note", r#"{"title": "Card", "content": "coffee"}"#]);
    home.say(&[
        "call",
        "add_bookmark",
        r#"{"url": "https://x.com/mira/status/1", "text": "coffee post", "author": "mira"}"#,
    ]);
    home.say(&["doctor"]);
    home
}

fn address(author: &str) -> String {
    format!("/_system/mcp/{}", utf8_percent_encode(author, NON_ALPHANUMERIC))
}

fn ask(server: &Server, author: &str, token: Option<&str>, method: &str, params: Value) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> =
        bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.send("POST", &address(author), &headers, body.to_string().as_bytes())
}

fn names(answer: &Value, list: &str) -> Vec<String> {
    let listed = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}"));
    listed.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_spelling_of_a_name_is_the_same_author() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    for token in [None, Some(owner.as_str())] {
        for (page, spellings, word, method) in AUTHORS {
            let mut seen = Vec::new();
            for name in spellings {
                let call = |tool: &str, arguments: Value| {
                    let params = json!({ "name": tool, "arguments": arguments });
                    ask(&server, name, token, "tools/call", params).json()
                };
                let found = call("search", json!({ "query": word }));
                let results = &found["result"]["structuredContent"]["results"];
                assert_eq!(results.as_array().unwrap().len(), 1, "{name}: {found}");
                let pid = results[0]["pid"].clone();
                let opened = call("note_html", json!({ "pid": pid }));
                assert!(opened["result"]["content"].is_array(), "{name}: {opened}");
                let said = call(method, json!({}));
                assert!(said["result"]["content"].is_array(), "{name}: {said}");
                let tools = ask(&server, name, token, "tools/list", json!({})).json();
                let methods: Vec<String> = names(&tools, "tools")
                    .into_iter()
                    .filter(|tool| tool.ends_with("-says"))
                    .collect();
                assert_eq!(methods, [method], "{name}");
                let prompts = ask(&server, name, token, "prompts/list", json!({})).json();
                assert_eq!(names(&prompts, "prompts"), [method], "{name}");
                let resources = ask(&server, name, token, "resources/list", json!({})).json();
                // The page, and the skill that its method is.
                let listed = names(&resources, "resources");
                assert_eq!(listed.len(), 2, "{page}: {listed:?}");
                assert_eq!(listed[1], method, "{page}");
                seen.push((tools, prompts, resources));
            }
            assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{page}");
        }
    }
}

/// The owner sees everything elsewhere; under an author's address it is that author's pages only.
#[test]
fn only_what_belongs_to_the_author_is_offered() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let confined =
        |method: &str, params: Value| ask(&server, "mira", Some(&owner), method, params).json();
    let tools = names(&confined("tools/list", json!({})), "tools");
    for tool in ["search", "similar", "note_html", "expand", "mira-says"] {
        assert!(tools.contains(&tool.to_owned()), "{tool}: {tools:?}");
    }
    for hidden in [
        "create_note",
        "get_notes",
        "search_notes",
        "create_prompt",
        "delete_prompt",
        "trends",
        "add_bookmark",
        "oss_report",
    ] {
        assert!(!tools.contains(&hidden.to_owned()), "{hidden}: {tools:?}");
        let refused = confined("tools/call", json!({ "name": hidden, "arguments": {} }));
        assert_eq!(refused["error"]["code"], -32601, "{hidden}: {refused}");
    }
    // A card, a bookmark of the same author and other authors' pages have the word too.
    let found =
        confined("tools/call", json!({ "name": "search", "arguments": { "query": "coffee" } }));
    let results = found["result"]["structuredContent"]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "{found}");
    assert_eq!(results[0]["path"], "Mira.md");
    let pid = results[0]["pid"].as_i64().unwrap();
    for other in (1..=8).filter(|other| *other != pid) {
        let uri = format!("notewell://item/{other}");
        let read = confined("resources/read", json!({ "uri": uri }));
        assert!(read.get("error").is_some(), "{uri}: {read}");
    }
    let read = confined("resources/read", json!({ "uri": format!("notewell://item/{pid}") }));
    let meta = &read["result"]["contents"][0]["_meta"];
    assert_eq!(meta["notewell/backlinks"], json!([]), "{read}");
    assert_eq!(meta["notewell/links"], json!([]), "{read}");
    let templates = names(&confined("resources/templates/list", json!({})), "resourceTemplates");
    assert!(!templates.contains(&"card image".to_owned()), "{templates:?}");
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = confined("initialize", hello);
    let instructions = hello["result"]["instructions"].as_str().unwrap();
    assert!(!instructions.contains("Nobody's"), "{instructions}");
    let extensions = &hello["result"]["capabilities"]["extensions"];
    assert!(extensions.get("io.modelcontextprotocol/skills").is_some(), "{hello}");
    assert!(extensions.get("notewell/prompts").is_none(), "{hello}");
}

#[test]
fn an_unknown_author_is_404_on_every_transport() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let bearer = format!("Bearer {owner}");
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
    .to_string();
    let modern =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28" } } })
        .to_string();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let stream = ("Accept", "application/json, text/event-stream");
    for name in ["nobody", "никто", "誰も", "@", "a/b", "Mirah"] {
        let path = match name {
            "a/b" => "/_system/mcp/a/b".to_owned(),
            name => address(name),
        };
        for (method, headers, body) in [
            ("POST", vec![], ping),
            ("POST", vec![stream], hello.as_str()),
            ("POST", vec![stream], modern.as_str()),
            ("GET", vec![("Accept", "text/event-stream")], ""),
            ("GET", vec![("Accept", "text/html")], ""),
            ("DELETE", vec![], ""),
        ] {
            for token in [false, true] {
                let mut headers = headers.clone();
                headers.extend(token.then_some(("Authorization", bearer.as_str())));
                let answer = server.send(method, &path, &headers, body.as_bytes());
                assert_eq!(answer.status, 404, "{method} {path}: {}", answer.body);
                assert!(answer.body.contains("no note here has the author"), "{}", answer.body);
            }
        }
    }
    // An author of private pages only is unknown to whoever sees none of them.
    assert_eq!(ask(&server, "ghost", None, "ping", json!({})).status, 404);
    assert_eq!(ask(&server, "Ghost", Some(&owner), "ping", json!({})).status, 200);
    let [plain, slash] = ["/_system/mcp/mira", "/_system/mcp/mira/"]
        .map(|path| server.send("POST", path, &[], ping.as_bytes()));
    assert_eq!((plain.status, &plain.body), (slash.status, &slash.body));
    // A page that appears makes its author known.
    home.note("New.md", "---\nfree: true\nauthor: Nobody\n---\nHere I am.\n");
    crate::support::until("the new author is known", || {
        ask(&server, "nobody", None, "ping", json!({})).status == 200
    });
}
