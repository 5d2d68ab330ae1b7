//! Renaming, moving and deleting a note: first what would change, then the change itself.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::{
    super::{Audience, Form, Html, Shell, Visit, errors::sentence, visit::Reply},
    open,
};
use crate::{
    app::{
        edit::{MoveAnswer, MoveRequest, RewrittenLinks, TO_TRASH},
        notes::{NoteRef, Opened},
        rights::Right,
    },
    domain::{Code, Error, Result, user::Role},
};

#[derive(Template)]
#[template(path = "move.html")]
struct MovePage {
    shell: Shell,
    pid: i64,
    title: String,
    /// The new path, as it is in the form.
    to: String,
    etag: String,
    problem: Option<String>,
    plan: Option<Plan>,
}

/// What a move would do.
struct Plan {
    is_trash: bool,
    from: String,
    path: String,
    rewritten: Vec<RewrittenLinks>,
    /// Links that are rewritten, in words.
    count: String,
    broken: Vec<String>,
}

/// `GET /n/{pid}/move`.
pub async fn show(Path(pid): Path<i64>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            let opened = writable(visit, pid)?;
            let to = opened.path.clone();
            page(visit, &opened, to, None, None)
        })
        .await
}

/// `POST /n/{pid}/move`: shows what would change, or changes it.
pub async fn submit(Path(pid): Path<i64>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit.run(move |visit| answer(visit, pid, &form)).await
}

/// A note that the caller may write.
fn writable(visit: &Visit, pid: i64) -> Result<Opened> {
    let opened = open(visit, pid)?;
    let page = opened.page.as_ref().map(|row| &row.facts.page);
    match page.is_some_and(|page| visit.rights().writes(page)) {
        true => Ok(opened),
        false => Err(Error::not_found("there is no note here that you may move")),
    }
}

fn answer(visit: &Visit, pid: i64, form: &Form) -> Result<Reply> {
    let opened = writable(visit, pid)?;
    let is_trash = form.field("do").ends_with("trash");
    let dry_run = form.field("do").starts_with("show");
    let to = match form.field("to").trim() {
        "" => opened.path.clone(),
        to => to.to_owned(),
    };
    let request = MoveRequest {
        note: NoteRef { pid: Some(pid), ..NoteRef::default() },
        to: if is_trash { TO_TRASH } else { &to },
        etag: Some(form.field("etag")),
        dry_run,
        actor: visit.rights().actor("web"),
        fenced: visit.rights().role() != Role::Owner,
    };
    match visit.app().move_page(&request, visit.rights()) {
        Ok(moved) if dry_run => {
            page(visit, &opened, to.clone(), Some(plan(moved, is_trash)), None).map(Into::into)
        }
        Ok(moved) => Ok(Reply::see(&after(visit, pid, moved, is_trash))),
        Err(error) if error.code == Code::Conflict => {
            let problem = "The note was changed meanwhile. Look at it again, then repeat this.";
            let html = page(visit, &opened, to.clone(), None, Some(problem.to_owned()))?;
            Ok(html.with_status(StatusCode::CONFLICT).into())
        }
        Err(error) if matches!(error.code, Code::InvalidParams | Code::Limit | Code::Outside) => {
            let problem = Some(sentence(error.plain()));
            let html = page(visit, &opened, to.clone(), None, problem)?;
            Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
        }
        Err(error) => Err(error),
    }
}

/// Where the reader goes on: to the note at its new place, or to where a deletion can be undone.
fn after(visit: &Visit, pid: i64, moved: MoveAnswer, is_trash: bool) -> String {
    let change = moved.change.map_or(String::new(), |id| id.to_string());
    match (is_trash, visit.rights().may(Right::History)) {
        (false, _) => format!("/n/{pid}?saved={change}"),
        (true, true) => format!("/history?deleted={change}"),
        (true, false) => "/browse".to_owned(),
    }
}

fn plan(moved: MoveAnswer, is_trash: bool) -> Plan {
    let links: usize = moved.rewritten.iter().map(|note| note.links.len()).sum();
    Plan {
        is_trash,
        from: moved.from,
        path: moved.path,
        count: match links {
            0 => "No link changes.".to_owned(),
            1 => "1 link changes with it.".to_owned(),
            links => format!("{links} links change with it."),
        },
        rewritten: moved.rewritten,
        broken: moved.broken,
    }
}

fn page(
    visit: &Visit,
    opened: &Opened,
    to: String,
    plan: Option<Plan>,
    problem: Option<String>,
) -> Result<Html> {
    let page = MovePage {
        shell: visit.shell(),
        pid: opened.pid.0,
        title: opened.title.clone(),
        to,
        etag: visit.app().etag_for_editing(opened, visit.rights()).unwrap_or_default(),
        problem,
        plan,
    };
    Html::of(&page, Audience::Caller)
}
