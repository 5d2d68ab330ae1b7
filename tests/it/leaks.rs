//! No word of a text that is sold reaches anybody who has not paid.
//!
//! Two shops differ only in the texts that they sell. Callers who may not read those texts send both
//! the same requests, generated from the whole tool table and every other way in, and every answer
//! has to be the same: whatever a text changes, it changes nothing that they see.

use std::{fs::File, process::Stdio};

use serde_json::{Map, Value, json};

use crate::{
    sold::Shop,
    support::{Answer, Server},
};

/// Words of the texts of one shop, and of the other, in three languages; and a number.
const ONE: [&str; 4] = ["quokkadrome", "утконосище", "幽霊獏", "4815162342"];
const OTHER: [&str; 4] = ["wombatarium", "ехидновник", "天狗象", "9876501234"];

struct Twin {
    shop: Shop,
    server: Server,
    /// Who asks: nobody, a token of no account, a buyer without credit, one who was granted
    /// everything, another author.
    callers: Vec<Option<String>>,
    owner: String,
}

fn twin(words: [&str; 4]) -> Twin {
    let [en, ru, ja, number] = words;
    let shop = Shop::with("[limits]\ncalls_per_minute = 1000000\nconcurrent_per_caller = 64\n");
    let sold = |path: &str, front: &str, body: &str| {
        shop.of_mira(path, &format!("---\nfree: true\nprice: 0.10\n{front}\n---\n{body}\n"));
    };
    // Everything here has something to give away: a heading, a tag, a link, an include, a default.
    sold(
        "review.md",
        "mcp_method: code-review\nmarket_description: A strict review",
        &format!(
            "# {en} review\n\nThe {en} of {number}. #{en} [[{en} note]] [[Public]]\n\n## {en} section\n\n{{{{code|{en}}}}} {{{{note:{en}.md#{en}|{en}}}}}"
        ),
    );
    sold(
        "обзор.md",
        "mcp_method: obzor\ntitle: Обзор\nlang: ru",
        &format!("# {ru}\n\nТайное {ru} и {number}. #{ru}\n\n{{{{note:{ru}.md}}}}"),
    );
    sold(
        "評.md",
        "mcp_method: hyou\ntitle: 評価\nlang: ja",
        &format!("# {ja}\n\n秘密の{ja}。 #{ja}\n\n- [ ] {ja} {number}"),
    );
    sold("broken.md", "mcp_method: [a]\ntitle: Broken", &format!("# {en}\n\n{ru} {ja}"));
    shop.of_mira(
        "unread.md",
        &format!(
            "---\nfree: true\nmcp_method: unread\nprice: cheap\n---\n# {en}\n\n{ru} {ja} {number}\n"
        ),
    );
    shop.of_mira(
        "start.md",
        &format!("---\nfree: true\nmcp_method: initialize\nprice: 0.10\n---\n{en} {ru} {ja}\n"),
    );
    shop.home
        .note("Public.md", "---\nfree: true\ntags: [open]\n---\n# Public\n\nAbout reviews. [[review]] ![[review]] [[обзор]] ![[評]] ![[mira/review]]\n")
        .note("uses.md", "---\nfree: true\nmcp_method: uses\n---\n{{note:review.md|nothing}} {{note:mira/обзор.md|nothing}} {{note:評|nothing}}\n");
    shop.home.settle();
    shop.say(&["index"]);
    let reader = shop.home.token("reader");
    let poor = shop.user("ann", "reader", "read,write,market");
    let granted = shop.user("gus", "reader", "read,write,market");
    shop.say(&["grant", "add", "gus", "--all"]);
    let other = shop.user("bob", "author", "read,write,market");
    let owner = shop.home.token("owner");
    let log = File::create(shop.home.dir.path().join("log")).unwrap();
    let mut command = shop.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.stderr(Stdio::from(log)).env("NOTEWELL_LOG", "debug");
    let server = Server::start_logging(command);
    let callers = vec![None, Some(reader), Some(poor), Some(granted), Some(other)];
    Twin { shop, server, callers, owner }
}

