use schemars::JsonSchema;
use serde::Deserialize;

use super::Many;
use crate::{
    domain::{Error, Kind, Result, card::View},
    store::cards::{CardQuery, Order},
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Find cards that contain this exact text, in any case. For other word forms or meaning use
/// search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchNotes {
    query: String,
    cursor: Option<String>,
}

impl Tool for SearchNotes {
    const NAME: &'static str = "search_notes";
    const TITLE: &'static str = "Search cards";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Read(Kind::Card);
    const EFFECT: Effect = Effect::Reads;
    type Answer = Many;

    fn call(self, cx: &Cx<'_>) -> Result<Many> {
        let query = self.query.trim();
        if query.is_empty() {
            return Err(Error::invalid_params("query is empty; list all cards with get_notes"));
        }
        let page = cx.app.cards.list(&CardQuery {
            contains: Some(query.to_owned()),
            order: Order::Newest,
            cursor: self.cursor,
            visible: cx.rights.visible().clone(),
            ..CardQuery::default()
        })?;
        Ok(Many::new(page, View::Brief))
    }
}
