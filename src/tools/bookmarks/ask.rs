use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::handle;
use crate::{
    app::App,
    ask::{Candidate, Method, Reply},
    domain::{Kind, Result},
    tools::{self, Cx, Effect, Format, Right, Tool, Toolset},
};

/// Characters shown of a source; `note_html` has the rest.
const MAX_SOURCE_CHARS: usize = 400;

/// Answer a question from the user's library, with sources, or say that it is not there. Verify a source with note_html and its match_id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    question: String,
    /// Default true
    include_sources: Option<bool>,
    #[allow(dead_code, reason = "read where the answer is written")]
    format: Option<Format>,
}

#[derive(Serialize, JsonSchema)]
pub struct AskAnswer {
    answer: String,
    /// The probability that the answer is right, 0 to 1.
    confidence: f64,
    sources: Vec<Source>,
    /// `extractive`: sentences of the sources; `generated`: written by a model and checked
    /// against the sources; `counted`: counts of the library's items.
    method: &'static str,
    answered: bool,
    /// What was left out, failed or is not indexed yet.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Source {
    #[serde(rename = "tweetId", skip_serializing_if = "Option::is_none")]
    tweet_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    text: String,
    url: String,
    pid: i64,
    kind: &'static str,
    title: String,
    path: String,
    match_id: String,
    toc_path: Vec<String>,
}

impl tools::Answer for AskAnswer {
    fn text(&self) -> String {
        let mut text = self.answer.clone();
        text += &format!("\n\nConfidence: {:.2}", self.confidence);
        for (number, source) in self.sources.iter().enumerate() {
            text += &format!("\n\n[{}] {}\n   {}", number + 1, source.title, source.url);
            // Quoted, on one line: these are the source's words.
            text += &format!("\n   > {}\n   match_id: {}", source.text, source.match_id);
            if !source.toc_path.is_empty() {
                text += &format!("\n   section: {}", source.toc_path.join(" > "));
            }
        }
        for note in &self.notes {
            text += &format!("\n\nNote: {}.", note.trim_end_matches('.'));
        }
        text
    }
}

impl Tool for Ask {
    const NAME: &'static str = "ask";
    const TITLE: &'static str = "Ask the library";
    const TOOLSET: Toolset = Toolset::Bookmarks;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = AskAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<AskAnswer> {
        let reply = cx.app.ask(&self.question, cx.rights)?;
        let with_sources = self.include_sources.unwrap_or(true);
        let mut notes = reply.notes.clone();
        notes.extend(nearest(&reply));
        let cited = reply.cited.iter().filter(|_| with_sources);
        Ok(AskAnswer {
            answer: reply.text(with_sources),
            confidence: (f64::from(reply.confidence) * 1000.0).round() / 1000.0,
            sources: cited.map(|cited| source(cx.app, cited)).collect::<Result<_>>()?,
            method: match reply.method {
                Method::Extracted => "extractive",
                Method::Generated => "generated",
                Method::Counted => "counted",
            },
            answered: reply.is_answer(),
            notes,
        })
    }
}

/// The nearest passage, when the answer is that it is not there.
fn nearest(reply: &Reply) -> Option<String> {
    let nearest = reply.nearest.as_ref().filter(|_| !reply.is_answer())?;
    Some(format!("the nearest passage is {} in `{}`", nearest.id, one_line(&nearest.passage.title)))
}

fn source(app: &App, cited: &Candidate) -> Result<Source> {
    let passage = &cited.passage;
    let mut source = Source {
        tweet_id: None,
        author: None,
        text: one_line(&passage.text),
        url: app.url(passage.kind, cited.id.pid, &passage.path),
        pid: cited.id.pid.0,
        kind: passage.kind.as_str(),
        title: one_line(&passage.title),
        path: passage.path.clone(),
        match_id: cited.id.to_string(),
        toc_path: passage.toc_path.clone(),
    };
    if passage.kind == Kind::Bookmark {
        add_bookmark(app, cited, &mut source)?;
    }
    Ok(source)
}

/// Adds what only a bookmark has: its id, its author, its address and its own title.
fn add_bookmark(app: &App, cited: &Candidate, source: &mut Source) -> Result<()> {
    source.tweet_id = Some(cited.passage.path.clone());
    if let Some(bookmark) = app.store.bookmarks.get(cited.id.pid)? {
        source.author = Some(handle(&bookmark));
        source.title = bookmark.name();
        source.url = bookmark.url;
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_SOURCE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
