//! The tasks extension: a long call answers with a task at once, and its client asks for the state
//! with `tasks/get`. The state is in the store; here it is run and put on the wire.

mod job;
mod run;
mod wire;

use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResult, ClientCapabilities, InputRequest},
    service::RequestContext,
};
use serde_json::Value;

pub(super) use job::{again, call};
pub use run::{Handle, Runner};
pub(super) use wire::{created, detailed};

use super::link::{Identity, Link};

/// What a task does. It ends early when [`Handle::cancelled`] says so.
pub type Work =
    Box<dyn FnOnce(Handle) -> BoxFuture<'static, Result<CallToolResult, TaskEnd>> + Send>;

/// How a task ends without a result.
#[derive(Debug)]
pub enum TaskEnd {
    /// Its caller asked for the end.
    Cancelled,
    /// It failed.
    Error(ErrorData),
}

impl From<ErrorData> for TaskEnd {
    fn from(error: ErrorData) -> Self {
        Self::Error(error)
    }
}

/// A tool of an extension that runs as a task.
pub struct TaskCall {
    /// Whether it runs as a task only.
    pub required: bool,
    /// What it does.
    pub work: Work,
}

/// Whether the client of a request can follow a task.
pub(super) fn follows_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// The error of a call that needs a client which can follow tasks.
pub(super) fn needs_tasks() -> ErrorData {
    ErrorData::missing_required_client_capability(
        ClientCapabilities::builder().enable_tasks().build(),
    )
}

/// Whose task it is: a person's, with whichever of their clients and tokens, or a token's.
pub(super) fn caller(link: &Link) -> String {
    let user = link.rights.user().and_then(|user| user.id);
    match (user, &link.identity) {
        (Some(user), _) => format!("user:{}", user.0),
        (None, Identity::User(user)) => format!("user:{user}"),
        (None, Identity::Token(token)) => format!("token:{token}"),
        (None, Identity::Connection(connection)) => format!("connection:{connection}"),
        (None, Identity::Network(network)) => format!("address:{network}"),
        (None, Identity::Process) => "process".to_owned(),
    }
}

/// A question of a task to its client.
pub(super) fn question(request: &InputRequest) -> Result<Value, ErrorData> {
    serde_json::to_value(request).map_err(|error| {
        ErrorData::internal_error(format!("could not write a question: {error}"), None)
    })
}
