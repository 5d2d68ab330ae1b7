//! Reaching the server: address, name, connection, and a stream that flows.

use std::{
    net::{IpAddr, ToSocketAddrs},
    time::Duration,
};

use url::{Host, Url};

use super::{Checked, Finding, Site};
use crate::post::{probe::Fault, public::is_public};

/// The door that asks for a token.
const DOOR: &str = "/mcp";
/// The first event is sent at once.
const STREAM_TIME: Duration = Duration::from_secs(4);

/// The address as a client takes it.
pub(super) fn address(text: &str) -> Checked<Url> {
    let text = text.trim();
    let wrong = |why: &str| {
        Finding::wrong(
            format!("`{text}` is not an address of a server: {why}"),
            "write it as people type it into a client, such as `https://notes.example.org/mcp`",
        )
    };
    let mut url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("it does not begin with `https://`"));
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        return Err(wrong("a name, a query or a fragment is not part of it"));
    }
    if url.scheme() == "http" && !is_here(&url) {
        return Err(Finding::wrong(
            format!("`{text}` is not encrypted, and clients refuse to log in over it"),
            "put a proxy with TLS in front (docs/connect.md shows four), and type `https://`",
        ));
    }
    if url.path() == "/" {
        url.set_path(DOOR);
        let text = format!("clients are given `{url}`");
        return Ok((url, text));
    }
    let text = url.to_string();
    Ok((url, text))
}

/// Whether the address names this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The addresses that the name leads to.
pub(super) fn resolve(url: &Url) -> Checked<Vec<IpAddr>> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(443);
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let unknown = |why: String| {
        Finding::wrong(
            format!("the name `{host}` leads nowhere: {why}"),
            "check the spelling, and that the DNS has an A record for it; a new one may take an hour",
        )
    };
    let found = (name, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    addresses.dedup();
    if addresses.is_empty() {
        return Err(unknown("it has no address".to_owned()));
    }
    let listed: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    Ok((addresses, format!("`{host}` is {}", listed.join(", "))))
}

/// What hosted clients would stumble over, which a client on this machine does not.
pub(super) fn doubt(url: &Url, addresses: &[IpAddr]) -> Option<Finding> {
    if is_here(url) {
        return Some(Finding::note(
            "this address leads to this machine: only clients that run here can use it",
            "for claude.ai and ChatGPT give the server a public name (docs/connect.md)",
        ));
    }
    let host = url.host_str().unwrap_or_default();
    if !addresses.iter().any(IpAddr::is_ipv4) {
        return Some(Finding::wrong(
            format!("`{host}` has only IPv6 addresses, and claude.ai reaches servers over IPv4"),
            "add an A record, or use Tailscale Funnel or cloudflared, which have one",
        ));
    }
    if let Some(private) = addresses.iter().find(|address| !is_public(**address)) {
        return Some(Finding::note(
            format!("`{host}` leads to the private address `{private}`"),
            "clients in this network can use it; claude.ai and ChatGPT need a public address",
        ));
    }
    None
}

/// Whether anything answers, and over which TLS.
pub(super) fn connect(site: &Site) -> Checked<()> {
    let url = format!("{}/healthz", site.origin);
    let answer = site.get(&url, "*/*")?;
    let is_ours = answer.status == 200;
    match is_ours {
        true => Ok(((), format!("`{}` answers", site.origin))),
        false => Err(site.unexpected(&url, &answer, "200")),
    }
}

/// Whether a stream of events arrives while it is being sent.
pub(super) fn stream(site: &Site) -> Checked<()> {
    let url = format!("{}/_system/sse", site.origin);
    let buffered = || {
        Finding::wrong(
            "events do not arrive while they are being sent: the proxy collects them first",
            "switch buffering off for this host name (nginx: `proxy_buffering off;`)",
        )
    };
    match site.probe.first_piece(&url, &[("accept", "text/event-stream")], STREAM_TIME) {
        Ok(answer) if answer.status == 200 && answer.body.contains("event:") => {
            Ok(((), "events arrive at once".to_owned()))
        }
        Ok(answer) if answer.status == 200 => Err(buffered()),
        Ok(answer) if answer.status == 401 => {
            Ok(((), "not tried: streams need a token here".to_owned()))
        }
        Ok(answer) => Err(site.unexpected(&url, &answer, "a stream of events")),
        Err(Fault::Timeout) => Err(buffered()),
        Err(fault) => Err(site.no_answer(&url, &fault)),
    }
}
