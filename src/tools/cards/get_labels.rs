use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    domain::{Kind, Result},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// List the labels in use on cards.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetLabels {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Labels {
    labels: Vec<String>,
}

impl Answer for Labels {
    fn text(&self) -> String {
        serde_json::json!(self.labels).to_string()
    }
}

impl Tool for GetLabels {
    const NAME: &'static str = "get_labels";
    const TITLE: &'static str = "List labels";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Read(Kind::Card);
    const EFFECT: Effect = Effect::Reads;
    type Answer = Labels;

    fn call(self, cx: &Cx<'_>) -> Result<Labels> {
        Ok(Labels { labels: cx.app.cards.labels(cx.rights)? })
    }
}
