//! Pinboard's JSON.

use serde_json::{Map, Value};

use super::fields::{Fields, distinct};
use crate::domain::{
    Bookmark, Timestamp, bookmark::Judged, bookmark::links::addresses, query::Action,
};

pub(super) fn is_pin(map: &Map<String, Value>) -> bool {
    map.contains_key("href") && (map.contains_key("extended") || map.contains_key("toread"))
}

pub(super) fn read(map: Map<String, Value>, now: Timestamp) -> Result<Bookmark, String> {
    let mut fields = Fields::new(map);
    let url = fields.text(&["href"]).unwrap_or_default();
    let title = fields.text(&["description"]).unwrap_or_default();
    let text = fields.text(&["extended"]).unwrap_or_default();
    let date = fields.date(&["time", "dt"]).unwrap_or(now);
    let named = if text.is_empty() { &title } else { &text };
    let mut bookmark = Bookmark::new(None, &url, named, date)
        .map_err(|_| "it has no address and no text".to_owned())?;
    bookmark.links = addresses(&text).into_iter().map(|at| text[at].to_owned()).collect();
    bookmark.title = title;
    bookmark.text = text;
    let tags = fields.take("tags", |tags| Some(tags.as_str()?.to_owned())).unwrap_or_default();
    bookmark.labels = distinct(tags.split_whitespace().map(str::to_owned));
    if fields.get("toread").and_then(Value::as_str) == Some("yes") {
        bookmark.action = Some(Judged::by_user(Action::ReadLater));
    }
    fields.leave(&mut bookmark);
    Ok(bookmark)
}
