//! Posts of X: twitter-web-exporter, the data archive, the API (v2, and what came before it).
//!
//! They differ in names and in nesting, not in what they say, so one reader takes a post in any of
//! them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    dates, entities,
    fields::{Fields, handle, language},
};
use crate::domain::{Bookmark, Timestamp, bookmark::links::addresses};

/// The wrappers of the archive: `{"tweet": {…}}`.
const WRAPPERS: [&str; 4] = ["tweet", "like", "bookmark", "noteTweet"];

/// Entities of one kind that are looked at; no post has more.
const MAX_MARKS: usize = 200;

/// What an answer of the API says once for all its posts.
#[derive(Default)]
pub(super) struct Includes {
    users: HashMap<String, Map<String, Value>>,
    media: HashMap<String, Value>,
    posts: HashMap<String, Value>,
}

impl Includes {
    pub(super) fn of(answer: &Map<String, Value>) -> Self {
        let list = |name: &str, key: &str| -> Vec<(String, Value)> {
            let values = answer.get("includes").and_then(|all| all.get(name)?.as_array());
            values
                .into_iter()
                .flatten()
                .filter_map(|value| Some((value.get(key)?.as_str()?.to_owned(), value.clone())))
                .collect()
        };
        let user = |(id, user): (String, Value)| match user {
            Value::Object(user) => Some((id, user)),
            _ => None,
        };
        Self {
            users: list("users", "id").into_iter().filter_map(user).collect(),
            media: list("media", "media_key").into_iter().collect(),
            posts: list("tweets", "id").into_iter().collect(),
        }
    }
}

/// Whether a record is wrapped as the archive wraps its own.
pub(super) fn wrapper(map: &Map<String, Value>) -> Option<&'static str> {
    WRAPPERS.into_iter().find(|name| map.len() == 1 && map.get(*name).is_some_and(Value::is_object))
}

/// Whether an object has the marks of a post.
pub(super) fn is_post(map: &Map<String, Value>) -> bool {
    ["full_text", "public_metrics", "edit_history_tweet_ids", "author_id", "id_str"]
        .iter()
        .any(|name| map.contains_key(*name))
}

/// One post.
pub(super) fn read(
    mut map: Map<String, Value>,
    includes: &Includes,
    now: Timestamp,
) -> Result<Bookmark, String> {
    let wrapper = wrapper(&map);
    if let Some(Value::Object(inner)) = wrapper.and_then(|name| map.remove(name)) {
        map = inner;
    }
    let mut fields = Fields::new(map);
    let id = fields.id(&["id_str", "tweetId", "id", "rest_id", "tweet_id"]);
    if let Some(id) = &id {
        for same in ["id", "rest_id", "tweet_id"] {
            fields.take(same, |value| (value.as_str()? == id).then_some(()));
        }
    }
    let long = fields.take("note_tweet", |note| note.get("text")?.as_str().map(str::to_owned));
    let text = long.or_else(|| fields.text(&["full_text", "fullText", "text"])).unwrap_or_default();
    if text.is_empty() && id.is_none() {
        return Err("it has neither an id nor a text".to_owned());
    }
    let marks = Marks::of(&fields);
    let text = marks.expand(entities::decode(&text));

    let mut author = fields.text(&["screen_name", "username"]);
    let mut name = fields.text(&["name"]);
    if let Some(user) = fields.get("user").and_then(Value::as_object) {
        let field = |name: &str| user.get(name)?.as_str().map(str::to_owned);
        author = author.or_else(|| field("screen_name"));
        name = name.or_else(|| field("name"));
    }
    if let Some(user) = fields.get("author_id").and_then(|id| includes.users.get(id.as_str()?)) {
        let field = |name: &str| user.get(name)?.as_str().map(str::to_owned);
        author = author.or_else(|| field("username"));
        name = name.or_else(|| field("name"));
    }
    let author = author.as_deref().and_then(handle);
    let url = fields.text(&["url", "expandedUrl", "tweet_url", "permalink"]);
    let url = url.or_else(|| {
        let author = author.as_deref().unwrap_or("i/web");
        Some(format!("https://x.com/{author}/status/{}", id.as_deref()?))
    });
    let posted = || id.as_deref().and_then(dates::posted);
    let date = fields.date(&["bookmarked_at", "created_at"]).or_else(posted).unwrap_or(now);

    let mut bookmark =
        Bookmark::new(id.as_deref(), url.as_deref().unwrap_or_default(), &text, date)
            .map_err(|error| error.message)?;
    bookmark.author = author;
    bookmark.author_name = name.map(|name| entities::decode(&name));
    bookmark.lang = fields.take("lang", language);
    bookmark.labels = marks.hashtags;
    bookmark.links = marks.links;
    if bookmark.links.is_empty() {
        bookmark.links = addresses(&text).into_iter().map(|at| text[at].to_owned()).collect();
    }
    fields.counts(&mut bookmark.engagement);
    let metrics = fields.take("public_metrics", |metrics| metrics.as_object().cloned());
    if let Some(metrics) = metrics {
        let mut metrics = Fields::new(metrics);
        metrics.counts(&mut bookmark.engagement);
        metrics.leave(&mut bookmark);
    }
    included(&fields, includes, &mut bookmark);
    if let Some(wrapper) = wrapper {
        bookmark.extra.insert("kind".to_owned(), wrapper.into());
    }
    fields.leave(&mut bookmark);
    Ok(bookmark)
}

