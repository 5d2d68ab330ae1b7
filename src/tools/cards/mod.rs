//! The nine tools of Memento: its arguments, its defaults, its answers field by field.
//!
//! Beyond Memento: lists have pages and give links for images, `update_note` ticks one item and sets
//! reminders, and `ifUpdatedAt` refuses to overwrite a change that the caller has not seen.

mod create_note;
mod delete_note;
mod get_labels;
mod get_note;
mod get_notes;
mod search_notes;
mod toggle_archive;
mod toggle_pin;
mod update_note;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

pub use create_note::CreateNote;
pub use delete_note::DeleteNote;
pub use get_labels::GetLabels;
pub use get_note::GetNote;
pub use get_notes::GetNotes;
pub use search_notes::SearchNotes;
pub use toggle_archive::ToggleArchive;
pub use toggle_pin::TogglePin;
pub use update_note::UpdateNote;

use super::Answer;
use crate::{
    domain::{
        Card, Error, Result, Timestamp,
        card::{View, parse_image_link},
    },
    store::cards::CardPage,
};

/// One card, in the order of fields that its tool has.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct One {
    json: Value,
    /// How many of its images stand as links.
    #[serde(skip)]
    links: usize,
}

impl One {
    fn new(card: &Card, view: View) -> Self {
        let images = card.images.iter().flatten();
        let links = images.filter(|image| parse_image_link(image).is_some()).count();
        Self { json: card.to_json(view), links }
    }
}

impl Answer for One {
    fn text(&self) -> String {
        self.json.to_string()
    }

    fn aside(&self) -> Option<String> {
        (self.links > 0).then(|| linked(self.links))
    }
}

/// What to tell of images that are too large for an answer.
fn linked(count: usize) -> String {
    let (images, are) = if count == 1 { ("image", "is a link") } else { ("images", "are links") };
    format!(
        "{count} {images} {are}: too large to send here. Read one with resources/read. In \
         update_note a link keeps its image."
    )
}

impl JsonSchema for One {
    fn schema_name() -> Cow<'static, str> {
        "Card".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // A field without a type may be null.
        json_schema!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "title": {},
                "content": {"type": "string"},
                "color": {"type": "string"},
                "type": {"type": "string"},
                "checkItems": {},
                "labels": {},
                "images": {},
                "isPinned": {"type": "boolean"},
                "isArchived": {"type": "boolean"},
                "createdAt": {},
                "updatedAt": {},
            },
            "required": ["id", "content", "isPinned", "isArchived"],
        })
    }
}

/// A list: the text is Memento's array, the structure has a name for it and the next page.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Many {
    notes: Vec<One>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The caller asked for the images themselves: links are then worth a word.
    #[serde(skip)]
    images_wanted: bool,
}

impl Many {
    fn new(page: CardPage, view: View) -> Self {
        let notes = page.cards.iter().map(|card| One::new(card, view)).collect();
        Self { notes, next_cursor: page.next, images_wanted: false }
    }
}

impl Answer for Many {
    fn text(&self) -> String {
        json!(self.notes).to_string()
    }

    fn aside(&self) -> Option<String> {
        let shown = self.notes.len();
        let more = self.next_cursor.as_ref().map(|cursor| {
            format!("{shown} cards shown, there are more: call again with `cursor`: `{cursor}`")
        });
        let links = self.notes.iter().map(|note| note.links).sum();
        let links = (self.images_wanted && links > 0).then(|| linked(links));
        let said: Vec<String> = more.into_iter().chain(links).collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }
}

/// Tells `null` (empty the field) from an argument that was not given.
fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    <Option<T> as serde::Deserialize>::deserialize(deserializer).map(Some)
}

fn moment(name: &str, text: &str) -> Result<Timestamp> {
    Timestamp::parse(text).ok_or_else(|| {
        Error::invalid_params(format!(
            "{name} `{text}` is not a date; write `2025-01-31T10:00:00Z`"
        ))
    })
}
