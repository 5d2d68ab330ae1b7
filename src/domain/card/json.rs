//! A card as JSON, in the order of fields that each tool of Memento has.

use serde_json::{Map, Value, json};

use super::{Card, image_link};

/// Which answer the card stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// `create_note` and `update_note`.
    Written,
    /// `get_notes`.
    Listed,
    /// `get_notes` with `due`: also when to be reminded.
    Due,
    /// `search_notes` and the two toggles.
    Brief,
    /// `get_note`, and an export: everything.
    Whole,
}

impl View {
    fn fields(self) -> &'static [&'static str] {
        match self {
            View::Written => &[
                "id",
                "title",
                "content",
                "color",
                "type",
                "checkItems",
                "labels",
                "images",
                "isPinned",
                "isArchived",
                "createdAt",
                "updatedAt",
            ],
            View::Listed => &[
                "id",
                "title",
                "content",
                "color",
                "isPinned",
                "isArchived",
                "type",
                "checkItems",
                "labels",
                "images",
                "order",
                "createdAt",
                "updatedAt",
            ],
            View::Due => &[
                "id",
                "title",
                "content",
                "color",
                "isPinned",
                "isArchived",
                "type",
                "checkItems",
                "labels",
                "images",
                "reminder",
                "isReminderDone",
                "reminderRecurrence",
                "order",
                "createdAt",
                "updatedAt",
            ],
            View::Brief => &[
                "id",
                "title",
                "content",
                "color",
                "isPinned",
                "isArchived",
                "type",
                "checkItems",
                "labels",
                "images",
                "createdAt",
                "updatedAt",
            ],
            View::Whole => &[
                "id",
                "title",
                "content",
                "color",
                "isPinned",
                "isArchived",
                "type",
                "checkItems",
                "labels",
                "images",
                "reminder",
                "isReminderDone",
                "reminderRecurrence",
                "reminderLocation",
                "isMarkdown",
                "size",
                "embedding",
                "userId",
                "order",
                "createdAt",
                "updatedAt",
            ],
        }
    }
}

