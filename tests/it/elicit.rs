//! Confirmation before a call, in sessions of the handshake era and in the revision of 2026, driven
//! by hand.

use std::{
    io::{BufRead, BufReader, Read},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    paying::Books,
    sold::Shop,
    support::{Client, Home, Server, put},
};

const ONCE: &str = "Yes";
const SESSION: &str = "Yes, and do not ask again in this session";

fn accept(choice: &str) -> Value {
    json!({ "action": "accept", "content": { "choice": choice } })
}

/// A client on stdio that declares that it can ask.
fn asking(home: &Home) -> Client {
    let mut command = home.command(&["mcp"]);
    let config = home.dir.path().join("notewell.toml");
    if config.exists() {
        command.arg("--config").arg(config);
    }
    let mut client = Client::start(command);
    client.ask(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } }),
    );
    client.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    client
}

/// Calls a tool and answers every question with `answer`; gives the questions and the result.
fn call(client: &mut Client, tool: &str, arguments: Value, answer: &Value) -> (Vec<Value>, Value) {
    let request = json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    client.write(format!("{request}\n").as_bytes());
    let mut questions = Vec::new();
    loop {
        let message = client.read();
        if message["method"] == "elicitation/create" {
            questions.push(message["params"].clone());
            if !answer.is_null() {
                let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer });
                client.write(format!("{reply}\n").as_bytes());
            }
        } else if message["id"] == "call" {
            let result = message.get("result").unwrap_or_else(|| panic!("{message}"));
            return (questions, result.clone());
        }
    }
}

fn text(result: &Value) -> String {
    result["content"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
}

fn card(client: &mut Client, title: &str) -> String {
    let made = client.call("create_note", json!({ "title": title, "content": "x" }));
    let made: Value = serde_json::from_str(made["content"][0]["text"].as_str().unwrap()).unwrap();
    made["id"].as_str().unwrap().to_owned()
}

fn is_there(client: &mut Client, id: &str) -> bool {
    client
        .ask("tools/call", json!({ "name": "get_note", "arguments": { "id": id } }))
        .get("result")
        .is_some()
}

#[test]
fn a_deletion_is_asked_about_and_only_a_yes_does_it() {
    let home = Home::new();
    let mut client = asking(&home);
    for title in ["Shopping", "Покупки", "買い物"] {
        let id = card(&mut client, title);
        let arguments = json!({ "id": id });
        for (no, why) in [
            (json!({ "action": "decline" }), "the person said no"),
            (json!({ "action": "cancel" }), "closed without an answer"),
            (accept("No"), "the person said no"),
            (accept("perhaps"), "the person said no"),
            (json!({ "action": "accept", "content": {} }), "the person said no"),
        ] {
            let (questions, result) = call(&mut client, "delete_note", arguments.clone(), &no);
            assert_eq!(questions.len(), 1);
            assert_eq!(questions[0]["message"], format!("Delete the card “{title}”?"));
            assert_eq!(result["isError"], true, "{result}");
            assert!(
                text(&result).contains(why) && text(&result).contains("Nothing was changed"),
                "{result}"
            );
            assert!(is_there(&mut client, &id));
        }
        let (questions, result) = call(&mut client, "delete_note", arguments, &accept(ONCE));
        let schema = &questions[0]["requestedSchema"];
        assert_eq!(schema["properties"]["choice"]["enum"].as_array().unwrap().len(), 3, "{schema}");
        assert_ne!(result["isError"], true, "{result}");
        assert!(!is_there(&mut client, &id));
    }
    // What is not there is not asked about.
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "delete_note", "arguments": { "id": "nobody" } } });
    client.write(format!("{request}\n").as_bytes());
    assert!(client.read()["error"].is_object());
}

