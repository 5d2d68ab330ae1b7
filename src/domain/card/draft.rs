//! What a caller sends: a new card, or a change to one. Both are checked before anything is
//! written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    super::{Error, Result, Timestamp},
    Card, CardType, Color, MAX_CHECK_ITEMS, MAX_CONTENT_BYTES, MAX_LABELS, MAX_LINE_BYTES,
    MAX_TITLE_BYTES, Recurrence, check_images, check_images_or_links, item_text,
};

// A checklist item as a caller sends it. No doc comment: it would be part of every schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "schemars would send the docs to models with every schema")]
pub struct CheckItem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub text: String,
    #[serde(default)]
    pub checked: bool,
}

// Ticks one checklist item, or takes the tick away, without sending the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "schemars would send the docs to models with every schema")]
pub struct Tick {
    pub id: String,
    pub checked: bool,
}

/// A card to be made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewCard {
    /// The title.
    pub title: Option<String>,
    /// The text.
    pub content: String,
    /// The colour; the default where `None`.
    pub color: Option<Color>,
    /// Text or checklist; derived from `check_items` where `None`.
    pub kind: Option<CardType>,
    /// The checklist.
    pub check_items: Option<Vec<CheckItem>>,
    /// The labels.
    pub labels: Option<Vec<String>>,
    /// Whether it is pinned.
    pub is_pinned: bool,
    /// Whether it is archived.
    pub is_archived: bool,
    /// Base64 or data URLs.
    pub images: Option<Vec<String>>,
    /// When to remind.
    pub reminder: Option<Timestamp>,
    /// How the reminder repeats.
    pub reminder_recurrence: Option<Recurrence>,
}

impl NewCard {
    /// Refuses what is too long or not well formed.
    pub fn check(&self) -> Result<()> {
        check_title(self.title.as_deref())?;
        check_content(&self.content)?;
        check_items(self.check_items.as_deref())?;
        check_labels(self.labels.as_deref())?;
        if self.reminder_recurrence.is_some_and(|r| r != Recurrence::None)
            && self.reminder.is_none()
        {
            return Err(Error::invalid_params(
                "reminderRecurrence needs a reminder; give its date and time",
            ));
        }
        check_images(self.images.as_deref().unwrap_or_default())
    }

    /// The card with this id at this moment.
    pub fn into_card(self, id: String, now: Timestamp) -> Card {
        let kind = self.kind.unwrap_or(CardType::Text);
        Card {
            check_items: self.check_items.map(|items| merge_items(&items, None)),
            id,
            title: self.title,
            content: self.content,
            color: self.color.unwrap_or(Color::Default).as_str().into(),
            kind: kind.as_str().into(),
            labels: self.labels,
            images: self.images,
            is_pinned: self.is_pinned,
            is_archived: self.is_archived,
            reminder: self.reminder,
            reminder_recurrence: self.reminder_recurrence.map(|r| r.as_str().into()),
            created_at: Some(now),
            updated_at: Some(now),
            ..Card::default()
        }
    }
}

/// What to change in a card: only what is `Some`. `Some(None)` empties a field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CardChange {
    /// The new title; `Some(None)` removes it.
    pub title: Option<Option<String>>,
    /// The new text.
    pub content: Option<String>,
    /// The new colour.
    pub color: Option<Color>,
    /// Text or checklist.
    pub kind: Option<CardType>,
    /// The new checklist; `Some(None)` removes it.
    pub check_items: Option<Option<Vec<CheckItem>>>,
    /// One checklist item to tick or untick.
    pub tick: Option<Tick>,
    /// The new labels; `Some(None)` removes all.
    pub labels: Option<Option<Vec<String>>>,
    /// The new images; `Some(None)` removes all.
    pub images: Option<Option<Vec<String>>>,
    /// Pins or unpins.
    pub is_pinned: Option<bool>,
    /// Archives or unarchives.
    pub is_archived: Option<bool>,
    /// The new reminder; `Some(None)` removes it.
    pub reminder: Option<Option<Timestamp>>,
    /// How the reminder repeats; `Some(None)` ends it.
    pub reminder_recurrence: Option<Option<Recurrence>>,
    /// Dismisses the reminder, or brings it back.
    pub is_reminder_done: Option<bool>,
    /// Change it only if nobody else has since this moment.
    pub if_updated_at: Option<Timestamp>,
}

impl CardChange {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        let unconditional = CardChange { if_updated_at: None, ..self.clone() };
        unconditional == CardChange::default()
    }

    /// Refuses what is too long or not well formed.
    pub fn check(&self) -> Result<()> {
        if self.is_empty() {
            return Err(Error::invalid_params("give at least one field to change besides id"));
        }
        if self.tick.is_some() && self.check_items.is_some() {
            return Err(Error::invalid_params(
                "send either checkItems (the whole list) or checkItem (one tick), not both",
            ));
        }
        check_title(self.title.as_ref().and_then(Option::as_deref))?;
        check_content(self.content.as_deref().unwrap_or_default())?;
        check_items(self.check_items.as_ref().and_then(Option::as_deref))?;
        check_labels(self.labels.as_ref().and_then(Option::as_deref))?;
        check_images_or_links(self.images.as_ref().and_then(Option::as_deref).unwrap_or_default())
    }
}

/// Makes stored items of the items sent. One that is stored under the same id keeps the fields
/// this program does not know; one without an id gets one.
pub fn merge_items(items: &[CheckItem], stored: Option<&[Value]>) -> Vec<Value> {
    let mut ids: Vec<String> = items.iter().filter_map(|item| item.id.clone()).collect();
    let mut made = 0;
    let mut fresh = || loop {
        made += 1;
        let id = made.to_string();
        if !ids.contains(&id) {
            ids.push(id.clone());
            break id;
        }
    };
    let merge = |item: &CheckItem| {
        let id = item.id.clone().unwrap_or_else(&mut fresh);
        let old = stored.into_iter().flatten().find(|old| has_id(old, &id));
        let mut map = old
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(|| Map::from_iter([("id".to_owned(), json!(id))]));
        map.insert("text".into(), json!(item.text));
        map.insert("checked".into(), json!(item.checked));
        Value::Object(map)
    };
    items.iter().map(merge).collect()
}

