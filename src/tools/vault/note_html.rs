use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::toc_path::TocPath;
use crate::{
    app::{
        edit::NoteLinks,
        notes::{NoteRef, Opened},
        rendering::Links,
    },
    domain::{Error, Kind, MatchId, Result, query::words},
    text::tokens,
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// Words of context around a match when the caller does not say.
const CONTEXT_WORDS: usize = 120;
const MOST_CONTEXT_WORDS: usize = 10_000;

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
    /// What is told of a note besides its text.
    Extra, "include", { Links = "links" }
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
    /// What an edit of this note shows to prove what it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// The section that this is, or that the match is in.
    toc_path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_id: Option<String>,
    format: Format,
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
            Some(left_out) => format!("{}\n\n[{left_out}]", self.content.trim_end()),
            None => self.content.clone(),
        }
    }

    fn aside(&self) -> Option<String> {
        let etag = self.etag.as_ref().map(|etag| format!("etag {etag}"));
        let links = self.links.iter().flat_map(LinkReport::lines);
        let said: Vec<String> = etag.into_iter().chain(self.remark.clone()).chain(links).collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }
}

/// A part of a note, as Markdown, and where it is.
struct Part {
    markdown: String,
    toc_path: Vec<String>,
    match_id: Option<String>,
    partial: bool,
}

impl Tool for NoteHtml {
    const NAME: &'static str = "note_html";
    const TITLE: &'static str = "Read a note";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = NoteText;

    fn call(self, cx: &Cx<'_>) -> Result<NoteText> {
        let context_words = self.context_words.unwrap_or(CONTEXT_WORDS);
        if context_words > MOST_CONTEXT_WORDS {
            return Err(Error::invalid_params(format!(
                "context_words {context_words} is more than {MOST_CONTEXT_WORDS}; read the section or the whole note instead"
            )));
        }
        if self.max_tokens == Some(0) {
            return Err(Error::invalid_params("max_tokens must be at least 1"));
        }
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
                }
            }
            _ => Part {
                markdown: opened.text.get(opened.note.body..).unwrap_or_default().to_owned(),
                toc_path: Vec::new(),
                match_id: None,
                partial: false,
            },
        };
        let etag = cx.app.etag_for_editing(&opened, cx.rights);
        let wants_links = self.include.is_some_and(|extras| extras.contains(&Extra::Links));
        let links = wants_links.then(|| cx.app.note_links(&opened, cx.rights)).transpose()?;
        let format = self.format.unwrap_or_default();
        let (markdown, left_out) = bound(part.markdown, self.max_tokens, format);
        let content = match format {
            Format::Markdown => markdown,
            Format::Html => {
                let resolve = Links::new(cx.app, cx.rights, opened.page.as_ref())?;
                opened.note.html(&markdown, &resolve)?
            }
        };
        Ok(NoteText {
            pid: opened.pid.0,
            kind: opened.kind.as_str(),
            title: opened.title,
            path: opened.path,
            url: opened.url,
            etag,
            toc_path: part.toc_path,
            match_id: part.match_id,
            format,
            content,
            partial: part.partial || left_out.is_some(),
            links: links.map(Into::into),
            left_out,
            remark: opened.remark,
        })
    }
}

fn section(opened: &Opened, path: &TocPath) -> Result<Part> {
    let section = path.find(&opened.note.outline)?;
    Ok(Part {
        markdown: opened.note.section(&opened.text, section).to_owned(),
        toc_path: opened.note.outline.path_of(section),
        match_id: None,
        partial: section.level != 0,
    })
}

/// Keeps within a number of tokens by whole passages, and says what was left out.
fn bound(markdown: String, most: Option<usize>, format: Format) -> (String, Option<String>) {
    let Some(most) = most else { return (markdown, None) };
    // Tags cost tokens too: HTML is about a third longer than its Markdown.
    let budget = if format == Format::Html { most * 3 / 4 } else { most };
    let total = tokens::estimate(&markdown);
    if total <= budget {
        return (markdown, None);
    }
    let cut = crate::markdown::Note::parse(&markdown, "")
        .chunks()
        .into_iter()
        .map(|chunk| chunk.range.end)
        .take_while(|end| tokens::estimate(&markdown[..*end]) <= budget)
        .last()
        .unwrap_or_else(|| tokens::prefix(&markdown, budget));
    let left = total.saturating_sub(tokens::estimate(&markdown[..cut]));
    let kept = format!("{}\n\n…\n", markdown[..cut].trim_end());
    let left_out = format!(
        "about {left} more tokens were left out to keep within max_tokens {most}; read on by section with toc_path (`expand` lists the sections), or raise max_tokens"
    );
    (kept, Some(left_out))
}
