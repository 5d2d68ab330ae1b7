//! MCP over HTTP: bare, streamable, and who may see what.

use std::{
    io::{Read, Write},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Home, PATIENCE, until};

fn library() -> Home {
    let home = Home::new();
    home.note("free.md", "---\nfree: true\n---\n# Free\n\nEverybody reads this.\n")
        .note("secret.md", "# Secret\n\nOnly mine.\n")
        .note("method.md", "---\nfree: true\nmcp_method: code-review\nmcp_description: \"Детальный code review\"\n---\n\nКонтент заметки.\n")
        .note("hidden-method.md", "---\nmcp_method: mine-only\n---\nMine.\n");
    // Everything is read before anybody asks.
    home.say(&["doctor"]);
    home
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// trip2g: a plain `curl -d` with no handshake.
#[test]
fn tools_are_listed_without_a_handshake() {
    let home = library();
    let server = home.serve();
    let answer =
        server.post("{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"tools/list\",\n  \"id\": 1\n}");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/json");
    let answer = answer.json();
    let names = names(&answer);
    for expected in ["search", "similar", "note_html", "code-review"] {
        assert!(names.contains(&expected.to_owned()), "{names:?}");
    }
    // Anonymous: no cards, no prompts, nobody's private method.
    for hidden in ["create_note", "create_prompt", "mine-only"] {
        assert!(!names.contains(&hidden.to_owned()), "{names:?}");
    }
    let method = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"code-review","arguments":{}},"id":3}"#;
    let answer = server.post(method).json();
    assert_eq!(
        answer["result"]["content"],
        json!([{ "type": "text", "text": "Контент заметки." }])
    );
    let unknown = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"no-such","arguments":{}},"id":4}"#;
    assert_eq!(server.post(unknown).json()["error"]["code"], -32601);
    let hidden = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"mine-only","arguments":{}},"id":5}"#;
    let hidden = server.post(hidden).json();
    assert_eq!(hidden["error"]["code"], -32601, "{hidden}");
}

#[test]
fn who_may_read_what() {
    let home = library();
    let (owner, reader) = (home.token("owner"), home.token("reader"));
    let server = home.serve();
    let read = |path: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "note_html", "arguments": { "path": path } } })
        .to_string()
    };
    assert!(server.post(&read("free.md")).body.contains("Everybody reads this"));
    let missing = server.post(&read("no-such.md")).json()["error"]["message"].to_string();
    let secret = server.post(&read("secret.md")).json()["error"]["message"].to_string();
    // What one may not see answers as what is not there.
    assert_eq!(missing.replace("no-such", "secret"), secret);
    assert!(server.post_as(&reader, &read("secret.md")).json()["error"].is_object());
    assert!(server.post_as(&owner, &read("secret.md")).body.contains("Only mine"));
    let api_key =
        server.send("POST", "/_system/mcp", &[("X-API-Key", &owner)], read("secret.md").as_bytes());
    assert!(api_key.body.contains("Only mine"));
    let resources = |answer: Value| {
        let all = answer["result"]["resources"].as_array().unwrap().clone();
        all.iter().filter(|one| one["uri"].as_str().unwrap().starts_with("notewell:")).count()
    };
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#;
    assert_eq!(resources(server.post(list).json()), 2);
    assert_eq!(resources(server.post_as(&owner, list).json()), 4);
}

#[test]
fn a_wrong_token_is_never_anonymous() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (name, value) in [
        ("Authorization", "Bearer nw_wrong"),
        ("Authorization", "Basic dGVzdDp0ZXN0"),
        ("Authorization", "nonsense"),
        ("X-API-Key", "nw_wrong"),
    ] {
        let answer = server.send("POST", "/_system/mcp", &[(name, value)], list.as_bytes());
        assert_eq!(answer.status, 401, "{name}: {value}");
        assert!(answer.headers.contains_key("www-authenticate"));
    }
    assert_eq!(server.post_as(&owner, list).status, 200);
    assert!(home.say(&["token", "revoke", "1"]).contains("revoked"));
    assert_eq!(server.post_as(&owner, list).status, 401);
}

