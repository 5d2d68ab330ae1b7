//! Memento's cards as JSON: what `export` writes, what `get_notes` answers, or rows of the table.

use serde_json::Value;

use super::{CardDraft, FileCards};
use crate::domain::Card;

pub fn is_card(value: &Value) -> bool {
    value.get("content").is_some()
}

/// A card, or an object with a list of cards under `notes`.
pub fn is_export(value: &Value) -> bool {
    let listed = value.get("notes").and_then(Value::as_array);
    is_card(value) || listed.is_some_and(|list| list.is_empty() || list.iter().any(is_card))
}

pub fn read(name: &str, value: Value) -> FileCards {
    let list = match value {
        Value::Object(mut map) => match map.remove("notes") {
            Some(Value::Array(list)) => list,
            _ => vec![Value::Object(map)],
        },
        _ => Vec::new(),
    };
    let one = list.len() == 1;
    let mut found = FileCards::default();
    for (n, value) in list.iter().enumerate() {
        let from = if one { name.to_owned() } else { format!("{name}[{n}]") };
        match Card::from_json(value) {
            Ok(card) => {
                let key = [
                    Some("memento".to_owned()),
                    card.created_at.map(|moment| moment.to_string()),
                    card.title.clone(),
                    Some(card.content.clone()),
                ];
                let key = key.into_iter().map(Option::unwrap_or_default).collect();
                found.cards.push(CardDraft { from, card, key });
            }
            Err(why) => found.skipped.push((from, why)),
        }
    }
    found
}
