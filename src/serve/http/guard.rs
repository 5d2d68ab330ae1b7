//! Host and Origin, checked before anything is routed: a page in somebody's browser must not reach
//! a server on their machine, neither directly nor through a name that it points at loopback.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::Response,
};

use super::{Site, refuse};
use crate::{config, domain::Error};

pub struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    port: u16,
}

impl Guard {
    pub fn new(config: &config::Server, address: SocketAddr) -> Self {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
        // An address that was named on purpose may be used by its number; 0.0.0.0 is no name.
        if !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        hosts.extend(config.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()));
        let mut origins = config.allowed_origins.clone();
        if let Ok(url) = url::Url::parse(&config.public_url) {
            hosts.extend(url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned()));
            origins.push(url.origin().ascii_serialization());
        }
        Self { hosts, origins, port: address.port() }
    }

    fn host_is_ours(&self, authority: &str) -> bool {
        let Some((host, _)) = split(authority) else { return false };
        self.hosts
            .iter()
            .any(|ours| ours.eq_ignore_ascii_case(&host) || ours.eq_ignore_ascii_case(authority))
    }

    /// No Origin (not a browser), our own loopback origin, or one that the config names.
    fn origin_is_ours(&self, origin: &str) -> bool {
        if self.origins.iter().any(|ours| ours.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Some(authority) =
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
        else {
            return false;
        };
        let Some((host, port)) = split(authority) else { return false };
        let loopback = host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        // Another port of this machine is another program's page.
        loopback && port == Some(self.port)
    }
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`.
fn split(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        Some(port) => Some(port.parse().ok()?),
        None => None,
    };
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}

fn authority<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    match headers.get(header::HOST) {
        Some(host) => host.to_str().ok(),
        None => uri.authority().map(http::uri::Authority::as_str),
    }
}

pub async fn check(State(site): State<Site>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = authority(headers, request.uri());
    if !host.is_some_and(|host| site.guard.host_is_ours(host)) {
        return refuse(
            StatusCode::FORBIDDEN,
            &Error::invalid_request(
                "Forbidden: this Host is not served here; add it to `allowed_hosts` in [server] if it should be",
            ),
        );
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        // A form of a page without a referrer has the Origin `null`, and the browser vouches for it.
        let vouched = headers.get("sec-fetch-site").is_some_and(|from| from == "same-origin");
        let ours = match origin.to_str() {
            Ok("null") => vouched,
            Ok(origin) => site.guard.origin_is_ours(origin),
            Err(_) => false,
        };
        if !ours {
            return refuse(
                StatusCode::FORBIDDEN,
                &Error::invalid_request(
                    "Forbidden: pages of this Origin may not call this server; add it to `allowed_origins` in [server] if they should",
                ),
            );
        }
    }
    closed(next.run(request).await)
}

/// The answer, for our own pages alone: no other site can show it as a picture, load it as a script
/// or guess what it is.
fn closed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_and_pages_pass() {
        let config = config::Server {
            public_url: "https://notes.example.org".into(),
            allowed_hosts: vec!["box.local".into()],
            ..Default::default()
        };
        let guard = Guard::new(&config, "127.0.0.1:7717".parse().unwrap());
        for host in
            ["localhost:7717", "127.0.0.1:1", "[::1]:7717", "box.local", "Notes.Example.org"]
        {
            assert!(guard.host_is_ours(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io:7717", "", "a:b:c"]
        {
            assert!(!guard.host_is_ours(host), "{host}");
        }
        for origin in
            ["http://localhost:7717", "http://127.0.0.1:7717", "https://notes.example.org"]
        {
            assert!(guard.origin_is_ours(origin), "{origin}");
        }
        for origin in [
            "null",
            "http://evil.example",
            "http://localhost:3000",
            "http://localhost",
            "http://localhost:7717.evil.example",
            "file://",
        ] {
            assert!(!guard.origin_is_ours(origin), "{origin}");
        }
    }
}
