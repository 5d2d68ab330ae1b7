//! JSON to protocol messages and back, for the transports of our own. Says -32700 and -32600 where
//! the SDK would stay silent, and adds to answers what its types cannot express.

use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::shape::{self, Shape};
use crate::domain::{Code, Error, Result};

/// What arrived in one piece.
#[derive(Debug)]
pub enum Incoming {
    /// A single message.
    One(Value),
    /// A batch.
    Batch(Vec<Value>),
}

/// The longest `id`. It is repeated in the answer, and copied on the way there.
const MAX_ID: usize = 1000;

/// Parses JSON: one message, or a batch of at most `most`. What is too much is refused before
/// anything is built of it.
pub fn parse(bytes: &[u8], most: usize) -> Result<Incoming> {
    let shape = Shape::of(bytes);
    if let Some(count) = shape.elements.filter(|count| *count > most) {
        return Err(Error::limit(format!(
            "the batch has {count} messages, more than `limits.batch` ({most}) allows; send it in parts"
        )));
    }
    if shape.values > shape::MAX_VALUES {
        return Err(Error::limit(format!(
            "the request has more than {} values; send less at once",
            shape::MAX_VALUES
        )));
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| Error::new(Code::Parse, parse_error(&error)))?;
    let incoming = match value {
        Value::Array(messages) if messages.is_empty() => {
            return Err(Error::invalid_request("Invalid Request: the batch is empty"));
        }
        Value::Array(messages) => Incoming::Batch(messages),
        value => Incoming::One(value),
    };
    let messages = match &incoming {
        Incoming::One(message) => std::slice::from_ref(message),
        Incoming::Batch(messages) => messages,
    };
    let id = |message: &Value| message.get("id").and_then(Value::as_str).map_or(0, str::len);
    if messages.iter().any(|message| id(message) > MAX_ID) {
        return Err(Error::invalid_request(format!(
            "Invalid Request: `id` has more than {MAX_ID} bytes"
        )));
    }
    Ok(incoming)
}

fn parse_error(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let what = whole.split_once(" at line ").map_or(whole.as_str(), |(what, _)| what);
    let place = match (error.line(), error.column()) {
        (0 | 1, column) => format!("byte {column}"),
        (line, column) => format!("line {line}, byte {column}"),
    };
    format!("Parse error: the message is not JSON: {what} ({place})")
}

/// Checks that a value is a JSON-RPC message. An error comes as the answer to send.
pub fn decode(value: Value) -> std::result::Result<ClientJsonRpcMessage, Value> {
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let refuse =
        |what: &str| Err(error(&id, &Error::invalid_request(format!("Invalid Request: {what}"))));
    let Value::Object(map) = &value else { return refuse("a message is an object") };
    if map.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse("`jsonrpc` must be \"2.0\"");
    }
    if !matches!(id, Value::Null | Value::String(_) | Value::Number(_)) {
        return refuse("`id` must be a string or a number");
    }
    let answers = map.contains_key("result") || map.contains_key("error");
    match map.get("method") {
        Some(Value::String(_)) => {}
        None if answers => {}
        None => return refuse("`method` is missing"),
        Some(_) => return refuse("`method` must be a string"),
    }
    if map.contains_key("id") && id.is_null() && !answers {
        return refuse("`id` must not be null");
    }
    match map.get("params") {
        None | Some(Value::Object(_)) => {}
        Some(Value::Null) => return decode(without_params(value)),
        Some(_) => {
            return Err(error(&id, &Error::invalid_params("params must be an object")));
        }
    }
    serde_json::from_value(value).or_else(|_| refuse("not a message of this protocol"))
}

fn without_params(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.remove("params");
    }
    value
}

/// An error as the answer to `id`.
pub fn error(id: &Value, error: &Error) -> Value {
    let mut body = json!({ "code": error.code.json_rpc(), "message": error.message });
    if let (Some(data), Value::Object(map)) = (&error.data, &mut body) {
        map.insert("data".into(), data.clone());
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": body })
}

/// A message of ours as JSON text, written once.
pub fn encode(message: &ServerJsonRpcMessage) -> Box<RawValue> {
    let is_handshake = matches!(
        message,
        ServerJsonRpcMessage::Response(response)
            if matches!(
                response.result,
                ServerResult::InitializeResult(_) | ServerResult::DiscoverResult(_)
            )
    );
    if !is_handshake {
        return text(message);
    }
    let mut value = serde_json::to_value(message).unwrap_or_default();
    if let Some(result) = value.get_mut("result") {
        say_mutable(result);
    }
    text(&value)
}

/// The request that a message of ours answers.
pub fn answers(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// A value as JSON text.
pub fn text(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value)
        .or_else(|cause| {
            let why = format!("could not write the answer: {cause}");
            to_raw_value(&error(&Value::Null, &Error::internal(why)))
        })
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The extension that says that this caller may change prompts.
pub const MUTABLE: &str = "notewell/prompts";

/// Adds `prompts.mutable: true` to a handshake's answer, which the SDK's typed capabilities cannot
/// express, when the caller may change prompts.
pub fn say_mutable(result: &mut Value) {
    let may_change = |capabilities: &Value| capabilities["extensions"].get(MUTABLE).is_some();
    if !result.get("capabilities").is_some_and(may_change) {
        return;
    }
    if let Some(Value::Object(prompts)) = result.pointer_mut("/capabilities/prompts") {
        prompts.insert("mutable".into(), Value::Bool(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_told_so() {
        for (value, code) in [
            (json!("hello"), -32600),
            (json!({"id": 1, "method": "ping"}), -32600),
            (json!({"jsonrpc": "2.0", "id": 1}), -32600),
            (json!({"jsonrpc": "2.0", "id": 1, "method": 5}), -32600),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}), -32600),
            (json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), -32600),
            (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}), -32602),
        ] {
            let answer = decode(value.clone()).unwrap_err();
            assert_eq!(answer["error"]["code"], code, "{value}");
        }
        assert!(decode(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).is_ok());
        assert!(
            decode(json!({"jsonrpc": "2.0", "id": "a", "method": "x", "params": null})).is_ok()
        );
    }
}
