//! How to connect each client, ready to copy.

use askama::Template;
use axum::response::Response;
use serde_json::json;

use super::super::{Audience, Html, Shell, Visit};
use crate::domain::Result;

#[derive(Template)]
#[template(path = "connect.html")]
struct ConnectPage {
    shell: Shell,
    endpoint: String,
    /// Whether people can sign in, which clients with OAuth need.
    can_sign_in: bool,
    /// Whether the address is on this machine, where hosted clients cannot reach it.
    is_local: bool,
    clients: Vec<Client>,
}

struct Client {
    id: &'static str,
    name: &'static str,
    /// What to do with the text.
    how: String,
    text: String,
}

/// `GET /connect`.
pub async fn show(visit: Visit) -> Response {
    visit.run(page).await
}

fn page(visit: &Visit) -> Result<Html> {
    let can_sign_in = visit.app().has_owner()?;
    let base = &visit.base;
    let door = if can_sign_in { "/mcp" } else { "/_system/mcp" };
    let endpoint = format!("{base}{door}");
    let host = url::Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
    let is_local = host.is_some_and(|host| {
        host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    });
    let page = ConnectPage {
        shell: visit.shell(),
        clients: clients(&endpoint, base, can_sign_in),
        endpoint,
        can_sign_in,
        is_local,
    };
    Html::of(&page, Audience::Caller)
}

fn clients(endpoint: &str, base: &str, can_sign_in: bool) -> Vec<Client> {
    let (header, headers) = match can_sign_in {
        true => ("", json!({})),
        false => (
            " --header \"Authorization: Bearer TOKEN\"",
            json!({ "Authorization": "Bearer TOKEN" }),
        ),
    };
    let server = |kind: Option<&str>| {
        let mut server = serde_json::Map::new();
        server.extend(kind.map(|kind| ("type".to_owned(), kind.into())));
        server.insert("url".to_owned(), endpoint.into());
        if !can_sign_in {
            server.insert("headers".to_owned(), headers.clone());
        }
        serde_json::Value::Object(server)
    };
    let pretty =
        |value: serde_json::Value| serde_json::to_string_pretty(&value).unwrap_or_default();
    let then = match can_sign_in {
        true => "It opens this site to sign in and asks what the client may do.",
        false => "Put a token of yours in the place of TOKEN.",
    };
    let client =
        |id, name, how: &str, text| Client { id, name, how: format!("{how} {then}"), text };
    vec![
        client(
            "claude-code",
            "Claude Code",
            "Run this in a terminal, then /mcp in Claude Code.",
            format!("claude mcp add --transport http notewell {endpoint}{header}"),
        ),
        client(
            "claude",
            "Claude (web and desktop)",
            "Settings, Connectors, Add custom connector: paste this address.",
            endpoint.to_owned(),
        ),
        client(
            "chatgpt",
            "ChatGPT",
            "Settings, Apps & Connectors, Create: paste this address.",
            endpoint.to_owned(),
        ),
        client(
            "cursor",
            "Cursor",
            "Put this into ~/.cursor/mcp.json.",
            pretty(json!({ "mcpServers": { "notewell": server(None) } })),
        ),
        client(
            "vscode",
            "VS Code",
            "Put this into .vscode/mcp.json of a folder.",
            pretty(json!({ "servers": { "notewell": server(Some("http")) } })),
        ),
        client(
            "codex",
            "Codex",
            "Run this in a terminal.",
            format!("codex mcp add notewell --url {endpoint}"),
        ),
        Client {
            id: "n8n",
            name: "n8n",
            how: "MCP Client Tool node: this SSE endpoint, Bearer Auth, and a token of yours."
                .into(),
            text: format!("{base}/_system/sse"),
        },
    ]
}
