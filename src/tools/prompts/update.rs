use schemars::JsonSchema;
use serde::Deserialize;

use super::Changed;
use crate::{
    domain::{
        Result,
        prompt::{Argument, Message, Patch, given},
    },
    tools::{Access, Cx, Effect, Tool, Toolset},
};

/// Change a prompt's given fields (as in create_prompt); null clears one. A built-in with newName is copied.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdatePrompt {
    name: String,
    #[serde(rename = "newName")]
    new_name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    title: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "super::objects")]
    arguments: Option<Option<Vec<Argument>>>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "super::objects")]
    messages: Option<Option<Vec<Message>>>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    tags: Option<Option<Vec<String>>>,
}

impl Tool for UpdatePrompt {
    const NAME: &'static str = "update_prompt";
    const TITLE: &'static str = "Change a prompt";
    const TOOLSET: Toolset = Toolset::Prompts;
    const ACCESS: Access = Access::Owner;
    const EFFECT: Effect = Effect::Sets;
    type Answer = Changed;

    fn call(self, cx: &Cx<'_>) -> Result<Changed> {
        let message = cx.app.update_prompt(Patch {
            name: Some(self.name),
            new_name: self.new_name,
            title: self.title,
            description: self.description,
            arguments: self.arguments,
            messages: self.messages,
            tags: self.tags,
        })?;
        Ok(Changed::new(message))
    }
}
