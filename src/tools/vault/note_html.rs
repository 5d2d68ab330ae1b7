use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{bounded, layout::TextLimits, result_item::one_line, toc_path::TocPath};
use crate::{
    app::{
        edit::NoteLinks,
        notes::{NoteRef, Opened},
        rendering::Links,
    },
    domain::{Error, Kind, MatchId, Result, query::words},
    text::{tokens, words::count_words},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// Words of a window when the caller does not say: those of the passage, and around it as many as
/// are left, at least the second number.
const WINDOW_WORDS: usize = 170;
const MIN_CONTEXT_WORDS: usize = 40;
const MAX_CONTEXT_WORDS: usize = 10_000;
/// Tokens of properties that are shown with a whole note unasked.
const SHORT_PROPERTIES: usize = 60;

/// Read a note by pid, note_id, path or href. Pass a search hit's match_id for the passage around it, or toc_path for one section; else the whole note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteHtml {
    pid: Option<i64>,
    note_id: Option<i64>,
    path: Option<String>,
    href: Option<String>,
    match_id: Option<String>,
    /// Headings from the top; wins over match_id
    toc_path: Option<TocPath>,
    context_words: Option<usize>,
    format: Option<Format>,
    max_tokens: Option<usize>,
    include: Option<Vec<Extra>>,
}

words!(
    /// What is shown of a note besides its text.
    Extra, "include", { Links = "links", Properties = "properties" }
);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Html,
    Markdown,
}

#[derive(Serialize, JsonSchema)]
pub struct NoteText {
    pid: i64,
    kind: &'static str,
    title: String,
    path: String,
    url: String,
    /// The etag that edits which replace or delete require.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// The section that this is, or that the match is in.
    toc_path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_id: Option<String>,
    format: Format,
    /// The frontmatter, where it was asked for, or where it is short and the note is read whole.
    #[serde(skip_serializing_if = "Map::is_empty")]
    properties: Map<String, Value>,
    content: String,
    /// The note goes on before or after what is here.
    partial: bool,
    /// Who links here, and which links of the note lead nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<LinkReport>,
    /// What was left out to keep within max_tokens, and how to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
    /// How the reference was read, where it names several notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct LinkReport {
    backlinks: Vec<String>,
    broken: Vec<Broken>,
}

#[derive(Serialize, JsonSchema)]
struct Broken {
    target: String,
    /// The nearest page or heading that there is
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<String>,
}

impl From<NoteLinks> for LinkReport {
    fn from(links: NoteLinks) -> Self {
        let broken = links.broken.into_iter();
        let broken = broken.map(|link| Broken { target: link.target, nearest: link.nearest });
        Self { backlinks: links.backlinks, broken: broken.collect() }
    }
}

impl LinkReport {
    /// What a model reads beside the note.
    fn lines(&self) -> Vec<String> {
        let list = |names: &[String]| match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        };
        let broken: Vec<String> = self
            .broken
            .iter()
            .map(|link| match &link.nearest {
                Some(nearest) => format!("{} (nearest: {nearest})", link.target),
                None => link.target.clone(),
            })
            .collect();
        vec![
            format!("backlinks: {}", list(&self.backlinks)),
            format!("broken links: {}", list(&broken)),
        ]
    }
}

impl Answer for NoteText {
    fn text(&self) -> String {
        match &self.left_out {
            Some(left_out) => bounded::with_left_out(&self.content, left_out),
            None => self.content.clone(),
        }
    }

