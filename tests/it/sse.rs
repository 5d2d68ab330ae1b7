//! Memento's transport: HTTP+SSE of 2024-11-05, as n8n uses it.

use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
};

use serde_json::{Value, json};

use crate::support::{Home, Server};

/// A stream of events, and the address to post to.
pub struct Events {
    lines: BufReader<TcpStream>,
    pub endpoint: String,
    bearer: String,
}

impl Events {
    pub fn open(server: &Server, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let headers = [("Accept", "text/event-stream"), ("Authorization", bearer.as_str())];
        let stream = server.open("GET", "/_system/sse", &headers, b"");
        let mut events = Self { lines: BufReader::new(stream), endpoint: String::new(), bearer };
        let (name, data) = events.next();
        assert_eq!(name, "endpoint");
        events.endpoint = data;
        events
    }

    pub fn next(&mut self) -> (String, String) {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream ended");
            let line = line.trim_end();
            if let Some(value) = line.strip_prefix("event:") {
                name = value.trim().to_owned();
            } else if let Some(value) = line.strip_prefix("data:") {
                data = value.trim().to_owned();
            } else if line.is_empty() && !data.is_empty() {
                return (name, data);
            }
        }
    }

    pub fn ask(&mut self, server: &Server, id: i64, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let headers =
            [("Authorization", self.bearer.as_str()), ("Content-Type", "application/json")];
        let accepted = server.send("POST", &self.endpoint, &headers, body.to_string().as_bytes());
        assert_eq!(accepted.status, 202, "{}", accepted.body);
        loop {
            let (name, data) = self.next();
            assert_eq!(name, "message");
            let message: Value = serde_json::from_str(&data).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }
}

#[test]
fn a_client_of_2024_lists_and_calls() {
    let home = Home::new();
    home.note("a.md", "# A\n\nHello.\n");
    home.say(&["doctor"]);
    let owner = home.token("owner");
    let server = home.serve();
    let mut events = Events::open(&server, &owner);
    assert!(events.endpoint.starts_with("/_system/messages?sessionId="));
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "n8n", "version": "1" } });
    let answer = events.ask(&server, 1, "initialize", hello);
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    let tools = events.ask(&server, 2, "tools/list", json!({}));
    assert!(tools["result"]["tools"].as_array().unwrap().len() > 10);
    let note = events.ask(
        &server,
        3,
        "tools/call",
        json!({ "name": "note_html", "arguments": { "path": "a.md" } }),
    );
    assert!(note["result"]["content"][0]["text"].as_str().unwrap().contains("Hello"));
}

#[test]
fn a_stream_belongs_to_who_opened_it() {
    let home = Home::new();
    let owner = home.token("owner");
    let server = home.serve();
    let events = Events::open(&server, &owner);
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(server.send("POST", &events.endpoint, &[], ping).status, 404);
    assert_eq!(server.send("POST", "/_system/messages?sessionId=nope", &[], ping).status, 404);
    let bearer = format!("Bearer {owner}");
    let broken = server.send("POST", &events.endpoint, &[("Authorization", &bearer)], b"{oops");
    assert_eq!(broken.status, 400);
    assert_eq!(broken.json()["error"]["code"], -32700);
}
