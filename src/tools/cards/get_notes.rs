use schemars::JsonSchema;
use serde::Deserialize;

use super::Many;
use crate::{
    domain::{Kind, Result, Timestamp, card::View},
    store::cards::{CardQuery, Images, Order},
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// List cards, pinned first; read one with get_note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetNotes {
    include_archived: Option<bool>,
    /// Only cards that contain this text
    search: Option<String>,
    /// Only cards whose reminder is due
    due: Option<bool>,
    /// Images as base64, not links
    include_images: Option<bool>,
    /// Default 100
    limit: Option<usize>,
    cursor: Option<String>,
}

impl Tool for GetNotes {
    const NAME: &'static str = "get_notes";
    const TITLE: &'static str = "List cards";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Read(Kind::Card);
    const EFFECT: Effect = Effect::Reads;
    type Answer = Many;

    fn call(self, cx: &Cx<'_>) -> Result<Many> {
        let due = self.due.unwrap_or(false);
        let images_wanted = self.include_images.unwrap_or(false);
        let page = cx.app.cards.list(&CardQuery {
            contains: self.search.map(|text| text.trim().to_owned()),
            archived: self.include_archived.unwrap_or(false),
            due: due.then(Timestamp::now),
            order: Order::Listed,
            images: if images_wanted { Images::Bytes } else { Images::Links },
            limit: self.limit,
            cursor: self.cursor,
            visible: cx.rights.visible().clone(),
        })?;
        let list = Many::new(page, if due { View::Due } else { View::Listed });
        Ok(Many { images_wanted, ..list })
    }
}
