//! A client of the HTTP server: bare JSON-RPC over one connection.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::domain::{Error, Result, error::Doing};

/// One connection that is kept open between requests.
pub struct Connection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Connection {
    /// Connects, and sends this token with every request.
    pub fn open(address: &str, token: Option<&str>) -> Result<Self> {
        let what = "connect to the server";
        let stream = TcpStream::connect(address).doing(what)?;
        stream.set_nodelay(true).doing(what)?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).doing(what)?;
        let token =
            token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let head = format!("POST /_system/mcp HTTP/1.1\r\nHost: {address}\r\n{token}");
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Posts a request and reads the JSON of the answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = request.to_string();
        let head = format!("{}Content-Length: {}\r\n\r\n", self.head, request.len());
        let what = "talk to the server";
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes()).doing(what)?;
        stream.write_all(request.as_bytes()).doing(what)?;
        let (mut status, mut length) = (String::new(), 0);
        self.stream.read_line(&mut status).doing(what)?;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).doing(what)? == 0 {
                return Err(Error::internal("the server closed the connection"));
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).doing(what)?;
        serde_json::from_slice(&body).doing("read the server's answer")
    }
}
