//! How found items are told: the numbered list of seeds 000 and 004 for a model, the same facts as
//! a structure for a program.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    app::{bookmarks, oss::Summary, page::Cursor},
    domain::{
        Bookmark, Kind, Result,
        query::{Action, Sentiment},
    },
    search::{Answer, Found},
    text::tokens,
    tools::{
        self, Cx, Right,
        bookmarks::{handle, shorten},
    },
    vault,
};

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    results: Vec<Item>,
    total_matches: u64,
    /// False when there are more than were counted.
    total_is_exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// What was corrected, left out or is not indexed yet.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    pid: i64,
    kind: &'static str,
    title: String,
    path: String,
    url: String,
    /// 0 to 1, comparable between queries.
    relevance: f64,
    /// The headings of the item's first level.
    toc: Vec<String>,
    /// What an edit of this note shows to prove what it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    matches: Vec<Passage>,
    #[serde(flatten)]
    saved: Saved,
}

/// An item; the fields from `tweetId` on are those of a bookmark.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Saved {
    #[serde(skip_serializing_if = "Option::is_none")]
    tweet_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentiment: Option<Sentiment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// The report on the repository it links to, if there is one.
    #[serde(rename = "oss_verified", skip_serializing_if = "Option::is_none")]
    oss_verified: Option<bool>,
    #[serde(rename = "security_score", skip_serializing_if = "Option::is_none")]
    security_score: Option<u8>,
}

impl Saved {
    fn of(bookmark: Bookmark, report: Option<Summary>) -> Self {
        Self {
            oss_verified: report.as_ref().map(|_| true),
            security_score: report.map(|report| report.score),
            author: Some(handle(&bookmark)),
            text: Some(shorten(bookmark.words(), SHOWN)),
            tweet_id: Some(bookmark.id),
            summary: bookmark.summary.map(|judged| judged.value),
            tags: Some(bookmark.tags.map(|judged| judged.value).unwrap_or_default()),
            category: bookmark.category.map(|judged| judged.value),
            sentiment: bookmark.sentiment.map(|judged| judged.value),
            action: bookmark.action.map(|judged| judged.value),
            date: Some(bookmark.date.to_string()),
        }
    }

    fn text(&self) -> String {
        let facts = [
            ("author", self.author.clone().filter(|author| !author.is_empty())),
            ("category", self.category.clone()),
            (
                "tags",
                self.tags.as_ref().filter(|tags| !tags.is_empty()).map(|tags| tags.join(", ")),
            ),
            ("date", self.date.as_ref().map(|date| date.chars().take(10).collect())),
        ];
        let facts =
            facts.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
        facts.collect::<Vec<_>>().join("; ")
    }
}

/// Characters of a bookmark's text in a list; `note_html` has the whole.
const SHOWN: usize = 500;

#[derive(Serialize, JsonSchema)]
struct Passage {
    match_id: String,
    toc_path: Vec<String>,
    snippet: String,
}

impl SearchAnswer {
    /// Adds a word to the reader.
    pub fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }
}

impl tools::Answer for SearchAnswer {
    fn text(&self) -> String {
        let mut text = match (self.results.len(), self.total_matches) {
            (0, _) => "Found nothing.".to_owned(),
            (shown, total) if total as usize > shown => {
                let most = if self.total_is_exact { "" } else { "at least " };
                format!("Found {most}{total} notes, showing {shown}:")
            }
            (1, _) => "Found 1 note:".to_owned(),
            (shown, _) => format!("Found {shown} notes:"),
        };
        for (number, item) in self.results.iter().enumerate() {
            text += &item.text(number + 1);
        }
        for note in &self.notes {
            text += &format!("\n\nNote: {}.", note.trim_end_matches('.'));
        }
        if let Some(cursor) = &self.next_cursor {
            text += &format!("\n\nMore with cursor: {cursor}");
        }
        text
    }
}

