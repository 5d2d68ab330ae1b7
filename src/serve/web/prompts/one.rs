//! One prompt: its text, what it becomes with arguments, and the form that changes it.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::{draft::Draft, may_read, may_write};
use crate::{
    app::{prompts::render, question::Question, rights::Right},
    domain::{Error, Filters, Kind, Prompt, Result, prompt::Role},
    markdown::template::{self, Part},
    serve::web::{
        Audience, Form, Html, Reply, Shell, Visit, answer::etag_of, encode, errors, hits,
    },
    store::prompts::{Origin, Stored},
};

/// Places that are named where a prompt is used.
const MAX_USES: usize = 10;

#[derive(Template)]
#[template(path = "prompt.html")]
struct Page {
    shell: Shell,
    /// Where the form is sent.
    action: String,
    heading: String,
    draft: Draft,
    roles: &'static [Role],
    rendered: Rendered,
    etag: String,
    /// `built-in`, for a prompt that is copied and not changed.
    origin: &'static str,
    is_new: bool,
    may_write: bool,
    pid: Option<i64>,
    /// Notes that the prompt includes.
    includes: Vec<Place>,
    /// Where it is mentioned.
    uses: Vec<Place>,
    /// The prompt as it is now, when somebody changed it since the form was opened.
    current: Option<Vec<(&'static str, String)>>,
    /// Why it was not saved.
    problem: String,
    saved: bool,
}

struct Place {
    href: String,
    title: String,
    kind: &'static str,
}

/// What a prompt becomes.
struct Rendered {
    messages: Vec<(&'static str, String)>,
    problem: String,
}

/// `GET /prompts/of/{name}`.
pub async fn show(Path(name): Path<String>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            if !may_read(visit) {
                return Ok(errors::forbidden(visit).into());
            }
            let stored = find(visit, &name)?;
            let draft = Draft::of(&stored.prompt);
            let draft = Draft {
                arguments: draft
                    .arguments
                    .into_iter()
                    .map(|mut row| {
                        // An address can hold the values.
                        let given = visit.value(&format!("value.{}", row.name));
                        row.value = given.unwrap_or_default().to_owned();
                        row
                    })
                    .collect(),
                ..draft
            };
            page(visit, Some(&stored), draft, State::Shown).map(Reply::from)
        })
        .await
}

/// `GET /prompts/new`.
pub async fn new(visit: Visit) -> Response {
    visit
        .run(|visit| match may_write(visit) {
            false => Ok(Reply::from(errors::forbidden(visit))),
            true => {
                page(visit, None, Draft::default().with_spare_rows(), State::Shown).map(Reply::from)
            }
        })
        .await
}

/// `POST /prompts/new`.
pub async fn create(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| match may_write(visit) {
            false => Ok(Reply::from(errors::forbidden(visit))),
            true => save(visit, None, &form),
        })
        .await
}

/// `POST /prompts/of/{name}` with `do`: `preview`, `save` or `delete`.
pub async fn act(Path(name): Path<String>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let is_preview = form.field("do") == "preview";
            if !may_read(visit) || (!is_preview && !may_write(visit)) {
                return Ok(errors::forbidden(visit).into());
            }
            let stored = find(visit, &name)?;
            match form.field("do") {
                "delete" => delete(visit, &stored),
                "preview" if !may_write(visit) => {
                    // Who may not write tries the prompt as it is.
                    let draft = Draft::of(&stored.prompt).with_values_of(&Draft::read(&form));
                    page(visit, Some(&stored), draft, State::Shown).map(Reply::from)
                }
                _ => save(visit, Some(&stored), &form),
            }
        })
        .await
}

fn save(visit: &Visit, stored: Option<&Stored>, form: &Form) -> Result<Reply> {
    let draft = Draft::read(form);
    let old = stored.map(|stored| &stored.prompt);
    let shown = |draft: Draft, state| page(visit, stored, draft.with_spare_rows(), state);
    if form.field("do") == "preview" {
        let problem = draft.check(old).err().map(|error| errors::sentence(error.plain()));
        let state = problem.map_or(State::Shown, State::Previewed);
        return shown(draft, state).map(Reply::from);
    }
    let actor = visit.rights().actor("web");
    let app = visit.app();
    let done = match stored {
        Some(stored) if stored.origin.is_user() => {
            let is_stale = form.value("etag").is_some_and(|seen| seen != etag(&stored.prompt));
            match draft.patch(&stored.prompt) {
                None => Ok(String::new()),
                Some(_) if is_stale => {
                    let html = shown(draft, State::Stale)?;
                    return Ok(html.with_status(StatusCode::CONFLICT).into());
                }
                Some(patch) => app.update_prompt(patch, &actor),
            }
        }
        // One that is built in is not changed: the person gets one of their own, which may take
        // its name.
        _ => app.create_prompt(draft.new_prompt(old), &actor),
    };
    match done {
        Ok(_) => Ok(Reply::see(&format!("/prompts/of/{}?saved=1", encode(&draft.name)))),
        // What was typed is not lost.
        Err(error) if error.code.json_rpc() == -32602 => {
            let html = shown(draft, State::Refused(errors::sentence(error.plain())))?;
            Ok(html.with_status(StatusCode::BAD_REQUEST).into())
        }
        Err(error) => Err(error),
    }
}

