//! Where a request came from, and the address by which its sender knows this server.

use std::{net::IpAddr, sync::Arc};

use axum::http::{Extensions, HeaderMap, header};

use super::{Site, connections::Connection};

/// The start of every address of this server, as the sender of a request sees it: `public_url`, or
/// else the Host of the request, which the guard has checked.
pub fn base(site: &Site, headers: &HeaderMap) -> String {
    let config = &site.hub.app.config;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match host {
        Some(host) if config.server.public_url.is_empty() => {
            format!("http://{}", host.to_ascii_lowercase())
        }
        _ => config.public_url(),
    }
}

/// The address that a request came from, which the audit log names. Limits and brakes count by its
/// [network](crate::domain::network_of).
///
/// A proxy names the address that it saw at the end of `X-Forwarded-For`; what stands before it is
/// whatever the sender wrote. Only proxies that the config trusts are believed, and with a
/// `public_url` those on this machine.
pub fn address(site: &Site, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
    let server = &site.hub.app.config.server;
    let has_proxy = !server.public_url.is_empty();
    let is_proxy = |address: IpAddr| {
        (has_proxy && address.is_loopback())
            || server.trusted_proxies.iter().any(|proxy| proxy.contains(address))
    };
    let peer = extensions
        .get::<Arc<Connection>>()
        .map_or(IpAddr::from([127, 0, 0, 1]), |connection| connection.address.to_canonical());
    client(peer, headers, is_proxy)
}

/// The last address that is not a proxy's. An unreadable one ends the search: behind it nothing can
/// be trusted.
fn client(peer: IpAddr, headers: &HeaderMap, is_proxy: impl Fn(IpAddr) -> bool) -> IpAddr {
    let mut client = peer;
    for hop in forwarded(headers).iter().rev() {
        if !is_proxy(client) {
            break;
        }
        match hop {
            Some(address) => client = *address,
            None => break,
        }
    }
    client
}

/// The hops of a request, the nearest last, from `X-Forwarded-For` or else `Forwarded`.
fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let values = |name: &str| {
        let lines = headers.get_all(name).iter();
        lines.map(|line| line.to_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(",")
    };
    if headers.contains_key("x-forwarded-for") {
        return values("x-forwarded-for").split(',').map(hop).collect();
    }
    if !headers.contains_key(header::FORWARDED) {
        return Vec::new();
    }
    let elements = values("forwarded");
    let named = elements.split(',').map(|element| {
        let pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
        let mut named = pairs.filter(|(name, _)| name.eq_ignore_ascii_case("for"));
        named.next().and_then(|(_, value)| hop(value.trim_matches('"')))
    });
    named.collect()
}

/// An address, with or without a port: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`.
fn hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let address = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None if text.matches(':').count() == 1 => text.split_once(':')?.0,
        None => text,
    };
    address.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_of(peer: &str, lines: &[(&'static str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        let is_proxy =
            |address: IpAddr| address.is_loopback() || address.to_string().starts_with("10.0.0.");
        client(peer.parse().unwrap(), &headers, is_proxy).to_string()
    }

    const FOR: &str = "x-forwarded-for";

    #[test]
    fn a_trusted_proxy_names_the_client() {
        assert_eq!(client_of("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(client_of("127.0.0.1", &[(FOR, "203.0.113.9")]), "203.0.113.9");
        let spoofed = [(FOR, "6.6.6.6, 203.0.113.9")];
        assert_eq!(client_of("127.0.0.1", &spoofed), "203.0.113.9", "the sender wrote the first");
        let lines = [(FOR, "6.6.6.6"), (FOR, "2001:db8::7, 10.0.0.4")];
        assert_eq!(client_of("10.0.0.5", &lines), "2001:db8::7", "through two proxies");
        assert_eq!(client_of("10.0.0.5", &[(FOR, "10.0.0.1, 10.0.0.4")]), "10.0.0.1");
    }

    #[test]
    fn nobody_else_is_believed() {
        assert_eq!(client_of("198.51.100.1", &[(FOR, "127.0.0.1")]), "198.51.100.1");
        assert_eq!(client_of("127.0.0.1", &[(FOR, "6.6.6.6, unknown")]), "127.0.0.1");
        assert_eq!(client_of("127.0.0.1", &[(FOR, "6.6.6.6,")]), "127.0.0.1");
    }

    #[test]
    fn the_standard_header_is_read_too() {
        let line = "for=6.6.6.6, for=\"[2001:db8::7]:4711\";proto=https";
        assert_eq!(client_of("127.0.0.1", &[("forwarded", line)]), "2001:db8::7");
        let line = "For=203.0.113.9:80;by=10.0.0.1";
        assert_eq!(client_of("127.0.0.1", &[("forwarded", line)]), "203.0.113.9");
        assert_eq!(client_of("127.0.0.1", &[("forwarded", "for=_hidden")]), "127.0.0.1");
        let both = [("forwarded", "for=6.6.6.6"), (FOR, "203.0.113.9")];
        assert_eq!(client_of("127.0.0.1", &both), "203.0.113.9");
    }
}
