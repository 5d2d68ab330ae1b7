//! Handshake-era fixtures that ask the client while a call is open: sampling and elicitation.

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResult, ClientResult, ContentBlock,
        CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ElicitationAction,
        SamplingMessage, ServerRequest, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use super::tools::{argument, object, text};

pub const PLAIN: &[(&str, &str)] = &[
    ("test_elicitation_sep1034_defaults", "asks for values that have defaults"),
    ("test_elicitation_sep1330_enums", "asks for values out of every kind of list"),
];

pub fn list_tools() -> Vec<Tool> {
    let one = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    vec![
        Tool::new("test_sampling", "Fixture: asks the client's model", object(one("prompt"))),
        Tool::new("test_elicitation", "Fixture: asks the user", object(one("message"))),
    ]
}

pub async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResult> {
    match request.name.as_ref() {
        "test_sampling" => {
            Some(sample(argument(request, "prompt").unwrap_or("Hello"), context).await)
        }
        "test_elicitation" => {
            let message = argument(request, "message").unwrap_or("Please answer");
            Some(elicit(message, person(), "User response", context).await)
        }
        "test_elicitation_sep1034_defaults" => Some(
            elicit("Please check these values", defaults(), "Elicitation completed", context).await,
        ),
        "test_elicitation_sep1330_enums" => {
            Some(elicit("Please choose", choices(), "Elicitation completed", context).await)
        }
        _ => None,
    }
}

async fn sample(prompt: &str, context: &RequestContext<RoleServer>) -> CallToolResult {
    let question = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    match context.peer.create_message(question).await {
        Ok(answer) => {
            let said = answer
                .message
                .content
                .first()
                .and_then(|part| part.as_text())
                .map(|part| part.text.as_str());
            text(format!("LLM response: {}", said.unwrap_or("no text")))
        }
        Err(error) => failed(error),
    }
}

async fn elicit(
    message: &str,
    schema: Value,
    heading: &str,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let requested_schema = match serde_json::from_value(schema) {
        Ok(schema) => schema,
        Err(error) => return failed(error),
    };
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.into(),
        requested_schema,
    };
    // `Peer::create_elicitation` would cost a feature of rmcp that only this fixture needs.
    match context.peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(form))).await {
        Ok(ClientResult::ElicitResult(answer)) => {
            let action = match answer.action {
                ElicitationAction::Accept => "accept",
                ElicitationAction::Decline => "decline",
                _ => "cancel",
            };
            text(format!(
                "{heading}: action={action}, content={}",
                answer.content.unwrap_or(Value::Null)
            ))
        }
        Ok(_) => failed("not an answer to an elicitation"),
        Err(error) => failed(error),
    }
}

fn failed(error: impl std::fmt::Display) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(format!("the client did not answer: {error}"))])
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" }
        },
        "required": ["username", "email"]
    })
}

/// SEP-1034: a default for each primitive type.
fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true }
        }
    })
}

/// SEP-1330: the five ways to write a list of choices.
fn choices() -> Value {
    let titled = |kind: &str| {
        json!([
            { "const": "value1", "title": format!("First {kind}") },
            { "const": "value2", "title": format!("Second {kind}") },
            { "const": "value3", "title": format!("Third {kind}") }
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } }
        }
    })
}