#[test]
fn an_answer_is_remembered_for_the_session_and_no_longer() {
    let home = Home::new();
    let mut client = asking(&home);
    let ids: Vec<String> = ["A", "B", "C"].iter().map(|title| card(&mut client, title)).collect();
    let (questions, _) =
        call(&mut client, "delete_note", json!({ "id": ids[0] }), &accept(SESSION));
    assert_eq!(questions.len(), 1);
    let (questions, _) = call(&mut client, "delete_note", json!({ "id": ids[1] }), &Value::Null);
    assert!(questions.is_empty() && !is_there(&mut client, &ids[1]));
    drop(client);
    let mut client = asking(&home);
    let (questions, _) = call(&mut client, "delete_note", json!({ "id": ids[2] }), &accept("No"));
    assert_eq!(questions.len(), 1);
    assert!(is_there(&mut client, &ids[2]));
}

#[test]
fn a_client_that_cannot_be_asked_works_as_ever() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    let id = card(&mut client, "A");
    client.call("delete_note", json!({ "id": id }));
    assert!(!is_there(&mut client, &id));
}

#[test]
fn pages_are_asked_about_when_much_is_at_stake() {
    let home = Home::new();
    home.note("Target.md", "# Target\n\n## Old\n\nold\n");
    for number in 0..12 {
        home.note(&format!("n{number}.md"), "See [[Target]].\n");
    }
    home.note("Lonely.md", "# Lonely\n");
    let mut client = asking(&home);
    let read = client.call("note_html", json!({ "path": "Target.md" }));
    let etag = read["structuredContent"]["etag"].as_str().unwrap().to_owned();
    let delete =
        json!({ "path": "Target.md", "toc_path": ["Target", "Old"], "op": "delete", "etag": etag });
    let (questions, result) =
        call(&mut client, "edit_page", delete.clone(), &json!({ "action": "decline" }));
    assert_eq!(questions[0]["message"], "Delete “Target > Old” of “Target.md”?");
    assert!(text(&result).contains("Nothing was changed"));
    assert!(std::fs::read_to_string(home.vault().join("Target.md")).unwrap().contains("## Old"));
    // A dry run, an append and a stale etag need no question.
    for harmless in [
        json!({ "path": "Target.md", "toc_path": ["Target", "Old"], "op": "delete", "etag": etag, "dry_run": true }),
        json!({ "path": "Target.md", "op": "append", "text": "more" }),
        delete.clone(),
    ] {
        let (questions, _) = call(&mut client, "edit_page", harmless.clone(), &accept("No"));
        assert!(questions.is_empty() || harmless == delete, "{harmless}");
    }
    // A move of one file goes through; one that touches thirteen is asked about.
    let (questions, _) = call(
        &mut client,
        "move_page",
        json!({ "path": "Lonely.md", "to": "Alone.md" }),
        &accept("No"),
    );
    assert!(questions.is_empty() && home.vault().join("Alone.md").exists());
    let wide = json!({ "path": "Target.md", "to": "sub/Goal.md" });
    let (questions, _) = call(&mut client, "move_page", wide.clone(), &accept("No"));
    assert_eq!(
        questions[0]["message"],
        "Move “Target.md” to “sub/Goal.md” and rewrite the links in 12 notes?"
    );
    assert!(home.vault().join("Target.md").exists());
    call(&mut client, "move_page", wide, &accept(ONCE));
    assert!(home.vault().join("sub/Goal.md").exists());
    let (questions, _) = call(
        &mut client,
        "move_page",
        json!({ "path": "Alone.md", "to": "@trash" }),
        &accept("No"),
    );
    assert_eq!(questions[0]["message"], "Move “Alone.md” to the trash?");
    assert!(home.vault().join("Alone.md").exists());
}