impl Item {
    fn text(&self, number: usize) -> String {
        let mut text = format!("\n\n{number}. {}\n   {}", self.title, self.path);
        if self.url != self.path {
            text += &format!("\n   {}", self.url);
        }
        if self.kind != Kind::Page.as_str() {
            text += &format!("\n   kind: {}", self.kind);
        }
        let facts = self.saved.text();
        if !facts.is_empty() {
            text += &format!("\n   {facts}");
        }
        for passage in &self.matches {
            text += &format!("\n   {}", passage.snippet.replace('\n', "\n   "));
            text += &format!("\n   match_id: {}", passage.match_id);
            if !passage.toc_path.is_empty() {
                text += &format!("\n   section: {}", passage.toc_path.join(" > "));
            }
        }
        text
    }
}

/// Turns an engine's answer into a tool's.
pub struct Results<'a, 'b> {
    pub cx: &'a Cx<'b>,
    /// Where this page begins.
    pub offset: usize,
    pub max_tokens: Option<usize>,
}

impl Results<'_, '_> {
    pub fn tell(&self, answer: Answer) -> Result<SearchAnswer> {
        let rights = self.cx.rights;
        let mut notes = match rights.may(Right::LibraryState) && self.cx.app.is_empty_library()? {
            // Nothing can be missing from a library that has nothing.
            true => Vec::new(),
            false => answer.notes(),
        };
        notes.extend(self.cx.app.notices(rights)?);
        let mut next = answer.next;
        let mut results = Vec::with_capacity(answer.results.len());
        let mut spent = 0;
        let all = answer.results.len();
        for found in answer.results {
            let item = self.item(found)?;
            spent += tokens::estimate(&item.text(1));
            if self.max_tokens.is_some_and(|most| spent > most) && !results.is_empty() {
                break;
            }
            results.push(item);
        }
        if results.len() < all {
            let left = all - results.len();
            notes.push(format!(
                "{left} of the results found were left out to keep within max_tokens; go on with the cursor, or raise max_tokens"
            ));
            next = Some(self.offset + results.len());
        }
        Ok(SearchAnswer {
            results,
            total_matches: answer.total.items as u64,
            total_is_exact: answer.total.exact,
            next_cursor: next.map(|offset| Cursor::write(&offset.to_string())),
            notes,
        })
    }

    fn item(&self, found: Found) -> Result<Item> {
        let app = self.cx.app;
        let row = match found.kind {
            Kind::Page => app.store.pages.get(found.pid)?,
            _ => None,
        };
        let may_edit = self.cx.rights.may(Right::Write(Kind::Page));
        let etag = row.as_ref().filter(|_| may_edit).map(|row| vault::etag(&row.hash));
        let toc = row.map(|row| row.facts.toc);
        let bookmark = match found.kind {
            Kind::Bookmark => app.store.bookmarks.get(found.pid)?,
            _ => None,
        };
        let own = bookmark.as_ref().map(|bookmark| (bookmark.name(), bookmark.url.clone()));
        let (title, url) = own.unwrap_or_else(|| {
            let url = app.url(found.kind, found.pid, &found.path);
            (found.title, url)
        });
        Ok(Item {
            pid: found.pid.0,
            kind: found.kind.as_str(),
            url,
            title,
            path: found.path,
            relevance: (f64::from(found.relevance) * 1000.0).round() / 1000.0,
            toc: toc.unwrap_or_default(),
            etag,
            matches: found
                .matches
                .into_iter()
                .map(|found| Passage {
                    match_id: found.id.to_string(),
                    toc_path: found.toc_path,
                    snippet: found.snippet,
                })
                .collect(),
            saved: match bookmark {
                Some(bookmark) => {
                    let repository =
                        bookmarks::project(&bookmark.url).and_then(|project| project.repository);
                    let report = repository.map(|link| app.known_report(&link)).transpose()?;
                    Saved::of(bookmark, report.flatten())
                }
                None => Saved::default(),
            },
        })
    }
}
