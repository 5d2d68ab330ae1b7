use schemars::JsonSchema;
use serde::Deserialize;

use super::Changed;
use crate::{
    domain::{Kind, Result},
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Delete a prompt of the user's; a backup is kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletePrompt {
    name: String,
}

impl Tool for DeletePrompt {
    const NAME: &'static str = "delete_prompt";
    const TITLE: &'static str = "Delete a prompt";
    const TOOLSET: Toolset = Toolset::Prompts;
    const RIGHT: Right = Right::Write(Kind::Prompt);
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Changed;

    fn call(self, cx: &Cx<'_>) -> Result<Changed> {
        Ok(Changed::new(cx.app.delete_prompt(&self.name, &cx.rights.actor(Self::NAME))?))
    }
}
