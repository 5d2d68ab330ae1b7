//! One result of a search: its facts, and its text at each level of detail.

use std::{collections::HashMap, ops::Range};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    app::{bookmarks, oss::Summary},
    domain::{
        Bookmark, Kind, Pid, Result, property,
        query::{Action, Sentiment},
    },
    search::SearchResult,
    store::{Store, pages::PageRow},
    text::tokens,
    tools::{
        Cx,
        bookmarks::{handle, shorten},
    },
    vault,
};

/// Characters of a bookmark's text in a list; `note_html` has the whole.
const BOOKMARK_CHARS: usize = 500;
/// Characters of a snippet at [`Detail::Excerpt`].
const EXCERPT_CHARS: usize = 120;
/// First-level headings of a result that is not shown in full, and of one listed by its title.
const SHOWN_HEADINGS: usize = 12;
const HEADLINE_HEADINGS: usize = 5;
/// Characters of a snippet, or of a bookmark's text, in the structure of a result that is listed by
/// its title.
const HEADLINE_CHARS: usize = 80;
/// Tokens of a title in a result that is listed by its title.
const HEADLINE_TOKENS: usize = 30;

/// How much of a result is shown. Each level shows more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Its title and the best match's id, on one line.
    Title,
    /// Also its path and address, and a short excerpt of the best match.
    Excerpt,
    /// The best match's whole snippet.
    Snippet,
    /// Also an excerpt of every other match.
    Wide,
    /// Every match's whole snippet.
    Full,
}

impl Detail {
    /// The levels above [`Detail::Title`], in the order in which room is spent on them.
    pub const RAISED: [Detail; 4] = [Detail::Excerpt, Detail::Snippet, Detail::Wide, Detail::Full];
}

/// The rows of the pages and bookmarks among the results, read in one go for each kind.
pub struct ResultRows {
    pages: HashMap<Pid, PageRow>,
    bookmarks: HashMap<Pid, Bookmark>,
}

impl ResultRows {
    /// Reads the rows of these results.
    pub fn read(results: &[SearchResult], store: &Store) -> Result<Self> {
        let of = |kind: Kind| -> Vec<Pid> {
            results.iter().filter(|found| found.kind == kind).map(|found| found.pid).collect()
        };
        let pages = store.pages.get_many(&of(Kind::Page))?;
        let bookmarks = store.bookmarks.get_many(&of(Kind::Bookmark))?;
        Ok(Self {
            pages: pages.into_iter().map(|row| (row.pid, row)).collect(),
            bookmarks: bookmarks.into_iter().collect(),
        })
    }
}

