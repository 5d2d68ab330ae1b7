//! The contents of revisions as text: for diffs, for lists, and to read an old version.

use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use crate::domain::{Kind, count};

/// Characters of each side of a one-line diff.
const MAX_SIDE_CHARS: usize = 60;
/// A value longer than this without a space is data, not text.
const MAX_WORD_BYTES: usize = 1_000;
/// Fields that every write changes.
pub(super) const WRITE_DATES: [&str; 2] = ["updatedAt", "updated"];

/// The content of an item as a person reads it: a note as it is, anything else field by field.
pub fn readable(kind: Kind, content: &[u8]) -> String {
    match (kind, object(content)) {
        (Kind::Page, _) | (_, None) => String::from_utf8_lossy(content).into_owned(),
        (_, Some(fields)) => listed(&fields, |_| true),
    }
}

/// As [`readable`], without the fields that every write changes.
pub fn comparable(kind: Kind, content: Option<&[u8]>) -> String {
    let Some(content) = content else { return String::new() };
    match (kind, object(content)) {
        (Kind::Page, _) | (_, None) => String::from_utf8_lossy(content).into_owned(),
        (_, Some(fields)) => listed(&fields, |name| !WRITE_DATES.contains(&name)),
    }
}

/// What a person calls the item: its title, or its key.
pub fn name(kind: Kind, key: &str, content: Option<&[u8]>) -> String {
    if kind == Kind::Page {
        return key.split_once('/').map_or(key, |(_, path)| path).to_owned();
    }
    let fields = content.and_then(object).unwrap_or_default();
    let field = |name: &str| {
        let text = fields.get(name).and_then(Value::as_str).unwrap_or_default();
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(short)
    };
    let known = match kind {
        Kind::Card => field("title").or_else(|| field("content")),
        Kind::Bookmark => field("title").or_else(|| field("url")).or_else(|| field("text")),
        Kind::Prompt | Kind::Page => field("name"),
    };
    known.unwrap_or_else(|| key.to_owned())
}

/// A change to one item in one line.
pub fn one_line(kind: Kind, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    match (before, after) {
        (None, None) => return String::new(),
        (None, Some(_)) => return "created".to_owned(),
        (Some(_), None) => return "deleted".to_owned(),
        (Some(_), Some(_)) => {}
    }
    let (old, new) = (comparable(kind, before), comparable(kind, after));
    let diff = TextDiff::from_lines(&old, &new);
    // The first line with words in it; a blank one says nothing.
    let first = |tag| {
        let changed = || diff.iter_all_changes().filter(|change| change.tag() == tag);
        let written = changed().find(|change| !change.value().trim().is_empty());
        let first = written.or_else(|| changed().next());
        let blank = first.is_some_and(|first| first.value().trim().is_empty());
        let text = first.map(|first| match blank {
            true => "a blank line".to_owned(),
            false => short(first.value().trim()),
        });
        (text, changed().filter(|change| !change.value().trim().is_empty()).skip(1).count())
    };
    let ((removed, more_removed), (added, more_added)) =
        (first(ChangeTag::Delete), first(ChangeTag::Insert));
    let mut line = match (removed, added) {
        (Some(removed), Some(added)) => format!("{removed} → {added}"),
        (Some(removed), None) => format!("-{removed}"),
        (None, Some(added)) => format!("+{added}"),
        (None, None) => return "moved".to_owned(),
    };
    let more = more_removed + more_added;
    if more > 0 {
        line += &format!(" (and {})", count(more, "more line"));
    }
    line
}

pub(super) fn object(content: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(content).ok()
}

fn short(text: &str) -> String {
    let short: String = text.chars().take(MAX_SIDE_CHARS).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// Fields that are not empty, one after another; texts as they are.
fn listed(fields: &Map<String, Value>, shows: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (name, value) in fields.iter().filter(|(name, _)| shows(name)) {
        match value {
            Value::Null => {}
            Value::String(value) if value.is_empty() => {}
            Value::Array(list) if list.is_empty() => {}
            Value::String(value) if value.contains('\n') => {
                text += &format!("{name}:\n{}\n", value.trim_end_matches('\n'));
            }
            Value::Array(list) => {
                list.iter().for_each(|entry| text += &format!("{name}: {}\n", plain(entry)));
            }
            value => text += &format!("{name}: {}\n", plain(value)),
        }
    }
    text
}

/// One value: a message of a prompt as its text, data as its size.
fn plain(value: &Value) -> String {
    let message = || {
        let role = value.get("role")?.as_str()?;
        let text = value.get("content")?.get("text")?.as_str()?;
        Some(format!("{role}: {text}"))
    };
    match value {
        Value::String(text) if text.len() > MAX_WORD_BYTES && !text.contains(' ') => {
            format!("{} bytes, {}…", text.len(), text.chars().take(24).collect::<String>())
        }
        Value::String(text) => text.clone(),
        Value::Object(_) => message().unwrap_or_else(|| value.to_string()),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_summarises_a_change() {
        let card = |title: &str, pinned: bool| {
            let updated = if pinned { "2" } else { "1" };
            serde_json::json!({"id": "c", "title": title, "content": "", "isPinned": pinned,
                "updatedAt": updated})
            .to_string()
            .into_bytes()
        };
        let line = |before: &[u8], after: &[u8]| one_line(Kind::Card, Some(before), Some(after));
        let (old, new) = (card("Молоко", false), card("牛乳", false));
        assert_eq!(line(&old, &new), "title: Молоко → title: 牛乳");
        assert_eq!(line(&old, &card("Молоко", true)), "isPinned: false → isPinned: true");
        assert_eq!(one_line(Kind::Card, None, Some(&old)), "created");
        assert_eq!(one_line(Kind::Card, Some(&old), None), "deleted");
        let page = one_line(Kind::Page, Some(b"a\nb\nc\n"), Some(b"a\nB\nc\nd\n"));
        assert_eq!(page, "b → B (and 1 more line)");
        let page = one_line(Kind::Page, Some(b"a\n"), Some(b"a\n\nAdded\n"));
        assert_eq!(page, "+Added");
        assert_eq!(one_line(Kind::Page, Some(b"a\n"), Some(b"a\n\n")), "+a blank line");
        assert_eq!(name(Kind::Card, "c", Some(&old)), "Молоко");
        assert_eq!(name(Kind::Page, "vault/a/b.md", None), "a/b.md");
    }

    #[test]
    fn data_is_told_by_its_size() {
        let image = "A".repeat(5_000);
        let card = serde_json::json!({"content": "x", "images": [image]}).to_string();
        let text = readable(Kind::Card, card.as_bytes());
        assert!(text.contains("images: 5000 bytes, AAAA"), "{text}");
        assert!(text.len() < 200);
    }
}
