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
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage},
    service::serve_directly,
    transport::OneshotTransport,
};
use serde_json::Value;

use super::{Site, base, help, refuse};
use crate::{
    domain::Error,
    serve::mcp::{
        Handler, Link,
        message::{self, Incoming},
    },
};

const MODERN: &str = "2026-07-28";

pub async fn mcp(
    State(site): State<Site>,
    Extension(link): Extension<Link>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if parts.method == Method::GET && accepts(&parts.headers, "text/html") {
        return help::page(&format!("{}{}", base(&site), parts.uri.path()));
    }
    if parts.method != Method::POST {
        return streamable(&site, parts, Bytes::new()).await;
    }
    let most = site.hub.app.config.limits.body_bytes;
    let bytes = match Limited::new(body, most).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                &Error::limit(format!(
                    "the request has more than `limits.body_bytes` ({most}) bytes; send less at once"
                )),
            );
        }
        Err(_) => {
            return refuse(
                StatusCode::BAD_REQUEST,
                &Error::invalid_request("the request's body did not arrive whole"),
            );
        }
    };
    let incoming = match message::parse(&bytes, site.hub.app.config.limits.batch) {
        Ok(incoming) => incoming,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    match incoming {
        Incoming::One(value) if wants_stream(&parts.headers, &value) => {
            let initialize = is_handshake(&value);
            let response = streamable(&site, parts, bytes).await;
            if initialize { say_mutable(response) } else { response }
        }
        Incoming::One(value) => match answer(&site, &link, &parts, value).await {
            Some(answer) => axum::Json(answer).into_response(),
            None => StatusCode::ACCEPTED.into_response(),
        },
        Incoming::Batch(values) => {
            let mut answers = Vec::new();
            // One after the other: a later message may build on an earlier one.
            for value in values {
                answers.extend(answer(&site, &link, &parts, value).await);
            }
            match answers.is_empty() {
                true => StatusCode::ACCEPTED.into_response(),
                false => axum::Json(answers).into_response(),
            }
        }
    }
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains(kind))
}

/// Whether a message belongs to streamable HTTP rather than to a bare exchange.
fn wants_stream(headers: &HeaderMap, value: &Value) -> bool {
    let version = value
        .pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion")
        .and_then(Value::as_str)
        .or_else(|| headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok()));
    headers.contains_key("mcp-session-id")
        || headers.contains_key("mcp-method")
        || version.is_some_and(|version| version >= MODERN)
        || match value.get("method").and_then(Value::as_str) {
            Some("server/discover") => true,
            Some("initialize") => accepts(headers, "text/event-stream"),
            _ => false,
        }
}

fn is_handshake(value: &Value) -> bool {
    matches!(value.get("method").and_then(Value::as_str), Some("initialize" | "server/discover"))
}

/// Hands a request to the SDK, with the headers it insists on.
async fn streamable(site: &Site, mut parts: Parts, body: Bytes) -> Response {
    if parts.method == Method::POST {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, both);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let request = http::Request::from_parts(parts, Full::new(body));
    site.streamable.handle(request).await.map(Body::new)
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
async fn answer(site: &Site, link: &Link, parts: &Parts, value: Value) -> Option<Value> {
    let mut message = match message::decode(value) {
        Ok(message) => message,
        Err(answer) => return Some(answer),
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
    Some(message::error(&id, &Error::internal("the request ended without an answer")))
}
