//! What each method of the protocol does. Everything of substance happens in `tools` and `app`.

mod call;
mod confirm;
mod run;
mod task_calls;

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;

use super::{
    capabilities::{extensions, for_caller, is_modern, may_change, may_complete},
    elicit::Remembered,
    errors::{error_data, unreadable},
    link::{self, Hub, Link},
    notices::{self, Lists, Subscribed},
    output::tool,
    prompts, resources, skills, tasks, views,
};
use crate::{
    app::{App, page::Cursor, skills::has_skills},
    domain::{Error, Patience, Progress},
    tools::{self, Listed, ShownPrices},
};

/// One connection (a process on stdio, a session or a single request over HTTP).
#[derive(Clone)]
pub struct Handler {
    hub: Arc<Hub>,
    link: Link,
    subscribed: Subscribed,
    /// The lists as they were when the client connected.
    lists: Arc<Mutex<Option<Lists>>>,
    /// The prices that this connection was shown.
    shown: Arc<ShownPrices>,
    /// What the person does not want to be asked again.
    remembered: Remembered,
}

impl Handler {
    /// A handler for one connection.
    pub fn new(hub: Arc<Hub>, link: Link) -> Self {
        Self {
            hub,
            link,
            subscribed: Subscribed::default(),
            lists: Arc::default(),
            shown: Arc::default(),
            remembered: Remembered::default(),
        }
    }

    /// The prices that the client was shown: on this connection, or, where each request is a
    /// connection of its own, to this caller.
    fn shown(&self, link: &Link) -> Arc<ShownPrices> {
        if self.is_session() { self.shown.clone() } else { self.hub.shown_to(&link.identity) }
    }

    /// Whether a client shook hands on this connection.
    fn is_session(&self) -> bool {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn link(&self, context: &RequestContext<RoleServer>) -> Link {
        link::of_extensions(&context.extensions, &self.link)
    }

    /// The instructions that a client's model gets at the start.
    async fn instructions(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let greet = |app: &App, link: &Link, _: &dyn Progress, _: Patience| {
            Ok(app.greeting(&link.rights, link.method.as_deref()))
        };
        // A handshake that is refused would leave half a session; sessions have their own limit.
        self.run_uncounted(context, greet).await
    }
}

impl ServerHandler for Handler {
    /// Every message asks for this, so it reads nothing. The instructions are added where a client
    /// sees them, in `initialize` and `discover`.
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_extensions_with(extensions());
        let capabilities = self.hub.extension.capabilities(capabilities.build());
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("notewell", env!("CARGO_PKG_VERSION"));
        config.server_info.title = Some("Notewell".into());
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        let link = self.link(&context);
        result.capabilities = for_caller(result.capabilities, &link);
        result.instructions = Some(self.instructions(&context).await?);
        self.hub.remotes.warm(&link.rights);
        let lists = self.hub.lists(&link).await;
        *self.lists.lock().unwrap_or_else(PoisonError::into_inner) = lists;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let link = self.link(&context);
        self.hub.remotes.warm(&link.rights);
        let mut info = self.get_info();
        info.capabilities = for_caller(info.capabilities, &link);
        info.instructions = Some(self.instructions(&context).await?);
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let link = link::of_extensions(&context.extensions, &self.link);
        let seen = *self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match seen {
            Some(lists) => Some(lists),
            None => self.hub.lists(&link).await,
        };
        let (hub, peer) = (self.hub.clone(), context.peer.clone());
        tokio::spawn(notices::to_session(hub, link, peer, self.subscribed.clone(), known));
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let page = self.hub.app.config.limits.page;
        let follows_tasks = tasks::follows_tasks(&context);
        let (tools, next) = self
            .run(&context, move |app, link, _, _| {
                let from = Cursor::read(cursor(request))?;
                let all = tools::list_for(app, &link.rights, follows_tasks)?;
                from.page(all, page, |tool| &tool.name)
            })
            .await?;
        let link = self.link(&context);
        let shown = self.shown(&link);
        for price in tools.iter().filter_map(|tool| tool.price.as_ref()) {
            shown.show(price.pid, price.price);
        }
        let complete = |mut listed: Listed| {
            self.hub.remotes.complete(&mut listed, &link.rights);
            tool(listed)
        };
        let mut tools: Vec<Tool> = tools.into_iter().map(complete).collect();
        if views::are_shown(&context) {
            for tool in &mut tools {
                tool.meta = views::tool_meta(&tool.name, tool.meta.take());
            }
        }
        tools.extend(self.hub.extension.tools());
        Ok(ListToolsResult { next_cursor: next, ..ListToolsResult::with_all_items(tools) })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let id = request.task_id.clone();
        let row = self
            .run_uncounted(&context, move |app, link, _, _| {
                app.tasks.get(&id, &tasks::caller(link))
            })
            .await?;
        let row = match self.hub.app.tasks.is_orphan(&row) {
            true => self.revive(row, &context).await?,
            false => row,
        };
        tasks::detailed(&row).map_err(error_data)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let id = request.task_id.clone();
        let answers = request.input_responses.into_iter().collect();
        self.run_uncounted(&context, move |app, link, _, _| {
            app.tasks.answer(&id, &tasks::caller(link), &answers)
        })
        .await?;
        self.hub.runner.wake(&request.task_id);
        Ok(())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let id = request.task_id.clone();
        self.run_uncounted(&context, move |app, link, _, _| {
            app.tasks.cancel(&id, &tasks::caller(link))
        })
        .await?;
        self.hub.runner.cancel(&request.task_id);
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.hub.extension.tool(name)
    }

