//! Records whose fields are called what they are: our own JSON, the files of a data set, Field
//! Theory's, a row of a table.

use serde_json::{Map, Value};

use super::fields::{Fields, distinct, handle, language, split};
use crate::domain::{
    Bookmark, Timestamp,
    bookmark::{Judged, domain, same_address},
    query::{Action, Sentiment},
};

/// The words of our own form.
const OWN: [&str; 17] = [
    "id",
    "url",
    "author",
    "authorName",
    "title",
    "text",
    "lang",
    "date",
    "labels",
    "links",
    "engagement",
    "summary",
    "tags",
    "category",
    "sentiment",
    "action",
    "extra",
];

pub(super) const URLS: &[&str] = &[
    "url",
    "link",
    "href",
    "uri",
    "address",
    "given_url",
    "resolved_url",
    "expandedUrl",
    "tweet_url",
    "permalink",
];
pub(super) const TITLES: &[&str] = &["title", "resolved_title", "given_title", "headline"];
pub(super) const TEXTS: &[&str] = &[
    "text",
    "full_text",
    "fullText",
    "description",
    "extended",
    "note",
    "notes",
    "excerpt",
    "selection",
    "content",
    "comment",
    "body",
];
const IDS: &[&str] = &["id", "tweetId", "tweet_id", "id_str"];
/// When it was saved comes before when it was posted.
pub(super) const DATES: &[&str] = &[
    "date",
    "bookmarkedAt",
    "bookmarked_at",
    "savedAt",
    "saved_at",
    "added_at",
    "addedAt",
    "time_added",
    "date_added",
    "dateAdded",
    "add_date",
    "created",
    "created_at",
    "createdAt",
    "postedAt",
    "posted_at",
    "published",
    "time",
    "timestamp",
];
pub(super) const AUTHORS: &[&str] =
    &["author", "screen_name", "authorHandle", "author_handle", "username", "handle", "user", "by"];
pub(super) const LABELS: &[&str] =
    &["labels", "hashtags", "folderNames", "folders", "folder", "collection"];

/// Field Theory's marks.
pub(super) fn is_field_theory(map: &Map<String, Value>) -> bool {
    map.contains_key("authorHandle") || (map.contains_key("postedAt") && map.contains_key("text"))
}

/// Whether there is anything here that a bookmark could be made of.
pub(super) fn is_record(map: &Map<String, Value>) -> bool {
    let any = |names: &[&str]| names.iter().any(|name| map.contains_key(*name));
    any(URLS) || any(TEXTS) || any(TITLES) || any(IDS)
}

/// Whether a record is one that we wrote.
pub(super) fn is_own(map: &Map<String, Value>) -> bool {
    let dated = map.get("date").is_some_and(Value::is_string);
    dated && map.contains_key("id") && map.keys().all(|name| OWN.contains(&name.as_str()))
}

/// One record; `own` ids are kept whatever they look like.
pub(super) fn read(map: Map<String, Value>, own: bool, now: Timestamp) -> Result<Bookmark, String> {
    let mut fields = Fields::new(map);
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let url = fields.text(URLS).unwrap_or_default();
    let title = fields.text(TITLES);
    let text = text_of(&mut fields);
    let id = if own { fields.id(&["id"]) } else { identity(&mut fields, &kind, &url) };
    if id.is_none() && url.is_empty() && text.is_empty() && title.is_none() {
        return Err("it has neither an address nor a text nor an id".to_owned());
    }
    let date = fields.date(DATES).unwrap_or(now);
    let author = fields.text(AUTHORS);
    let mut name = fields.text(&["authorName", "author_name", "display_name"]);
    // A table of posts has the account's name where a table of links has the page's.
    let mut title = title;
    if let Some(other) = fields.text(&["name"]) {
        *(if author.is_some() { &mut name } else { &mut title }) = Some(other);
    }
    let title = title.unwrap_or_default();
    let named = if text.is_empty() { &title } else { &text };
    let mut bookmark =
        Bookmark::new(id.as_deref(), &url, named, date).map_err(|error| error.message)?;
    bookmark.text = text;
    bookmark.title = title;
    bookmark.author = author.as_deref().and_then(handle);
    bookmark.author_name = name;
    bookmark.lang = fields.take("lang", language).or_else(|| fields.take("language", language));
    bookmark.labels = fields.words(LABELS);
    bookmark.links = fields.take("links", texts).unwrap_or_default();
    if let Some(counts) = fields.take("engagement", |counts| counts.as_object().cloned()) {
        bookmark.engagement = counts;
    }
    fields.counts(&mut bookmark.engagement);
    judgements(&mut fields, &mut bookmark);
    if let Some(extra) = fields.take("extra", |extra| extra.as_object().cloned()) {
        bookmark.extra = extra;
    }
    // What the address says already.
    fields.take("permalink", |link| (link.as_str()? == bookmark.url).then_some(()));
    fields.take("domain", |site| (domain(&bookmark.url)? == site.as_str()?).then_some(()));
    fields.leave(&mut bookmark);
    Ok(bookmark)
}

/// Every text there is: Raindrop has what the page says and what the person says of it.
fn text_of(fields: &mut Fields) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in TEXTS {
        if let Some(text) = fields.text(&[name])
            && !all.contains(&text)
        {
            all.push(text);
        }
    }
    all.join("\n\n")
}

/// The id of a post is its number. Other services' bare numbers mean nothing outside of them: such
/// a link is known by its address, and the number is kept beside it.
fn identity(fields: &mut Fields, kind: &str, url: &str) -> Option<String> {
    let post = kind == "tweet" || same_address(url).starts_with("x.com/i/status/");
    let bare = |id: &str| id.bytes().all(|byte| byte.is_ascii_digit());
    let named = IDS.iter().find(|name| fields.has(name))?;
    let usable = match fields.get(named)? {
        Value::String(id) => post || url.is_empty() || *named != "id" || !bare(id.trim()),
        _ => post || url.is_empty() || *named != "id",
    };
    if !usable {
        return None;
    }
    let id = fields.id(&[named])?;
    match id.strip_prefix("tw.") {
        Some(number) if bare(number) && !number.is_empty() => Some(number.to_owned()),
        _ => Some(id),
    }
}

/// Bare values were written by a person; ours say who decided.
fn judgements(fields: &mut Fields, bookmark: &mut Bookmark) {
    let text = |value: &Value| {
        value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    bookmark.summary = fields.judged("summary", text);
    bookmark.category = fields.judged("category", text);
    bookmark.sentiment = fields.judged("sentiment", |value| text(value)?.parse::<Sentiment>().ok());
    bookmark.action = fields.judged("action", |value| text(value)?.parse::<Action>().ok());
    let ours = fields.get("tags").is_some_and(|tags| tags.get("value").is_some());
    bookmark.tags = fields.judged("tags", |value| match value {
        Value::Array(_) => texts(value),
        Value::String(line) if !line.trim().is_empty() => Some(split(line)),
        _ => None,
    });
    bookmark.tags = bookmark.tags.take().filter(|tags| ours || !tags.value.is_empty());
    if let Some(Judged { value, .. }) = bookmark.tags.as_ref().filter(|_| !ours) {
        let labels = std::mem::take(&mut bookmark.labels);
        bookmark.labels = distinct(labels.into_iter().chain(value.iter().cloned()));
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}
