//! The resources that tokens are for: the addresses of MCP that ask for one.

use url::Url;

use super::Site;
use crate::config::Anonymous;

/// What an agent asks for where it is not told otherwise.
pub const DEFAULT: &str = "/mcp";

/// The resource behind a path of this server.
pub fn of_path(base: &str, path: &str) -> String {
    let path = match path.trim_end_matches('/') {
        // The second address of the same transport.
        "/_system/messages" => "/_system/sse",
        path => path,
    };
    format!("{base}{path}")
}

/// Whether tokens are issued for a path. `/_system` is among them only where it asks everybody for
/// a token.
pub fn is_ours(site: &Site, path: &str) -> bool {
    let closed = site.hub.app.config.server.anonymous == Anonymous::Off;
    is_door(path.trim_end_matches('/'), closed)
}

fn is_door(path: &str, closed: bool) -> bool {
    let below = |start: &str| match path.strip_prefix(start) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('/').is_some_and(is_name),
        None => false,
    };
    below("/mcp")
        || closed
            && (below("/_system/mcp") || ["/_system/sse", "/_system/messages"].contains(&path))
}

/// One part of a path, with nothing in it that a header would have to quote.
fn is_name(part: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~%@!$&'()*+,;=:".contains(c);
    !part.is_empty() && part.len() <= 400 && part.chars().all(plain)
}

/// The resource that a request names with `resource`; `None` where it is not one of ours. What
/// follows a question mark narrows a connection and is no other resource.
pub fn named(site: &Site, base: &str, text: &str) -> Option<String> {
    let (ours, url) = (Url::parse(base).ok()?, Url::parse(text).ok()?);
    let is_here = url.origin() == ours.origin()
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    // A public address may end in a path.
    let path = url.path().strip_prefix(ours.path().trim_end_matches('/'))?;
    (is_here && is_ours(site, path)).then(|| of_path(base, path))
}

/// The address of a resource's metadata.
fn metadata(base: &str, path: &str) -> String {
    format!("{base}/.well-known/oauth-protected-resource{}", of_path("", path))
}

/// The challenge of a 401. `sent`: the request had a token, and it is not valid.
pub fn challenge(base: &str, path: &str, sent: bool) -> String {
    let error = if sent { "error=\"invalid_token\", " } else { "" };
    format!("Bearer {error}resource_metadata=\"{}\", scope=\"read write\"", metadata(base, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_are_resources() {
        for path in ["/mcp", "/mcp/mira", "/mcp/%D0%BC%D0%B8%D1%80%D0%B0", "/mcp/@mira"] {
            assert!(is_door(path, false), "{path}");
        }
        for path in ["", "/mcp2", "/mcp/a/b", "/mcp/a\"b", "/_system/mcp", "/_system/mcp/mira"] {
            assert!(!is_door(path, false), "{path}");
        }
        for path in ["/_system/mcp", "/_system/mcp/mira", "/_system/sse", "/_system/messages"] {
            assert!(is_door(path, true), "{path}");
        }
        assert_eq!(of_path("https://kb.example", "/mcp/"), "https://kb.example/mcp");
        assert_eq!(
            of_path("https://kb.example", "/_system/messages"),
            "https://kb.example/_system/sse"
        );
    }

    #[test]
    fn only_a_token_that_was_sent_is_called_invalid() {
        let text = challenge("https://kb.example", "/mcp/mira", false);
        assert_eq!(
            text,
            "Bearer resource_metadata=\"https://kb.example/.well-known/oauth-protected-resource/mcp/mira\", scope=\"read write\""
        );
        assert!(challenge("https://kb.example", "/mcp", true).contains("error=\"invalid_token\""));
    }
}
