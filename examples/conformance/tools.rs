//! Fixture tools.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
        ContentBlock, JsonObject, LoggingLevel, LoggingMessageNotificationParam,
        ProgressNotificationParam, ResourceContents, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use super::{asking, jobs, rounds};

/// One red pixel.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A WAV header with no samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// A list that a fixture pretends has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts,
}

/// Fixtures that take no arguments, with what they do.
const PLAIN: &[(&str, &str)] = &[
    ("test_simple_text", "answers with one text"),
    ("test_image_content", "answers with one image"),
    ("test_audio_content", "answers with one sound"),
    ("test_embedded_resource", "answers with one embedded resource"),
    ("test_multiple_content_types", "answers with text, image and resource"),
    ("test_tool_with_logging", "logs three messages while it runs"),
    ("test_error_handling", "answers with an error"),
    ("test_tool_with_progress", "reports progress three times"),
    ("test_reconnection", "takes a moment"),
    ("test_logging_tool", "logs only when the request names a level"),
    ("test_missing_capability", "refuses a client that cannot sample"),
    ("test_trigger_tool_change", "says that the list of tools changed"),
    ("test_trigger_prompt_change", "says that the list of prompts changed"),
];

/// Every fixture tool, in a fixed order.
pub fn list_tools() -> Vec<Tool> {
    let bare = || object(json!({ "type": "object", "properties": {} }));
    let plain = PLAIN.iter().chain(asking::PLAIN).chain(rounds::TOOLS);
    let mut tools: Vec<Tool> =
        plain.map(|(name, does)| Tool::new(*name, format!("Fixture: {does}"), bare())).collect();
    tools.extend(asking::list_tools());
    tools.extend(jobs::list_tools());
    tools.push(dialect_tool());
    tools.push(header_tool());
    tools
}

/// For `ServerHandler::get_tool`: the transport compares parameter headers with this tool's schema.
pub fn get_tool(name: &str) -> Option<Tool> {
    (name == "test_custom_header").then(header_tool)
}

/// The answer of a fixture, or `None` when `request` names none.
pub async fn call_tool(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    announce: impl Fn(Change) + Send,
) -> Option<Result<CallToolResponse, ErrorData>> {
    if let Some(answer) = rounds::call(request, context) {
        return Some(answer);
    }
    if let Some(answer) = asking::call(request, context).await {
        return Some(Ok(answer.into()));
    }
    let answer = match request.name.as_ref() {
        "greet" => {
            let name = request.arguments.as_ref().and_then(|all| all.get("name"));
            text(format!("Hello, {}!", name.and_then(Value::as_str).unwrap_or("nobody")))
        }
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => {
            CallToolResult::success(vec![ContentBlock::image(PNG, "image/png")])
        }
        "test_audio_content" => {
            CallToolResult::success(vec![ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))])
        }
        "test_embedded_resource" => CallToolResult::success(vec![resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => CallToolResult::success(vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ]),
        "test_error_handling" => CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )]),
        "test_tool_with_logging" => {
            for message in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                log(context, LoggingLevel::Info, message).await;
                pause().await;
            }
            text("Logging test completed")
        }
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "a level was named").await;
            }
            text("Logging tool completed")
        }
        "test_tool_with_progress" => {
            report_progress(context).await;
            text("Progress test completed")
        }
        "test_reconnection" => {
            pause().await;
            text("Reconnection test completed")
        }
        "test_missing_capability" => {
            if context.meta.client_capabilities().unwrap_or_default().sampling.is_none() {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Some(Err(ErrorData::missing_required_client_capability(needed)));
            }
            text("Required capability declared")
        }
        "test_trigger_tool_change" => {
            announce(Change::Tools);
            text("Tool list change triggered")
        }
        "test_trigger_prompt_change" => {
            announce(Change::Prompts);
            text("Prompt list change triggered")
        }
        "json_schema_2020_12_tool" => text("The schema is what is tested"),
        "test_custom_header" => match argument(request, "value") {
            Some(value) => text(value),
            None => {
                return Some(Err(ErrorData::invalid_params(
                    "Invalid params: value is required",
                    None,
                )));
            }
        },
        _ => return None,
    };
    Some(Ok(answer.into()))
}

async fn report_progress(context: &RequestContext<RoleServer>) {
    let token = context.meta.get_progress_token();
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = &token {
            let step = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            // A client that has gone away ends the call by itself.
            let _ = context.peer.notify_progress(step).await;
        }
        pause().await;
    }
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, message: &str) {
    let entry =
        LoggingMessageNotificationParam::new(level, json!(message)).with_logger("conformance");
    let _ = context.peer.notify_logging_message(entry).await;
}

/// Long enough for a client to see two messages as two.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// SEP-1613 and SEP-2106: every keyword of this schema must reach the client.
fn dialect_tool() -> Tool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    });
    Tool::new("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", object(schema))
}

/// SEP-2243: an argument that the client repeats in an HTTP header.
fn header_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
        "required": ["value"]
    });
    Tool::new("test_custom_header", "Fixture: an argument that is also a header", object(schema))
}

pub fn argument<'a>(request: &'a CallToolRequestParams, name: &str) -> Option<&'a str> {
    request.arguments.as_ref()?.get(name)?.as_str()
}

pub fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

pub fn resource(uri: &str, mime: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime))
}

pub fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        _ => JsonObject::new(),
    }
}
