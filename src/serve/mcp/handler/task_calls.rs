//! Calls that run as tasks.

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use serde_json::Value;

use super::Handler;
use crate::{
    domain::{Code, Error},
    serve::mcp::{errors::error_data, tasks},
    store::tasks::TaskRow,
    tools,
};

impl Handler {
    /// Calls a tool of an extension that runs as a task.
    pub(super) async fn call_extension_task(
        &self,
        request: CallToolRequestParams,
        call: tasks::TaskCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !tasks::follows_tasks(context) {
            if call.required {
                return Err(tasks::needs_tasks());
            }
            let done = (call.work)(tasks::Handle::of_call(self.hub.app.clone())).await;
            return match done {
                Ok(result) => Ok(result.into()),
                Err(tasks::TaskEnd::Error(error)) => Err(error),
                Err(tasks::TaskEnd::Cancelled) => {
                    Err(error_data(Error::new(Code::Cancelled, "the request was cancelled")))
                }
            };
        }
        let tool = request.name.into_owned();
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let row = self
            .run(context, move |app, link, _, _| {
                app.tasks.begin(&tasks::caller(link), &tool, arguments)
            })
            .await?;
        self.hub.runner.start(row.id.clone(), call.work);
        Ok(tasks::created(&row).into())
    }

    /// A task whose process has ended: it is started again where that is safe, with the rights that
    /// its caller has now; otherwise it has failed.
    pub(super) async fn revive(
        &self,
        row: TaskRow,
        context: &RequestContext<RoleServer>,
    ) -> Result<TaskRow, ErrorData> {
        let id = row.id.clone();
        let is_safe = tools::is_long(&row.tool) && !row.is_cancelled;
        let (taken, row) = self
            .run_uncounted(context, move |app, link, _, _| {
                let taken = is_safe && app.tasks.take_over(&id)?;
                if !taken {
                    app.tasks.abandon(&id)?;
                }
                Ok((taken, app.tasks.get(&id, &tasks::caller(link))?))
            })
            .await?;
        if taken {
            tasks::again(&self.hub, &self.link(context), &row);
        }
        Ok(row)
    }
}