#[test]
fn toolsets_narrow_a_connection() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let bearer = format!("Bearer {owner}");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let ask =
        |path: &str| server.send("POST", path, &[("Authorization", &bearer)], list.as_bytes());
    let narrow = names(&ask("/_system/mcp?toolsets=cards").json());
    assert!(narrow.contains(&"create_note".to_owned()));
    assert!(!narrow.iter().any(|name| name == "search" || name == "code-review"), "{narrow:?}");
    let wrong = ask("/_system/mcp?toolsets=kitchen");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("vault, cards, bookmarks, prompts, market"), "{}", wrong.body);
}

#[test]
fn batches_are_answered_in_order() {
    let server = library().serve();
    let answer = server
        .post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"nope"}]"#)
        .json();
    assert_eq!(answer[0]["id"], 1);
    assert_eq!(answer[1]["id"], "b");
    assert_eq!(answer[1]["error"]["code"], -32601);
    assert_eq!(answer.as_array().unwrap().len(), 2);
}

#[test]
fn a_session_over_streamable_http() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let bearer = format!("Bearer {owner}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let answer = server.send("POST", "/_system/mcp", &headers, hello.to_string().as_bytes());
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("\"mutable\":true"), "{}", answer.body);
    let session = answer.headers["mcp-session-id"].clone();
    let mut inside = headers.to_vec();
    inside.push(("Mcp-Session-Id", &session));
    inside.push(("MCP-Protocol-Version", "2025-06-18"));
    let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(server.send("POST", "/_system/mcp", &inside, ready).status, 202);
    let read = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "note_html", "arguments": { "path": "secret.md" } } });
    let answer = server.send("POST", "/_system/mcp", &inside, read.to_string().as_bytes());
    assert!(answer.body.contains("Only mine"), "{}", answer.body);
    // The session alone does not make one the owner.
    let mut stolen = inside.clone();
    stolen.remove(0);
    let answer = server.send("POST", "/_system/mcp", &stolen, read.to_string().as_bytes());
    assert!(!answer.body.contains("Only mine"), "{}", answer.body);
    assert!(server.send("DELETE", "/_system/mcp", &inside, b"").status < 300);
}

#[test]
fn health_metrics_and_help() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    assert_eq!(server.get("/healthz", &[]).body, "ok\n");
    assert_eq!(server.get("/readyz", &[]).body, "ready\n");
    assert_eq!(server.get("/metrics", &[]).status, 401);
    server.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_html","arguments":{"path":"free.md"}}}"#);
    let bearer = format!("Bearer {owner}");
    let metrics = server.get("/metrics", &[("Authorization", &bearer)]).body;
    assert!(
        metrics.contains(
            "notewell_tool_calls_total{tool=\"note_html\",caller=\"anonymous\",outcome=\"ok\"} 1"
        ),
        "{metrics}"
    );
    let help = server.get("/_system/mcp", &[("Accept", "text/html,*/*")]);
    assert!(help.body.contains("Notewell speaks MCP"));
    assert!(help.headers["content-security-policy"].contains("default-src 'none'"));
    assert_eq!(server.get("/nothing", &[]).status, 404);
}

#[test]
fn the_address_of_a_note_opens_in_a_browser() {
    let home = library();
    let owner = home.token("owner");
    let server = home.serve();
    let free = server.get("/free.md", &[]);
    assert_eq!(free.status, 200);
    assert!(free.body.contains("Everybody reads this."), "{}", free.body);
    assert!(free.headers["content-security-policy"].contains("default-src 'none'"));
    assert_eq!(server.get("/secret.md", &[]).status, 404);
    assert_eq!(server.get("/../../etc/passwd", &[]).status, 404);
    let bearer = format!("Bearer {owner}");
    assert!(server.get("/secret", &[("Authorization", &bearer)]).body.contains("Only mine."));
}

#[test]
fn a_shutdown_finishes_what_was_accepted() {
    let home = library();
    let mut server = home.serve();
    let id = server.child.id();
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let (first, rest) = request.split_at(20);
    let mut waiting = std::net::TcpStream::connect(&server.address).unwrap();
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /_system/mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        server.address,
        request.len()
    );
    waiting.write_all(head.as_bytes()).unwrap();
    waiting.write_all(first).unwrap();
    // Accepted and half read when the signal comes.
    std::thread::sleep(Duration::from_millis(700));
    std::process::Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    waiting.write_all(rest).unwrap();
    let mut body = String::new();
    waiting.read_to_string(&mut body).unwrap();
    assert!(body.contains("\"tools\""), "{body}");
    until("the server ends", || server.child.try_wait().unwrap().is_some());
    assert!(server.child.wait().unwrap().success());
}
