use schemars::JsonSchema;
use serde::Deserialize;

use super::{One, given, moment};
use crate::{
    domain::{
        Kind, Result,
        card::{CardChange, CheckItem, Color, Recurrence, Tick, View},
    },
    tools::{Cx, Effect, Right, Tool, Toolset, arguments::Blank},
};

/// Change only the given fields of a card (as in create_note); null clears a field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateNote {
    id: String,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    title: Option<Option<String>>,
    content: Option<String>,
    color: Option<Color>,
    /// Replaces the whole list
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")]
    check_items: Option<Option<Vec<CheckItem>>>,
    /// Tick one item
    check_item: Option<Tick>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    labels: Option<Option<Vec<String>>>,
    is_pinned: Option<bool>,
    is_archived: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    images: Option<Option<Vec<String>>>,
    /// ISO 8601
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    reminder: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<Recurrence>")]
    reminder_recurrence: Option<Option<Recurrence>>,
    /// A recurring reminder moves to its next date
    is_reminder_done: Option<bool>,
    /// Refuse if changed since this updatedAt
    if_updated_at: Option<String>,
}

impl Tool for UpdateNote {
    const NAME: &'static str = "update_note";
    const TITLE: &'static str = "Update card";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Write(Kind::Card);
    const EFFECT: Effect = Effect::Sets;
    const BLANK: Blank = Blank::Clears;
    type Answer = One;

    fn call(self, cx: &Cx<'_>) -> Result<One> {
        let reminder = match &self.reminder {
            None => None,
            Some(None) => Some(None),
            // An empty date is no date to set, and too little to take one away.
            Some(Some(text)) if text.trim().is_empty() => None,
            Some(Some(text)) => Some(Some(moment("reminder", text)?)),
        };
        let if_updated_at = self.if_updated_at.as_deref().filter(|text| !text.trim().is_empty());
        let if_updated_at = if_updated_at.map(|text| moment("ifUpdatedAt", text)).transpose()?;
        let change = CardChange {
            title: self.title,
            content: self.content,
            color: self.color,
            kind: None,
            check_items: self.check_items,
            tick: self.check_item,
            labels: self.labels,
            images: self.images,
            is_pinned: self.is_pinned,
            is_archived: self.is_archived,
            reminder,
            reminder_recurrence: self.reminder_recurrence,
            is_reminder_done: self.is_reminder_done,
            if_updated_at,
        };
        Ok(One::new(
            &cx.app.cards.update(&self.id, change, cx.rights, &cx.rights.actor(Self::NAME))?,
            View::Written,
        ))
    }
}
