//! Calls that a person confirms first.

use std::time::Duration;

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use serde_json::Value;

use super::Handler;
use crate::{
    serve::mcp::{
        capabilities::is_modern,
        elicit::{self, Asking},
        link::Identity,
        payment,
    },
    tools,
};

impl Handler {
    /// Asks the person about a call that needs it, where the client can ask. `Some` is the answer
    /// to a call that is not made.
    pub(super) async fn confirm(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        is_paid: bool,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        if !tools::may_ask(&request.name) || !elicit::shows_forms(context) {
            return Ok(None);
        }
        let link = self.link(context);
        let tool = request.name.to_string();
        let arguments = request.arguments.clone().map_or(Value::Null, Value::Object);
        let (called, given) = (tool.clone(), arguments.clone());
        let state = request.request_state.as_deref();
        let is_paid = is_paid || payment::is_topped_up(&self.hub.state_key, &tool, state);
        let confirmation = self
            .run_uncounted(context, move |app, link, _, _| {
                tools::confirmation(app, &link.rights, &called, &given, is_paid)
            })
            .await?;
        // Over HTTP without a handshake nothing lasts beyond the request.
        let lasts = self.is_session() || link.identity == Identity::Process;
        let remembered = lasts.then_some(&self.remembered);
        let Some(confirmation) =
            confirmation.filter(|asked| !remembered.is_some_and(|known| known.has(&asked.subject)))
        else {
            return Ok(None);
        };
        let asking = Asking {
            confirmation: &confirmation,
            remembered,
            identity: &link.identity,
            tool: &tool,
            arguments: &arguments,
        };
        let responses = request.input_responses.as_ref();
        let answer = match is_modern(context) {
            true => asking.round(&self.hub.state_key, &self.hub.used, state, responses),
            false => {
                let seconds = self.hub.app.config.limits.confirm_seconds;
                asking.ask(context, Duration::from_secs(seconds)).await
            }
        };
        Ok(answer.err().map(|answer| *answer))
    }
}
