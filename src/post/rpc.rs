//! JSON-RPC requests to an MCP server outside, over Streamable HTTP. The answer is a JSON body, or
//! one event among those of a stream. What comes back is untrusted: it is bounded in size and time,
//! it must answer the request that was made, and no redirect is followed.

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
    time::Duration,
};

use serde_json::Value;
use url::Url;

use super::MAX_QUOTE;
use crate::config;

/// A server that takes JSON-RPC requests.
pub struct Rpc {
    url: String,
    token: Option<String>,
    agent: ureq::Agent,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The message with the request's id, or an error without an id. `None` to a notification, and
    /// where a status that is no success has no such body.
    pub message: Option<Value>,
    /// The session that it opened.
    pub session: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing came in time.
    Late(Duration),
    /// It cannot be reached, or broke off.
    Unreachable(String),
    /// It answered with a redirect, which is not followed.
    Redirect,
    /// It sent more than is read.
    TooLong(u64),
    /// What it sent is no answer to the request.
    Garbage(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Late(time) => write!(f, "did not answer within {} ms", time.as_millis()),
            Fault::Unreachable(why) => write!(f, "cannot be reached: {why}"),
            Fault::Redirect => f.write_str(
                "answered with a redirect, which is not followed: set `url` to where it leads",
            ),
            Fault::TooLong(most) => write!(f, "sent more than {most} bytes"),
            Fault::Garbage(what) => f.write_str(what),
        }
    }
}

impl Rpc {
    /// A server, with the bearer token that it gets.
    pub fn new(url: &str, token: Option<String>) -> Self {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("notewell/", env!("CARGO_PKG_VERSION")));
        // A proxy of the environment is for the outside.
        if Url::parse(url).is_ok_and(|url| config::is_local(&url)) {
            config = config.proxy(None);
        }
        Self { url: url.to_owned(), token, agent: config.build().into() }
    }

    /// Sends a message and reads its answer, at most `most` bytes of it.
    pub fn send(
        &self,
        message: &Value,
        headers: &[(&str, &str)],
        time: Duration,
        most: u64,
    ) -> Result<Answer, Fault> {
        let fault = |error| self.fault(error, time, most);
        let mut request = self
            .agent
            .post(&self.url)
            .config()
            .timeout_global(Some(time))
            .build()
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = request.send(message.to_string()).map_err(fault)?;
        let status = response.status().as_u16();
        if (300..400).contains(&status) {
            return Err(Fault::Redirect);
        }
        let header = |name: &str| response.headers().get(name)?.to_str().ok();
        let session = header("mcp-session-id").map(str::to_owned);
        let is_stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-"));
        let length = header("content-length").and_then(|length| length.parse::<u64>().ok());
        let Some(id) = message.get("id") else {
            return Ok(Answer { status, message: None, session });
        };
        if length.is_some_and(|length| length > most) {
            return Err(Fault::TooLong(most));
        }
        let mut body = response.body_mut().with_config().limit(most).reader();
        let io_fault = |error| fault(ureq::Error::from(error));
        let message = match is_stream {
            true => events(BufReader::new(body), id).map_err(io_fault)?,
            false => {
                let mut bytes = Vec::new();
                body.read_to_end(&mut bytes).map_err(io_fault)?;
                serde_json::from_slice(&bytes).ok().and_then(|value| answer_to(value, id))
            }
        };
        match message {
            None if (200..300).contains(&status) => Err(Fault::Garbage(match is_stream {
                true => "ended its answer without a result".to_owned(),
                false => "answered with something that is no answer to the request".to_owned(),
            })),
            message => Ok(Answer { status, message, session }),
        }
    }

    /// Ends a session. A server that does not care is not asked twice.
    pub fn end(&self, session: &str, time: Duration) {
        let mut request = self.agent.delete(&self.url).config().timeout_global(Some(time)).build();
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        drop(request.header("mcp-session-id", session).call());
    }

    fn fault(&self, error: ureq::Error, time: Duration, most: u64) -> Fault {
        use std::io::ErrorKind;
        match error {
            ureq::Error::Timeout(_) => Fault::Late(time),
            ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => Fault::Late(time),
            ureq::Error::BodyExceedsLimit(_) => Fault::TooLong(most),
            error => Fault::Unreachable(self.quote(&error.to_string())),
        }
    }

    /// The first words of a text of the server's, on one line and without the token.
    pub fn quote(&self, text: &str) -> String {
        let text = match &self.token {
            Some(token) if !token.is_empty() => text.replace(token.as_str(), "…"),
            _ => text.to_owned(),
        };
        text.chars().filter(|c| !c.is_control()).take(MAX_QUOTE).collect()
    }
}

/// The answer to a request in a body: the message itself, or one of a batch.
fn answer_to(value: Value, id: &Value) -> Option<Value> {
    match value {
        Value::Array(batch) => batch.into_iter().find_map(|value| answer_to(value, id)),
        Value::Object(ref fields) => {
            let is_answer = fields.contains_key("result") || fields.contains_key("error");
            let is_ours = match fields.get("id") {
                None | Some(Value::Null) => fields.contains_key("error"),
                Some(own) => own == id,
            };
            (is_answer && is_ours).then_some(value)
        }
        _ => None,
    }
}

/// Reads events until the one that answers the request.
fn events(mut lines: impl BufRead, id: &Value) -> std::io::Result<Option<Value>> {
    let (mut line, mut data) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        let ended = lines.read_until(b'\n', &mut line)? == 0;
        let text = line.trim_ascii_end();
        if let Some(part) = text.strip_prefix(b"data:") {
            data.extend_from_slice(part.strip_prefix(b" ").unwrap_or(part));
            data.push(b'\n');
        } else if text.is_empty() {
            let event = serde_json::from_slice(&data).ok();
            if let Some(answer) = event.and_then(|value| answer_to(value, id)) {
                return Ok(Some(answer));
            }
            data.clear();
        }
        if ended {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_answer_is_found_among_events() {
        let stream = ": ping\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n\
             event: message\r\ndata: {\"id\":7,\r\ndata: \"result\":{\"a\":1}}\r\n\r\ndata: never read";
        let found = events(stream.as_bytes(), &json!(7)).unwrap().unwrap();
        assert_eq!(found["result"]["a"], 1);
        assert!(events(stream.as_bytes(), &json!(8)).unwrap().is_none());
        // The last event may lack its empty line.
        assert!(events(&b"data:{\"id\":7,\"result\":1}"[..], &json!(7)).unwrap().is_some());
    }

    #[test]
    fn only_an_answer_to_the_request_counts() {
        let id = json!("a1");
        for (body, counts) in [
            (json!({ "id": "a1", "result": {} }), true),
            (json!({ "id": "a1", "error": { "code": 1 } }), true),
            (json!({ "id": null, "error": { "code": -32700 } }), true),
            (json!([{ "id": 2, "result": 1 }, { "id": "a1", "result": 2 }]), true),
            (json!({ "id": "a2", "result": {} }), false),
            (json!({ "id": 1, "result": {} }), false),
            (json!({ "id": null, "result": {} }), false),
            (json!({ "id": "a1", "method": "ping" }), false),
            (json!("a1"), false),
        ] {
            assert_eq!(answer_to(body.clone(), &id).is_some(), counts, "{body}");
        }
    }

    #[test]
    fn a_token_is_never_quoted() {
        let rpc = Rpc::new("http://127.0.0.1:1/", Some("s3cret".into()));
        assert_eq!(rpc.quote("no: s3cret\u{1b}[31m"), "no: …[31m");
    }
}
