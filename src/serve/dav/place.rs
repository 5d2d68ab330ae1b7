//! Where the address of a request and its `Destination` lead, checked before `dav-server` reads them:
//! that panics where something goes to the address of the vault itself, and takes `/v2/a` for a file
//! of the vault `v`.

use std::borrow::Cow;

use axum::http::{HeaderMap, Uri};
use dav_server::davpath::DavPath;
use url::Url;

use crate::domain::VaultPath;

/// Where an address leads, seen from a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Vault,
    Inside,
    Outside,
}

/// Where a request goes; `root` is the address of the vault, without a slash at its end. Nothing for
/// an address that no vault has.
pub fn of_request(uri: &Uri, root: &str) -> Option<Place> {
    of(uri.path(), root)
}

/// Where `COPY` and `MOVE` write; nothing where the header is missing or cannot be read.
pub fn of_destination(headers: &HeaderMap, root: &str) -> Option<Place> {
    of(&destination(headers)?, root)
}

/// The path in the vault of a request; nothing for the vault itself and for what names no file.
pub fn in_vault(uri: &Uri, root: &str) -> Option<VaultPath> {
    inside(uri.path(), root)
}

/// The path in the vault to which `COPY` and `MOVE` write, in the normal form in which `dav-server`
/// reads it.
pub fn destination_in_vault(headers: &HeaderMap, root: &str) -> Option<VaultPath> {
    inside(&destination(headers)?, root)
}

/// The path of the `Destination`, which is an address or a path.
fn destination(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let address = headers.get("destination")?.to_str().ok()?;
    match address.starts_with('/') {
        true => Some(address.into()),
        false => Some(Url::parse(address).ok()?.path().to_owned().into()),
    }
}

fn inside(path: &str, root: &str) -> Option<VaultPath> {
    let path = DavPath::new(path).ok()?;
    let inside = path.with_prefix().as_bytes().strip_prefix(root.as_bytes())?;
    VaultPath::parse(std::str::from_utf8(inside).ok()?.trim_matches('/')).ok()
}

fn of(path: &str, root: &str) -> Option<Place> {
    let path = DavPath::new(path).ok()?;
    Some(match path.with_prefix().as_bytes().strip_prefix(root.as_bytes()) {
        Some(b"" | b"/") => Place::Vault,
        Some([b'/', ..]) => Place::Inside,
        _ => Place::Outside,
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_vault_ends_at_its_name() {
        let headers = |address| {
            HeaderMap::from_iter([(
                "destination".parse().unwrap(),
                HeaderValue::from_static(address),
            )])
        };
        let to = |address| of_destination(&headers(address), "/dav/v");
        for vault in ["/dav/v", "/dav/v/", "http://host/dav/%76", "/dav/v/a/..", "/dav//v//"] {
            assert_eq!(to(vault), Some(Place::Vault), "{vault}");
        }
        for inside in ["/dav/v/a", "https://host:1/dav/v/a%20b/", "/dav/v/a/../b?c"] {
            assert_eq!(to(inside), Some(Place::Inside), "{inside}");
        }
        for outside in ["/dav/v2/a", "/dav/v/../w/a", "http://host/dav", "/", "/dav/va"] {
            assert_eq!(to(outside), Some(Place::Outside), "{outside}");
        }
        for unreadable in ["", "a", "/../a", "/dav/v/%00", "/dav/v/#a"] {
            assert_eq!(to(unreadable), None, "{unreadable}");
        }
        assert_eq!(of_destination(&HeaderMap::new(), "/dav/v"), None);
        for (address, path) in
            [("/dav/v/a%20b/", Some("a b")), ("/dav/v/a/../b", Some("b")), ("/dav/v/", None)]
        {
            let found = in_vault(&Uri::from_static(address), "/dav/v");
            assert_eq!(found.as_ref().map(VaultPath::as_str), path, "{address}");
        }
        for address in ["/dav/v//b.md", "http://host/dav/v/./b.md", "/dav/v/a/../b.md/"] {
            let found = destination_in_vault(&headers(address), "/dav/v");
            assert_eq!(found.as_ref().map(VaultPath::as_str), Some("b.md"), "{address}");
        }
    }
}
