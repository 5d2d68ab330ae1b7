//! Our one error as the protocol tells it. The mapping is here and nowhere else.

use rmcp::model::{ErrorCode, ErrorData};

use crate::domain::{Code, Error};

pub fn error_data(error: Error) -> ErrorData {
    if error.code == Code::Internal {
        return error_data_with_id(error);
    }
    ErrorData::new(ErrorCode(error.code.json_rpc()), error.message, error.data)
}

/// A fault here: the cause is in the log under an id, and the client gets the id.
pub fn error_data_with_id(error: Error) -> ErrorData {
    let id = incident();
    tracing::error!(incident = %id, error = ?error, "request failed");
    ErrorData::new(
        ErrorCode(error.code.json_rpc()),
        format!("internal error {id}; the server's log says more under that id"),
        Some(serde_json::json!({ "incident": id })),
    )
}

fn incident() -> String {
    let mut bytes = [0; 6];
    // Without random numbers the id is only less useful, not wrong.
    getrandom::fill(&mut bytes).unwrap_or_default();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
