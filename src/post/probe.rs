//! Single requests whose answer is looked at as it is: no redirect is followed, no status is an
//! error, nothing is tried again.

use std::{io::Read, time::Duration};

use serde_json::Value;
use ureq::{
    config::IpFamily,
    http::{Response, header::HeaderMap},
};

/// The longest body that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Sends requests.
pub struct Probe {
    agent: ureq::Agent,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body, as far as it is text.
    pub body: String,
    headers: HeaderMap,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection was refused or broken off.
    Connection(String),
    /// The server's certificate or its TLS is wrong.
    Tls(String),
    /// Nothing came in time.
    Timeout,
    /// What came is not HTTP, or too much of it.
    Protocol(String),
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }

    /// Whether the body is a page for people.
    pub fn is_html(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
    }
}

impl Probe {
    /// A client that gives up after `time`, over IPv4 alone where that is asked for.
    pub fn new(time: Duration, only_ipv4: bool) -> Self {
        let family = if only_ipv4 { IpFamily::Ipv4Only } else { IpFamily::Any };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(time))
            .http_status_as_error(false)
            .max_redirects(0)
            .ip_family(family)
            .user_agent(concat!("notewell-doctor/", env!("CARGO_PKG_VERSION")))
            .proxy(None)
            .build();
        Self { agent: config.into() }
    }

    /// Fetches an address.
    pub fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Fault> {
        let mut request = self.agent.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.call().map_err(fault)?)
    }

    /// Posts a body.
    pub fn post(&self, url: &str, headers: &[(&str, &str)], body: &str) -> Result<Answer, Fault> {
        let mut request = self.agent.post(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.send(body).map_err(fault)?)
    }

    /// Fetches an address and reads only the first piece of its body, for an answer without end.
    pub fn first_piece(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        time: Duration,
    ) -> Result<Answer, Fault> {
        let mut request = self.agent.get(url).config().timeout_global(Some(time)).build();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = request.call().map_err(fault)?;
        let mut piece = [0; 4096];
        let length = match response.body_mut().as_reader().read(&mut piece) {
            Ok(length) => length,
            Err(error) => return Err(fault(ureq::Error::from(error))),
        };
        let body = String::from_utf8_lossy(piece.get(..length).unwrap_or_default()).into_owned();
        Ok(Answer { status: response.status().as_u16(), body, headers: response.headers().clone() })
    }
}

fn read(mut response: Response<ureq::Body>) -> Result<Answer, Fault> {
    let mut bytes = Vec::new();
    let body = response.body_mut().with_config().limit(MAX_BYTES).reader().read_to_end(&mut bytes);
    body.map_err(|error| fault(ureq::Error::from(error)))?;
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Answer { status: response.status().as_u16(), body, headers: response.headers().clone() })
}

fn fault(error: ureq::Error) -> Fault {
    match error {
        ureq::Error::Timeout(_) => Fault::Timeout,
        ureq::Error::Tls(why) => Fault::Tls(why.to_owned()),
        ureq::Error::Rustls(error) => Fault::Tls(error.to_string()),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Fault::Tls(error.to_string())
        }
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => Fault::Timeout,
        ureq::Error::Io(error) => Fault::Connection(error.to_string()),
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
            Fault::Connection(error.to_string())
        }
        other => Fault::Protocol(other.to_string()),
    }
}