fn delete(visit: &Visit, stored: &Stored) -> Result<Reply> {
    let app = visit.app();
    let name = &stored.prompt.name;
    let pid = app.store.items.find(Kind::Prompt, name)?.map(|item| item.pid);
    app.delete_prompt(name, &visit.rights().actor("web"))?;
    let change = match pid.filter(|_| visit.rights().may(Right::History)) {
        Some(pid) => app.store.revisions.of_item(pid, None, 1)?.first().map(|(one, _)| one.id),
        None => None,
    };
    Ok(match change {
        Some(change) => Reply::see(&format!("/prompts?deleted={change}")),
        None => Reply::see("/prompts"),
    })
}

fn find(visit: &Visit, name: &str) -> Result<std::sync::Arc<Stored>> {
    let all = visit.app().visible_prompts(visit.rights())?;
    let found = all.iter().find(|stored| stored.prompt.name == name).cloned();
    found.ok_or_else(|| {
        Error::not_found("there is no such prompt; it was renamed or deleted, or it is not yours")
    })
}

/// How the page came to be.
enum State {
    Shown,
    /// Tried, with what a save would refuse.
    Previewed(String),
    Stale,
    Refused(String),
}

fn page(visit: &Visit, stored: Option<&Stored>, draft: Draft, state: State) -> Result<Html> {
    let old = stored.map(|stored| &stored.prompt);
    let prompt = draft.prompt(old);
    // The notes that it includes, and that name it.
    visit.app().await_first_look();
    let pid = match stored.filter(|_| visit.rights().may(Right::History)) {
        Some(stored) => visit.app().store.items.find(Kind::Prompt, &stored.prompt.name)?,
        None => None,
    };
    let page = Page {
        shell: visit.shell(),
        action: old.map_or_else(
            || "/prompts/new".to_owned(),
            |old| format!("/prompts/of/{}", encode(&old.name)),
        ),
        heading: old.map_or_else(|| "New prompt".to_owned(), |old| old.title.clone()),
        roles: Role::ALL,
        rendered: rendered(visit, &prompt, &draft),
        etag: old.map(etag).unwrap_or_default(),
        origin: match stored.map(|stored| stored.origin) {
            None | Some(Origin::User) => "",
            Some(origin) => origin.as_str(),
        },
        is_new: stored.is_none(),
        may_write: may_write(visit),
        pid: pid.map(|item| item.pid.0),
        includes: includes(visit, &prompt)?,
        uses: match old {
            // The script asks again with every word that is typed, for the rendering only.
            Some(old) if !visit.wants_part() => uses(visit, &old.name)?,
            _ => Vec::new(),
        },
        current: matches!(state, State::Stale).then(|| old.map(texts).unwrap_or_default()),
        saved: visit.value("saved").is_some() && matches!(state, State::Shown),
        problem: match state {
            State::Previewed(problem) | State::Refused(problem) => problem,
            State::Shown | State::Stale => String::new(),
        },
        draft,
    };
    Html::of(&page, Audience::Caller)
}

/// A text that changes whenever the prompt does.
fn etag(prompt: &Prompt) -> String {
    etag_of(serde_json::Value::Object(prompt.to_map()).to_string().as_bytes())
}

fn texts(prompt: &Prompt) -> Vec<(&'static str, String)> {
    let text = |message: &crate::domain::prompt::Message| {
        let kind = format!("[{}]", message.content.kind());
        (message.role.as_str(), message.content.as_text().map_or(kind, str::to_owned))
    };
    prompt.messages.iter().map(text).collect()
}

fn rendered(visit: &Visit, prompt: &Prompt, draft: &Draft) -> Rendered {
    let notes =
        |path: &str, heading: Option<&str>| visit.app().section_text(path, heading, visit.rights());
    match render(prompt, &draft.values(), &notes) {
        Ok(messages) => {
            let messages = texts(&Prompt { messages, ..prompt.clone() });
            Rendered { messages, problem: String::new() }
        }
        Err(error) => Rendered { messages: Vec::new(), problem: errors::sentence(error.plain()) },
    }
}

/// The notes that a prompt includes, as far as the caller sees them.
fn includes(visit: &Visit, prompt: &Prompt) -> Result<Vec<Place>> {
    let mut places: Vec<Place> = Vec::new();
    for part in prompt.texts().flat_map(template::parse) {
        let Part::Note { path, heading, .. } = part else { continue };
        let Some(pid) = visit.app().find_path(path, visit.rights())? else { continue };
        let title = match heading {
            Some(heading) => format!("{path} › {heading}"),
            None => path.to_owned(),
        };
        if !places.iter().any(|known| known.title == title) {
            places.push(Place { href: format!("/n/{pid}"), title, kind: "note" });
        }
    }
    Ok(places)
}

/// Notes, cards and prompts that name this prompt.
fn uses(visit: &Visit, name: &str) -> Result<Vec<Place>> {
    let filters =
        Filters { kinds: vec![Kind::Page, Kind::Card, Kind::Prompt], ..Filters::default() };
    let text = format!("\"{name}\"");
    let question = Question { text, filters, limit: MAX_USES + 1, ..Question::default() };
    // A name without a letter cannot be searched for.
    let Ok(found) = visit.app().search(question, visit.rights()) else { return Ok(Vec::new()) };
    let own =
        |found: &crate::search::SearchResult| found.kind == Kind::Prompt && found.path == name;
    let mut results = found.answer.results;
    // Only what says the very name: word forms of it are other words.
    results.retain(|found| {
        let says = |found: &crate::search::Match| found.snippet.contains(name);
        !own(found) && (found.title.contains(name) || found.matches.iter().any(says))
    });
    results.truncate(MAX_USES);
    let hits = hits::hits(visit.app(), results)?;
    Ok(hits
        .into_iter()
        .map(|hit| Place { href: hit.href, title: hit.title, kind: hit.kind })
        .collect())
}
