use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    app::bookmarks::{Add, Change},
    domain::{Kind, Result, Timestamp, query::Action},
    store::bookmarks::Put,
    tools::{self, Cx, Effect, Right, Tool, Toolset},
};

/// Save a link with the text you have; the page is not fetched. A known link is updated.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddBookmark {
    url: String,
    title: Option<String>,
    text: Option<String>,
    author: Option<String>,
    tags: Option<Vec<String>>,
    category: Option<String>,
    action: Option<Action>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddAnswer {
    tweet_id: String,
    pid: i64,
    /// `added`, `updated` or `unchanged`.
    state: &'static str,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentiment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
}

impl Tool for AddBookmark {
    const NAME: &'static str = "add_bookmark";
    const TITLE: &'static str = "Save a bookmark";
    const TOOLSET: Toolset = Toolset::Bookmarks;
    const RIGHT: Right = Right::WriteEvery(Kind::Bookmark);
    const EFFECT: Effect = Effect::Sets;
    type Answer = AddAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<AddAnswer> {
        let add = Add {
            url: self.url,
            title: self.title,
            text: self.text,
            author: self.author,
            change: Change {
                tags: self.tags,
                category: self.category,
                action: self.action,
                ..Change::default()
            },
        };
        let (put, bookmark) =
            cx.app.add_bookmark(add, Timestamp::now(), &cx.rights.actor(Self::NAME))?;
        Ok(AddAnswer {
            tweet_id: bookmark.id,
            pid: put.pid().0,
            state: match put {
                Put::Added(_) => "added",
                Put::Updated(_) => "updated",
                Put::Same(_) => "unchanged",
            },
            url: bookmark.url,
            summary: bookmark.summary.map(|judged| judged.value),
            tags: bookmark.tags.map(|judged| judged.value).unwrap_or_default(),
            category: bookmark.category.map(|judged| judged.value),
            sentiment: bookmark.sentiment.map(|judged| judged.value.to_string()),
            action: bookmark.action.map(|judged| judged.value.to_string()),
        })
    }
}

impl tools::Answer for AddAnswer {
    fn text(&self) -> String {
        let mut text = format!("Bookmark {} {} (pid {}).", self.tweet_id, self.state, self.pid);
        if let Some(category) = &self.category {
            text += &format!(" Category: {category}.");
        }
        if !self.tags.is_empty() {
            text += &format!(" Tags: {}.", self.tags.join(", "));
        }
        if let Some(action) = &self.action {
            text += &format!(" Action: {action}.");
        }
        text
    }
}
