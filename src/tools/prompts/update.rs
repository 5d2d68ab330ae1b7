use schemars::JsonSchema;
use serde::Deserialize;

use super::Changed;
use crate::{
    domain::{
        Kind, Result,
        prompt::{Argument, Message, Patch},
    },
    tools::{Cx, Effect, Right, Tool, Toolset, arguments::Blank},
};

/// Change only the given fields of a prompt (as in create_prompt); "" or [] clears one. With newName a built-in prompt is copied.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdatePrompt {
    name: String,
    #[serde(rename = "newName")]
    new_name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "super::objects")]
    arguments: Option<Vec<Argument>>,
    #[serde(default)]
    #[schemars(schema_with = "super::objects")]
    messages: Option<Vec<Message>>,
    tags: Option<Vec<String>>,
}

impl Tool for UpdatePrompt {
    const NAME: &'static str = "update_prompt";
    const TITLE: &'static str = "Change a prompt";
    const TOOLSET: Toolset = Toolset::Prompts;
    const RIGHT: Right = Right::Write(Kind::Prompt);
    const EFFECT: Effect = Effect::Sets;
    // An empty description clears it; `null` changes nothing.
    const BLANK: Blank = Blank::Clears;
    type Answer = Changed;

    fn call(self, cx: &Cx<'_>) -> Result<Changed> {
        let patch = Patch {
            name: Some(self.name),
            new_name: self.new_name,
            title: self.title,
            description: self.description,
            arguments: self.arguments,
            messages: self.messages,
            tags: self.tags,
        };
        let message = cx.app.update_prompt(patch, &cx.rights.actor(Self::NAME))?;
        Ok(Changed::new(message))
    }
}