    fn aside(&self) -> Option<String> {
        let etag = self.etag.as_ref().map(|etag| format!("etag {etag}"));
        let links = self.links.iter().flat_map(LinkReport::lines);
        let properties = (!self.properties.is_empty())
            .then(|| format!("Properties: {}", one_line(&self.properties)));
        let facts = properties.into_iter().chain(etag).chain(self.remark.clone()).chain(links);
        let lines: Vec<String> = facts.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A part of a note, as Markdown, and where it is.
struct Part {
    markdown: String,
    toc_path: Vec<String>,
    match_id: Option<String>,
    partial: bool,
    /// Whether a section or a passage was asked for.
    is_part: bool,
}

impl Tool for NoteHtml {
    const NAME: &'static str = "note_html";
    const TITLE: &'static str = "Read a note";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = NoteText;

    fn call(self, cx: &Cx<'_>) -> Result<NoteText> {
        if let Some(context_words) = self.context_words
            && context_words > MAX_CONTEXT_WORDS
        {
            return Err(Error::invalid_params(format!(
                "context_words {context_words} is more than {MAX_CONTEXT_WORDS}; read the section or the whole note instead"
            )));
        }
        TextLimits::check(self.max_tokens)?;
        let reference =
            NoteRef { pid: self.pid, note_id: self.note_id, path: self.path, href: self.href };
        let match_id = self.match_id.as_deref().filter(|id| !id.trim().is_empty());
        let match_id: Option<MatchId> = match_id.map(str::parse).transpose()?;
        // A match names its note: a caller who has only that has enough.
        let unnamed = reference.is_empty();
        let opened = match match_id {
            Some(id) if unnamed => cx.app.open_match(id, cx.rights)?,
            _ => cx.app.open_note(&reference, cx.rights)?,
        };
        let part = match (&self.toc_path, match_id) {
            (Some(path), _) if !path.is_empty() => section(&opened, path)?,
            (_, Some(id)) if id.pid != opened.pid => {
                return Err(cx.app.match_of_another(id, &opened, cx.rights)?);
            }
            (_, Some(id)) => {
                let context_words = self.context_words.unwrap_or_else(|| context(&opened, id));
                let window = opened.window(id, context_words)?;
                let at = opened.note.outline.section_at(window.range.start);
                Part {
                    markdown: window.markdown,
                    toc_path: opened
                        .chunks()
                        .into_iter()
                        .find(|chunk| chunk.ordinal == id.chunk)
                        .map_or_else(|| opened.note.outline.path(at), |chunk| chunk.toc_path),
                    match_id: Some(id.to_string()),
                    partial: window.cut_before || window.cut_after,
                    is_part: true,
                }
            }
            _ => Part {
                markdown: opened.text.get(opened.note.body..).unwrap_or_default().to_owned(),
                toc_path: Vec::new(),
                match_id: None,
                partial: false,
                is_part: false,
            },
        };
        let etag = cx.app.etag_for_editing(&opened, cx.rights);
        let include = self.include.unwrap_or_default();
        let links = include.contains(&Extra::Links);
        let links = links.then(|| cx.app.note_links(&opened, cx.rights)).transpose()?;
        let shows_properties =
            include.contains(&Extra::Properties) || (!part.is_part && is_short(&opened.properties));
        let format = self.format.unwrap_or_default();
        let mut answer = NoteText {
            pid: opened.pid.0,
            kind: opened.kind.as_str(),
            title: opened.title.clone(),
            path: opened.path.clone(),
            url: opened.url.clone(),
            etag,
            toc_path: part.toc_path,
            match_id: part.match_id,
            format,
            properties: if shows_properties { opened.properties.clone() } else { Map::new() },
            content: String::new(),
            partial: part.partial,
            links: links.map(Into::into),
            left_out: None,
            remark: opened.remark.clone(),
        };
        let resolve = match format {
            Format::Html => Some(Links::new(cx.app, cx.rights, opened.page.as_ref())?),
            Format::Markdown => None,
        };
        let render = |markdown: &str| match &resolve {
            Some(links) => opened.note.html(markdown, links),
            None => Ok(markdown.to_owned()),
        };
        match self.max_tokens {
            Some(max_tokens) => {
                let taken = answer.aside().as_deref().map_or(0, tokens::estimate);
                (answer.content, answer.left_out) =
                    bounded::content(&part.markdown, max_tokens, taken, render)?;
                answer.partial |= answer.left_out.is_some();
            }
            None => answer.content = render(&part.markdown)?,
        }
        Ok(answer)
    }
}

/// The words of context that fill the window around a passage.
fn context(opened: &Opened, id: MatchId) -> usize {
    let chunk = opened.chunks().into_iter().find(|chunk| chunk.ordinal == id.chunk);
    let words = chunk.map_or(0, |chunk| count_words(&chunk.text));
    WINDOW_WORDS.saturating_sub(words).max(MIN_CONTEXT_WORDS)
}

/// Whether properties cost little enough to be shown unasked.
fn is_short(properties: &Map<String, Value>) -> bool {
    tokens::estimate(&one_line(properties)) <= SHORT_PROPERTIES
}

fn section(opened: &Opened, path: &TocPath) -> Result<Part> {
    let section = path.find(&opened.note.outline)?;
    Ok(Part {
        markdown: opened.note.section(&opened.text, section).to_owned(),
        toc_path: opened.note.outline.path_of(section),
        match_id: None,
        partial: section.level != 0,
        is_part: true,
    })
}