fn send(server: &Server, path: &str, token: Option<&str>, body: &Value) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> =
        bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
    server.send("POST", path, &headers, body.to_string().as_bytes())
}

/// Values for an argument of this schema.
fn values(schema: &Value, words: &[String]) -> Vec<Value> {
    if let Some(all) = schema["enum"].as_array() {
        return all.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => words.iter().map(|word| json!(word)).collect(),
        Some("integer" | "number") => (0..=9).map(|number| json!(number)).collect(),
        Some("boolean") => vec![json!(true), json!(false)],
        Some("array") => {
            let items = values(&schema["items"], words);
            items.into_iter().map(|item| json!([item])).collect()
        }
        Some("object") => {
            let inner = schema["properties"].as_object().cloned().unwrap_or_default();
            let each = inner.iter().flat_map(|(name, schema)| {
                values(schema, words).into_iter().take(3).map(move |value| json!({ name: value }))
            });
            each.collect()
        }
        _ => words.iter().take(2).map(|word| json!(word)).collect(),
    }
}

/// Calls of a tool: its required arguments, and every argument with every value.
fn calls(tool: &Value, words: &[String]) -> Vec<Value> {
    let schema = &tool["inputSchema"];
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut base = Map::new();
    for name in &required {
        base.extend(
            values(&properties[*name], words)
                .into_iter()
                .next()
                .map(|value| ((*name).to_owned(), value)),
        );
    }
    let mut all = vec![base.clone()];
    for (name, schema) in &properties {
        for value in values(schema, words) {
            let mut arguments = base.clone();
            arguments.insert(name.clone(), value);
            all.push(arguments);
        }
    }
    let call = |arguments| json!({ "name": tool["name"], "arguments": arguments });
    all.into_iter().map(call).collect()
}

/// Every request of the conversation, as method and parameters.
fn conversation(tools: &[Value]) -> Vec<(&'static str, Value)> {
    let mut words: Vec<String> = ONE.iter().chain(&OTHER).map(|word| (*word).to_owned()).collect();
    let names = [
        "review",
        "code-review",
        "mira/review.md",
        "review.md",
        "обзор",
        "評.md",
        "mira/unread.md",
    ];
    words.extend(names.map(str::to_owned));
    words.extend((1..=9).map(|pid| format!("p{pid}:c0")));
    let mut all = Vec::new();
    for tool in tools {
        all.extend(calls(tool, &words).into_iter().map(|params| ("tools/call", params)));
    }
    for word in &words {
        all.push(("prompts/get", json!({ "name": word, "arguments": { "code": word } })));
        all.push(("completion/complete", json!({
            "ref": { "type": "ref/prompt", "name": "code-review" },
            "argument": { "name": "code", "value": &word[..word.chars().next().unwrap().len_utf8()] },
        })));
        all.push(("tools/call", json!({ "name": word, "arguments": {} })));
    }
    for name in ["code-review", "obzor", "hyou", "unread", "initialize", "uses", "broken"] {
        for arguments in [json!({}), json!({ "code": "x" }), json!({ "code": "x", "other": "y" })] {
            all.push(("prompts/get", json!({ "name": name, "arguments": arguments })));
            all.push(("tools/call", json!({ "name": name, "arguments": arguments })));
        }
    }
    for pid in 1..=9 {
        for rest in ["", "/quokkadrome%20section", "/quokkadrome%20review", "/x"] {
            let uri = format!("notewell://item/{pid}{rest}");
            all.push(("resources/read", json!({ "uri": uri })));
            all.push(("resources/subscribe", json!({ "uri": uri })));
        }
    }
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        all.push((list, json!({})));
    }
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    all.push(("initialize", hello));
    all
}

/// What may differ between two servers: their address, and when files were written.
fn normalised(server: &Server, body: &str) -> String {
    let body = body.replace(&server.address, "ADDRESS");
    let body = without(&body, "<time datetime=\"", "</time>");
    let body = without(&body, "<published>", "</published>");
    without(&body, "<updated>", "</updated>")
}

