//! The list of prompts, and of pages that are methods, which agents see as prompts too.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;

use super::{may_read, may_write};
use crate::{
    app::{question::Question, rights::Right},
    domain::{Filters, Kind, Result, Toolset},
    serve::web::{
        Audience, Html, Reply, Shell, Visit, address, asked::Chip, encode, errors, start_in_address,
    },
    store::prompts::Stored,
};

/// Prompts on a page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "prompts.html")]
struct List {
    shell: Shell,
    query: String,
    tag: String,
    tags: Vec<Chip>,
    prompts: Vec<Line>,
    methods: Vec<Line>,
    notes: Vec<String>,
    older: Option<String>,
    may_write: bool,
    deleted: Option<String>,
}

struct Line {
    href: String,
    name: String,
    title: String,
    description: String,
    /// `code, language`.
    arguments: String,
    /// Empty for the person's own.
    origin: &'static str,
}

/// `GET /prompts`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match may_read(visit) {
            true => page(visit).map(Reply::from),
            false => Ok(Reply::from(errors::forbidden(visit))),
        })
        .await
}

fn page(visit: &Visit) -> Result<Html> {
    let query = visit.value("q").unwrap_or_default().to_owned();
    let tag = visit.value("tag").unwrap_or_default().to_owned();
    let all = visit.app().visible_prompts(visit.rights())?;
    let mut notes = Vec::new();
    let found = match query.is_empty() {
        true => all.to_vec(),
        false => searched(visit, &query, &all, &mut notes)?,
    };
    let has_tag = |stored: &Arc<Stored>| tag.is_empty() || stored.prompt.tags.contains(&tag);
    let found: Vec<Arc<Stored>> = found.into_iter().filter(has_tag).collect();
    let start: usize = visit.value("start").and_then(|n| n.parse().ok()).unwrap_or(0);
    let address = |tag: &str, start: usize| {
        let start = start_in_address(start);
        address("/prompts", [("q", query.as_str()), ("tag", tag), ("start", &start)])
    };
    let list = List {
        tags: tags(&all)
            .into_iter()
            .map(|name| {
                let on = name == tag;
                Chip { href: address(if on { "" } else { &name }, 0), text: name, on }
            })
            .collect(),
        older: (found.len() > start + PAGE).then(|| address(&tag, start + PAGE)),
        prompts: found.iter().skip(start).take(PAGE).map(|stored| line(stored)).collect(),
        methods: match query.is_empty() && tag.is_empty() && start == 0 {
            true => methods(visit)?,
            false => Vec::new(),
        },
        notes,
        may_write: may_write(visit),
        deleted: visit
            .value("deleted")
            .filter(|_| visit.rights().may(Right::History))
            .map(str::to_owned),
        shell: visit.shell(),
        query,
        tag,
    };
    Html::of(&list, Audience::Caller)
}

/// The prompts that the one search finds, in its order, and then those that it does not know: only
/// the person's own are searched.
fn searched(
    visit: &Visit,
    query: &str,
    all: &[Arc<Stored>],
    notes: &mut Vec<String>,
) -> Result<Vec<Arc<Stored>>> {
    let filters = Filters { kinds: vec![Kind::Prompt], ..Filters::default() };
    let question = Question { text: query.to_owned(), filters, limit: PAGE, ..Question::default() };
    let answer = visit.app().search(question, visit.rights())?.answer;
    notes.extend(answer.notes().iter().map(|note| errors::sentence(note)));
    let named = |name: &str| all.iter().find(|stored| stored.prompt.name == name).cloned();
    let mut found: Vec<Arc<Stored>> =
        answer.results.iter().filter_map(|result| named(&result.path)).collect();
    let words = query.to_lowercase();
    let others = all.iter().filter(|stored| {
        let prompt = &stored.prompt;
        let description = prompt.description.as_deref().unwrap_or_default();
        let says = [prompt.name.as_str(), &prompt.title, description];
        !stored.origin.is_user() && says.iter().any(|text| text.to_lowercase().contains(&words))
    });
    found.extend(others.cloned());
    Ok(found)
}

fn tags(all: &[Arc<Stored>]) -> Vec<String> {
    let mut tags: Vec<String> =
        all.iter().flat_map(|stored| stored.prompt.tags.iter().cloned()).collect();
    tags.sort();
    tags.dedup();
    tags
}

fn line(stored: &Stored) -> Line {
    let prompt = &stored.prompt;
    let arguments: Vec<&str> = prompt.arguments.iter().map(|one| one.name.as_str()).collect();
    Line {
        href: format!("/prompts/of/{}", encode(&prompt.name)),
        name: prompt.name.clone(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        arguments: arguments.join(", "),
        origin: if stored.origin.is_user() { "" } else { stored.origin.as_str() },
    }
}

fn methods(visit: &Visit) -> Result<Vec<Line>> {
    if !visit.rights().may(Right::Use(Toolset::Vault)) {
        return Ok(Vec::new());
    }
    let methods = visit.app().methods(visit.rights())?;
    // One that is for sale is called, not read.
    let methods = methods.into_iter().filter(|method| visit.rights().sees(method.page()));
    let line = |method: crate::app::methods::Method| {
        let arguments: Vec<&str> = method.arguments.iter().map(|one| one.name.as_str()).collect();
        Line {
            href: format!("/n/{}", method.pid()),
            arguments: arguments.join(", "),
            name: method.name,
            title: method.title,
            description: method.description,
            origin: "a note",
        }
    };
    Ok(methods.map(line).collect())
}
