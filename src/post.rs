//! JSON or a form to a server outside, and its answer back: the one way in which anything leaves
//! this machine. Documents of the public internet are fetched in [`public`].
//!
//! Who calls decides how long to go on trying. A busy or broken server (429, 5xx, no connection) is
//! asked again after a pause, or after what it asked for; a refusal is final. The key is sent and
//! never part of a message, even where the server repeats it.

pub mod probe;
pub mod public;
pub mod rpc;
pub mod webdav;
pub mod xml;

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::domain::{Error, Patience, Result};

/// Characters of a server's answer that an error quotes.
const MAX_QUOTE: usize = 200;
/// Less time than this is not worth another try.
const MIN_TIME_LEFT: Duration = Duration::from_millis(5);

/// A place that takes JSON or forms.
pub struct Endpoint {
    /// Where requests go.
    pub url: String,
    /// The section of the config that names it, for errors.
    pub section: &'static str,
    /// Sent with every request.
    pub headers: Vec<(&'static str, String)>,
    /// The secret key, redacted from every message.
    pub key: Option<String>,
    /// The first wait before a second try; each later one is twice as long.
    pub pause: Duration,
    /// The longest answer that is read, in bytes.
    pub longest_answer: u64,
    /// Whether the body of an answer with an error status is what was asked for all the same.
    pub answers_with_error: fn(&str) -> bool,
    agent: ureq::Agent,
}

/// How long to go on trying.
#[derive(Debug, Clone, Copy)]
pub struct Tries {
    /// Number of attempts.
    pub most: u32,
    /// The longest wait between two tries.
    pub longest_pause: Duration,
    /// The time limit of one try.
    pub each: Duration,
    /// The time limit of all tries with the waits between them.
    pub all: Option<Duration>,
}

/// What is sent.
enum Body<'a> {
    Json(&'a Value),
    Form(&'a [(&'static str, String)]),
}

/// What came of one try.
enum Try {
    Done(String),
    /// May pass by itself; the server may have named a delay.
    Again(Error, Option<Duration>),
    Failed(Error),
}

impl Endpoint {
    /// An endpoint without headers or key.
    pub fn new(url: String, section: &'static str) -> Self {
        // What is sent has a key in it, which goes to the configured server and nowhere else.
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        Self {
            url,
            section,
            headers: Vec::new(),
            key: None,
            pause: Duration::from_millis(500),
            longest_answer: 8 << 20,
            answers_with_error: |_| false,
            agent: agent.into(),
        }
    }

    /// Posts JSON. Returns the body of the answer, and how often the server was asked.
    pub fn post(&self, body: &Value, tries: &Tries) -> (Result<String>, u32) {
        self.send(&Body::Json(body), &[], tries)
    }

    /// Posts a form with further headers. Returns the body of a successful answer.
    pub fn post_form(
        &self,
        fields: &[(&'static str, String)],
        headers: &[(&'static str, &str)],
        tries: &Tries,
    ) -> Result<String> {
        self.send(&Body::Form(fields), headers, tries).0
    }

    fn send(
        &self,
        body: &Body<'_>,
        headers: &[(&'static str, &str)],
        tries: &Tries,
    ) -> (Result<String>, u32) {
        let end = tries.all.map(|all| Instant::now() + all);
        let request = Patience::current();
        let left = || {
            let own = end.map(|end| end.saturating_duration_since(Instant::now()));
            own.into_iter().chain(request.remaining()).min()
        };
        let mut pause = self.pause;
        for made in 1.. {
            if let Err(error) = request.check() {
                return (Err(error), made - 1);
            }
            let limit = left().map_or(tries.each, |left| left.min(tries.each));
            let (error, asked) = match self.attempt(body, headers, limit) {
                Try::Done(text) => return (Ok(text), made),
                Try::Failed(error) => return (Err(error), made),
                Try::Again(error, asked) => (error, asked),
            };
            let wait = asked.unwrap_or(pause).min(tries.longest_pause);
            let in_time = left().is_none_or(|left| left > wait + MIN_TIME_LEFT);
            if made >= tries.most || !in_time {
                return (Err(error), made);
            }
            sleep(wait);
            pause *= 2;
        }
        (Err(Error::internal("no try was made")), 0)
    }

    fn attempt(&self, body: &Body<'_>, headers: &[(&str, &str)], limit: Duration) -> Try {
        let url = &self.url;
        let mut request = self.agent.post(url).config().timeout_global(Some(limit)).build();
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Body::Json(value) => request.send_json(value),
            Body::Form(fields) => {
                let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
                request.send_form(fields)
            }
        };
        let mut response = match sent {
            Ok(response) => response,
            Err(ureq::Error::Timeout(_)) => return Try::Failed(self.silent(limit)),
            Err(error) => {
                let message = self.hide(&format!("could not reach `{url}`: {error}"));
                return Try::Again(Error::outside(message), None);
            }
        };
        let status = response.status();
        if status.is_redirection() {
            return Try::Failed(self.moved(&response));
        }
        let asked = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let body = response.body_mut().with_config().limit(self.longest_answer).read_to_string();
        let body = match body {
            Ok(body) => body,
            Err(ureq::Error::Timeout(_)) => return Try::Failed(self.silent(limit)),
            Err(error) => {
                let message = format!("could not read the answer of `{url}`: {error}");
                return Try::Again(Error::outside(message), None);
            }
        };
        if status.is_success() || (self.answers_with_error)(&body) {
            return Try::Done(body);
        }
        let quote: String =
            self.hide(&body).chars().filter(|c| !c.is_control()).take(MAX_QUOTE).collect();
        let error = Error::outside(format!("`{url}` answered {status}: {quote}"));
        let passing = status.as_u16() == 429 || status.is_server_error();
        if passing { Try::Again(error, asked) } else { Try::Failed(error) }
    }

    fn moved(&self, response: &http::Response<ureq::Body>) -> Error {
        let to = response.headers().get("location").and_then(|to| to.to_str().ok());
        let to = to.map_or_else(String::new, |to| {
            let quote: String =
                self.hide(to).chars().filter(|c| !c.is_control()).take(MAX_QUOTE).collect();
            format!(", which points to `{quote}`")
        });
        Error::outside(format!(
            "`{}` answered {}{to}; redirects are not followed, so that no key goes elsewhere: write the final address into `[{}]`",
            self.url,
            response.status(),
            self.section,
        ))
    }

    fn silent(&self, limit: Duration) -> Error {
        let request = Patience::current().check();
        let setting = match request.is_err() {
            true => "`request_seconds` in `[limits]`".to_owned(),
            false => format!("`timeout_seconds` in `[{}]`", self.section),
        };
        Error::outside(format!(
            "`{}` did not answer within {:.1} seconds: raise {setting} or look at the server",
            self.url,
            limit.as_secs_f32(),
        ))
    }

    /// The text without the key, should it be in there.
    fn hide(&self, text: &str) -> String {
        match &self.key {
            Some(key) if !key.is_empty() => text.replace(key.as_str(), "…"),
            _ => text.to_owned(),
        }
    }
}
