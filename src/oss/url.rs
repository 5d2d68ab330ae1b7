//! The addresses that may be fetched: https, an allowed host, a public IP address, no credentials.
//!
//! A host that the owner trusts by name may be in a private network.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use url::{Host, Url};

use crate::{
    config,
    domain::{Error, Result},
    post::public::is_public,
};

/// The longest address that is parsed.
const MAX_LENGTH: usize = 2000;

/// A repository at a forge in canonical form: no `.git`, no page inside it, no query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoUrl {
    /// The normalised address.
    pub url: String,
    /// The host name.
    pub host: String,
    /// The port.
    pub port: u16,
    /// `owner/name`, perhaps with groups between them.
    pub path: String,
    /// Whether the host is in `trusted_hosts`.
    pub trusted: bool,
}

impl RepoUrl {
    /// `owner/name`.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is unencrypted.
    pub fn is_http(&self) -> bool {
        self.url.starts_with("http://")
    }

    /// The key of its reports. Forges ignore case, so the key is in lower case.
    pub fn key(&self) -> String {
        self.url.to_lowercase()
    }
}

/// The hosts that may be asked.
#[derive(Debug, Clone)]
pub struct Policy {
    allowed: Vec<String>,
    trusted: Vec<String>,
}

impl Policy {
    /// The rules of `[oss]`.
    pub fn new(config: &config::Oss) -> Self {
        let lower = |hosts: &[String]| hosts.iter().map(|host| host.to_lowercase()).collect();
        Self { allowed: lower(&config.allowed_hosts), trusted: lower(&config.trusted_hosts) }
    }

    /// Checks an address against the rules.
    pub fn parse(&self, text: &str) -> Result<RepoUrl> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::invalid_params("repo_url is empty; write https://HOST/OWNER/NAME"));
        }
        if text.len() > MAX_LENGTH {
            return Err(Error::invalid_params(format!(
                "repo_url has more than {MAX_LENGTH} characters; write https://HOST/OWNER/NAME"
            )));
        }
        let shown = shown(text);
        let url = Url::parse(text).map_err(|error| {
            Error::invalid_params(format!(
                "`{shown}` is not a URL ({error}); write https://HOST/OWNER/NAME"
            ))
        })?;
        // Before anything that might repeat the address: a password is not for the log.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::invalid_params(
                "repo_url must carry no user name or password; only public repositories are looked at",
            ));
        }
        let Some(host) = url.host_str().map(|host| host.trim_end_matches('.').to_lowercase())
        else {
            return Err(wrong_scheme(&shown));
        };
        let port = url.port_or_known_default().unwrap_or(443);
        let trusted =
            self.trusted.contains(&host) || self.trusted.contains(&format!("{host}:{port}"));
        match url.scheme() {
            "https" => {}
            "http" if trusted => {}
            _ => return Err(wrong_scheme(&shown)),
        }
        if !trusted {
            self.check_host(&url, &host)?;
        }
        let path = repository_path(&host, &url).ok_or_else(|| {
            Error::invalid_params(format!(
                "`{shown}` names no repository; write https://HOST/OWNER/NAME"
            ))
        })?;
        let place = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        Ok(RepoUrl { url: format!("{}://{place}/{path}", url.scheme()), host, port, path, trusted })
    }

    fn check_host(&self, url: &Url, host: &str) -> Result<()> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        };
        if address.is_some_and(|address| !is_public(address)) || host == "localhost" {
            return Err(Error::invalid_params(format!(
                "`{host}` is a private address; only public forges are asked, or hosts that `[oss] trusted_hosts` names"
            )));
        }
        if url.port().is_some() || !self.allowed.iter().any(|allowed| allowed == host) {
            return Err(Error::invalid_params(format!(
                "`{}` is not among the allowed hosts ({}); the owner can add it to `[oss] allowed_hosts`",
                host_and_port(url, host),
                self.allowed.join(", ")
            )));
        }
        Ok(())
    }

    /// Resolves the host. One private address among the results is enough to refuse it.
    pub fn addresses(&self, repo: &RepoUrl) -> Result<Vec<SocketAddr>> {
        let host = repo.host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> = (host, repo.port)
            .to_socket_addrs()
            .map_err(|error| {
                Error::outside(format!(
                    "could not find the address of `{}`: {error}; is there a network?",
                    repo.host
                ))
                .with_source(error)
            })?
            .collect();
        if found.is_empty() {
            return Err(Error::outside(format!("`{}` has no address", repo.host)));
        }
        match found.iter().find(|address| !repo.trusted && !is_public(address.ip())) {
            Some(address) => Err(Error::outside(format!(
                "`{}` leads to the private address `{}`; nothing was fetched",
                repo.host,
                address.ip()
            ))),
            None => Ok(found),
        }
    }
}

fn wrong_scheme(shown: &str) -> Error {
    Error::invalid_params(format!(
        "`{shown}` is not an https address; write https://HOST/OWNER/NAME (a local path only at the shell: `notewell oss PATH`)"
    ))
}

