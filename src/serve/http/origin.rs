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

/// The address that a request came from. Behind a proxy on this machine, the one that the proxy
/// names last: earlier ones are whatever the sender wrote.
pub fn address(site: &Site, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
    let peer = extensions
        .get::<Arc<Connection>>()
        .map_or(IpAddr::from([127, 0, 0, 1]), |connection| connection.address);
    let proxied = peer.is_loopback() && !site.hub.app.config.server.public_url.is_empty();
    match proxied {
        true => forwarded(headers).unwrap_or(peer),
        false => peer,
    }
}

fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_proxy_is_believed() {
        let mut headers = HeaderMap::new();
        assert_eq!(forwarded(&headers), None);
        headers.append("x-forwarded-for", "6.6.6.6, 203.0.113.9".parse().unwrap());
        assert_eq!(forwarded(&headers), "203.0.113.9".parse().ok());
        headers.append("x-forwarded-for", "2001:db8::7".parse().unwrap());
        assert_eq!(forwarded(&headers), "2001:db8::7".parse().ok());
        headers.append("x-forwarded-for", "unknown".parse().unwrap());
        assert_eq!(forwarded(&headers), None);
    }
}
