//! Managing prompts, for clients that can only call tools: the same as `prompts/create` and so on.

pub mod create;
pub mod delete;
pub mod update;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::tools::Answer;

/// The answer of every tool that changes a prompt: hexai's form.
#[derive(Serialize, JsonSchema)]
pub struct Changed {
    success: bool,
    message: String,
}

impl Changed {
    fn new(message: String) -> Self {
        Self { success: true, message }
    }
}

impl Answer for Changed {
    fn text(&self) -> String {
        self.message.clone()
    }
}

/// A list of objects whose fields the description names: cheaper for a model than a nested schema,
/// and the prompt itself reports what is wrong in one.
fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object" } })
}
