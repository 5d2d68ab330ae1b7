//! The MCP endpoint. A bare JSON-RPC POST with no handshake is answered here, as one JSON body;
//! streamable HTTP (sessions, streams, the stateless era) goes to the SDK.

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage},
    service::serve_directly,
    transport::OneshotTransport,
};
use serde_json::{Value, value::RawValue};

use super::{
    Site,
    auth::accepts,
    body::{self, Read},
    gate::Visitor,
    help,
    hold::{self, Endless},
    origin, refuse,
};
use crate::{
    domain::Error,
    serve::mcp::{
        Handler, Link,
        message::{self, Incoming},
    },
};

const MODERN: &str = "2026-07-28";
const SESSION: &str = "mcp-session-id";

pub async fn mcp(
    State(site): State<Site>,
    Extension(link): Extension<Link>,
    request: Request,
) -> Response {
    let (mut parts, body) = request.into_parts();
    if parts.method == Method::GET && accepts(&parts.headers, "text/html") {
        let base = origin::base(&site, &parts.headers);
        return help::page(&base, parts.uri.path());
    }
    let visitor = Visitor::of(&link);
    if parts.method != Method::POST {
        if let Some(refused) = check_session(&site, &visitor, &mut parts.headers, None) {
            return refused;
        }
        let endless = parts.method == Method::GET;
        let mut response = streamable(&site, parts, Bytes::new()).await;
        if endless && response.status().is_success() {
            response.extensions_mut().insert(Endless);
        }
        return response;
    }
    // The share of memory is held until the answer is there.
    let Read { bytes, share: _share } = match body::read(&site, &visitor, body).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let incoming = match body::parse(&site, &bytes).await {
        Ok(incoming) => incoming,
        Err(refused) => return refused,
    };
    let large = bytes.len() > body::SMALL;
    match incoming {
        Incoming::One(value) if wants_stream(&parts.headers, &value) => {
            if let Some(refused) = check_session(&site, &visitor, &mut parts.headers, Some(&value))
            {
                return refused;
            }
            let method = Kind::of(&value);
            drop(value);
            in_session(&site, &visitor, parts, bytes, method).await
        }
        Incoming::One(value) => {
            drop(bytes);
            match answer(&site, &link, &parts, value, large).await {
                Some(answer) => axum::Json(answer).into_response(),
                None => StatusCode::ACCEPTED.into_response(),
            }
        }
        Incoming::Batch(values) => {
            drop(bytes);
            let mut answers = Vec::new();
            // One after the other: a later message may build on an earlier one.
            for value in values {
                answers.extend(answer(&site, &link, &parts, value, large).await);
            }
            match answers.is_empty() {
                true => StatusCode::ACCEPTED.into_response(),
                false => axum::Json(answers).into_response(),
            }
        }
    }
}

/// What the front does with a message besides handing it on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initialize,
    Discover,
    Listen,
    Other,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value.get("method").and_then(Value::as_str) {
            Some("initialize") => Self::Initialize,
            Some("server/discover") => Self::Discover,
            Some("subscriptions/listen") => Self::Listen,
            _ => Self::Other,
        }
    }
}

/// Refuses a session of somebody else's as one that does not exist. The stateless era has no
/// sessions, so there the header is taken off and cannot name one.
fn check_session(
    site: &Site,
    visitor: &Visitor,
    headers: &mut HeaderMap,
    message: Option<&Value>,
) -> Option<Response> {
    if !headers.contains_key(SESSION) {
        return None;
    }
    if version(headers, message).is_some_and(|version| version >= MODERN) {
        headers.remove(SESSION);
        return None;
    }
    let id = headers.get(SESSION).and_then(|id| id.to_str().ok()).unwrap_or_default();
    match site.sessions.is_of(id, visitor) {
        true => None,
        false => Some((StatusCode::NOT_FOUND, "Not Found: Session not found").into_response()),
    }
}