/// Pictures and quoted posts, which the API lists separately from the post.
fn included(fields: &Fields, includes: &Includes, bookmark: &mut Bookmark) {
    let find = |all: &HashMap<String, Value>, ids: Option<&Value>, key: Option<&str>| {
        let ids = ids.and_then(Value::as_array).into_iter().flatten();
        let ids = ids.filter_map(|id| key.map_or(Some(id), |key| id.get(key))?.as_str());
        Value::Array(ids.filter_map(|id| all.get(id).cloned()).collect())
    };
    let keys = fields.get("attachments").and_then(|attached| attached.get("media_keys"));
    let media = find(&includes.media, keys, None);
    let posts = find(&includes.posts, fields.get("referenced_tweets"), Some("id"));
    for (name, values) in [("included_media", media), ("included_tweets", posts)] {
        if values.as_array().is_some_and(|values| !values.is_empty()) {
            bookmark.extra.insert(name.to_owned(), values);
        }
    }
}

/// What a post's entities mark in its text.
#[derive(Default)]
struct Marks {
    hashtags: Vec<String>,
    links: Vec<String>,
    /// Short address, real address.
    short: Vec<(String, String)>,
}

impl Marks {
    fn of(fields: &Fields) -> Self {
        let mut marks = Self::default();
        let note = fields.get("note_tweet").and_then(|note| note.get("entities"));
        let all = [fields.get("entities"), fields.get("extended_entities"), note];
        for entities in all.into_iter().flatten() {
            let list = |name: &str| {
                entities.get(name).and_then(Value::as_array).into_iter().flatten().take(MAX_MARKS)
            };
            for tag in list("hashtags") {
                let tag = tag.get("text").or_else(|| tag.get("tag")).and_then(Value::as_str);
                if let Some(tag) = tag.filter(|tag| !marks.hashtags.iter().any(|t| t == tag)) {
                    marks.hashtags.push(tag.to_owned());
                }
            }
            for (link, picture) in
                list("urls").map(|url| (url, false)).chain(list("media").map(|url| (url, true)))
            {
                let field = |name: &str| link.get(name).and_then(Value::as_str);
                let real = field("unwound_url").or(field("expanded_url"));
                let (Some(short), Some(real)) = (field("url"), real.or(field("url"))) else {
                    continue;
                };
                if !picture && !marks.links.iter().any(|link| link == real) {
                    marks.links.push(real.to_owned());
                }
                if short != real && !marks.short.iter().any(|(known, _)| known == short) {
                    marks.short.push((short.to_owned(), real.to_owned()));
                }
            }
        }
        // One short address may begin another.
        marks.short.sort_by_key(|(short, _)| std::cmp::Reverse(short.len()));
        marks
    }

    fn expand(&self, mut text: String) -> String {
        for (short, real) in self.short.iter().filter(|(short, _)| short.starts_with("http")) {
            text = text.replace(short.as_str(), real);
        }
        text
    }
}
