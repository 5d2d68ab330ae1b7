//! The fields of one record. Each is taken out by whoever understands it; what is left when
//! everybody has had a look is kept as it came.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::dates;
use crate::domain::{
    Bookmark, Timestamp,
    bookmark::{By, Judged},
};

/// Names under which exports count what others did, and ours for them.
const COUNTS: &[(&str, &str)] = &[
    ("favorite_count", "likes"),
    ("like_count", "likes"),
    ("likes", "likes"),
    ("retweet_count", "retweets"),
    ("retweets", "retweets"),
    ("reposts", "retweets"),
    ("reply_count", "replies"),
    ("replies", "replies"),
    ("quote_count", "quotes"),
    ("quotes", "quotes"),
    ("bookmark_count", "bookmarks"),
    ("views_count", "views"),
    ("impression_count", "views"),
    ("views", "views"),
    ("points", "points"),
    ("comments", "comments"),
    ("stars", "stars"),
];

pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn new(map: Map<String, Value>) -> Self {
        Self(map)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Takes a field out if `read` understands its value; otherwise it stays, to be kept as it is.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.0.get(name)?)?;
        self.0.shift_remove(name);
        Some(value)
    }

    /// The first of these names that holds a text with something in it.
    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| {
            self.take(name, |value| match value {
                Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
                _ => None,
            })
        })
    }

    /// A text or a whole number: ids are written both ways.
    pub(super) fn id(&mut self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| {
            self.take(name, |value| match value {
                Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
                Value::Number(number) => number.as_u64().map(|number| number.to_string()),
                _ => None,
            })
        })
    }

    pub(super) fn date(&mut self, names: &[&str]) -> Option<Timestamp> {
        names.iter().find_map(|name| self.take(name, dates::moment))
    }

    /// Words of a list, or of a text with commas, bars or (without those) spaces between them.
    pub(super) fn words(&mut self, names: &[&str]) -> Vec<String> {
        distinct(names.iter().flat_map(|name| self.take(name, list).unwrap_or_default()))
    }

    /// Takes every count that others gave.
    pub(super) fn counts(&mut self, engagement: &mut Map<String, Value>) {
        for (name, ours) in COUNTS {
            if let Some(count) = self.take(name, count)
                && !engagement.contains_key(*ours)
            {
                engagement.insert((*ours).to_owned(), count);
            }
        }
    }

    /// A judgement in our own form, or a bare value, which a person wrote.
    pub(super) fn judged<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<Judged<T>> {
        self.take(name, |value| {
            let Some(judged) = value.as_object().filter(|map| map.contains_key("value")) else {
                return Some(Judged::by_user(read(value)?));
            };
            let source: By = judged.get("source")?.as_str()?.parse().ok()?;
            let confidence = judged.get("confidence")?.as_f64()? as f32;
            Some(Judged { value: read(judged.get("value")?)?, confidence, source })
        })
    }

    /// Keeps what nobody took. An empty value says nothing and is not kept.
    pub(super) fn leave(self, bookmark: &mut Bookmark) {
        for (name, value) in self.0 {
            let empty = match &value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
                _ => false,
            };
            if !empty {
                bookmark.extra.insert(name, value);
            }
        }
    }
}

/// A number, or a text that is one.
pub(super) fn count(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => text.trim().parse::<u64>().ok().map(Value::from),
        _ => None,
    }
}

fn list(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) => values
            .iter()
            .map(|value| match value {
                Value::String(text) => Some(text.trim().to_owned()),
                Value::Object(map) => {
                    let name = map.get("name").or_else(|| map.get("tag"))?;
                    name.as_str().map(|name| name.trim().to_owned())
                }
                _ => None,
            })
            .filter(|word| word.as_ref().is_none_or(|word| !word.is_empty()))
            .collect(),
        Value::String(text) if !text.trim().is_empty() => Some(split(text)),
        _ => None,
    }
}

/// Words of a line. Spaces divide them only where nothing else does.
pub(super) fn split(text: &str) -> Vec<String> {
    if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
        return list;
    }
    let words: Vec<&str> = match text.contains([',', '|', ';', '、']) {
        true => text.split([',', '|', ';', '、']).collect(),
        false => text.split_whitespace().collect(),
    };
    distinct(words.into_iter().map(|word| word.trim().trim_start_matches('#').to_owned()))
}

/// Each word once, empty ones left out, in order.
pub(super) fn distinct(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    words.into_iter().filter(|word| !word.is_empty() && seen.insert(word.clone())).collect()
}

/// Two letters, where the export names a language at all; X has codes of its own for none.
pub(super) fn language(value: &Value) -> Option<String> {
    let code = value.as_str()?;
    (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .then(|| code.to_ascii_lowercase())
}

/// A handle, without the `@`.
pub(super) fn handle(text: &str) -> Option<String> {
    let handle = text.trim().trim_start_matches('@').trim();
    (!handle.is_empty()).then(|| handle.to_owned())
}
