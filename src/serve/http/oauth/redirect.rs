//! Where a client may have its user sent back to.

use url::{Host, Url};

/// The longest address of a client.
const MAX_LENGTH: usize = 2000;

/// Schemes that programs registered for themselves without a dot in the name.
const KNOWN_SCHEMES: &[&str] = &[
    "claude",
    "codex",
    "cursor",
    "goose",
    "raycast",
    "vscode",
    "vscode-insiders",
    "vscodium",
    "warp",
    "windsurf",
    "zed",
];

/// Why a client may not register an address; `None` where it may.
pub fn problem(text: &str) -> Option<&'static str> {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\' || c == '"' || c == '<';
    if text.is_empty() || text.len() > MAX_LENGTH || !text.is_ascii() || text.contains(is_odd) {
        return Some("is not an address that can be redirected to");
    }
    let Ok(url) = Url::parse(text) else { return Some("is not an absolute address") };
    if url.fragment().is_some() || text.contains('#') {
        return Some("has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("carries a user name or a password");
    }
    match url.scheme() {
        "https" if url.host().is_some() => None,
        "http" if is_loopback(&url) => None,
        "http" => {
            Some("is not https; http is for this machine alone, such as http://127.0.0.1/callback")
        }
        scheme if KNOWN_SCHEMES.contains(&scheme) || is_private_use(scheme) => None,
        _ => Some(
            "has a scheme that no client may register; use https, or a scheme of your own with a dot in it",
        ),
    }
}

/// `com.example.app`: a name that its owner has a domain for.
fn is_private_use(scheme: &str) -> bool {
    scheme.contains('.') && !scheme.starts_with('.') && !scheme.ends_with('.')
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether an address is the one that was registered: to the letter, but on this machine with any
/// port, because a program takes the one that is free.
pub fn matches(registered: &str, given: &str) -> bool {
    if registered == given {
        return true;
    }
    let (Ok(own), Ok(other)) = (Url::parse(registered), Url::parse(given)) else { return false };
    let is_local = |url: &Url| url.scheme() == "http" && is_loopback(url);
    is_local(&own)
        && is_local(&other)
        && problem(given).is_none()
        && without_port(registered) == without_port(given)
}

/// What stands before and behind the port of an address, if it has one.
fn without_port(address: &str) -> (&str, &str) {
    let start = address.find("://").map_or(0, |at| at + 3);
    let host = &address[start..];
    let end = start + host.find(['/', '?']).unwrap_or(host.len());
    let (head, rest) = address.split_at(end);
    match head.rsplit_once(':') {
        Some((head, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (head, rest),
        _ => (head, rest),
    }
}

/// What people know the place by: its host, or the scheme of a program.
pub fn place(uri: &str) -> String {
    match Url::parse(uri) {
        Ok(url) if url.scheme() == "http" && is_loopback(&url) => {
            "a program on this computer".into()
        }
        Ok(url) if url.scheme() == "https" => url.host_str().unwrap_or_default().to_owned(),
        Ok(url) => format!("the program behind {}:", url.scheme()),
        Err(_) => uri.to_owned(),
    }
}

/// The sources that a page's policy names to let a form end there. Browsers hold every redirect of
/// a form against them: a site may hand the answer on to a program of the user's, or to another name
/// of its own.
pub fn policy_sources(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok()?;
    Some(match (url.scheme(), url.host()) {
        // A policy cannot name an IPv6 address.
        ("http", Some(Host::Ipv6(_))) => "http:".to_owned(),
        ("http", _) => url.origin().ascii_serialization(),
        ("https", _) => {
            let programs: Vec<String> =
                KNOWN_SCHEMES.iter().map(|scheme| format!("{scheme}:")).collect();
            let origin = url.origin().ascii_serialization();
            format!("{origin} https: http://localhost:* http://127.0.0.1:* {}", programs.join(" "))
        }
        (scheme, _) => format!("{scheme}:"),
    })
}

/// The address with these parameters added to its query.
pub fn with_query(uri: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    let separator = match uri.contains('?') {
        true if uri.ends_with(['?', '&']) => "",
        true => "&",
        false => "?",
    };
    format!("{uri}{separator}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_a_client_may_register() {
        for good in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://app.example/cb?x=1",
            "http://127.0.0.1/callback",
            "http://localhost:8787/callback",
            "http://[::1]:9/cb",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/oauth",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "",
            "callback",
            "/callback",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,<script>1</script>",
            "file:///etc/passwd",
            "blob:https://a.example/1",
            "vbscript:x",
            "ftp://a.example/",
            "http://evil.example/callback",
            "http://127.0.0.1.evil.example/cb",
            "http://localhost.evil.example/cb",
            "https://a.example/cb#part",
            "https://user@a.example/cb",
            "https://a.example/c b",
            "https://a.example\\@evil.example/",
            "java\nscript:alert(1)",
            "about:blank",
            "chrome://settings",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn only_the_port_of_this_machine_is_free() {
        for (own, given) in [
            ("http://localhost/callback", "http://localhost:53123/callback"),
            ("http://127.0.0.1:33418/", "http://127.0.0.1:4000/"),
            ("http://[::1]/cb", "http://[::1]:1/cb"),
            ("http://[::1]:8/cb?a=b:1", "http://[::1]/cb?a=b:1"),
            ("https://a.example/cb", "https://a.example/cb"),
        ] {
            assert!(matches(own, given), "{own} {given}");
        }
        for (own, given) in [
            ("http://localhost/callback", "http://127.0.0.1:5/callback"),
            ("http://localhost/callback", "http://localhost:5/other"),
            ("http://localhost/callback", "http://localhost:5/callback?x=1"),
            ("http://localhost/callback", "http://localhost:5/callback#x"),
            ("http://localhost/callback", "https://localhost:5/callback"),
            // The same place in another spelling.
            ("http://localhost/callback", "hTtp://localhost:5/callback"),
            ("http://127.0.0.1/callback", "http://127.1:5/callback"),
            ("http://127.0.0.1/callback", "http://127.0.0.1:5/./callback"),
            ("http://[::1]/cb", "http://[0::1]:1/cb"),
            ("http://localhost/callback", "http://user@localhost:5/callback"),
            ("https://a.example/cb", "https://a.example:444/cb"),
            ("https://a.example/cb", "https://a.example/cb/"),
            ("https://a.example/cb", "https://a.example/cb?x=1"),
            ("https://a.example/cb", "https://A.example/cb"),
        ] {
            assert!(!matches(own, given), "{own} {given}");
        }
    }

    #[test]
    fn a_policy_names_where_a_form_may_end() {
        let hosted = policy_sources("https://vscode.dev/redirect").unwrap();
        assert!(hosted.starts_with("https://vscode.dev https: ") && hosted.contains(" vscode: "));
        assert_eq!(policy_sources("http://localhost:5/cb").as_deref(), Some("http://localhost:5"));
        assert_eq!(policy_sources("http://[::1]:5/cb").as_deref(), Some("http:"));
        assert_eq!(policy_sources("cursor://x/y").as_deref(), Some("cursor:"));
        assert_eq!(
            with_query("https://a.example/?x=1", &[("a", "b c")]),
            "https://a.example/?x=1&a=b+c"
        );
        assert_eq!(with_query("cursor://x/y", &[("a", "б")]), "cursor://x/y?a=%D0%B1");
    }
}