    #[allow(deprecated, reason = "revisions before 2026-07-28 have it, and an extension may log")]
    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match self.get_info().capabilities.logging {
            Some(_) => Ok(()),
            None => Err(ErrorData::method_not_found::<SetLevelRequestMethod>()),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (offered, next) = self
            .run(&context, move |app, link, _, _| {
                app.offered_prompts(cursor(request), app.config.limits.page, &link.rights)
            })
            .await?;
        let mut prompts: Vec<Prompt> = offered.into_iter().map(prompts::listed).collect();
        prompts.extend(self.hub.extension.prompts());
        Ok(ListPromptsResult {
            next_cursor: next,
            meta: prompts::absence(&self.hub.app),
            ..ListPromptsResult::with_all_items(prompts)
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(answer) = self.hub.extension.get_prompt(&request) {
            return Ok(answer);
        }
        let rendered = self
            .run(&context, move |app, link, _, _| {
                let arguments = request.arguments.unwrap_or_default();
                let mut rendered = app.render_prompt(&request.name, &arguments, &link.rights)?;
                prompts::say_absence(app, &mut rendered.description);
                Ok(rendered)
            })
            .await?;
        prompts::rendered(rendered).map(Into::into).map_err(error_data)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (listed, next) = self
            .run(&context, move |app, link, _, _| {
                app.resources(cursor(request), app.config.limits.page, &link.rights)
            })
            .await?;
        let mut resources: Vec<Resource> = listed.into_iter().map(resources::listed).collect();
        resources.extend(self.hub.extension.resources());
        Ok(ListResourcesResult {
            next_cursor: next,
            ..ListResourcesResult::with_all_items(resources)
        })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut templates = resources::templates(&self.link(&context).rights);
        templates.extend(self.hub.extension.resource_templates());
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        if let Some(answer) = self.hub.extension.read_resource(&uri) {
            return Ok(answer.into());
        }
        if let Some(view) = views::read(&uri) {
            return Ok(view.into());
        }
        let wanted = uri.clone();
        let content = self
            .run(&context, move |app, link, _, _| app.read_resource(&wanted, &link.rights))
            .await?;
        match content {
            Some(content) => Ok(resources::content(&uri, content).into()),
            None => Err(no_such_resource(&uri)),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if let Some(answer) = self.hub.extension.complete(&request) {
            return answer;
        }
        let Reference::Prompt(prompt) = request.r#ref else { return Ok(CompleteResult::default()) };
        let argument = request.argument;
        let mut values = self
            .run(&context, move |app, link, _, _| match may_complete(link) {
                true => app.prompts.complete(&prompt.name, &argument.name, &argument.value),
                false => Ok(Vec::new()),
            })
            .await?;
        values.truncate(CompletionInfo::MAX_VALUES);
        let info =
            CompletionInfo::new(values).map_err(|error| error_data(Error::internal(error)))?;
        let mut result = CompleteResult::default();
        result.completion = info;
        Ok(result)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let Some(change) = prompts::Change::of(&request.method) {
            let modern = is_modern(&context);
            let params = request.params.unwrap_or_else(|| serde_json::json!({}));
            let method = request.method;
            let message = self
                .run(&context, move |app, link, _, _| match may_change(link) {
                    true => change.make(app, params, &link.rights.actor(&method)),
                    false => Err(no_such_method(&method)),
                })
                .await?;
            let mut result = serde_json::json!({ "success": true, "message": message });
            if let (true, Value::Object(map)) = (modern, &mut result) {
                map.insert("resultType".into(), "complete".into());
            }
            return Ok(CustomResult::new(result));
        }
        if let Some(question) = skills::Question::of(&request.method) {
            let modern = is_modern(&context);
            let params = request.params.unwrap_or_else(|| serde_json::json!({}));
            let method = request.method;
            let answer = self
                .run(&context, move |app, link, _, _| match has_skills(&link.rights) {
                    true => question.answer(app, params, &link.rights, modern),
                    false => Err(no_such_method(&method)),
                })
                .await?;
            return Ok(CustomResult::new(answer));
        }
        // The SDK passes on here what it could not read: an unknown method, or a known one whose
        // parameters are wrong. The handshake is no method of the stateless era.
        let removed = is_modern(&context) && request.method == "initialize";
        let unreadable = unreadable(&request.method, request.params.as_ref());
        let error = unreadable.filter(|_| !removed);
        Err(error_data(error.unwrap_or_else(|| no_such_method(&request.method))))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let link = self.link(context.request_context());
        notices::to_listener(self.hub.clone(), link, &context).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri.clone();
        let visible = self
            .run(&context, move |app, link, _, _| app.read_resource(&uri, &link.rights))
            .await?
            .is_some();
        if !visible && self.hub.extension.read_resource(&request.uri).is_none() {
            return Err(no_such_resource(&request.uri));
        }
        if self.subscribed.add(request.uri) {
            return Ok(());
        }
        Err(error_data(Error::limit("this connection has too many subscriptions; end some first")))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.remove(&request.uri);
        Ok(())
    }
}

/// There is none, or none for this caller: the same answer.
fn no_such_resource(uri: &str) -> ErrorData {
    let short: String = uri.chars().take(200).collect();
    ErrorData::resource_not_found(
        format!("there is no resource `{short}`; `resources/list` names those there are"),
        Some(serde_json::json!({ "uri": short })),
    )
}

fn no_such_method(name: &str) -> Error {
    let short: String = name.chars().take(100).collect();
    Error::not_found(format!("no method is called `{short}`"))
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor).filter(|cursor| !cursor.is_empty())
}
