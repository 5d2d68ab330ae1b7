//! The address to listen on, in the forms that people write.

use std::net::SocketAddr;

use serde::Deserialize;

use super::Server;
use crate::domain::{Error, Result};

/// Parses an address to listen on: `127.0.0.1:7717`, `localhost:7717`, `7717` or `0.0.0.0`. A port
/// alone means loopback; an address alone means port 7717.
pub fn listen_address(text: &str) -> Result<SocketAddr> {
    let text = text.trim();
    let usual = Server::default().listen;
    let loopback = |port: &str| port.parse().ok().map(|port| SocketAddr::new(usual.ip(), port));
    let local = text.strip_prefix("localhost");
    text.parse()
        .ok()
        .or_else(|| loopback(text))
        .or_else(|| loopback(text.strip_prefix(':')?))
        .or_else(|| loopback(local?.strip_prefix(':')?))
        .or_else(|| (local == Some("")).then_some(usual))
        .or_else(|| Some(SocketAddr::new(text.parse().ok()?, usual.port())))
        .ok_or_else(|| {
            Error::invalid_params(format!(
                "`{text}` is not an address to listen on; write `127.0.0.1:7717`, `localhost:7717`, or a port such as `7717`"
            ))
        })
}

pub(super) fn from_text<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    listen_address(&text).map_err(|error| serde::de::Error::custom(error.plain()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn an_address_to_listen_on_has_short_forms() {
        for (text, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("localhost:7718", "127.0.0.1:7718"),
            ("localhost", "127.0.0.1:7717"),
            ("7718", "127.0.0.1:7718"),
            (":7718", "127.0.0.1:7718"),
            ("0.0.0.0", "0.0.0.0:7717"),
            ("::1", "[::1]:7717"),
            ("[::1]:0", "[::1]:0"),
        ] {
            assert_eq!(listen_address(text).unwrap(), expected.parse().unwrap(), "{text}");
        }
        for text in ["", "70000", "localhost:", "example.org:80", "http://127.0.0.1:7717"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
        let config = Config::parse("[server]\nlisten = \"localhost:7718\"").unwrap();
        assert_eq!(config.server.listen.port(), 7718);
    }
}
