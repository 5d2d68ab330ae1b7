//! Tools and their results in the protocol's words.

use rmcp::model::*;

use super::payment;
use crate::{
    domain::{Code, Error, Result},
    tools::{Effect, Listed, Output},
};

/// A tool as clients list it.
pub(super) fn tool(listed: Listed) -> Tool {
    let mut tool = Tool::new(listed.name, listed.description, listed.input);
    let read_only = listed.effect == Effect::Reads;
    let mut annotations = ToolAnnotations::with_title(listed.title.clone())
        .read_only(read_only)
        .open_world(listed.effect == Effect::Fetches);
    if !read_only {
        annotations = annotations
            .destructive(matches!(listed.effect, Effect::Destroys))
            .idempotent(matches!(listed.effect, Effect::Sets | Effect::Fetches | Effect::Destroys));
    }
    tool.title = Some(listed.title);
    tool.annotations = Some(annotations);
    tool.output_schema = listed.output;
    tool.meta = listed.price.map(|price| payment::price_meta(&price));
    tool
}

/// Whether an error is an answer that the model can read and act on: what fails outside, what
/// somebody else changed meanwhile, and what is to be paid.
pub(super) fn is_for_the_model(error: &Error) -> bool {
    matches!(error.code, Code::Outside | Code::Conflict | Code::Payment)
}

/// Separates such errors from those of the protocol.
pub(super) fn answered(result: Result<Output>) -> Result<Result<Output>> {
    match result {
        Err(error) if is_for_the_model(&error) => Ok(Err(error)),
        other => other.map(Ok),
    }
}

/// Such an error as a result. It has no structured content: clients would check it against the
/// tool's output schema.
pub(super) fn refusal(error: Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.message)])
}

/// What a tool returned, as a result.
pub(super) fn answer(output: Output) -> CallToolResult {
    let mut result = CallToolResult::success(
        [Some(output.text), output.aside].into_iter().flatten().map(ContentBlock::text).collect(),
    );
    result.structured_content = output.structured;
    result.meta = (!output.meta.is_empty()).then(|| MetaObject(output.meta));
    result
}