#[test]
fn restoring_over_a_newer_text_is_asked_about() {
    let home = Home::new();
    home.note("A.md", "# A\n\none\n");
    let mut client = asking(&home);
    let edit = |client: &mut Client, text: &str| {
        let edited =
            client.call("edit_page", json!({ "path": "A.md", "op": "append", "text": text }));
        edited["structuredContent"]["change"].as_i64().unwrap()
    };
    let first = edit(&mut client, "two");
    edit(&mut client, "three");
    let restore = json!({ "path": "A.md", "version": first, "restore": true });
    let (questions, _) = call(&mut client, "history", restore.clone(), &accept("No"));
    assert_eq!(
        questions[0]["message"].as_str().unwrap(),
        format!("Replace “A.md” with its version {first}?")
    );
    let now = || std::fs::read_to_string(home.vault().join("A.md")).unwrap();
    assert!(now().contains("three"));
    call(&mut client, "history", restore.clone(), &accept(ONCE));
    assert!(!now().contains("three"));
    // To look at it, and to restore what is there already, needs no question.
    let (questions, _) =
        call(&mut client, "history", json!({ "path": "A.md", "version": first }), &accept("No"));
    assert!(questions.is_empty());
    let same = client.refused("history", restore);
    assert!(same["message"].as_str().unwrap().contains("nothing was changed"), "{same}");
}

#[test]
fn nobody_answers_and_nothing_happens() {
    let home = Home::new();
    put(&home.dir.path().join("notewell.toml"), "[limits]\nconfirm_seconds = 1\n");
    let mut client = asking(&home);
    let id = card(&mut client, "A");
    let begun = Instant::now();
    let (questions, result) = call(&mut client, "delete_note", json!({ "id": id }), &Value::Null);
    assert_eq!(questions.len(), 1);
    assert!(text(&result).contains("nobody answered within 1 s"), "{result}");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert!(is_there(&mut client, &id));
    // A client that answers with an error was not asked, and did not agree.
    let request = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": "delete_note", "arguments": { "id": id } } });
    client.write(format!("{request}\n").as_bytes());
    loop {
        let message = client.read();
        if message["method"] == "elicitation/create" {
            let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32601, "message": "no" } });
            client.write(format!("{reply}\n").as_bytes());
        } else if message["id"] == "x" {
            assert!(text(&message["result"]).contains("Nothing was changed"), "{message}");
            break;
        }
    }
    assert!(is_there(&mut client, &id));
}

#[test]
fn a_session_over_http_is_asked_on_the_stream_of_its_call() {
    let home = Home::new();
    let owner = home.token("owner");
    let server = home.serve();
    let bearer = format!("Bearer {owner}");
    let mut headers = vec![
        ("Authorization", bearer.as_str()),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } } });
    let answer = server.send("POST", "/_system/mcp", &headers, hello.to_string().as_bytes());
    let session = answer.headers["mcp-session-id"].clone();
    headers.extend([("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-06-18")]);
    let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    server.send("POST", "/_system/mcp", &headers, ready);
    let made = server.post_as(&owner, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "create_note", "arguments": { "title": "A", "content": "x" } } }).to_string());
    let made: Value =
        serde_json::from_str(made.json()["result"]["content"][0]["text"].as_str().unwrap())
            .unwrap();
    let delete = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "delete_note", "arguments": { "id": made["id"] } } });
    let stream = server.open("POST", "/_system/mcp", &headers, delete.to_string().as_bytes());
    let mut result = None;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some(message) =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok())
        else {
            continue;
        };
        if message["method"] == "elicitation/create" {
            let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": accept(ONCE) });
            let sent = server.send("POST", "/_system/mcp", &headers, reply.to_string().as_bytes());
            assert_eq!(sent.status, 202);
        } else if message["id"] == 9 {
            result = Some(message["result"].clone());
            break;
        }
    }
    assert!(text(&result.unwrap()).contains("Note deleted"));
}

/// One call of the revision of 2026, by a client that shows forms.
fn modern(server: &Server, token: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let (bearer, name) = (format!("Bearer {token}"), params["name"].as_str().unwrap());
    let headers = [
        ("Authorization", bearer.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", name),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let mut stream = server.open("POST", "/_system/mcp", &headers, body.to_string().as_bytes());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let lines = answer.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let found = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = found.filter(|message| message.get("result").is_some());
    found.next().unwrap_or_else(|| panic!("{answer}"))["result"].clone()
}

fn again(asked: &Value, params: &Value, answer: Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "confirm": answer });
    params
}

