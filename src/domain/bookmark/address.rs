//! When two addresses are the same place.

use url::Url;

/// Parameters that say where a reader came from, not what is read.
const TRACKING: &[&str] = &[
    "fbclid",
    "gclid",
    "dclid",
    "msclkid",
    "yclid",
    "igshid",
    "mc_cid",
    "mc_eid",
    "ref_src",
    "ref_url",
    "_hsenc",
    "_hsmi",
    "vero_id",
    "wickedid",
    "oly_anon_id",
    "oly_enc_id",
    "spm",
    "si",
    "cmpid",
    "ncid",
];

/// An address in the one form that is compared: without scheme, `www.`, fragment, tracking
/// parameters and a slash at the end; a post on X by its number, whoever is named before it. What
/// is no address is compared as it is.
pub fn same_address(text: &str) -> String {
    let text = text.trim();
    let parsed = Url::parse(text).or_else(|_| Url::parse(&format!("https://{text}")));
    let Some((url, host)) = parsed.ok().and_then(|url| Some((url.clone(), host(&url)?))) else {
        return text.to_owned();
    };
    let path = url.path().trim_end_matches('/');
    if matches!(host.as_str(), "x.com" | "twitter.com")
        && let Some(number) = post_number(path)
    {
        return format!("x.com/i/status/{number}");
    }
    let mut same = host;
    if let Some(port) = url.port() {
        same += &format!(":{port}");
    }
    same += path;
    let mut kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !tracks(name))
        .map(|(k, v)| (k.into(), v.into()))
        .collect();
    kept.sort();
    let query: Vec<String> = kept.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !query.is_empty() {
        same += &format!("?{}", query.join("&"));
    }
    // An application that keeps its address in the fragment (`#!/page`, `#/page`).
    if let Some(route) = url.fragment().filter(|f| f.starts_with('!') || f.starts_with('/')) {
        same += &format!("#{route}");
    }
    same
}

/// The site, for counting.
pub fn domain(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok().filter(|url| url.scheme().starts_with("http"))?;
    let host = url.host_str()?.to_lowercase();
    Some(host.strip_prefix("www.").unwrap_or(&host).to_owned())
}

/// The host without `www.` and a phone's subdomain.
fn host(url: &Url) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?.to_lowercase();
    let bare = ["www.", "m.", "mobile."].iter().find_map(|prefix| host.strip_prefix(prefix));
    // `m.net` is a site and no phone's page of `net`.
    Some(bare.filter(|bare| bare.contains('.')).unwrap_or(&host).to_owned())
}

fn post_number(path: &str) -> Option<&str> {
    let mut parts = path.split('/').skip_while(|part| !matches!(*part, "status" | "statuses"));
    parts.next()?;
    let number = parts.next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

fn tracks(name: &str) -> bool {
    let name = name.to_lowercase();
    name.starts_with("utm_") || name.starts_with("pk_") || TRACKING.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_under_many_addresses() {
        for (one, other) in [
            (
                "https://example.org/a?b=2&a=1",
                "http://www.example.org/a/?a=1&utm_medium=mail&b=2#top",
            ),
            ("https://twitter.com/someone/status/123?s=20", "https://x.com/i/web/status/123"),
            ("https://mobile.twitter.com/a/statuses/123", "https://x.com/b/status/123/photo/1"),
            ("https://пример.рф/страница", "http://пример.рф/страница/"),
            ("https://例え.jp/記事?fbclid=1", "https://例え.jp/記事"),
        ] {
            assert_eq!(same_address(one), same_address(other), "{one} {other}");
        }
        for (one, other) in [
            ("https://example.org/a", "https://example.org/b"),
            ("https://example.org/?id=1", "https://example.org/?id=2"),
            ("https://example.org:8080/", "https://example.org/"),
            ("https://m.net/a", "https://net/a"),
            ("not an address", "another text"),
        ] {
            assert_ne!(same_address(one), same_address(other), "{one} {other}");
        }
    }

    #[test]
    fn the_site_of_an_address() {
        assert_eq!(domain("https://www.example.org/x").as_deref(), Some("example.org"));
        assert_eq!(domain("mailto:a@b.c"), None);
    }
}