/// Whether a stored item goes by this id; some programs count their items with numbers.
fn has_id(item: &Value, id: &str) -> bool {
    match item.get("id") {
        Some(Value::String(text)) => text == id,
        Some(Value::Number(number)) => number.to_string() == id,
        _ => false,
    }
}

impl Tick {
    /// Applies the tick to stored items.
    pub fn apply(&self, items: &mut [Value]) -> Result<()> {
        let Some(item) = items.iter_mut().find(|item| has_id(item, &self.id)) else {
            let known: Vec<String> = items
                .iter()
                .filter_map(|item| {
                    Some(format!("`{}` ({})", plain(item.get("id")?), item_text(item)))
                })
                .take(20)
                .collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(Error::invalid_params(format!(
                "checkItem: the card has no item with the id `{}`; its items are {known}",
                self.id
            )));
        };
        if let Some(map) = item.as_object_mut() {
            map.insert("checked".into(), json!(self.checked));
        }
        Ok(())
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Checks items that come from a file rather than from a caller.
pub fn read_items(items: &[Value]) -> bool {
    items.iter().all(|item| item.get("text").is_some_and(Value::is_string))
}

fn check_title(title: Option<&str>) -> Result<()> {
    limit("title", title.unwrap_or_default().len(), MAX_TITLE_BYTES, "bytes")
}

fn check_content(content: &str) -> Result<()> {
    limit("content", content.len(), MAX_CONTENT_BYTES, "bytes")
}

fn check_items(items: Option<&[CheckItem]>) -> Result<()> {
    let items = items.unwrap_or_default();
    limit("checkItems", items.len(), MAX_CHECK_ITEMS, "items")?;
    for (n, item) in items.iter().enumerate() {
        if item.text.trim().is_empty() {
            return Err(Error::invalid_params(format!("checkItems[{n}] has no text")));
        }
        limit(format!("checkItems[{n}].text"), item.text.len(), MAX_LINE_BYTES, "bytes")?;
        if item.id.is_some() && items[..n].iter().any(|other| other.id == item.id) {
            let id = item.id.as_deref().unwrap_or_default();
            return Err(Error::invalid_params(format!("checkItems has the id `{id}` twice")));
        }
    }
    Ok(())
}

fn check_labels(labels: Option<&[String]>) -> Result<()> {
    let labels = labels.unwrap_or_default();
    limit("labels", labels.len(), MAX_LABELS, "labels")?;
    for (n, label) in labels.iter().enumerate() {
        if label.trim().is_empty() {
            return Err(Error::invalid_params(format!("labels[{n}] is empty")));
        }
        limit(format!("labels[{n}]"), label.len(), MAX_LINE_BYTES, "bytes")?;
    }
    Ok(())
}

fn limit(what: impl std::fmt::Display, size: usize, most: usize, unit: &str) -> Result<()> {
    if size <= most {
        return Ok(());
    }
    Err(Error::invalid_params(format!(
        "{what} is {size} {unit}; the limit is {most}: shorten it or make several cards"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: Option<&str>, text: &str) -> CheckItem {
        CheckItem { id: id.map(Into::into), text: text.into(), checked: false }
    }

    #[test]
    fn items_get_ids_and_keep_unknown_fields() {
        let stored = [json!({"id": "a", "text": "old", "checked": true, "order": 7})];
        let merged = merge_items(
            &[item(Some("a"), "new"), item(None, "x"), item(Some("1"), "y")],
            Some(&stored),
        );
        assert_eq!(
            serde_json::to_string(&merged).unwrap(),
            r#"[{"id":"a","text":"new","checked":false,"order":7},{"id":"2","text":"x","checked":false},{"id":"1","text":"y","checked":false}]"#
        );
    }

    #[test]
    fn a_tick_names_the_items_when_the_id_is_wrong() {
        let mut items = vec![json!({"id": 3, "text": "牛乳", "checked": false})];
        Tick { id: "3".into(), checked: true }.apply(&mut items).unwrap();
        assert_eq!(items[0]["checked"], true);
        let error = Tick { id: "4".into(), checked: true }.apply(&mut items).unwrap_err();
        assert!(error.message.contains("`3` (牛乳)"), "{error}");
    }

    #[test]
    fn bad_input_is_refused() {
        let ok = NewCard { content: "a".repeat(MAX_CONTENT_BYTES), ..NewCard::default() };
        assert!(ok.check().is_ok());
        for bad in [
            NewCard { content: "a".repeat(10 << 20), ..NewCard::default() },
            NewCard { check_items: Some(vec![item(None, " ")]), ..NewCard::default() },
            NewCard {
                check_items: Some(vec![item(Some("a"), "x"), item(Some("a"), "y")]),
                ..NewCard::default()
            },
            NewCard { images: Some(vec!["%%%".into()]), ..NewCard::default() },
            NewCard { labels: Some(vec!["".into()]), ..NewCard::default() },
            NewCard { reminder_recurrence: Some(Recurrence::Daily), ..NewCard::default() },
        ] {
            assert_eq!(bad.check().unwrap_err().code.json_rpc(), -32602);
        }
        assert!(CardChange::default().check().is_err());
        let lone = CardChange { if_updated_at: Some(Timestamp(1)), ..CardChange::default() };
        assert!(lone.check().is_err());
    }
}
