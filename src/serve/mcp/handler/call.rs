//! `tools/call`: who answers it, and what the answer becomes.

use std::time::Instant;

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use serde_json::Value;

use super::{
    super::{
        capabilities::opens_urls,
        errors::error_data,
        output::{answer, answered, refusal},
        payment::{self, Payer, Purse},
        tasks, views,
    },
    Handler,
};
use crate::{app::rights::Right, domain::Code, tools};

impl Handler {
    /// Has a tool answer: one of the extension, a task, a tool of another base, or one of ours, which
    /// may have to be confirmed or paid for first.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let events = &self.hub.app.events;
        if let Some(answer) = self.hub.extension.call_tool(&request, &context, events).await {
            return answer;
        }
        if let Some(call) = self.hub.extension.task(&request) {
            return self.call_extension_task(request, call, &context).await;
        }
        if tools::is_long(&request.name) && tasks::follows_tasks(&context) {
            let link = self.link(&context);
            self.hub.pace.take(&link, Instant::now()).map_err(error_data)?;
            let arguments = request.arguments.map_or(Value::Null, Value::Object);
            let name = request.name.into_owned();
            return tasks::call(&self.hub, &link, name, arguments, &context.ct).await;
        }
        let link = self.link(&context);
        if tools::is_task_only(&request.name) && link.rights.may(Right::Maintain) {
            return Err(tasks::needs_tasks());
        }
        let purse = Purse::read(&context, &link).map_err(error_data)?;
        if let Some(answer) = self.confirm(&request, &context, purse.is_full()).await? {
            return Ok(answer);
        }
        let shown = self.shown(&link);
        let name = request.name.into_owned();
        let called = name.clone();
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        if let Some(reading) = self.hub.remotes.reading(&link.rights, &name, &arguments) {
            let read = self.run(&context, move |_, _, _, _| answered(reading.read())).await?;
            return Ok(read.map_or_else(refusal, answer).into());
        }
        let question = self.hub.remotes.question(&link.rights, &name, &arguments);
        let run = self.run(&context, move |app, link, progress, patience| {
            let around = tools::Call { progress, patience, payment: purse.payment(&shown) };
            answered(tools::call(app, &link.rights, &called, arguments, &around))
        });
        let elsewhere = async { Some(question?.ask().await) };
        let (result, elsewhere) = tokio::join!(run, elsewhere);
        let mut result = result?;
        if let (Ok(output), Some(elsewhere)) = (&mut result, elsewhere) {
            elsewhere.add_to(output);
        }
        Ok(match result {
            Ok(output) if views::are_shown(&context) => answer(views::complete(&name, output)),
            Ok(output) => answer(output),
            Err(error) if error.code == Code::Payment => {
                let payer = Payer {
                    tool: &name,
                    opens_urls: opens_urls(&context),
                    state: request.request_state.as_deref(),
                    responses: request.input_responses.as_ref(),
                };
                let app = &self.hub.app;
                return Ok(payment::required(app, &self.hub.state_key, &payer, error));
            }
            Err(error) => refusal(error),
        }
        .into())
    }
}
