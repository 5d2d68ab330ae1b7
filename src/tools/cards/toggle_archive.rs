use schemars::JsonSchema;
use serde::Deserialize;

use super::One;
use crate::{
    domain::{Kind, Result, card::View},
    store::cards::Flag,
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Archive a card, or restore an archived one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToggleArchive {
    id: String,
}

impl Tool for ToggleArchive {
    const NAME: &'static str = "toggle_archive";
    const TITLE: &'static str = "Archive or restore card";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Write(Kind::Card);
    const EFFECT: Effect = Effect::Toggles;
    type Answer = One;

    fn call(self, cx: &Cx<'_>) -> Result<One> {
        Ok(One::new(
            &cx.app.cards.toggle(
                &self.id,
                Flag::Archived,
                cx.rights,
                &cx.rights.actor(Self::NAME),
            )?,
            View::Brief,
        ))
    }
}
