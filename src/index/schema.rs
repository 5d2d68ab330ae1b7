//! One tantivy document per passage: its fields, and how an item becomes such documents.

use std::ops::Range;

use super::{passage, property, tokens};
use crate::domain::{
    Author, Chunk, Document, Kind, Result, author::fold, error::Doing, visible::fold_label,
};
use serde::{Deserialize, Serialize};
use tantivy::{
    TantivyDocument,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing,
        TextOptions,
    },
};

/// Raised when a field is added, removed or filled differently: the terms are then built anew.
pub(super) const VERSION: u32 = 6;

/// The fields, by name.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    /// Searched, with positions.
    pub(super) title: Field,
    pub(super) headings: Field,
    pub(super) body: Field,
    pub(super) labels: Field,
    /// All words of the item, on its first passage only: an item whose passages each say a part of
    /// what was asked is found as a whole.
    pub(super) whole: Field,
    /// Who it is.
    pub(super) pid: Field,
    pub(super) ordinal: Field,
    /// What its vector is kept under.
    pub(super) key: Field,
    /// Equal for passages that differ only in case, punctuation and space.
    pub(super) fold: Field,
    /// Filters.
    pub(super) kind: Field,
    pub(super) date: Field,
    pub(super) free: Field,
    pub(super) archived: Field,
    pub(super) facts: Field,
    /// What a result shows, as JSON.
    pub(super) stored: Field,
}

pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(tokens::FED)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions),
    );
    let counted = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(tokens::FED)
            .set_index_option(IndexRecordOption::WithFreqs),
    );
    let exact = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic),
    );
    let number = || NumericOptions::default() | FAST | INDEXED;
    let fields = Fields {
        title: builder.add_text_field("title", words.clone()),
        headings: builder.add_text_field("headings", words.clone()),
        body: builder.add_text_field("body", words.clone()),
        labels: builder.add_text_field("labels", words),
        whole: builder.add_text_field("whole", counted),
        pid: builder.add_i64_field("pid", number()),
        ordinal: builder.add_u64_field("ordinal", FAST),
        key: builder.add_u64_field("key", FAST),
        fold: builder.add_u64_field("fold", FAST),
        kind: builder.add_u64_field("kind", number()),
        date: builder.add_i64_field("date", FAST),
        free: builder.add_bool_field("free", number()),
        archived: builder.add_bool_field("archived", number()),
        facts: builder.add_text_field("facts", exact),
        stored: builder.add_bytes_field("stored", STORED),
    };
    (builder.build(), fields)
}

/// A passage as a result shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The item's kind.
    #[serde(rename = "k")]
    pub kind: Kind,
    /// The item's title.
    #[serde(rename = "t")]
    pub title: String,
    /// The item's path or id.
    #[serde(rename = "p")]
    pub path: String,
    /// The headings that lead to the passage.
    #[serde(rename = "c")]
    pub toc_path: Vec<String>,
    /// The passage.
    #[serde(rename = "x")]
    pub text: String,
    /// Where it stands in the item's source text, in bytes.
    #[serde(rename = "r")]
    pub range: Range<usize>,
    /// Two letters: what the item says of itself, or what it looks like.
    #[serde(rename = "l")]
    pub lang: String,
}

/// A fact that filters ask for, as one term: `label` + `work` and so on. The comparison ignores
/// case and width.
pub(super) fn fact(name: &str, value: &str) -> String {
    format!("{name}\0{}", fold(value))
}

/// The fact that an item has this author.
pub(super) fn author_fact(author: &Author) -> String {
    format!("author\0{}", author.as_str())
}

/// The fact that an item has this label.
pub(super) fn label_fact(label: &str) -> String {
    format!("label\0{}", fold_label(label))
}

/// The fact that a page is in this vault.
pub(super) fn vault_fact(vault: &str) -> String {
    format!("vault\0{vault}")
}

/// The fact that a page is below this folder of a vault. Folders are compared to the letter.
pub(super) fn folder_fact(vault: &str, folder: &str) -> String {
    format!("folder\0{vault}\0{folder}")
}

/// The fact that every user with an account may read a page.
pub(super) const MEMBERS: &str = "members\0";

