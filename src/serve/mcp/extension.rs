//! Tools, prompts and resources that a program built on this crate adds to the product's own. The
//! conformance fixtures (`examples/conformance`) are one; the product itself has none.

use std::sync::OnceLock;

use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Prompt, ReadResourceResult, Resource,
        ResourceTemplate, ServerCapabilities, Tool,
    },
    service::RequestContext,
};

use super::tasks::TaskCall;
use crate::app::Events;

/// What a program adds. Each method is asked before the product; `None` hands the request on.
pub trait Extension: Send + Sync + 'static {
    /// Completes the capabilities that the server declares.
    fn capabilities(&self, product: ServerCapabilities) -> ServerCapabilities {
        product
    }

    /// Tools to list behind the product's.
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    /// The definition of a tool whose parameters the transport compares with headers.
    fn tool(&self, _name: &str) -> Option<Tool> {
        None
    }

    /// Calls a tool. A tool that changes a list tells `events`.
    fn call_tool<'a>(
        &'a self,
        _request: &'a CallToolRequestParams,
        _context: &'a RequestContext<RoleServer>,
        _events: &'a Events,
    ) -> BoxFuture<'a, Option<Result<CallToolResponse, ErrorData>>> {
        Box::pin(async { None })
    }

    /// A call that runs as a task.
    fn task(&self, _request: &CallToolRequestParams) -> Option<TaskCall> {
        None
    }

    /// Prompts to list behind the product's.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// Renders a prompt.
    fn get_prompt(&self, _request: &GetPromptRequestParams) -> Option<GetPromptResponse> {
        None
    }

    /// Resources to list behind the product's.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Resource templates to list behind the product's.
    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Reads a resource.
    fn read_resource(&self, _uri: &str) -> Option<ReadResourceResult> {
        None
    }

    /// Completes an argument.
    fn complete(
        &self,
        _request: &CompleteRequestParams,
    ) -> Option<Result<CompleteResult, ErrorData>> {
        None
    }

    /// How often the lists of tools and of prompts have changed.
    fn changes(&self) -> Changes {
        Changes::default()
    }
}

/// How often each list of an extension has changed. Clients are notified of a list whose number is
/// not the one that they were notified of last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Changes of the list of tools.
    pub tools: u64,
    /// Changes of the list of prompts.
    pub prompts: u64,
}

/// Adds nothing.
struct Nothing;

impl Extension for Nothing {}

static INSTALLED: OnceLock<Box<dyn Extension>> = OnceLock::new();

/// Adds an extension to every server of this process. To be called before the first one starts;
/// false when there is an extension already, which stays.
pub fn install(extension: impl Extension) -> bool {
    INSTALLED.set(Box::new(extension)).is_ok()
}

/// The extension of this process.
pub(super) fn installed() -> &'static dyn Extension {
    INSTALLED.get_or_init(|| Box::new(Nothing)).as_ref()
}
