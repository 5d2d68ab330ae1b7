//! Views of results for hosts that speak MCP Apps: which tools have one, what it is, and that nobody
//! else sees a trace of it.

use serde_json::{Value, json};

use crate::support::{Client, Home};

const UI: &str = "io.modelcontextprotocol/ui";
const MIME: &str = "text/html;profile=mcp-app";

fn greet(client: &mut Client, version: &str, extensions: Value) {
    let capabilities = json!({ "extensions": extensions });
    let hello = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": { "name": "host", "version": "1" } });
    let answer = client.ask("initialize", hello);
    assert!(answer.get("result").is_some(), "{answer}");
}

fn tools(client: &mut Client) -> Vec<Value> {
    let listed = client.ask("tools/list", json!({}));
    listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).clone()
}

#[test]
fn a_host_reads_the_view_of_a_tool() {
    let home = Home::new();
    let mut host = home.stdio();
    greet(&mut host, "2025-11-25", json!({ UI: { "mimeTypes": [MIME] } }));
    let mut with_view = Vec::new();
    for tool in tools(&mut host) {
        let uri = &tool["_meta"]["ui"]["resourceUri"];
        assert_eq!(*uri, tool["_meta"]["ui/resourceUri"], "{tool}");
        let Some(uri) = uri.as_str() else { continue };
        let read = host.ask("resources/read", json!({ "uri": uri }));
        let content = &read["result"]["contents"][0];
        assert_eq!((&content["mimeType"], &content["uri"]), (&json!(MIME), &json!(uri)), "{read}");
        let meta = &content["_meta"]["ui"];
        assert_eq!(meta["csp"], json!({ "connectDomains": [], "resourceDomains": [] }), "{meta}");
        assert_eq!(meta["prefersBorder"], true);
        let html = content["text"].as_str().unwrap();
        assert!(html.starts_with("<!doctype html>") && html.contains("script-src 'sha256-"));
        assert!(!html.contains("http://") || !html.contains("src=\"http"), "it fetches nothing");
        with_view.push(tool["name"].as_str().unwrap().to_owned());
    }
    with_view.sort_unstable();
    assert_eq!(with_view, ["edit_page", "oss_report", "search", "similar", "trends"]);
    let listed = host.ask("resources/list", json!({}));
    assert!(!listed.to_string().contains("ui://"), "found through its tool: {listed}");
    let missing = host.ask("resources/read", json!({ "uri": "ui://notewell/other.html" }));
    assert!(missing.get("error").is_some(), "{missing}");
}

#[test]
fn who_shows_no_views_is_not_told_of_them() {
    let home = Home::new();
    for extensions in [json!({}), json!({ UI: { "mimeTypes": ["text/uri-list"] } })] {
        let mut client = home.stdio();
        greet(&mut client, "2025-11-25", extensions);
        assert!(!json!(tools(&mut client)).to_string().contains("ui://"));
        let trends = client.call("trends", json!({}));
        assert_eq!(trends.get("_meta"), None, "{trends}");
    }
    // A modern client declares with each request.
    let mut client = home.stdio();
    let meta = |extensions: Value| {
        json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "host", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": extensions },
        } })
    };
    let with = client.ask("tools/list", meta(json!({ UI: { "mimeTypes": [MIME] } })));
    assert!(with.to_string().contains("ui://notewell/search.html"), "{with}");
    let without = client.ask("tools/list", meta(json!({})));
    assert!(!without.to_string().contains("ui://"), "{without}");
}

#[test]
fn trends_carry_their_plots_for_the_view_only() {
    let home = Home::new();
    let mut host = home.stdio();
    greet(&mut host, "2025-11-25", json!({ UI: { "mimeTypes": [MIME] } }));
    for (n, text) in ["Rust search", "Поиск на Rust", "Rustの検索"].iter().enumerate() {
        host.call(
            "add_bookmark",
            json!({ "url": format!("https://example.org/{n}"), "title": text, "text": text,
                "author": "<b>mira</b>", "tags": ["rust"] }),
        );
    }
    let trends = host.call("trends", json!({}));
    let plots = &trends["_meta"]["notewell/plots"];
    let authors = plots["Authors"].as_str().unwrap_or_else(|| panic!("{trends}"));
    assert!(authors.starts_with("<svg") && authors.contains("&lt;b&gt;mira"), "{authors}");
    assert!(!trends["content"].to_string().contains("<svg"), "the model reads no drawing");
    assert!(!trends["structuredContent"].to_string().contains("<svg"));
}