impl Card {
    /// The card as the tools of Memento answer it.
    pub fn to_json(&self, view: View) -> Value {
        let fields = view.fields().iter().map(|name| ((*name).to_owned(), self.field(name)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn field(&self, name: &str) -> Value {
        match name {
            "id" => json!(self.id),
            "title" => json!(self.title),
            "content" => json!(self.content),
            "color" => json!(self.color),
            "type" => json!(self.kind),
            "checkItems" => json!(self.check_items),
            "labels" => json!(self.labels),
            "images" => json!(self.images),
            "isPinned" => json!(self.is_pinned),
            "isArchived" => json!(self.is_archived),
            "reminder" => json!(self.reminder),
            "isReminderDone" => json!(self.is_reminder_done),
            "reminderRecurrence" => json!(self.reminder_recurrence),
            "reminderLocation" => json!(self.reminder_location),
            "isMarkdown" => json!(self.is_markdown),
            "size" => json!(self.size),
            "embedding" => json!(self.embedding),
            "userId" => json!(self.user_id),
            "order" => number(self.order),
            "createdAt" => json!(self.created_at),
            "updatedAt" => json!(self.updated_at),
            _ => Value::Null,
        }
    }

    /// Reads what `to_json(View::Whole)` wrote; what is absent gets Memento's default. The error
    /// names the field at fault.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let map = value.as_object().ok_or("is not an object")?;
        let card = Card::default();
        let of = |name: &str| map.get(name).filter(|value| !value.is_null());
        let text = |name: &str| match of(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` is not text")),
        };
        let flag = |name: &str| match of(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::Number(number)) => Ok(number.as_f64() != Some(0.0)),
            Some(_) => Err(format!("`{name}` is not true or false")),
        };
        let date = |name: &str| match of(name) {
            None => Ok(None),
            Some(value) => match value {
                // Milliseconds, which may be beyond the dates that can be written.
                Value::Number(ms) => ms
                    .as_i64()
                    .map(super::super::Timestamp)
                    .filter(|at| super::super::Timestamp::parse(&at.to_string()) == Some(*at)),
                value => value.as_str().and_then(super::super::Timestamp::parse),
            }
            .map(Some)
            .ok_or_else(|| format!("`{name}` is not a date")),
        };
        // A row taken straight from the database holds its lists as JSON text.
        let list = |name: &str| -> Result<Option<Vec<Value>>, String> {
            match of(name) {
                None => Ok(None),
                Some(Value::Array(list)) => Ok(Some(list.clone())),
                Some(Value::String(text)) => serde_json::from_str(text)
                    .map(Some)
                    .map_err(|_| format!("`{name}` is not a list")),
                Some(_) => Err(format!("`{name}` is not a list")),
            }
        };
        let texts = |name: &str| -> Result<Option<Vec<String>>, String> {
            let Some(list) = list(name)? else { return Ok(None) };
            let each = |value: Value| match value {
                Value::String(text) => Ok(text),
                _ => Err(format!("`{name}` is not a list of texts")),
            };
            list.into_iter().map(each).collect::<Result<_, _>>().map(Some)
        };
        Ok(Card {
            id: text("id")?.unwrap_or_default(),
            title: text("title")?,
            content: text("content")?.ok_or("has no `content`")?,
            color: text("color")?.unwrap_or(card.color),
            kind: text("type")?.unwrap_or(card.kind),
            check_items: list("checkItems")?,
            labels: texts("labels")?,
            images: texts("images")?,
            is_pinned: flag("isPinned")?,
            is_archived: flag("isArchived")?,
            reminder: date("reminder")?,
            is_reminder_done: flag("isReminderDone")?,
            reminder_recurrence: text("reminderRecurrence")?,
            reminder_location: text("reminderLocation")?,
            is_markdown: flag("isMarkdown")?,
            size: text("size")?.unwrap_or(card.size),
            embedding: text("embedding")?,
            user_id: text("userId")?,
            order: of("order").and_then(Value::as_f64).unwrap_or(0.0),
            created_at: date("createdAt")?,
            updated_at: date("updatedAt")?,
        })
    }

    /// Puts links in the place of the images' bytes.
    pub fn with_image_links(mut self) -> Self {
        if let Some(images) = &mut self.images {
            *images = (0..images.len()).map(|n| image_link(&self.id, n)).collect();
        }
        self
    }
}

/// Memento's `order` is a whole number; a database with another idea keeps it.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_view_reads_back() {
        let card = Card {
            id: "c1".into(),
            title: Some("Список 買い物".into()),
            check_items: Some(vec![json!({"id": "a", "text": "milk", "checked": true, "x": 1})]),
            labels: Some(vec![]),
            order: -2.5,
            reminder: Some(crate::domain::Timestamp(1_700_000_000_123)),
            ..Card::default()
        };
        assert_eq!(Card::from_json(&card.to_json(View::Whole)).unwrap(), card);
    }

    #[test]
    fn a_date_that_cannot_be_written_is_refused() {
        let read = |at: Value| Card::from_json(&json!({ "content": "", "createdAt": at }));
        assert!(read(json!(1_700_000_000_000_i64)).is_ok() && read(Value::Null).is_ok());
        for bad in [json!(1_700_000_000_000_000_000_i64), json!(1.5), json!("soon")] {
            assert_eq!(read(bad).unwrap_err(), "`createdAt` is not a date");
        }
    }

    #[test]
    fn each_answer_has_mementos_order_of_fields() {
        let card = Card { id: "c1".into(), ..Card::default() };
        let keys = |view| {
            let value = card.to_json(view);
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            keys(View::Written),
            "id title content color type checkItems labels images isPinned isArchived createdAt updatedAt"
        );
        assert_eq!(
            keys(View::Brief),
            "id title content color isPinned isArchived type checkItems labels images createdAt updatedAt"
        );
        assert_eq!(card.to_json(View::Listed)["order"].to_string(), "0");
    }
}
