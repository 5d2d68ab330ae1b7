use schemars::JsonSchema;
use serde::Deserialize;

use super::One;
use crate::{
    domain::{Kind, Result, card::View},
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Read one card with every field and its images.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetNote {
    id: String,
}

impl Tool for GetNote {
    const NAME: &'static str = "get_note";
    const TITLE: &'static str = "Read card";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Read(Kind::Card);
    const EFFECT: Effect = Effect::Reads;
    type Answer = One;

    fn call(self, cx: &Cx<'_>) -> Result<One> {
        Ok(One::new(&cx.app.cards.get(&self.id, cx.rights)?, View::Whole))
    }
}