#[derive(Clone, Serialize, JsonSchema)]
pub struct Item {
    pid: i64,
    kind: &'static str,
    title: String,
    path: String,
    url: String,
    /// 0 to 1, comparable between queries.
    relevance: f64,
    /// The first headings of the item's first level.
    toc: Vec<String>,
    /// The etag that edits which replace or delete require.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    matches: Vec<Passage>,
    /// The properties that the search filters or sorts by.
    #[serde(skip_serializing_if = "Map::is_empty")]
    properties: Map<String, Value>,
    #[serde(flatten)]
    saved: Saved,
    /// Shown as one line.
    #[serde(skip)]
    headline: bool,
    /// Another result has the same title.
    #[serde(skip)]
    pub ambiguous: bool,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Passage {
    match_id: String,
    toc_path: Vec<String>,
    snippet: String,
    /// The matched forms in the snippet, in bytes.
    #[serde(skip)]
    marks: Vec<Range<usize>>,
}

/// An item; the fields from `tweetId` on are those of a bookmark.
#[derive(Clone, Default, Serialize, JsonSchema)]
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
            text: Some(shorten(bookmark.words(), BOOKMARK_CHARS)),
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

impl Item {
    /// Joins a result with its row.
    pub fn new(
        found: SearchResult,
        rows: &mut ResultRows,
        cx: &Cx<'_>,
        properties: &[String],
    ) -> Result<Self> {
        let app = cx.app;
        let row = rows.pages.remove(&found.pid);
        let etag = row
            .as_ref()
            .filter(|row| cx.rights.writes(&row.facts.page))
            .map(|row| vault::etag(&row.hash));
        let facts = row.map(|row| row.facts);
        let properties = match &facts {
            Some(facts) if !properties.is_empty() => asked_for(facts.page.properties(), properties),
            _ => Map::new(),
        };
        let bookmark = rows.bookmarks.remove(&found.pid);
        let own = bookmark.as_ref().map(|bookmark| (bookmark.name(), bookmark.url.clone()));
        let (title, url) = own.unwrap_or_else(|| {
            let url = app.url(found.kind, found.pid, &found.path);
            (found.title, url)
        });
        let matches = found.matches.into_iter().map(|found| Passage {
            match_id: found.id.to_string(),
            toc_path: found.toc_path,
            snippet: found.snippet,
            marks: found.marks,
        });
        Ok(Item {
            pid: found.pid.0,
            kind: found.kind.as_str(),
            url,
            title,
            path: found.path,
            relevance: (f64::from(found.relevance) * 1000.0).round() / 1000.0,
            etag,
            toc: facts.map(|facts| facts.toc).unwrap_or_default(),
            properties,
            matches: matches.collect(),
            saved: match bookmark {
                Some(bookmark) => {
                    let repository =
                        bookmarks::project(&bookmark.url).and_then(|project| project.repository);
                    let report = repository.map(|link| app.known_report(&link)).transpose()?;
                    Saved::of(bookmark, report.flatten())
                }
                None => Saved::default(),
            },
            headline: false,
            ambiguous: false,
        })
    }

