//! The front page: search, and answers from the library.

use askama::Template;
use axum::response::Response;

use super::{
    Audience, Html, Shell, Visit,
    asked::{Asked, Chip, sentences},
    hits::{self, Hit, host},
    recent::{self, Recent},
};
use crate::{
    app::rights::Right,
    ask::{Candidate, Reply},
    domain::{Kind, Result, Toolset, count},
};

/// Results on a page.
const LIMIT: usize = 20;
/// Results in the list below the search box of other pages.
const SUGGESTED: usize = 8;

#[derive(Template)]
#[template(path = "front.html")]
struct Front {
    shell: Shell,
    asked: Asked,
    kinds: Vec<Chip>,
    in_force: Vec<Chip>,
    categories: Vec<String>,
    results: Results,
    recent: Vec<Recent>,
    is_empty: bool,
    may_ask: bool,
}

/// The part of the page that changes while somebody types.
#[derive(Template)]
#[template(path = "results.html")]
struct Results {
    count: String,
    hits: Vec<Hit>,
    notes: Vec<String>,
    labels: Vec<Chip>,
    previous: Option<String>,
    next: Option<String>,
    ask: Option<String>,
    answer: Option<Answer>,
    first: usize,
}

/// The list below the search box.
#[derive(Template)]
#[template(path = "suggestions.html")]
struct Suggestions {
    count: String,
    hits: Vec<Hit>,
    more: String,
}

/// An answer with its sources.
struct Answer {
    sentences: Vec<(String, Option<usize>)>,
    text: String,
    is_answer: bool,
    confidence: u32,
    sources: Vec<Source>,
    notes: Vec<String>,
}

struct Source {
    number: usize,
    href: String,
    title: String,
    place: String,
    section: String,
    text: String,
}

/// `GET /`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let asked = Asked::of(visit);
            let rights = visit.rights();
            let may_ask = rights.may(Right::Use(Toolset::Bookmarks));
            let results = results(visit, &asked, may_ask)?;
            if visit.wants_part() {
                return Html::of(&results, Audience::Caller);
            }
            let mut shell = visit.shell();
            shell.query.clone_from(&asked.text);
            shell.focus = true;
            shell.is_front = true;
            shell.may_ask = may_ask;
            shell.carried.clone_from(&asked.filters);
            let readable: Vec<Kind> =
                Kind::ALL.into_iter().filter(|kind| rights.may(Right::Read(*kind))).collect();
            let categories = match rights.may(Right::LibraryState) {
                true => visit.app().store.bookmarks.categories()?,
                false => Vec::new(),
            };
            let is_empty = asked.is_empty();
            let page = Front {
                shell,
                kinds: if readable.len() > 1 { asked.kinds(&readable) } else { Vec::new() },
                in_force: asked.in_force(),
                categories: categories.into_iter().map(|(name, _)| name).collect(),
                results,
                recent: if is_empty { recent::changed(visit)? } else { Vec::new() },
                is_empty,
                may_ask,
                asked,
            };
            Html::of(&page, Audience::Caller)
        })
        .await
}

/// `GET /suggest`: the best results, for the list below the search box.
pub async fn suggest(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let asked = Asked::of(visit);
            let mut page =
                Suggestions { count: String::new(), hits: Vec::new(), more: asked.href() };
            if !asked.is_empty() {
                let searched = visit.app().search(asked.question(SUGGESTED)?, visit.rights())?;
                page.count = counted(searched.answer.total.items, searched.answer.total.exact);
                page.hits = hits::hits(visit.app(), searched.answer.results)?;
            }
            Html::of(&page, Audience::Caller)
        })
        .await
}

fn results(visit: &Visit, asked: &Asked, may_ask: bool) -> Result<Results> {
    let (app, rights) = (visit.app(), visit.rights());
    let mut page = Results {
        count: String::new(),
        hits: Vec::new(),
        notes: Vec::new(),
        labels: Vec::new(),
        previous: None,
        next: None,
        ask: None,
        answer: None,
        first: asked.start + 1,
    };
    if asked.is_empty() {
        return Ok(page);
    }
    if asked.ask && may_ask && !asked.text.is_empty() {
        page.answer = Some(answer(app.ask(&asked.text, rights)?));
    } else if may_ask && !asked.text.is_empty() {
        page.ask = Some(Asked { ask: true, start: 0, ..asked.clone() }.href());
    }
    let searched = app.search(asked.question(LIMIT)?, rights)?;
    let found = searched.answer;
    let is_bare = rights.may(Right::LibraryState) && app.is_empty_library()?;
    let mut notes = if is_bare { Vec::new() } else { found.notes() };
    notes.extend(app.notices(rights)?);
    page.notes = sentences(notes);
    if let Some(answer) = &mut page.answer {
        answer.notes.retain(|note| !page.notes.contains(note));
    }
    page.count = counted(found.total.items, found.total.exact);
    page.previous = (asked.start > 0).then(|| asked.from(asked.start.saturating_sub(LIMIT)).href());
    page.next = found.next.map(|next| asked.from(next).href());
    page.hits = hits::hits(app, found.results)?;
    page.labels = common_labels(&page.hits, asked);
    Ok(page)
}

fn counted(items: usize, exact: bool) -> String {
    match (items, exact) {
        (0, _) => "Nothing found".to_owned(),
        (items, true) => count(items, "result"),
        (items, false) => format!("At least {}", count(items, "result")),
    }
}

/// The labels that several of the results have, as filters.
fn common_labels(hits: &[Hit], asked: &Asked) -> Vec<Chip> {
    let mut counts: Vec<(&String, usize)> = Vec::new();
    for label in hits.iter().flat_map(|hit| &hit.labels) {
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    counts.retain(|(label, count)| {
        *count > 1 && *count < hits.len() && asked.filter("label") != **label
    });
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let chip = |(label, count): &(&String, usize)| Chip {
        href: asked.with("label", Some(label)).href(),
        text: format!("#{label} {count}"),
        on: false,
    };
    counts.iter().take(8).map(chip).collect()
}

fn answer(reply: Reply) -> Answer {
    let sentences = reply.sentences.iter();
    Answer {
        text: reply.text(false),
        is_answer: reply.is_answer(),
        confidence: (reply.confidence.clamp(0.0, 1.0) * 100.0).round() as u32,
        sources: reply.cited.iter().zip(1..).map(|(cited, number)| source(cited, number)).collect(),
        sentences: sentences
            .map(|sentence| (sentence.text.clone(), sentence.source.map(|source| source + 1)))
            .collect(),
        notes: super::asked::sentences(reply.notes),
    }
}

fn source(cited: &Candidate, number: usize) -> Source {
    let passage = &cited.passage;
    let text: String = passage.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(300).collect();
    Source {
        number,
        href: format!("/n/{}#c{}", cited.id.pid, cited.id.chunk),
        title: passage.title.clone(),
        place: match passage.kind {
            Kind::Bookmark => host(&passage.path),
            _ => passage.path.clone(),
        },
        section: passage.toc_path.join(" › "),
        text: if short.len() < text.len() { format!("{short}…") } else { short },
    }
}
