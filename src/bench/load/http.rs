//! A client of streamable HTTP: one connection that is kept, one session.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer as it came.
pub struct Answer {
    pub status: u16,
    pub session: Option<String>,
    pub retry_after: Option<u64>,
    body: Vec<u8>,
    is_stream: bool,
}

impl Answer {
    /// The JSON-RPC message, out of a JSON body or the last event that has one.
    pub fn message(&self) -> Option<Value> {
        if !self.is_stream {
            return serde_json::from_slice(&self.body).ok();
        }
        let text = std::str::from_utf8(&self.body).ok()?;
        let messages = text.lines().filter_map(|line| line.strip_prefix("data:"));
        messages.filter_map(|data| serde_json::from_str(data).ok()).next_back()
    }
}

pub struct Http {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Http {
    pub fn open(address: &str, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "Host: {address}\r\nAuthorization: Bearer {token}\r\nMCP-Protocol-Version: 2025-06-18\r\n"
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Posts a message and reads the whole answer.
    pub fn post(&mut self, message: &Value, session: Option<&str>) -> io::Result<Answer> {
        self.send(message, session)?;
        self.answer()
    }

    /// Posts a message and leaves the answer to be read.
    pub fn send(&mut self, message: &Value, session: Option<&str>) -> io::Result<()> {
        let body = message.to_string();
        let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        let request = format!(
            "POST /_system/mcp HTTP/1.1\r\n{}{session}Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// Begins a session; the answer has its id.
    pub fn begin(&mut self) -> io::Result<Answer> {
        let answer = self.post(&initialize(), None)?;
        if let Some(id) = answer.session.clone().filter(|_| answer.status == 200) {
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            self.post(&ready, Some(&id))?;
        }
        Ok(answer)
    }

    /// Opens the stream of a session's notices, and reads its headers.
    pub fn listen(mut self, session: &str) -> io::Result<(Answer, TcpStream)> {
        let request = format!(
            "GET /_system/mcp HTTP/1.1\r\n{}Mcp-Session-Id: {session}\r\nAccept: text/event-stream\r\n\r\n",
            self.head
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (answer, _) = self.head()?;
        Ok((answer, self.stream.into_inner()))
    }

    /// Ends a session, as a client that says goodbye does.
    pub fn end(&mut self, session: &str) -> io::Result<Answer> {
        let request = format!(
            "DELETE /_system/mcp HTTP/1.1\r\n{}Mcp-Session-Id: {session}\r\nContent-Length: 0\r\n\r\n",
            self.head
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    /// Reads the status and the headers of an answer, and leaves its body.
    pub fn begin_answer(&mut self) -> io::Result<Answer> {
        self.head().map(|(answer, _)| answer)
    }

    /// Takes some bytes of an answer, as a slow reader does.
    pub fn sip(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let (mut answer, length) = self.head()?;
        match length {
            Length::Known(length) => {
                answer.body.resize(length, 0);
                self.stream.read_exact(&mut answer.body)?;
            }
            Length::Chunked => loop {
                let size = self.line()?;
                let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)
                    .map_err(|_| {
                        io::Error::new(io::ErrorKind::InvalidData, "no size of a chunk")
                    })?;
                let start = answer.body.len();
                answer.body.resize(start + size, 0);
                self.stream.read_exact(&mut answer.body[start..])?;
                self.line()?;
                if size == 0 {
                    break;
                }
            },
        }
        Ok(answer)
    }

    fn head(&mut self) -> io::Result<(Answer, Length)> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let Some(status) = status else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no status line"));
        };
        let mut answer =
            Answer { status, session: None, retry_after: None, body: Vec::new(), is_stream: false };
        let mut length = Length::Known(0);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = Length::Known(value.parse().unwrap_or(0)),
                "transfer-encoding" => length = Length::Chunked,
                "content-type" => answer.is_stream = value.starts_with("text/event-stream"),
                "mcp-session-id" => answer.session = Some(value.to_owned()),
                "retry-after" => answer.retry_after = value.parse().ok(),
                _ => {}
            }
        }
        Ok((answer, length))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

enum Length {
    Known(usize),
    Chunked,
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_json_body_or_the_last_event() {
        let answer = |body: &str, is_stream| Answer {
            status: 200,
            session: None,
            retry_after: None,
            body: body.as_bytes().to_vec(),
            is_stream,
        };
        assert_eq!(answer("{\"id\":1}", false).message().unwrap()["id"], 1);
        let events = "id: 0\ndata:\n\ndata: {\"method\":\"a\"}\n\nid: 1\ndata: {\"id\":2}\n\n";
        assert_eq!(answer(events, true).message().unwrap()["id"], 2);
        assert!(answer("oops", false).message().is_none());
    }
}
