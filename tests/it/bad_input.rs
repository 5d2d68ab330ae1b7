//! Bad input gets a clear error, and the process goes on.

use std::io::Write;

use serde_json::json;

use crate::support::{Home, until};

#[test]
fn stdio_answers_and_survives() {
    let mut client = Home::new().stdio();
    client.initialize();
    for (line, code) in [
        ("{broken", -32700),
        ("\u{1}\u{2}", -32700),
        ("\"just text\"", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}", -32600),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", -32601),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":5}}",
            -32602,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[1]}", -32602),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"!\"}}",
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"no_such\"}}",
            -32601,
        ),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let answer = client.read();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.len() > 8), "{answer}");
    }
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn arguments_are_named_in_the_complaint() {
    let mut client = Home::new().stdio();
    client.initialize();
    for (arguments, message) in [
        (json!({}), "Invalid params: query is required"),
        (json!({ "query": 5 }), "Invalid params: query must be a string, not `5`"),
        (
            json!({ "query": "a", "limit": "ten" }),
            "Invalid params: limit must be an integer, not a string",
        ),
    ] {
        assert_eq!(client.refused("search", arguments)["message"], message);
    }
    let unknown = client.refused("search", json!({ "query": "a", "qeury": "b" }));
    assert_eq!(unknown["code"], -32602);
    assert!(
        unknown["message"]
            .as_str()
            .unwrap()
            .starts_with("Invalid params: unknown argument `qeury`; this tool takes `query`"),
        "{unknown}"
    );
}

#[test]
fn a_message_without_end_is_refused_by_its_size() {
    let mut client = Home::new().stdio();
    client.initialize();
    let megabyte = vec![b'x'; 1 << 20];
    for _ in 0..17 {
        client.write(&megabyte);
    }
    client.write(b"\n");
    let answer = client.read();
    assert!(answer["error"]["message"].as_str().unwrap().contains("limits.body_bytes"), "{answer}");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn stdin_that_ends_inside_a_message() {
    let mut client = Home::new().stdio();
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    let (rest, ok) = client.finish();
    assert!(ok, "the process ended badly");
    assert!(rest[0].contains("-32700"), "{rest:?}");
}

#[test]
fn http_answers_and_survives() {
    let server = Home::new().serve();
    for (body, status, code) in [
        ("{broken", 400, -32700),
        ("", 400, -32700),
        ("[]", 400, -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", 200, -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", 200, -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}", 200, -32602),
    ] {
        let answer = server.post(body);
        assert_eq!(answer.status, status, "{body}");
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
    }
    assert_eq!(server.get("/healthz", &[]).status, 200);
}

#[test]
fn a_hundred_megabytes_are_refused() {
    let server = Home::new().serve();
    let body = vec![b' '; 100 << 20];
    let mut stream = server.open("POST", "/_system/mcp", &[], &[]);
    drop(stream.flush());
    let answer = server.send("POST", "/_system/mcp", &[], &body);
    assert_eq!(answer.status, 413, "{}", answer.body);
    assert!(answer.body.contains("limits.body_bytes"));
    assert_eq!(server.get("/healthz", &[]).status, 200);
}

#[test]
fn a_batch_of_ten_thousand_is_refused() {
    let server = Home::new().serve();
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let batch = format!("[{}]", vec![one; 10_000].join(","));
    let answer = server.post(&batch);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("limits.batch"), "{}", answer.body);
}

#[test]
fn strange_origins_and_hosts_are_turned_away() {
    let server = Home::new().serve();
    let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let own = format!("http://{}", server.address);
    for (name, value, status) in [
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:1", 403),
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1.evil.example", 403),
        ("Origin", own.as_str(), 200),
    ] {
        for path in ["/_system/mcp", "/_system/messages?sessionId=a"] {
            let answer = server.send("POST", path, &[(name, value)], list);
            let expected = if path == "/_system/mcp" || status == 403 { status } else { 404 };
            assert_eq!(answer.status, expected, "{name}: {value} at {path}");
        }
        let answer = server.get("/healthz", &[(name, value)]);
        assert_eq!(answer.status, status, "{name}: {value} at /healthz");
    }
}

#[test]
fn a_client_that_goes_away_mid_call_harms_nobody() {
    let home = Home::new();
    for number in 0..50 {
        home.note(&format!("n{number}.md"), "# Note\n\nSome words to find.\n");
    }
    let server = home.serve();
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"words"}}}"#;
    for _ in 0..20 {
        drop(server.open("POST", "/_system/mcp", &[], call));
    }
    until("the server answers", || server.get("/readyz", &[]).status == 200);
    assert!(server.post(std::str::from_utf8(call).unwrap()).json()["result"].is_object());
}
