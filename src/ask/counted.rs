//! Questions about the library itself, answered by counting what the caller sees of it.

use super::{
    Asked, Candidate, Method, Reply, Sentence, blocks::one_line, library::Request, passages::notes,
    period::Period,
};
use crate::{
    domain::{Filters, Kind, Result},
    search::{Answer, Engine, Evidence, Mode, Options, Query},
    text::Lang,
};

/// Items that are named in an answer.
const MAX_NAMED: usize = 10;
/// Characters of an item's title in an answer.
const MAX_TITLE_CHARS: usize = 120;
/// The confidence in a count while a part of the library is not indexed yet.
const PARTIAL: f32 = 0.7;

/// Counts or lists the items that a request names, with the rights of the filters.
pub(super) fn answer(engine: &Engine, asked: &Asked<'_>, request: &Request) -> Result<Reply> {
    let filters = filters(asked.filters, request);
    let mut reply = Reply {
        lang: request.lang,
        sentences: Vec::new(),
        cited: Vec::new(),
        confidence: 1.0,
        method: Method::Counted,
        partial: false,
        nearest: None,
        notes: Vec::new(),
        draft: String::new(),
        statements: Vec::new(),
    };
    if let Some(topic) = &request.topic {
        count_topic(engine, &filters, request, topic, &mut reply)?;
        return Ok(reply);
    }
    let listing = list(engine, &filters, MAX_NAMED)?;
    let mut parts = Vec::new();
    for kind in request.kinds.iter().filter(|_| request.kinds.len() > 1) {
        let one = Filters { kinds: vec![*kind], ..filters.clone() };
        parts.push((*kind, list(engine, &one, 1)?.total.items));
    }
    reply.notes = notes(&listing);
    reply.partial = !reply.notes.is_empty();
    if reply.partial {
        reply.confidence = PARTIAL;
    }
    let total = listing.total.items;
    reply.sentences.push(Sentence { text: count_text(request, total, &parts), source: None });
    if !request.counts {
        name_items(engine, &filters, &listing, &mut reply)?;
    }
    if total > listing.results.len() || request.counts && total > 0 {
        reply.notes.push(format!("`search` with {} lists them", call(request)));
    }
    if request.kinds.contains(&Kind::Card) && request.period.is_none() {
        let archived = Filters { kinds: vec![Kind::Card], archived: true, ..filters.clone() };
        let shown = Filters { archived: false, ..archived.clone() };
        let hidden = list(engine, &archived, 1)?.total.items - list(engine, &shown, 1)?.total.items;
        if hidden > 0 {
            let cards = if hidden == 1 { "card is" } else { "cards are" };
            reply.notes.push(format!("{hidden} archived {cards} not counted"));
        }
    }
    if request.kinds.contains(&Kind::Page) && request.period.is_some() {
        reply.notes.push("pages count by the `date` of their frontmatter".to_owned());
    }
    Ok(reply)
}

fn filters(rights: &Filters, request: &Request) -> Filters {
    Filters {
        kinds: request.kinds.clone(),
        labels: request.label.iter().cloned().collect(),
        from: request.period.and_then(Period::from),
        until: request.period.and_then(Period::until),
        ..rights.clone()
    }
}

fn list(engine: &Engine, filters: &Filters, limit: usize) -> Result<Answer> {
    let options = Options { limit, ..Options::new(filters) };
    engine.search(&Query::default(), &options)
}

/// A subject of one word is counted by that word; a longer one is left to `search`.
fn count_topic(
    engine: &Engine,
    filters: &Filters,
    request: &Request,
    topic: &str,
    reply: &mut Reply,
) -> Result<()> {
    let query = Query { text: topic.to_owned(), ..Query::default() };
    let options = Options { limit: 1, mode: Mode::Lexical, ..Options::new(filters) };
    let found = engine.search(&query, &options)?;
    reply.notes = notes(&found);
    reply.partial = !reply.notes.is_empty();
    let how = format!("`search` with the query `{topic}` and {}", call(request));
    if topic.split_whitespace().nth(1).is_some() || !found.total.exact {
        reply.confidence = 0.0;
        reply.notes.push(format!("items about a subject are found, not counted: call {how}"));
        return Ok(());
    }
    let (count, noun) = (found.total.items, noun(request.lang, &request.kinds, found.total.items));
    let text = match request.lang {
        Lang::Russian | Lang::Ukrainian => format!("Со словом «{topic}» — {noun}: {count}."),
        Lang::Japanese | Lang::Chinese => {
            format!("「{topic}」という語を含む{noun}は{count}件です。")
        }
        _ => format!("{count} {noun} with the word “{topic}”."),
    };
    reply.sentences.push(Sentence { text, source: None });
    reply.confidence = PARTIAL;
    reply.notes.push(format!("counted by the word; {how} also finds by meaning"));
    Ok(())
}

