//! An MCP client of one server: the revision of 2026 without a handshake, or else the handshake of
//! 2025-11-25 with its session. Which of them a server speaks is found out once.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use crate::post::rpc::{Answer, Fault, Rpc};

const MODERN: &str = "2026-07-28";
const HANDSHAKE: &str = "2025-11-25";
/// The longest answer that is read, in bytes.
const MAX_BYTES: u64 = 2 << 20;
/// Pages of the list of tools that are read.
const MAX_PAGES: usize = 8;

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Era {
    Modern,
    /// After a handshake.
    Session {
        version: String,
        id: Option<String>,
    },
    /// JSON-RPC without a handshake, as trip2g has it.
    Bare,
}

/// A client of one server.
pub struct Client {
    rpc: Rpc,
    era: Mutex<Option<Era>>,
    /// One negotiation at a time: a server may end the session before the newest one.
    negotiation: Mutex<()>,
    next: AtomicU64,
}

impl Client {
    pub fn new(url: &str, token: Option<String>) -> Self {
        Self {
            rpc: Rpc::new(url, token),
            era: Mutex::default(),
            negotiation: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// The revision that is spoken, once it is known.
    pub fn revision(&self) -> Option<String> {
        Some(match self.known()? {
            Era::Modern => MODERN.to_owned(),
            Era::Session { version, .. } => version,
            Era::Bare => "JSON-RPC without a handshake".to_owned(),
        })
    }

    /// The tools that the server lists.
    pub fn tools(&self, until: Instant) -> Result<Vec<Value>, Fault> {
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let mut params = Map::new();
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".into(), cursor.into());
            }
            let mut page = self.request("tools/list", params, None, until)?;
            let Some(Value::Array(listed)) = page.get_mut("tools").map(Value::take) else {
                return Err(Fault::Garbage("listed no tools".to_owned()));
            };
            tools.extend(listed);
            cursor = page["nextCursor"].as_str().filter(|next| !next.is_empty()).map(Into::into);
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// Calls a tool.
    pub fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        until: Instant,
    ) -> Result<Value, Fault> {
        let params = [("name", tool.into()), ("arguments", Value::Object(arguments))];
        let params = params.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        let result = self.request("tools/call", params, Some(tool), until)?;
        match result["resultType"].as_str() {
            None | Some("complete") => {}
            Some(_) => {
                return Err(Fault::Garbage(format!(
                    "asks for more than the question before `{tool}` answers"
                )));
            }
        }
        if result["isError"] == true {
            let why = result["content"][0]["text"].as_str().unwrap_or("without a reason");
            return Err(Fault::Garbage(format!("refused: “{}”", self.rpc.quote(why))));
        }
        Ok(result)
    }

    /// Ends the session, where there is one.
    pub fn end(&self) {
        if let Some(Era::Session { id: Some(id), .. }) = self.forget() {
            self.rpc.end(&id, Duration::from_secs(1));
        }
    }

    fn known(&self) -> Option<Era> {
        self.era.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn forget(&self) -> Option<Era> {
        self.era.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        name: Option<&str>,
        until: Instant,
    ) -> Result<Value, Fault> {
        let (era, is_new) = match self.known() {
            Some(era) => (era, false),
            None => (self.negotiate(None, until)?, true),
        };
        let answer = self.send(&era, method, params.clone(), name, until)?;
        // A session that has ended, or a server that was replaced by another: begin again, once.
        let is_lost = matches!(answer.status, 400 | 404)
            && answer.message.as_ref().is_none_or(|message| message["error"]["code"] != -32602);
        if is_lost && !is_new {
            let era = self.negotiate(Some(&era), until)?;
            let answer = self.send(&era, method, params, name, until)?;
            return self.result(answer);
        }
        self.result(answer)
    }

    /// Finds out how the server is spoken to, unless another request did since it was `lost`.
    fn negotiate(&self, lost: Option<&Era>, until: Instant) -> Result<Era, Fault> {
        let _turn = self.negotiation.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(era) = self.known().filter(|era| Some(era) != lost) {
            return Ok(era);
        }
        self.forget();
        let era = self.opening(until)?;
        *self.era.lock().unwrap_or_else(PoisonError::into_inner) = Some(era.clone());
        Ok(era)
    }

    fn opening(&self, until: Instant) -> Result<Era, Fault> {
        let discovered = self.send(&Era::Modern, "server/discover", Map::new(), None, until);
        match discovered {
            Ok(answer) => {
                // What refuses a caller refuses it in every revision.
                if matches!(answer.status, 401 | 403 | 429) || answer.status >= 500 {
                    return Err(self.refused(&answer));
                }
                let versions = answer.message.map(|mut message| message["result"].take());
                let versions =
                    versions.as_ref().and_then(|result| result["supportedVersions"].as_array());
                if versions.is_some_and(|versions| versions.iter().any(|it| it == MODERN)) {
                    return Ok(Era::Modern);
                }
            }
            Err(Fault::Garbage(_)) => {}
            Err(fault) => return Err(fault),
        }
        let params = json!({
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": { "name": "notewell", "version": env!("CARGO_PKG_VERSION") },
        });
        let params = params.as_object().cloned().unwrap_or_default();
        let answer = self.send(&Era::Bare, "initialize", params, None, until)?;
        let version = answer
            .message
            .as_ref()
            .and_then(|message| message["result"]["protocolVersion"].as_str().map(str::to_owned));
        let Some(version) = version else {
            return match answer.message {
                Some(_) if (200..300).contains(&answer.status) => Ok(Era::Bare),
                _ => Err(self.refused(&answer)),
            };
        };
        let is_header = |text: &String| text.bytes().all(|byte| byte.is_ascii_graphic());
        let era = Era::Session {
            version: Some(version).filter(is_header).unwrap_or_else(|| HANDSHAKE.to_owned()),
            id: answer.session.filter(is_header),
        };
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(&era, &message, "notifications/initialized", None, until)?;
        Ok(era)
    }

    fn send(
        &self,
        era: &Era,
        method: &str,
        mut params: Map<String, Value>,
        name: Option<&str>,
        until: Instant,
    ) -> Result<Answer, Fault> {
        if *era == Era::Modern {
            params.insert(
                "_meta".into(),
                json!({
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {
                        "name": "notewell",
                        "version": env!("CARGO_PKG_VERSION"),
                    },
                }),
            );
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(era, &message, method, name, until)
    }

    fn post(
        &self,
        era: &Era,
        message: &Value,
        method: &str,
        name: Option<&str>,
        until: Instant,
    ) -> Result<Answer, Fault> {
        let time = until.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Err(Fault::Late(time));
        }
        let mut headers = Vec::new();
        match era {
            Era::Modern => {
                headers.extend([("mcp-protocol-version", MODERN), ("mcp-method", method)]);
                headers.extend(name.map(|name| ("mcp-name", name)));
            }
            Era::Session { version, id } => {
                headers.push(("mcp-protocol-version", version.as_str()));
                headers.extend(id.as_deref().map(|id| ("mcp-session-id", id)));
            }
            Era::Bare => {}
        }
        self.rpc.send(message, &headers, time, MAX_BYTES)
    }

    /// The result in an answer.
    fn result(&self, answer: Answer) -> Result<Value, Fault> {
        match answer.message {
            Some(Value::Object(mut message)) if message.contains_key("result") => {
                Ok(message.remove("result").unwrap_or_default())
            }
            _ => Err(self.refused(&answer)),
        }
    }

    fn refused(&self, answer: &Answer) -> Fault {
        let why = answer.message.as_ref().and_then(|message| message["error"]["message"].as_str());
        let why = why.map(|why| self.rpc.quote(why));
        Fault::Garbage(match (answer.status, why) {
            (401 | 403, _) => {
                format!("refused the caller (HTTP {}): check `token`", answer.status)
            }
            (200..300, Some(why)) => format!("refused: “{why}”"),
            (status, Some(why)) => format!("refused (HTTP {status}): “{why}”"),
            (status, None) => format!("answered HTTP {status} and no reason"),
        })
    }
}
