//! Tasks as the protocol shows them.

use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, InputRequests, JsonObject, Task, TaskPayload,
};
use serde_json::Value;

use crate::{
    app::tasks::KEPT,
    domain::{Error, Result},
    store::tasks::{TaskRow, TaskStatus},
};

/// How often a client is to ask, in milliseconds.
const POLL_MS: u64 = 1000;

/// The answer to a call that became a task.
pub fn created(row: &TaskRow) -> CreateTaskResult {
    CreateTaskResult::new(task(row))
}

/// The answer to `tasks/get`.
pub fn detailed(row: &TaskRow) -> Result<GetTaskResult> {
    let object = |value: Option<&Value>| -> JsonObject {
        value.and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let payload = match row.status {
        TaskStatus::Working => TaskPayload::Working,
        TaskStatus::InputRequired => {
            let requests: InputRequests =
                serde_json::from_value(Value::Object(row.requests.clone())).map_err(|error| {
                    Error::internal("a question of a task is not of the protocol's form")
                        .with_source(error)
                })?;
            TaskPayload::InputRequired { input_requests: requests }
        }
        TaskStatus::Completed => TaskPayload::Completed { result: object(row.outcome.as_ref()) },
        TaskStatus::Failed => TaskPayload::Failed { error: object(row.outcome.as_ref()) },
        TaskStatus::Cancelled => TaskPayload::Cancelled,
    };
    Ok(GetTaskResult::new(DetailedTask::new(task(row), payload)))
}

fn task(row: &TaskRow) -> Task {
    let status = match row.status {
        TaskStatus::Working => rmcp::model::TaskStatus::Working,
        TaskStatus::InputRequired => rmcp::model::TaskStatus::InputRequired,
        TaskStatus::Completed => rmcp::model::TaskStatus::Completed,
        TaskStatus::Failed => rmcp::model::TaskStatus::Failed,
        TaskStatus::Cancelled => rmcp::model::TaskStatus::Cancelled,
    };
    let mut task =
        Task::new(row.id.clone(), status, row.created.to_string(), row.updated.to_string());
    task.status_message.clone_from(&row.message);
    task.ttl_ms = u64::try_from(KEPT.as_millis()).ok();
    task.poll_interval_ms = Some(POLL_MS);
    task
}
