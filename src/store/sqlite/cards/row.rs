//! A row of the `Note` table ↔ a card.

use rusqlite::{
    Row,
    types::{Value, ValueRef},
};
use serde_json::Value as Json;

use super::{dates, dates::DateForm};
use crate::domain::{Card, card::image_link};

/// Reads the columns of `Layout::select`. A value that cannot be read is reported in the log and
/// answered as absent; it stays in the database as it is.
pub fn read(row: &Row<'_>) -> rusqlite::Result<Card> {
    let card = Card::default();
    let id = text(row.get_ref(0)?).unwrap_or_default();
    let of = |index: usize| row.get_ref(index);
    let list = |index: usize, name: &str| -> rusqlite::Result<Option<Vec<Json>>> {
        let Some(text) = text(row.get_ref(index)?).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        match serde_json::from_str::<Json>(&text) {
            Ok(Json::Array(list)) => Ok(Some(list)),
            Ok(Json::Null) => Ok(None),
            _ => {
                tracing::warn!(card = id, column = name, "not a JSON list; answered as null");
                Ok(None)
            }
        }
    };
    let date = |index: usize, name: &str| -> rusqlite::Result<_> {
        let value = row.get_ref(index)?;
        let moment = dates::read(value);
        if moment.is_none() && value != ValueRef::Null {
            tracing::warn!(card = id, column = name, "not a date; answered as null");
        }
        Ok(moment)
    };
    let images = match of(7)? {
        ValueRef::Integer(count) => {
            Some((0..usize::try_from(count).unwrap_or(0)).map(|n| image_link(&id, n)).collect())
        }
        _ => list(7, "images")?.map(texts),
    };
    Ok(Card {
        title: text(of(1)?),
        content: text(of(2)?).unwrap_or_default(),
        color: text(of(3)?).unwrap_or(card.color),
        kind: text(of(4)?).unwrap_or(card.kind),
        check_items: list(5, "checkItems")?,
        labels: list(6, "labels")?.map(texts),
        images,
        is_pinned: flag(of(8)?),
        is_archived: flag(of(9)?),
        reminder: date(10, "reminder")?,
        is_reminder_done: flag(of(11)?),
        reminder_recurrence: text(of(12)?),
        reminder_location: text(of(13)?),
        is_markdown: flag(of(14)?),
        size: text(of(15)?).unwrap_or(card.size),
        embedding: text(of(16)?),
        user_id: text(of(17)?),
        order: real(of(18)?),
        created_at: date(19, "createdAt")?,
        updated_at: date(20, "updatedAt")?,
        id,
    })
}

/// The value of one column of a card, as Prisma writes it.
pub fn write(card: &Card, column: &str, form: DateForm) -> Value {
    let text = |text: &str| Value::Text(text.to_owned());
    let option = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let flag = |flag: bool| Value::Integer(flag.into());
    let date = |moment: Option<_>| moment.map_or(Value::Null, |moment| form.write(moment));
    match column {
        "id" => text(&card.id),
        "title" => option(&card.title),
        "content" => text(&card.content),
        "color" => text(&card.color),
        "type" => text(&card.kind),
        "checkItems" => json(card.check_items.as_ref()),
        "labels" => json(card.labels.as_ref()),
        "images" => json(card.images.as_ref()),
        "isPinned" => flag(card.is_pinned),
        "isArchived" => flag(card.is_archived),
        "reminder" => date(card.reminder),
        "isReminderDone" => flag(card.is_reminder_done),
        "reminderRecurrence" => option(&card.reminder_recurrence),
        "reminderLocation" => option(&card.reminder_location),
        "isMarkdown" => flag(card.is_markdown),
        "size" => text(&card.size),
        "embedding" => option(&card.embedding),
        "userId" => option(&card.user_id),
        "order" if card.order.fract() == 0.0 => Value::Integer(card.order as i64),
        "order" => Value::Real(card.order),
        "createdAt" => date(card.created_at),
        "updatedAt" => date(card.updated_at),
        _ => Value::Null,
    }
}

fn json<T: serde::Serialize>(list: Option<&Vec<T>>) -> Value {
    list.map_or(Value::Null, |list| {
        Value::Text(serde_json::to_string(list).expect("a list of plain values is JSON"))
    })
}

fn texts(list: Vec<Json>) -> Vec<String> {
    let text = |value: Json| match value {
        Json::String(text) => text,
        other => other.to_string(),
    };
    list.into_iter().map(text).collect()
}

pub fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

pub fn flag(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Integer(number) => number != 0,
        ValueRef::Real(number) => number != 0.0,
        ValueRef::Text(text) => text.eq_ignore_ascii_case(b"true") || text == b"1",
        ValueRef::Null | ValueRef::Blob(_) => false,
    }
}

pub fn real(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Integer(number) => number as f64,
        ValueRef::Real(number) => number,
        ValueRef::Text(text) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
        }
        ValueRef::Null | ValueRef::Blob(_) => 0.0,
    }
}
