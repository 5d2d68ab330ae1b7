use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::toc_path::TocPath;
use crate::{
    app::{
        notes::{NoteRef, Opened},
        rendering::Links,
    },
    domain::{Error, Kind, MatchId, Result},
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
}

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
    /// The section that this is, or that the match is in.
    toc_path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_id: Option<String>,
    format: Format,
    content: String,
    /// The note goes on before or after what is here.
    partial: bool,
    /// What was left out to keep within max_tokens, and how to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
    /// How the reference was read, where it names several notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
}

impl Answer for NoteText {
    fn text(&self) -> String {
        match &self.left_out {
            Some(left_out) => format!("{}\n\n[{left_out}]", self.content.trim_end()),
            None => self.content.clone(),
        }
    }

    fn aside(&self) -> Option<String> {
        self.remark.clone()
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
        let format = self.format.unwrap_or_default();
        let (markdown, left_out) = bound(part.markdown, self.max_tokens, format);
        let content = match format {
            Format::Markdown => markdown,
            Format::Html => {
                let links = Links::new(cx.app, cx.rights, opened.page.as_ref())?;
                opened.note.html(&markdown, &links)?
            }
        };
        Ok(NoteText {
            pid: opened.pid.0,
            kind: opened.kind.as_str(),
            title: opened.title,
            path: opened.path,
            url: opened.url,
            toc_path: part.toc_path,
            match_id: part.match_id,
            format,
            content,
            partial: part.partial || left_out.is_some(),
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