fn host_and_port(url: &Url, host: &str) -> String {
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    match cut.rsplit_once('@') {
        Some((_, rest)) if cut.contains("://") => format!("…@{rest}"),
        _ => cut,
    }
}

/// The path of the repository, whichever of its pages an address names.
fn repository_path(host: &str, url: &Url) -> Option<String> {
    let mut parts: Vec<&str> = url.path_segments()?.filter(|part| !part.is_empty()).collect();
    // GitLab has groups in groups, and writes `/-/` before a page.
    match parts.iter().position(|part| *part == "-") {
        Some(at) => parts.truncate(at),
        None if !host.contains("gitlab") => parts.truncate(2),
        None => {}
    }
    let last = parts.pop()?;
    let last = last.strip_suffix(".git").unwrap_or(last);
    parts.push(last);
    let fits = |part: &&str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-~".contains(c))
    };
    (parts.len() >= 2 && parts.iter().all(fits)).then(|| parts.join("/"))
}

/// The key of the reports on a saved link; None if the link is no repository.
pub fn key(link: &str) -> Option<String> {
    let url = Url::parse(link.trim()).ok()?;
    let scheme = match url.scheme() {
        "http" | "https" => "https",
        _ => return None,
    };
    let host = url.host_str()?.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let path = repository_path(host, &url)?;
    Some(format!("{scheme}://{}/{path}", host_and_port(&url, host)).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Code;

    fn policy() -> Policy {
        Policy::new(&config::Oss {
            trusted_hosts: vec!["git.lan".into(), "127.0.0.1:3000".into()],
            ..config::Oss::default()
        })
    }

    #[test]
    fn a_repository_has_one_spelling() {
        for text in [
            "https://github.com/Owner/tool",
            "https://github.com/Owner/tool.git",
            "https://github.com/Owner/tool/",
            "HTTPS://GitHub.com/Owner/tool/tree/main/src?tab=readme#start",
            " https://github.com:443/Owner/tool/issues/7 ",
        ] {
            assert_eq!(
                policy().parse(text).unwrap().url,
                "https://github.com/Owner/tool",
                "{text}"
            );
        }
        let nested = policy().parse("https://gitlab.com/a/b/c/-/tree/main").unwrap();
        assert_eq!((nested.path.as_str(), nested.name()), ("a/b/c", "c"));
        assert_eq!(policy().parse("http://git.lan/a/b").unwrap().url, "http://git.lan/a/b");
        assert!(policy().parse("http://127.0.0.1:3000/a/b").unwrap().trusted);
        assert_eq!(
            key("http://www.github.com/Owner/Tool/blob/main/README.md").as_deref(),
            Some("https://github.com/owner/tool")
        );
        assert_eq!(key("https://github.com/owner"), None);
        assert_eq!(key("an article"), None);
    }

    #[test]
    fn everything_else_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "is empty"),
            ("tool", "is not a URL"),
            ("github.com/a/b", "is not a URL"),
            ("http://github.com/a/b", "is not an https"),
            ("ssh://github.com/a/b", "is not an https"),
            ("git@github.com:a/b.git", "is not a URL"),
            ("file:///etc", "is not an https"),
            ("/etc", "is not a URL"),
            ("ext::sh -c id", "is not an https"),
            ("https://user:secret@github.com/a/b", "no user name or password"),
            ("https://token@github.com/a/b", "no user name or password"),
            ("https://example.org/a/b", "not among the allowed hosts"),
            ("https://github.com.evil.example/a/b", "not among the allowed hosts"),
            ("https://github.com:8443/a/b", "not among the allowed hosts"),
            ("https://localhost/a/b", "private address"),
            ("https://127.0.0.1/a/b", "private address"),
            ("https://2130706433/a/b", "private address"),
            ("https://0x7f.1/a/b", "private address"),
            ("https://[::1]/a/b", "private address"),
            ("https://[::ffff:10.0.0.1]/a/b", "private address"),
            ("https://169.254.169.254/latest/meta-data", "private address"),
            ("http://127.0.0.1:3001/a/b", "is not an https"),
            ("https://github.com/", "names no repository"),
            ("https://github.com/owner", "names no repository"),
            ("https://github.com/owner/..", "names no repository"),
            ("https://github.com/--upload-pack=x/b", "names no repository"),
            ("https://github.com/a/b%0ac", "names no repository"),
        ] {
            let error = policy().parse(text).unwrap_err();
            assert_eq!(error.code, Code::InvalidParams, "{text}");
            assert!(error.message.contains(why), "{text}: {error}");
            assert!(!error.message.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_name_that_leads_home_is_refused() {
        let mut repo = policy().parse("https://github.com/a/b").unwrap();
        repo.host = "localhost".into();
        let error = policy().addresses(&repo).unwrap_err();
        assert_eq!(error.code, Code::Outside);
        assert!(error.message.contains("private address"), "{error}");
    }
}
