//! Documents of the public internet, whose addresses strangers name: https alone, and never a
//! machine in a private network, whatever a name leads to.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    time::Duration,
};

use ureq::{
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};
use url::Url;

use crate::domain::{Error, Result};

/// Connects to the addresses that were checked, and to no other.
#[derive(Debug)]
pub struct Pinned(pub Vec<SocketAddr>);

impl Resolver for Pinned {
    fn resolve(
        &self,
        _uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut found = self.empty();
        self.0.iter().take(16).for_each(|address| found.push(*address));
        if self.0.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(found) }
    }
}

/// Fetches a small document. Its host is resolved once; one private address among the results is
/// enough to refuse it, and the connection goes to the addresses that were checked. Redirects are
/// not followed.
pub fn fetch(url: &Url, most_bytes: u64, time: Duration) -> Result<String> {
    if url.scheme() != "https" {
        return Err(Error::invalid_params(format!("`{url}` is not an https address")));
    }
    let host = url.host_str().unwrap_or_default();
    let found = resolve(host, url.port_or_known_default().unwrap_or(443))?;
    if let Some(address) = found.iter().find(|address| !is_public(address.ip())) {
        return Err(Error::outside(format!(
            "`{host}` leads to the private address `{}`; nothing was fetched",
            address.ip()
        )));
    }
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(time))
        .http_status_as_error(false)
        .max_redirects(0)
        .https_only(true)
        .proxy(None)
        .build();
    let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), Pinned(found));
    let unreachable = |error: ureq::Error| {
        Error::outside(format!("could not fetch `{url}`: {error}")).with_source(error)
    };
    let mut response =
        agent.get(url.as_str()).header("accept", "application/json").call().map_err(unreachable)?;
    let status = response.status();
    if status.as_u16() != 200 {
        return Err(Error::outside(format!("`{url}` answered {}", status.as_u16())));
    }
    response.body_mut().with_config().limit(most_bytes).read_to_string().map_err(unreachable)
}

fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = (name, port)
        .to_socket_addrs()
        .map_err(|error| {
            Error::outside(format!("could not find the address of `{host}`: {error}"))
                .with_source(error)
        })?
        .collect();
    match found.is_empty() {
        true => Err(Error::outside(format!("`{host}` has no address"))),
        false => Ok(found),
    }
}

/// Whether an IP address is in the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // An IPv4 address in another coat: mapped, compatible, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0, 0, high, low] => {
            !address.is_loopback() && !address.is_unspecified() && v4(high, low)
        }
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // What is given out so far is 2000::/3, without documentation and Teredo.
        [first, second, ..] => {
            first & 0xe000 == 0x2000
                && !(first == 0x2001 && (second == 0xdb8 || second < 0x200))
                && !(first == 0x3fff && second < 0x1000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_recognised_in_every_notation() {
        for address in [
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["140.82.121.3", "2606:50c0:8000::153", "64:ff9b::8c52:7903"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_document_of_this_machine_is_not_fetched() {
        for (url, why) in [
            ("http://example.org/a", "not an https"),
            ("https://localhost/a", "private address"),
            ("https://127.0.0.1:1/a", "private address"),
            ("https://[::ffff:169.254.169.254]/a", "private address"),
        ] {
            let url = Url::parse(url).unwrap();
            let error = fetch(&url, 1000, Duration::from_secs(1)).unwrap_err();
            assert!(error.message.contains(why), "{url}: {error}");
        }
    }
}
