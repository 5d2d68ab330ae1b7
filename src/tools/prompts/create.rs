use schemars::JsonSchema;
use serde::Deserialize;

use super::Changed;
use crate::{
    domain::{
        Kind, Result,
        prompt::{Argument, Draft, Message},
    },
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Save a reusable prompt with {{placeholders}} or {{name|default}}.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePrompt {
    name: String,
    title: String,
    description: Option<String>,
    /// {name, description, required}; default: every placeholder
    #[serde(default)]
    #[schemars(schema_with = "super::objects")]
    arguments: Option<Vec<Argument>>,
    /// {role, content: {type: text, text}}
    #[schemars(schema_with = "super::objects")]
    messages: Vec<Message>,
    tags: Option<Vec<String>>,
}

impl Tool for CreatePrompt {
    const NAME: &'static str = "create_prompt";
    const TITLE: &'static str = "Create a prompt";
    const TOOLSET: Toolset = Toolset::Prompts;
    const RIGHT: Right = Right::Write(Kind::Prompt);
    const EFFECT: Effect = Effect::Adds;
    type Answer = Changed;

    fn call(self, cx: &Cx<'_>) -> Result<Changed> {
        let draft = Draft {
            name: Some(self.name),
            title: Some(self.title),
            description: self.description,
            arguments: self.arguments,
            messages: Some(self.messages),
            tags: self.tags,
        };
        let message = cx.app.create_prompt(draft, &cx.rights.actor(Self::NAME))?;
        Ok(Changed::new(message))
    }
}
