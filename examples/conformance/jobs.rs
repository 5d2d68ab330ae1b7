//! SEP-2663 fixtures: tools that run as tasks, on the product's own tasks.

use std::time::Duration;

use notewell::serve::mcp::tasks::{Handle, TaskCall, TaskEnd, Work};
use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, Tool},
};
use serde_json::{Value, json};

use super::{
    rounds::{answer, content, form},
    tools::{object, text},
};

/// Every tool here, with what it does and its arguments.
pub fn list_tools() -> Vec<Tool> {
    let tool = |name: &'static str, does: &str, properties: Value| {
        let schema = object(json!({ "type": "object", "properties": properties }));
        Tool::new(name, format!("Fixture: {does}"), schema)
    };
    vec![
        tool("greet", "greets at once", json!({ "name": { "type": "string" } })),
        tool(
            "slow_compute",
            "takes some seconds",
            json!({ "seconds": { "type": "number" }, "label": { "type": "string" } }),
        ),
        tool("failing_job", "fails after a second, as a task only", json!({})),
        tool("protocol_error_job", "breaks off", json!({})),
        tool("confirm_delete", "needs a confirmation", json!({ "filename": { "type": "string" } })),
        tool("multi_input", "needs two answers at once", json!({})),
        tool("test_tool_with_task", "needs a name, then runs as a task", json!({})),
    ]
}

/// A tool that runs as a task; `None` when `request` names none.
pub fn task(request: &CallToolRequestParams) -> Option<TaskCall> {
    let argument = |name: &str| request.arguments.as_ref().and_then(|all| all.get(name)).cloned();
    let (required, work): (bool, Work) = match request.name.as_ref() {
        "slow_compute" => {
            let seconds = argument("seconds").and_then(|value| value.as_f64()).unwrap_or(1.0);
            (false, Box::new(move |handle| Box::pin(compute(handle, seconds))))
        }
        "failing_job" => (
            true,
            Box::new(|handle| {
                Box::pin(async move {
                    pause(&handle, 1.0).await?;
                    Ok(CallToolResult::error(vec![ContentBlock::text("The job failed.")]))
                })
            }),
        ),
        "protocol_error_job" => (
            false,
            Box::new(|_| {
                Box::pin(async {
                    Err(ErrorData::internal_error("The job broke off.", None).into())
                })
            }),
        ),
        "confirm_delete" => {
            let file = argument("filename").unwrap_or_default();
            let work = move |handle| Box::pin(confirm(handle, file)) as _;
            (false, Box::new(work))
        }
        "multi_input" => (false, Box::new(|handle| Box::pin(two_answers(handle)))),
        "test_tool_with_task" => {
            let name = content(answer(request.input_responses.as_ref(), "user_name")?, "name");
            let greeting = format!("Hello, {name}!");
            (true, Box::new(move |_| Box::pin(async move { Ok(text(greeting)) })))
        }
        _ => return None,
    };
    Some(TaskCall { required, work })
}

async fn compute(handle: Handle, seconds: f64) -> Result<CallToolResult, TaskEnd> {
    pause(&handle, seconds).await?;
    Ok(text(format!("Computed for {seconds} s.")))
}

async fn pause(handle: &Handle, seconds: f64) -> Result<(), TaskEnd> {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 600.0))) => Ok(()),
        () = handle.cancelled() => Err(TaskEnd::Cancelled),
    }
}

async fn confirm(handle: Handle, file: Value) -> Result<CallToolResult, TaskEnd> {
    let question = form(&format!("Delete {file}?"), "confirm", "boolean");
    let said = handle.ask("confirm", &question).await?;
    Ok(text(format!("Answered: {}", said["action"])))
}

async fn two_answers(handle: Handle) -> Result<CallToolResult, TaskEnd> {
    let (name, sure) =
        (form("Your name?", "name", "string"), form("Are you sure?", "confirm", "boolean"));
    let (name, sure) = tokio::join!(handle.ask("name", &name), handle.ask("sure", &sure));
    Ok(text(format!("{} {}", name?["action"], sure?["action"])))
}
