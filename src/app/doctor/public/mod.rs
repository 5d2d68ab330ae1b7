//! `doctor --public`: the way of a client to its first call, step by step, from outside. It needs no
//! library: it can run on another machine than the server does.

mod login;
mod reach;
#[cfg(test)]
mod tests;

use std::time::Duration;

use url::Url;

use super::{Finding, Level};
use crate::post::probe::{Answer, Fault, Probe};

/// How long claude.ai waits for an answer.
const TIME: Duration = Duration::from_secs(10);

/// One step of the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was tried.
    pub name: &'static str,
    /// What was seen, or what is wrong and what to do about it.
    pub result: Result<String, Finding>,
}

impl Step {
    /// Whether it failed.
    pub fn is_wrong(&self) -> bool {
        self.result.as_ref().is_err_and(|finding| finding.level == Level::Wrong)
    }
}

/// What a step found out for the next ones, and a sentence about it.
type Checked<T> = Result<(T, String), Finding>;

/// Walks the whole login at `address`, which is what a person types into a client. Every step is
/// shown as it is made. A failed step that the others need ends the walk.
pub fn walk(address: &str, show: &mut dyn FnMut(&Step)) -> Vec<Step> {
    let mut walk = Walk { steps: Vec::new(), show };
    // `None`: a step failed, and is shown.
    let _ = walk.all(address);
    walk.steps
}

struct Walk<'a> {
    steps: Vec<Step>,
    show: &'a mut dyn FnMut(&Step),
}

impl Walk<'_> {
    fn all(&mut self, address: &str) -> Option<()> {
        let target = self.step("address", reach::address(address))?;
        let addresses = self.step("name", reach::resolve(&target))?;
        if let Some(finding) = reach::doubt(&target, &addresses) {
            self.push(Step { name: "name", result: Err(finding) });
        }
        let only_ipv4 = addresses.iter().any(|address| address.is_ipv4());
        let site = Site::new(target, Probe::new(TIME, only_ipv4));
        self.step("connection", reach::connect(&site))?;
        let metadata = self.step("challenge", login::challenge(&site))?;
        let issuer = self.step("resource metadata", login::resource(&site, &metadata))?;
        let server = self.step("server metadata", login::server(&site, &issuer))?;
        let client = self.step("registration", login::register(&site, &server));
        if let Some(client) = client {
            self.step("sign-in page", login::authorize(&site, &server, &client));
            self.step("token endpoint", login::token(&site, &server, &client));
        }
        self.step("wrong token", login::wrong_token(&site));
        self.step("own origin", login::own_origin(&site));
        self.step("event stream", reach::stream(&site));
        Some(())
    }

    fn step<T>(&mut self, name: &'static str, checked: Checked<T>) -> Option<T> {
        match checked {
            Ok((value, text)) => {
                self.push(Step { name, result: Ok(text) });
                Some(value)
            }
            Err(finding) => {
                self.push(Step { name, result: Err(finding) });
                None
            }
        }
    }

    fn push(&mut self, step: Step) {
        (self.show)(&step);
        self.steps.push(step);
    }
}

/// The server that is looked at.
struct Site {
    /// The address that a person types.
    target: Url,
    /// Its scheme, host and port.
    origin: String,
    probe: Probe,
}

impl Site {
    fn new(target: Url, probe: Probe) -> Self {
        Self { origin: target.origin().ascii_serialization(), target, probe }
    }

    fn get(&self, url: &str, accept: &str) -> Result<Answer, Finding> {
        self.probe.get(url, &[("accept", accept)]).map_err(|fault| self.no_answer(url, &fault))
    }

    /// What is wrong where a request got no answer.
    fn no_answer(&self, url: &str, fault: &Fault) -> Finding {
        match fault {
            Fault::Connection(why) => Finding::wrong(
                format!("`{url}` cannot be reached: {why}"),
                match self.target.scheme() {
                    "https" => {
                        "start `notewell serve` and the proxy, open the port in the firewall and the router, and check that this port speaks TLS"
                    }
                    _ => {
                        "start `notewell serve` and the proxy, and open the port in the firewall and the router"
                    }
                },
            ),
            Fault::Tls(why) => Finding::wrong(
                format!("the TLS of `{}` fails: {why}", self.origin),
                "the proxy needs a certificate for this very name from a public authority (Caddy, Tailscale Funnel and cloudflared get one by themselves); a self-signed one is refused by every hosted client",
            ),
            Fault::Timeout => Finding::wrong(
                format!("`{url}` did not answer within {} seconds", TIME.as_secs()),
                "a firewall may drop the packets, or the proxy waits for a server that is not there; claude.ai gives up after as long",
            ),
            Fault::Protocol(why) => Finding::wrong(
                format!("what answers at `{url}` does not speak HTTP as expected: {why}"),
                "check that the port belongs to the proxy, and that https and http are not mixed up",
            ),
        }
    }

    /// What is wrong where an answer is not the one that a client needs.
    fn unexpected(&self, url: &str, answer: &Answer, expected: &str) -> Finding {
        let status = answer.status;
        let what = format!("`{url}` answers {status} instead of {expected}");
        let is_ours = answer.json().is_some_and(|body| body.get("jsonrpc").is_some());
        let remedy = match status {
            300..=399 => {
                let place = answer.header("location").unwrap_or("nowhere");
                return Finding::wrong(
                    format!("`{url}` redirects to `{place}`; clients do not follow it"),
                    "type the address that it leads to, or let the proxy pass the request on instead",
                );
            }
            403 if is_ours => format!(
                "Notewell does not know this host name; set `public_url = \"{}\"` in [server], and let the proxy pass `Host` unchanged",
                self.origin
            ),
            _ if answer.header("cf-mitigated").is_some() => {
                "Cloudflare shows a challenge that no client can solve; add a rule that skips it (WAF, Bot Fight Mode) for this host name".to_owned()
            }
            401 | 403 => "something before Notewell refuses the request: a firewall, or a login of the proxy itself; let this host name through".to_owned(),
            404 | 405 => "the proxy does not pass this path on, or changes it; pass every path of this host name to Notewell unchanged".to_owned(),
            429 => "there were too many requests from here; wait a minute and run this again".to_owned(),
            502..=504 | 520..=530 => "the proxy does not reach Notewell; check that `notewell serve` runs, and on which address and port it listens".to_owned(),
            500..=599 => "the server's log says why".to_owned(),
            _ => "check that the proxy passes requests to Notewell and not to another program".to_owned(),
        };
        Finding::wrong(what, remedy)
    }
}
