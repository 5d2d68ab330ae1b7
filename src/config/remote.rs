//! `[[remote]]` and `[remotes]`: other bases that are searched with this library.

use std::{collections::HashSet, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::domain::{Error, Result};

/// `[[remote]]`: another base, an MCP server with a tool that searches.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remote {
    /// What its results are marked with: lower-case letters, digits and hyphens.
    pub name: String,
    /// Its MCP address.
    pub url: String,
    /// Sent as a bearer token.
    pub token: String,
    /// A file with the token, readable by its owner only. `token` wins over it.
    pub token_file: PathBuf,
    /// The tool that searches; empty: it is chosen from the tools that the server lists.
    pub tool: String,
    /// Whether callers other than the owner are shown its results, too. They are found with the
    /// owner's token.
    pub public: bool,
    /// The time limit of one request to it. A search waits no longer than `[remotes] limit_ms`.
    pub timeout_ms: u64,
}

/// `[remotes]`: what holds for all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remotes {
    /// How long a search waits for other bases.
    pub limit_ms: u64,
    /// Results that are shown of each base.
    pub results: usize,
    /// How long the results of a base are kept for the same question.
    pub cache_seconds: u64,
}

impl Default for Remote {
    fn default() -> Self {
        Self {
            name: String::new(),
            url: String::new(),
            token: String::new(),
            token_file: PathBuf::new(),
            tool: String::new(),
            public: false,
            timeout_ms: 5_000,
        }
    }
}

impl Default for Remotes {
    fn default() -> Self {
        Self { limit_ms: 300, results: 5, cache_seconds: 60 }
    }
}

/// Without the token.
impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Remote {
    /// Whether the token travels in the clear to another machine.
    pub fn exposes_token(&self) -> bool {
        let has_token = !self.token.is_empty() || !self.token_file.as_os_str().is_empty();
        has_token
            && Url::parse(&self.url).is_ok_and(|url| url.scheme() == "http" && !is_local(&url))
    }
}

/// Whether an address is of this machine.
pub fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Checks the remotes of a config.
pub(super) fn check(remotes: &[Remote], shared: &Remotes) -> Result<()> {
    let wrong = |message: String| Err(Error::invalid_params(message));
    for (name, value, most) in [
        ("remotes.limit_ms", shared.limit_ms, 10_000),
        ("remotes.results", shared.results as u64, 20),
        ("remotes.cache_seconds", shared.cache_seconds.max(1), 3_600),
    ] {
        if !(1..=most).contains(&value) {
            return wrong(format!("`{name}` is {value}; it must be between 1 and {most}"));
        }
    }
    let mut names = HashSet::new();
    for remote in remotes {
        let name = &remote.name;
        let is_name = name.len() <= 32
            && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
            && name.bytes().any(|c| c.is_ascii_lowercase());
        if !is_name {
            return wrong(format!(
                "`[[remote]] name` is `{name}`; write 1 to 32 lower-case letters, digits and hyphens, such as `team`"
            ));
        }
        if !names.insert(name) {
            return wrong(format!("two `[[remote]]` are called `{name}`; rename one"));
        }
        let url = Url::parse(&remote.url).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(url) = url else {
            return wrong(format!(
                "`url` of the remote `{name}` is no web address; write one such as `https://notes.example.org/mcp`"
            ));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return wrong(format!(
                "`url` of the remote `{name}` has a user name or a password in it; use `token`"
            ));
        }
        if !remote.token.chars().all(|c| c.is_ascii_graphic()) {
            return wrong(format!(
                "`token` of the remote `{name}` has a space or another character that no header can carry"
            ));
        }
        if !(1..=60_000).contains(&remote.timeout_ms) {
            return wrong(format!(
                "`timeout_ms` of the remote `{name}` is {}; it must be between 1 and 60000",
                remote.timeout_ms
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(name: &str, url: &str) -> Remote {
        Remote { name: name.into(), url: url.into(), ..Remote::default() }
    }

    fn refused(remotes: &[Remote]) -> String {
        check(remotes, &Remotes::default()).unwrap_err().message
    }

    #[test]
    fn what_is_wrong_is_named() {
        let team = remote("team", "https://notes.example.org/mcp");
        assert!(check(std::slice::from_ref(&team), &Remotes::default()).is_ok());
        for name in ["", "Team", "te/am", "29", "команда", "a b"] {
            assert!(refused(&[remote(name, "http://a/")]).contains(&format!("`{name}`")));
        }
        assert!(refused(&[team.clone(), team.clone()]).contains("two `[[remote]]`"));
        for url in ["", "notes.example.org", "ftp://a/", "file:///etc/passwd"] {
            assert!(refused(&[remote("team", url)]).contains("no web address"), "{url}");
        }
        assert!(refused(&[remote("team", "http://me:secret@a/")]).contains("`token`"));
        let spaced = Remote { token: "a\r\nb".into(), ..team.clone() };
        assert!(refused(&[spaced]).contains("header"));
        let hasty = Remote { timeout_ms: 0, ..team };
        assert!(refused(&[hasty]).contains("timeout_ms"));
        let never = Remotes { limit_ms: 0, ..Remotes::default() };
        assert!(check(&[], &never).unwrap_err().message.contains("limit_ms"));
    }

    #[test]
    fn a_token_is_not_printed() {
        let remote = Remote { token: "s3cret".into(), ..remote("team", "http://a/") };
        assert!(!format!("{remote:?}").contains("s3cret"));
    }

    #[test]
    fn a_token_in_the_clear_is_noticed() {
        let exposed =
            |url: &str| Remote { token: "t".into(), ..remote("team", url) }.exposes_token();
        assert!(exposed("http://notes.example.org/mcp"));
        for url in ["https://notes.example.org/mcp", "http://127.0.0.1:1/", "http://[::1]:1/"] {
            assert!(!exposed(url), "{url}");
        }
        assert!(!remote("team", "http://notes.example.org/").exposes_token());
    }
}