/// The newest items by name, each with its source.
fn name_items(
    engine: &Engine,
    filters: &Filters,
    listing: &Answer,
    reply: &mut Reply,
) -> Result<()> {
    let view = engine.index().view_for(filters)?;
    for found in &listing.results {
        let Some(hit) = view.passages_of(found.pid)?.into_iter().min_by_key(|hit| hit.id.chunk)
        else {
            continue;
        };
        let passage = view.passage(&hit)?;
        // A bookmark's title is often only its author.
        let name = match found.kind {
            Kind::Bookmark => &passage.text,
            _ => &found.title,
        };
        let mut title = one_line(name);
        if let Some((end, _)) = title.char_indices().nth(MAX_TITLE_CHARS) {
            title.truncate(end);
            title.push('…');
        }
        reply
            .sentences
            .push(Sentence { text: format!("“{title}”"), source: Some(reply.cited.len()) });
        let evidence = Evidence::default();
        reply.cited.push(Candidate { id: hit.id, passage, evidence, score: 0.0 });
    }
    Ok(())
}

/// The arguments of `search` that list the same items.
fn call(request: &Request) -> String {
    let mut filters = serde_json::Map::new();
    // `search` takes one kind.
    if let Some(kind) = request.kinds.first() {
        filters.insert("kind".into(), kind.as_str().into());
    }
    if let Some(label) = &request.label {
        filters.insert("label".into(), label.as_str().into());
    }
    if let Some(Period { first, last }) = request.period {
        filters.insert("dateFrom".into(), first.to_string().into());
        filters.insert("dateTo".into(), last.to_string().into());
    }
    format!("filters `{}`", serde_json::Value::from(filters))
}

/// The count as a sentence in the language of the question.
fn count_text(request: &Request, total: usize, parts: &[(Kind, usize)]) -> String {
    let lang = request.lang;
    let noun = noun(lang, &request.kinds, total);
    let days = request.period.map(|Period { first, last }| match first == last {
        true => first.to_string(),
        false => format!("{first} – {last}"),
    });
    let parts: Vec<String> = parts
        .iter()
        .map(|(kind, count)| {
            let noun = self::noun(lang, &[*kind], *count);
            match lang {
                Lang::Russian | Lang::Ukrainian => format!("{noun}: {count}"),
                Lang::Japanese | Lang::Chinese => format!("{noun}{count}件"),
                _ => format!("{count} {noun}"),
            }
        })
        .collect();
    let label = request.label.as_ref();
    match lang {
        Lang::Russian | Lang::Ukrainian => {
            let label = label.map(|label| format!(" с меткой «{label}»")).unwrap_or_default();
            let days = days.map(|days| format!(" за {days}")).unwrap_or_default();
            let parts = bracketed(&parts, " (", ", ", ")");
            format!("{}{label}{days}: {total}{parts}.", capital(noun))
        }
        Lang::Japanese | Lang::Chinese => {
            let label = label.map(|label| format!("タグ「{label}」の")).unwrap_or_default();
            let days = days.map(|days| format!("{days}の")).unwrap_or_default();
            format!("{days}{label}{noun}は{total}件です{}。", bracketed(&parts, "（", "、", "）"))
        }
        _ => {
            let label = label.map(|label| format!(" tagged “{label}”")).unwrap_or_default();
            let days = days.map(|days| format!(" of {days}")).unwrap_or_default();
            let parts = bracketed(&parts, " (", ", ", ")");
            format!("You have {total} {noun}{label}{days}{parts}.")
        }
    }
}

fn bracketed(parts: &[String], open: &str, comma: &str, close: &str) -> String {
    match parts.is_empty() {
        true => String::new(),
        false => format!("{open}{}{close}", parts.join(comma)),
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// What items of these kinds are called; in Russian as after a number word (`заметок: 5`).
fn noun(lang: Lang, kinds: &[Kind], count: usize) -> &'static str {
    let names = match kinds {
        [Kind::Page] => ["page", "pages", "страниц", "ページ"],
        [Kind::Card] => ["card", "cards", "карточек", "カード"],
        [Kind::Bookmark] => ["bookmark", "bookmarks", "закладок", "ブックマーク"],
        [Kind::Prompt] => ["prompt", "prompts", "промптов", "プロンプト"],
        [Kind::Page, Kind::Card] => ["note", "notes", "заметок", "メモ"],
        _ => ["item", "items", "записей", "項目"],
    };
    match lang {
        Lang::Russian | Lang::Ukrainian => names[2],
        Lang::Japanese | Lang::Chinese => names[3],
        _ if count == 1 => names[0],
        _ => names[1],
    }
}