/// Hands a message to the SDK. A handshake opens a session, which is bound to its caller.
async fn in_session(
    site: &Site,
    visitor: &Visitor,
    parts: Parts,
    bytes: Bytes,
    method: Kind,
) -> Response {
    let opens = method == Kind::Initialize && !parts.headers.contains_key(SESSION);
    if opens && !site.sessions.make_room(visitor).await {
        return hold::busy(&Error::limit(
            "as many sessions are open as `limits.sessions` allows; try again later",
        ));
    }
    let mut response = streamable(site, parts, bytes).await;
    let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
    if let Some(id) = session.filter(|_| opens).map(String::from) {
        site.sessions.bind(&id, visitor).await;
    }
    if method == Kind::Listen && response.status().is_success() {
        response.extensions_mut().insert(Endless);
    }
    match method {
        Kind::Initialize | Kind::Discover => say_mutable(response),
        Kind::Listen | Kind::Other => response,
    }
}

/// The protocol version that a message or its headers name.
fn version<'a>(headers: &'a HeaderMap, message: Option<&'a Value>) -> Option<&'a str> {
    message
        .and_then(|value| value.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion"))
        .and_then(Value::as_str)
        .or_else(|| headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok()))
}

/// Whether a message belongs to streamable HTTP rather than to a bare exchange.
fn wants_stream(headers: &HeaderMap, value: &Value) -> bool {
    headers.contains_key(SESSION)
        || headers.contains_key("mcp-method")
        || version(headers, Some(value)).is_some_and(|version| version >= MODERN)
        || match Kind::of(value) {
            Kind::Discover => true,
            Kind::Initialize => accepts(headers, "text/event-stream"),
            Kind::Listen | Kind::Other => false,
        }
}

/// Hands a request to the SDK, with the headers it insists on.
async fn streamable(site: &Site, mut parts: Parts, body: Bytes) -> Response {
    if parts.method == Method::POST {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, both);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let large = body.len() > body::SMALL;
    let request = http::Request::from_parts(parts, Full::new(body));
    if !large {
        return site.streamable.handle(request).await.map(Body::new);
    }
    // The SDK parses where it is called, so a large body is handled on the blocking pool.
    let (service, runtime) = (site.streamable.clone(), tokio::runtime::Handle::current());
    let handled =
        tokio::task::spawn_blocking(move || runtime.block_on(service.handle(request))).await;
    match handled {
        Ok(response) => response.map(Body::new),
        Err(_) => refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            &Error::internal("the request ended without an answer"),
        ),
    }
}

/// Adds to the handshake's answer what the SDK's types cannot say. It is one small event or body.
fn say_mutable(response: Response) -> Response {
    response.map(|body| {
        Body::new(body.map_frame(|frame| {
            frame.map_data(|data| {
                let text = String::from_utf8_lossy(&data);
                let lines: Vec<String> = text.split('\n').map(patched).collect();
                Bytes::from(lines.join("\n"))
            })
        }))
    })
}

fn patched(line: &str) -> String {
    let (prefix, json) = match line.strip_prefix("data:") {
        Some(json) => ("data: ", json.trim_start()),
        None => ("", line),
    };
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return line.to_owned() };
    match value.get_mut("result") {
        Some(result) => {
            message::say_mutable(result);
            format!("{prefix}{value}")
        }
        None => line.to_owned(),
    }
}

/// The answer to one bare message; a notification has none.
async fn answer(
    site: &Site,
    link: &Link,
    parts: &Parts,
    value: Value,
    large: bool,
) -> Option<Box<RawValue>> {
    let decoded = match large {
        false => message::decode(value),
        true => tokio::task::spawn_blocking(|| message::decode(value)).await.unwrap_or_else(|_| {
            let error = Error::internal("the request could not be read");
            Err(message::error(&Value::Null, &error))
        }),
    };
    let mut message = match decoded {
        Ok(message) => message,
        Err(answer) => return Some(message::text(&answer)),
    };
    let ClientJsonRpcMessage::Request(request) = &mut message else { return None };
    let id = serde_json::to_value(&request.id).unwrap_or_default();
    request.request.extensions_mut().insert(parts.clone());
    let (transport, mut answers) = OneshotTransport::<RoleServer>::new(message);
    let handler = Handler::new(site.hub.clone(), link.clone());
    // Dropped when the client goes away, which cancels the call.
    let running = serve_directly(handler, transport, None);
    while let Some(message) = answers.recv().await {
        if matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
            drop(running);
            return Some(message::encode(&message));
        }
    }
    let error = Error::internal("the request ended without an answer");
    Some(message::text(&message::error(&id, &error)))
}