#[test]
fn the_revision_of_2026_asks_with_input_required() {
    let home = Home::new();
    let owner = home.token("owner");
    let server = home.serve();
    let make = |title: &str| {
        let made = modern(
            &server,
            &owner,
            json!({ "name": "create_note", "arguments": { "title": title, "content": "x" } }),
        );
        let made: Value =
            serde_json::from_str(made["content"][0]["text"].as_str().unwrap()).unwrap();
        json!({ "name": "delete_note", "arguments": { "id": made["id"] } })
    };
    let (first, second) = (make("A"), make("B"));
    let asked = modern(&server, &owner, first.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["confirm"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Delete the card “A”?");
    // Nothing lasts between requests here, so nothing is remembered, and it is not offered.
    let choices = &question["params"]["requestedSchema"]["properties"]["choice"]["enum"];
    assert_eq!(choices, &json!(["Yes", "No"]));
    // An answer to one call is none to another, a forged one is none, and a no is a no.
    for params in [
        again(&asked, &second, accept(ONCE)),
        again(&json!({ "requestState": "abc.9999999999999.AAAA" }), &first, accept(ONCE)),
        again(&json!({ "requestState": "" }), &first, accept(ONCE)),
    ] {
        assert_eq!(modern(&server, &owner, params)["resultType"], "input_required");
    }
    let declined = modern(&server, &owner, again(&asked, &first, json!({ "action": "decline" })));
    assert_eq!(declined["isError"], true);
    assert!(text(&declined).contains("the person said no"), "{declined}");
    // That answer is used. The next question has its own.
    let replay = modern(&server, &owner, again(&asked, &first, accept(ONCE)));
    assert_eq!(replay["resultType"], "input_required", "{replay}");
    let done = modern(&server, &owner, again(&replay, &first, accept(ONCE)));
    assert!(text(&done).contains("Note deleted"), "{done}");
}

#[test]
fn spending_above_the_limit_is_asked_about() {
    let shop = Shop::with("[market]\nconfirm_above = \"0.25\"\n");
    let page = |name: &str, price: &str| {
        format!("---\nmcp_method: {name}\nprice: {price}\n---\nThe quokka text.\n")
    };
    shop.of_mira("dear.md", &page("dear", "0.50")).of_mira("cheap.md", &page("cheap", "0.25"));
    shop.say(&["user", "add", "mira", "--role", "author"]);
    let ann = shop.user("ann", "reader", "read,market");
    let books = Books::of(&shop);
    books.credit("ann", "1.00");
    let server = shop.serve();
    let dear = json!({ "name": "dear", "arguments": {} });
    let asked = modern(&server, &ann, dear.clone());
    let message = &asked["inputRequests"]["confirm"]["params"]["message"];
    assert_eq!(message, "Call “dear” for 0.50 USD?", "{asked}");
    let declined = modern(&server, &ann, again(&asked, &dear, json!({ "action": "decline" })));
    assert!(!declined.to_string().contains("quokka"), "{declined}");
    assert_eq!(books.balance("ann"), "1.00");
    let asked = modern(&server, &ann, dear.clone());
    let bought = modern(&server, &ann, again(&asked, &dear, accept(ONCE)));
    assert!(text(&bought).contains("quokka"), "{bought}");
    assert_eq!(books.balance("ann"), "0.50");
    let cheap = modern(&server, &ann, json!({ "name": "cheap", "arguments": {} }));
    assert!(text(&cheap).contains("quokka"), "{cheap}");
    // Who wrote it pays nothing, and is not asked.
    let mira = shop.token_of("mira", "read,write,market");
    assert!(text(&modern(&server, &mira, dear)).contains("quokka"));
}