fn without(body: &str, start: &str, end: &str) -> String {
    let mut parts = body.split(start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + start + part.split_once(end).map_or(part, |(_, rest)| rest))
}

#[test]
fn no_word_of_a_text_that_is_sold_reaches_who_has_not_paid() {
    let twins = [twin(ONE), twin(OTHER)];
    // The whole table, as its owner sees it, without what the pages themselves add.
    let listed = send(
        &twins[0].server,
        "/_system/mcp",
        Some(&twins[0].owner),
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
    )
    .json();
    let tools: Vec<Value> = listed["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.len() > 20, "{listed}");
    let requests = conversation(&tools);
    let mut wrong = Vec::new();
    let mut compared = 0;
    for path in ["/_system/mcp", "/_system/mcp/mira"] {
        // Under an author's address every caller has the same pages.
        let callers = if path == "/_system/mcp" { twins[0].callers.len() } else { 2 };
        for at in 0..callers {
            for chunk in requests.chunks(50) {
                let batch: Vec<Value> = chunk
                    .iter()
                    .enumerate()
                    .map(|(id, (method, params))| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
                    .collect();
                let answers = [0, 1].map(|twin: usize| {
                    let twin = &twins[twin];
                    let answer =
                        send(&twin.server, path, twin.callers[at].as_deref(), &json!(batch));
                    let mut answers = answer
                        .json()
                        .as_array()
                        .cloned()
                        .unwrap_or_else(|| panic!("{}", answer.body));
                    answers.sort_by_key(|answer| answer["id"].as_i64());
                    answers
                        .iter()
                        .map(|answer| normalised(&twin.server, &answer.to_string()))
                        .collect::<Vec<_>>()
                });
                let [one, other] = answers;
                assert_eq!(one.len(), other.len());
                for ((one, other), request) in one.iter().zip(&other).zip(chunk) {
                    compared += 1;
                    let asked = request.1.to_string();
                    let told = ONE.iter().any(|word| one.contains(word) && !asked.contains(word));
                    if one != other || told {
                        wrong.push(format!(
                            "{path} caller {at}: {request:?}\none:   {one}\nother: {other}"
                        ));
                    }
                }
            }
        }
    }
    for path in [
        "/",
        "/?q=review",
        "/?q=quokkadrome",
        "/?q=утконосище&ask=1",
        "/suggest?q=quok",
        "/browse",
        "/browse?path=mira",
        "/@mira",
        "/feed.xml",
        "/sitemap.xml",
        "/mira/review.md",
        "/review",
        "/n/1",
        "/n/2",
        "/n/3",
        "/n/4",
        "/n/5",
        "/n/6",
        "/n/7",
        "/n/8",
        "/preview?path=review",
        "/n/1/history",
        "/n/2/history",
        "/n/3/edit",
        "/n/4/history",
        "/history",
        "/metrics",
        "/trends",
        "/prompts",
        "/prompts/of/code-review",
    ] {
        let answers = [0, 1].map(|twin: usize| {
            let server = &twins[twin].server;
            let answer =
                server.get(&path.replace("утконосище", "%D1%83%D1%82"), &[("Accept", "text/html")]);
            format!("{} {}", answer.status, normalised(server, &answer.body))
        });
        compared += 1;
        if answers[0] != answers[1] {
            wrong.push(format!("GET {path}\none:   {}\nother: {}", answers[0], answers[1]));
        }
    }
    println!("{compared} answers were compared");
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n\n{}",
        wrong.len(),
        wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n\n")
    );
    // The log names nothing of it, and the owner does read it.
    for (twin, words) in twins.iter().zip([ONE, OTHER]) {
        let log = std::fs::read_to_string(twin.shop.home.dir.path().join("log")).unwrap();
        assert!(log.len() > 1_000, "the log was read");
        assert!(words.iter().all(|word| !log.contains(word)), "the log has a word of the text");
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search", "arguments": { "query": words[0] } } });
        let found = send(&twin.server, "/_system/mcp", Some(&twin.owner), &request).json();
        assert_ne!(found["result"]["structuredContent"]["results"], json!([]), "{found}");
    }
}