/// The fact that a page is a method that is sold.
pub(super) const PRICED: &str = "priced\0";

/// What the first passage of every item has, so that items can be counted.
pub(super) fn first() -> String {
    fact("first", "")
}

fn facts(document: &Document) -> Vec<String> {
    let mut out = Vec::new();
    for label in &document.labels {
        out.push(label_fact(label));
    }
    for (name, value) in [
        ("category", &document.category),
        ("sentiment", &document.sentiment),
        ("action", &document.action),
    ] {
        out.extend(value.as_ref().map(|value| fact(name, value)));
    }
    out.extend(document.author.as_deref().and_then(Author::new).map(|author| author_fact(&author)));
    out.extend(property::facts(&document.properties));
    out.extend(document.members.then(|| MEMBERS.to_owned()));
    out.extend(document.priced.then(|| PRICED.to_owned()));
    if let Some((vault, path)) = &document.place {
        out.push(vault_fact(vault));
        let path = path.as_str();
        out.extend(path.match_indices('/').map(|(at, _)| folder_fact(vault, &path[..at])));
    }
    // The path and every folder above it, so that a folder filter is one term.
    let path = document.path.trim_matches('/');
    out.push(fact("path", path));
    out.extend(path.match_indices('/').map(|(at, _)| fact("path", &path[..at])));
    out
}

/// The documents of one item: one a passage, or one with the title alone when it has no text. Of one
/// that could not be read there may be nothing to find it by.
pub(super) fn documents(fields: &Fields, document: &Document) -> Result<Vec<TantivyDocument>> {
    if document.unread && document.title.is_empty() && document.chunks.is_empty() {
        return Ok(Vec::new());
    }
    let lang = tokens::language(document);
    let mut title = tokens::feed(&document.title, lang);
    for alias in &document.aliases {
        tokens::append(&mut title, alias, lang);
    }
    let mut labels = String::new();
    for label in &document.labels {
        tokens::append(&mut labels, label, lang);
    }
    let mut facts = facts(document);
    facts.push(fact("lang", lang.code()));
    let empty = [Chunk { ordinal: 0, toc_path: Vec::new(), text: String::new(), range: 0..0 }];
    let chunks: &[Chunk] = if document.chunks.is_empty() { &empty } else { &document.chunks };
    let mut out: Vec<TantivyDocument> = Vec::with_capacity(chunks.len());
    let mut whole = format!("{title}{labels}");
    for chunk in chunks {
        let mut doc = TantivyDocument::default();
        doc.add_text(fields.title, &title);
        doc.add_text(fields.labels, &labels);
        let mut headings = String::new();
        for heading in &chunk.toc_path {
            tokens::append(&mut headings, heading, lang);
        }
        doc.add_text(fields.headings, headings);
        let body = tokens::feed(&chunk.text, lang);
        whole.push_str(&body);
        doc.add_text(fields.body, body);
        doc.add_i64(fields.pid, document.pid.0);
        doc.add_u64(fields.ordinal, u64::from(chunk.ordinal));
        doc.add_u64(fields.key, passage::key(&document.title, &chunk.toc_path, &chunk.text));
        doc.add_u64(fields.fold, passage::fold(&document.title, &chunk.text));
        doc.add_u64(fields.kind, document.kind as u64);
        if let Some(date) = document.date {
            doc.add_i64(fields.date, date.0);
        }
        doc.add_bool(fields.free, document.free);
        doc.add_bool(fields.archived, document.archived);
        for fact in &facts {
            doc.add_text(fields.facts, fact);
        }
        let stored = Passage {
            kind: document.kind,
            title: document.title.clone(),
            path: document.path.clone(),
            toc_path: chunk.toc_path.clone(),
            text: chunk.text.clone(),
            range: chunk.range.clone(),
            lang: lang.code().to_owned(),
        };
        doc.add_bytes(fields.stored, &serde_json::to_vec(&stored).doing("store a passage")?);
        out.push(doc);
    }
    if let Some(doc) = out.first_mut() {
        doc.add_text(fields.whole, whole);
        doc.add_text(fields.facts, first());
    }
    Ok(out)
}
