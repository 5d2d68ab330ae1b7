use schemars::JsonSchema;
use serde::Deserialize;

use super::{One, moment};
use crate::{
    domain::{
        Kind, Result,
        card::{CardType, CheckItem, Color, NewCard, Recurrence, View},
    },
    tools::{Cx, Effect, Right, Tool, Toolset},
};

/// Create a card: a short note or a checklist. Use it to remember something for the user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateNote {
    title: Option<String>,
    content: String,
    color: Option<Color>,
    #[serde(rename = "type")]
    kind: Option<CardType>,
    /// For type checklist
    check_items: Option<Vec<CheckItem>>,
    labels: Option<Vec<String>>,
    is_pinned: Option<bool>,
    is_archived: Option<bool>,
    /// base64
    images: Option<Vec<String>>,
    /// ISO 8601
    reminder: Option<String>,
    reminder_recurrence: Option<Recurrence>,
}

impl Tool for CreateNote {
    const NAME: &'static str = "create_note";
    const TITLE: &'static str = "Create card";
    const TOOLSET: Toolset = Toolset::Cards;
    const RIGHT: Right = Right::Write(Kind::Card);
    const EFFECT: Effect = Effect::Adds;
    type Answer = One;

    fn call(self, cx: &Cx<'_>) -> Result<One> {
        let reminder = self.reminder.as_deref().map(|text| moment("reminder", text)).transpose()?;
        let new = NewCard {
            title: self.title,
            content: self.content,
            color: self.color,
            kind: self.kind,
            check_items: self.check_items,
            labels: self.labels,
            is_pinned: self.is_pinned.unwrap_or(false),
            is_archived: self.is_archived.unwrap_or(false),
            images: self.images,
            reminder,
            reminder_recurrence: self.reminder_recurrence,
        };
        let card = cx.app.cards.create(new, cx.rights, &cx.rights.actor(Self::NAME))?;
        Ok(One::new(&card, View::Written))
    }
}
