//! Notewell with the fixtures that the MCP conformance suite calls: tools, prompts and resources with
//! fixed names and answers. `./test conformance` builds and runs it; it takes the arguments of
//! `notewell`.

#![allow(
    deprecated,
    reason = "sampling, roots and logging are deprecated since 2026-07-28, and the older revisions still test them"
)]

mod asking;
mod jobs;
mod rounds;
mod shelf;
mod tools;

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
};

use futures::future::BoxFuture;
use notewell::{
    app::{Event, Events},
    serve::mcp::{
        extension::{self, Changes, Extension},
        tasks::TaskCall,
    },
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Prompt, ReadResourceResult, Resource,
        ResourceTemplate, ServerCapabilities, Tool,
    },
    service::RequestContext,
};

/// The fixtures, and how often each list pretended to change.
#[derive(Default)]
struct Fixtures {
    tools: AtomicU64,
    prompts: AtomicU64,
}

impl Extension for Fixtures {
    fn capabilities(&self, mut product: ServerCapabilities) -> ServerCapabilities {
        product.logging = Some(serde_json::Map::new());
        product
    }

    fn tools(&self) -> Vec<Tool> {
        tools::list_tools()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        tools::get_tool(name)
    }

    fn call_tool<'a>(
        &'a self,
        request: &'a CallToolRequestParams,
        context: &'a RequestContext<RoleServer>,
        events: &'a Events,
    ) -> BoxFuture<'a, Option<Result<CallToolResponse, ErrorData>>> {
        Box::pin(tools::call_tool(request, context, |change| {
            let (changes, event) = match change {
                tools::Change::Tools => (&self.tools, Event::Tools),
                tools::Change::Prompts => (&self.prompts, Event::Prompts),
            };
            changes.fetch_add(1, Ordering::AcqRel);
            events.send(&event);
        }))
    }

    fn task(&self, request: &CallToolRequestParams) -> Option<TaskCall> {
        jobs::task(request)
    }

    fn prompts(&self) -> Vec<Prompt> {
        shelf::list_prompts()
    }

    fn get_prompt(&self, request: &GetPromptRequestParams) -> Option<GetPromptResponse> {
        shelf::get_prompt(request)
    }

    fn resources(&self) -> Vec<Resource> {
        shelf::list_resources()
    }

    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        shelf::list_resource_templates()
    }

    fn read_resource(&self, uri: &str) -> Option<ReadResourceResult> {
        shelf::read_resource(uri)
    }

    fn complete(
        &self,
        request: &CompleteRequestParams,
    ) -> Option<Result<CompleteResult, ErrorData>> {
        shelf::complete(request)
    }

    fn changes(&self) -> Changes {
        Changes {
            tools: self.tools.load(Ordering::Acquire),
            prompts: self.prompts.load(Ordering::Acquire),
        }
    }
}

fn main() -> ExitCode {
    extension::install(Fixtures::default());
    notewell::cli::main()
}