    /// Whether it is shown as one line.
    pub fn is_headline(&self) -> bool {
        self.headline
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// The result at a level of detail. The structure says what the text says, so that a client
    /// that shows a model both does not pay for what was left out.
    pub fn at(&self, detail: Detail) -> Self {
        let mut item = self.clone();
        if detail == Detail::Full {
            return item;
        }
        if detail < Detail::Wide {
            item.matches.truncate(1);
        }
        let chars = match detail {
            Detail::Title => HEADLINE_CHARS,
            _ => EXCERPT_CHARS,
        };
        let whole = usize::from(detail >= Detail::Snippet);
        for passage in item.matches.iter_mut().skip(whole) {
            passage.snippet = excerpt(&passage.snippet, &passage.marks, chars);
        }
        item.toc.truncate(SHOWN_HEADINGS);
        if detail == Detail::Title {
            item.headline = true;
            item.toc.truncate(HEADLINE_HEADINGS);
            item.saved.text = item.saved.text.map(|text| shorten(text, HEADLINE_CHARS));
        }
        item
    }

    /// Leaves out all that a program can do without.
    pub fn strip(&mut self) {
        self.toc.clear();
        for passage in &mut self.matches {
            passage.snippet = excerpt(&passage.snippet, &passage.marks, HEADLINE_CHARS / 4);
        }
    }

    pub fn text(&self, number: usize) -> String {
        if self.headline {
            return self.headline(number);
        }
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
        if !self.properties.is_empty() {
            text += &format!("\n   {}", one_line(&self.properties));
        }
        for passage in &self.matches {
            text += &format!("\n   {}", passage.snippet.replace('\n', "\n   "));
            text += &format!("\n   match_id: {}", passage.match_id);
            // A leading heading that is the title says nothing new.
            let section = match passage.toc_path.split_first() {
                Some((first, rest)) if *first == self.title => rest,
                _ => &passage.toc_path,
            };
            if !section.is_empty() {
                text += &format!("\n   section: {}", section.join(" > "));
            }
        }
        text
    }

    fn headline(&self, number: usize) -> String {
        let cut = tokens::prefix(&self.title, HEADLINE_TOKENS);
        let more = if cut < self.title.len() { "…" } else { "" };
        let mut text = format!("\n{number}. {}{more}", &self.title[..cut]);
        if self.ambiguous {
            text += &format!(", {}", self.path);
        }
        if self.kind != Kind::Page.as_str() {
            text += &format!(" [{}]", self.kind);
        }
        if !self.properties.is_empty() {
            text += &format!(", {}", one_line(&self.properties));
        }
        if let Some(passage) = self.matches.first() {
            text += &format!(" ({})", passage.match_id);
        }
        text
    }
}

/// The properties with these folded names. `project.name` shows the whole of `project`.
fn asked_for(properties: Map<String, Value>, names: &[String]) -> Map<String, Value> {
    let is_asked_for = |name: &str| {
        let folded = property::fold_name(name);
        names.iter().any(|asked| *asked == folded || asked.starts_with(&format!("{folded}.")))
    };
    properties.into_iter().filter(|(name, _)| is_asked_for(name)).collect()
}

/// Properties on one line: `status: draft; tags: a, b`.
pub fn one_line(properties: &Map<String, Value>) -> String {
    let each = properties.iter().map(|(name, value)| format!("{name}: {}", property::shown(value)));
    each.collect::<Vec<_>>().join("; ")
}

/// The part of a snippet with the most matched forms, at most `chars` characters long.
fn excerpt(snippet: &str, marks: &[Range<usize>], chars: usize) -> String {
    let ends: Vec<usize> =
        snippet.char_indices().map(|(at, _)| at).chain([snippet.len()]).collect();
    if ends.len() <= chars {
        return snippet.to_owned();
    }
    // Character positions of the marks; each may begin the part, with a few words before it.
    let place = |byte: usize| ends.partition_point(|end| *end < byte);
    let marks: Vec<Range<usize>> =
        marks.iter().map(|mark| place(mark.start)..place(mark.end)).collect();
    let last = ends.len() - 1 - chars;
    let starts = marks.iter().map(|mark| mark.start.saturating_sub(chars / 4).min(last));
    let held = |start: usize| {
        marks.iter().filter(|mark| mark.start >= start && mark.end <= start + chars).count()
    };
    let start = starts.fold(0, |best, start| if held(start) > held(best) { start } else { best });
    let (from, until) = whole_words(snippet, ends[start]..ends[start + chars]);
    let open = if from > 0 && !snippet[from..].starts_with('…') { "…" } else { "" };
    let close = if until < snippet.len() { "…" } else { "" };
    format!("{open}{}{close}", snippet[from..until].trim())
}

/// Moves the ends of a range inwards to the nearest spaces. Text without spaces near an end is cut
/// there.
fn whole_words(text: &str, range: Range<usize>) -> (usize, usize) {
    /// The longest part of a word that is left out for its sake, in bytes.
    const WORD: usize = 24;
    let space = char::is_whitespace;
    let from = match range.start {
        0 => 0,
        start => text[start..range.end]
            .find(space)
            .filter(|skipped| *skipped <= WORD)
            .map_or(start, |skipped| start + skipped),
    };
    let until = text[from..range.end]
        .rfind(space)
        .map(|at| from + at)
        .filter(|at| range.end < text.len() && range.end - at <= WORD && *at > from)
        .unwrap_or(range.end);
    (from, until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(snippet: &str, word: &str, chars: usize) -> String {
        let marks: Vec<_> =
            snippet.match_indices(word).map(|(at, _)| at..at + word.len()).collect();
        excerpt(snippet, &marks, chars)
    }

    #[test]
    fn an_excerpt_shows_the_matched_forms() {
        for (snippet, word) in [
            (
                "In spring the roses need light. Later in the year, when frost comes, cover them well with straw.",
                "frost",
            ),
            (
                "Весной розам нужен свет. Позже, когда наступают заморозки, укройте их соломой как следует.",
                "заморозки",
            ),
            (
                "春には薔薇に光が必要です。その後、霜が降りる頃には藁でしっかりと覆ってください。",
                "霜",
            ),
        ] {
            let short = cut(snippet, word, 40);
            assert!(short.contains(word), "{short}");
            assert!(short.chars().count() <= 42, "{short}");
            assert_eq!(cut(snippet, word, 500), snippet);
        }
        assert_eq!(cut("no match at all in this one", "zzz", 10), "no match…");
    }
}
