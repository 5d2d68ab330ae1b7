//! `domain::Error` as a JSON-RPC error. The mapping is here and nowhere else.

use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, ErrorCode, ErrorData, GetPromptRequestParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    domain::{Code, Error, from_json},
    telemetry,
};

/// Converts an error to the protocol's form.
pub fn error_data(error: Error) -> ErrorData {
    if error.code == Code::Internal {
        return error_data_with_id(error);
    }
    ErrorData::new(ErrorCode(error.code.json_rpc()), error.message, error.data)
}

/// A fault here: the cause is in the log under an id, and the client gets the id.
pub fn error_data_with_id(error: Error) -> ErrorData {
    let id = match error.incident() {
        // It was logged where more was known of it.
        Some(id) => id.to_owned(),
        None => {
            let id = telemetry::incident();
            tracing::error!(incident = %id, error = ?error, "request failed");
            id
        }
    };
    ErrorData::new(
        ErrorCode(error.code.json_rpc()),
        format!("internal error {id}; the server's log says more under that id"),
        Some(serde_json::json!({ "incident": id })),
    )
}

/// Why the parameters of a standard method could not be read. `None` for any other method.
pub fn unreadable(method: &str, params: Option<&Value>) -> Option<Error> {
    let explain = match method {
        "initialize" => wrong::<InitializeRequestParams>,
        "tools/call" => wrong::<CallToolRequestParams>,
        "prompts/get" => wrong::<GetPromptRequestParams>,
        "resources/read" => wrong::<ReadResourceRequestParams>,
        "completion/complete" => wrong::<CompleteRequestParams>,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            wrong::<PaginatedRequestParams>
        }
        "server/discover" | "subscriptions/listen" => wrong::<Map<String, Value>>,
        _ => return None,
    };
    let params = params.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let unexplained = || Error::invalid_params(format!("the parameters of `{method}` are wrong"));
    Some(explain(params).unwrap_or_else(unexplained))
}

fn wrong<T: DeserializeOwned>(params: Value) -> Option<Error> {
    from_json::<T>(params).err()
}
