//! SEP-2322 fixtures: a call answers `input_required`, the client gathers the input and calls again.

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CreateMessageRequest, CreateMessageRequestParams,
        ElicitRequest, ElicitRequestParams, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
        JsonObject, ListRootsRequest, PromptMessage, Role, SamplingMessage,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tools::text;

pub const TOOLS: &[(&str, &str)] = &[
    ("test_streaming_elicitation", "needs a value"),
    ("test_input_required_result_elicitation", "needs a name"),
    ("test_input_required_result_sampling", "needs the client's model"),
    ("test_input_required_result_list_roots", "needs the client's roots"),
    ("test_input_required_result_request_state", "needs a confirmation and its own state back"),
    ("test_input_required_result_tampered_state", "refuses a state that it did not write"),
    ("test_input_required_result_multiple_inputs", "needs three inputs at once"),
    ("test_input_required_result_multi_round", "needs two inputs, one after the other"),
    ("test_input_required_result_capabilities", "asks only for what the client can do"),
];

pub fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let given = request.input_responses.as_ref();
    let state = request.request_state.as_deref();
    Some(match request.name.as_ref() {
        "test_streaming_elicitation" => {
            need([("value", form("Provide a value", "value", "string"))], None)
        }
        "test_input_required_result_elicitation" => match answer(given, "user_name") {
            Some(said) => done(format!("Hello, {}!", content(said, "name"))),
            None => need([("user_name", name_form())], None),
        },
        "test_input_required_result_sampling" => match answer(given, "capital_question") {
            Some(said) => done(format!("Sampling response: {}", content(said, "text"))),
            None => need([("capital_question", sampling("What is the capital of France?"))], None),
        },
        "test_input_required_result_list_roots" => match answer(given, "client_roots") {
            Some(said) => {
                done(format!("Client roots: {}", said.get("roots").unwrap_or(&Value::Null)))
            }
            None => need([("client_roots", roots())], None),
        },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => match state {
            Some(state) => unseal(state).and_then(|_| done("Confirmed: state-ok")),
            None => need([("confirm", form("Please confirm", "ok", "boolean"))], Some("confirm")),
        },
        "test_input_required_result_multiple_inputs" => {
            let whole = ["user_name", "greeting", "client_roots"]
                .iter()
                .all(|key| answer(given, key).is_some());
            match state.map(unseal) {
                Some(Err(error)) => Err(error),
                Some(Ok(_)) if whole => done("All inputs received"),
                _ => need(everything(), Some("gather")),
            }
        }
        "test_input_required_result_multi_round" => match state.map(unseal).transpose() {
            Err(error) => Err(error),
            Ok(None) => {
                need([("step1", form("Step 1: What is your name?", "name", "string"))], Some("1"))
            }
            Ok(Some("1")) => need(
                [("step2", form("Step 2: What is your favorite color?", "color", "string"))],
                Some("2"),
            ),
            Ok(Some(_)) => done("Multi-round flow complete"),
        },
        // With the name it goes on as a task.
        "test_tool_with_task" if answer(given, "user_name").is_none() => {
            need([("user_name", name_form())], None)
        }
        "test_input_required_result_capabilities" if given.is_some() => {
            done("Capability-aware flow complete")
        }
        "test_input_required_result_capabilities" => {
            let can = context.meta.client_capabilities().unwrap_or_default();
            let able = |key: &str| match key {
                "user_name" => can.elicitation.is_some(),
                "greeting" => can.sampling.is_some(),
                _ => can.roots.is_some(),
            };
            let asked: Vec<_> = everything().into_iter().filter(|(key, _)| able(key)).collect();
            if asked.is_empty() {
                done("Nothing can be asked of this client")
            } else {
                need(asked, None)
            }
        }
        _ => return None,
    })
}

/// `test_input_required_result_prompt`: the same for `prompts/get`.
pub fn prompt(request: &GetPromptRequestParams) -> GetPromptResponse {
    match answer(request.input_responses.as_ref(), "user_context") {
        Some(said) => GetPromptResult::new(vec![PromptMessage::new_text(
            Role::User,
            format!("Prompt with elicited context: {}", content(said, "context")),
        )])
        .into(),
        None => {
            let question = form("What context should the prompt use?", "context", "string");
            InputRequiredResult::from_input_requests(
                [("user_context".to_owned(), question)].into_iter().collect(),
            )
            .into()
        }
    }
}

fn done(said: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(text(said).into())
}

fn need(
    asked: impl IntoIterator<Item = (&'static str, InputRequest)>,
    state: Option<&str>,
) -> Result<CallToolResponse, ErrorData> {
    let asked: InputRequests =
        asked.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    Ok(InputRequiredResult::new(Some(asked), state.map(seal)).into())
}

fn everything() -> [(&'static str, InputRequest); 3] {
    [
        ("user_name", name_form()),
        ("greeting", sampling("Generate a greeting")),
        ("client_roots", roots()),
    ]
}

/// An answer that is not an object counts as none, so that it is asked for again.
pub fn answer<'a>(given: Option<&'a InputResponses>, key: &str) -> Option<&'a JsonObject> {
    given?.get(key)?.as_object()
}

pub fn content<'a>(said: &'a JsonObject, field: &str) -> &'a str {
    said.get("content")
        .and_then(|content| content.get(field))
        .and_then(Value::as_str)
        .unwrap_or("nobody")
}

fn name_form() -> InputRequest {
    form("What is your name?", "name", "string")
}

pub fn form(message: &str, field: &str, kind: &str) -> InputRequest {
    let schema =
        json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.into(),
        requested_schema: serde_json::from_value(schema)
            .expect("one field of a primitive type is a valid form"),
    }))
}

fn sampling(prompt: &str) -> InputRequest {
    let question = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(question))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn seal(state: &str) -> String {
    format!("{state}.{}", sign(state))
}

fn unseal(sealed: &str) -> Result<&str, ErrorData> {
    match sealed.rsplit_once('.') {
        Some((state, signature)) if sign(state) == signature => Ok(state),
        _ => Err(ErrorData::invalid_params(
            "Invalid params: requestState was not written by this server",
            None,
        )),
    }
}

/// A fixed key is enough: these states guard nothing.
fn sign(state: &str) -> String {
    let digest = Sha256::digest(format!("conformance fixture {state} conformance fixture"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
