use schemars::JsonSchema;
use serde::Deserialize;

use super::One;
use crate::{
    domain::{Kind, Result, card::View},
    store::cards::Flag,
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Pin a card, or unpin a pinned one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TogglePin {
    id: String,
}

impl Tool for TogglePin {
    const NAME: &'static str = "toggle_pin";
    const TITLE: &'static str = "Pin or unpin card";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Write(Kind::Card);
    const EFFECT: Effect = Effect::Toggles;
    type Answer = One;

    fn call(self, cx: &Cx<'_>) -> Result<One> {
        Ok(One::new(
            &cx.app.cards.toggle(
                &self.id,
                Flag::Pinned,
                cx.rights,
                &cx.rights.actor(Self::NAME),
            )?,
            View::Brief,
        ))
    }
}
