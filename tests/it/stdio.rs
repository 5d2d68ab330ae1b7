//! MCP over stdin and stdout.

use serde_json::{Value, json};

use crate::support::{Home, PATIENCE};

#[test]
fn every_revision_shakes_hands() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Home::new().stdio();
        let answer = client.ask(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "notewell");
        assert_eq!(
            answer["result"]["capabilities"]["prompts"],
            json!({ "listChanged": true, "mutable": true })
        );
    }
}

#[test]
fn the_stateless_era_discovers_and_calls_without_a_handshake() {
    let home = Home::new();
    home.note("tea.md", "# Tea\n\nGreen tea.\n");
    let mut client = home.stdio();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let found = client.ask("server/discover", json!({ "_meta": meta }));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.len() == 5, "{found}");
    assert_eq!(found["result"]["capabilities"]["prompts"]["mutable"], true);
    let tools = client.ask("tools/list", json!({ "_meta": meta }));
    assert_eq!(tools["result"]["resultType"], "complete", "{tools}");
    assert!(tools["result"]["ttlMs"].is_number());
}

/// hexai's example, byte for byte: its `Content-Length` is wrong, and stdin ends after it.
#[test]
fn a_wrong_content_length_is_read_past() {
    let home = Home::new();
    let mut client = home.stdio();
    client.write(
        b"Content-Length: 300\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"prompts/create\",\"params\":{\"name\":\"test\",\"title\":\"Test\",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Test\"}}]}}\n",
    );
    let (rest, ok) = client.finish();
    assert!(ok);
    assert!(rest[0].starts_with("Content-Length: "), "{rest:?}");
    let length: usize = rest[0]["Content-Length: ".len()..].trim().parse().unwrap();
    let body = rest.last().unwrap();
    assert_eq!(body.len(), length);
    let answer: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": 2, "result": { "success": true, "message": "Created prompt: test" } })
    );
}

#[test]
fn each_answer_uses_the_framing_of_its_request() {
    let mut client = Home::new().stdio();
    client.initialize();
    let body = r#"{"jsonrpc":"2.0","id":"framed","method":"ping"}"#;
    client.write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    assert!(client.line().starts_with("Content-Length: "));
    assert_eq!(client.line(), "");
    // A framed body has no newline of its own: the next answer's line completes it.
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"line\",\"method\":\"ping\"}\n");
    let line = client.line();
    let (framed, plain) = line.split_once("}{").expect("two answers on one line");
    assert!(framed.contains("\"framed\"") && plain.contains("\"line\""), "{line}");
}

#[test]
fn a_batch_is_answered_as_one() {
    let mut client = Home::new().stdio();
    client.initialize();
    client.write(
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},{\"id\":5},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}]\n",
    );
    let answers = client.read();
    let mut ids: Vec<String> =
        answers.as_array().unwrap().iter().map(|answer| answer["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "5"]);
}

#[test]
fn a_batch_with_repeated_ids_is_answered() {
    let mut client = Home::new().stdio();
    client.initialize();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    client.write(format!("[{ping},{list},{ping}]\n").as_bytes());
    let answers = client.read();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["result"]["tools"].is_array()).count(), 1);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn what_was_accepted_is_answered_when_stdin_ends() {
    let mut client = Home::new().stdio();
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    let (rest, ok) = client.finish();
    assert!(ok);
    assert_eq!(rest.len(), 2, "{rest:?}");
}

#[test]
fn changed_prompts_are_announced_whoever_changed_them() {
    let home = Home::new();
    let mut client = home.stdio();
    client.initialize();
    // Another process.
    home.say(&[
        "call",
        "create_prompt",
        r#"{"name":"other","title":"Other","messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#,
    ]);
    let notice = client.read();
    assert_eq!(notice["method"], "notifications/prompts/list_changed", "{notice}");
}

#[test]
fn a_page_that_becomes_a_method_is_announced() {
    let home = Home::new();
    home.note("first.md", "# First\n\nmarmalade\n");
    let mut client = home.stdio();
    client.initialize();
    crate::support::until("the first look at the vault", || {
        let found = client.call("search", json!({ "query": "marmalade" }));
        found["structuredContent"]["totalMatches"] == 1
    });
    home.note(
        "review.md",
        "---\nmcp_method: review-it\nmcp_description: Review\n---\nRead {{code}}.\n",
    );
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        assert!(std::time::Instant::now() < end);
        if client.read()["method"] == "notifications/tools/list_changed" {
            break;
        }
    }
    let tools = client.ask("tools/list", json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"review-it"), "{names:?}");
    let answer = client.call("review-it", json!({ "code": "fn main() {}" }));
    assert_eq!(answer["content"][0]["text"], "Read fn main() {}.");
    assert_eq!(client.refused("review-it", json!({}))["code"], -32602);
}

#[test]
fn two_processes_share_one_library() {
    let home = Home::new();
    home.note("a.md", "# A\n\nfirst\n");
    let (mut one, mut two) = (home.stdio(), home.stdio());
    for client in [&mut one, &mut two] {
        client.initialize();
        crate::support::until("the note is there", || {
            let answer = client
                .ask("tools/call", json!({ "name": "note_html", "arguments": { "path": "a.md" } }));
            answer["result"]["content"][0]["text"]
                .as_str()
                .is_some_and(|text| text.contains("first"))
        });
    }
}
