//! Editing in the browser: a section or the whole note, with a preview. An edit of a text that
//! changed meanwhile shows both and saves nothing.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::{
    super::{Audience, Form, Html, Shell, Visit, errors::sentence, visit::Reply},
    history::{DiffLine, diff_lines},
    links::PageLinks,
    open, scrollable,
};
use crate::{
    app::{
        edit::{EditOp, EditRequest, Place, section_finder},
        notes::{NoteRef, Opened},
        rights::Right,
    },
    domain::{Code, Error, Kind, Result, user::Role},
    markdown::{Note, edit::Edit, html::page},
};

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    shell: Shell,
    /// The note; `None` for one that is to be made.
    pid: Option<i64>,
    title: String,
    path: String,
    /// The headings that lead to the section, as JSON; empty for the whole note.
    section: String,
    section_name: String,
    etag: String,
    text: String,
    preview: String,
    problem: Option<String>,
    conflict: Option<Conflict>,
}

/// What somebody else made of the text.
struct Conflict {
    current: String,
    diff: Vec<DiffLine>,
}

#[derive(Template)]
#[template(source = "<div id=\"preview\">{{ html|safe }}</div>", ext = "html")]
struct PreviewPart {
    html: String,
}

/// The text of a target and how it is called.
struct Target {
    path: Vec<String>,
    text: String,
}

impl Target {
    /// The section with these headings, or the whole file for none.
    fn of(opened: &Opened, path: &[String]) -> Result<Self> {
        let text = match path.is_empty() {
            true => opened.text.clone(),
            false => {
                let section = opened.note.outline.find(path)?;
                opened.note.section(&opened.text, section).to_owned()
            }
        };
        Ok(Self { path: path.to_vec(), text })
    }

    fn json(&self) -> String {
        match self.path.is_empty() {
            true => String::new(),
            false => serde_json::json!(self.path).to_string(),
        }
    }
}

/// Refuses whoever may not write notes.
fn check(visit: &Visit) -> Result<()> {
    match visit.rights().may(Right::Write(Kind::Page)) {
        true => Ok(()),
        false => Err(Error::not_found("there is nothing here that you may edit")),
    }
}

/// `GET /n/{pid}/edit?section=N`.
pub async fn show(Path(pid): Path<i64>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            check(visit)?;
            let opened = open(visit, pid)?;
            let number: usize =
                visit.value("section").and_then(|number| number.parse().ok()).unwrap_or(0);
            let sections = opened.note.outline.sections();
            let section = sections.get(number).ok_or_else(|| {
                Error::not_found("this note has no such section any more; open the note again")
            })?;
            let path = match number {
                0 => Vec::new(),
                _ => opened.note.outline.path_of(section),
            };
            let target = Target::of(&opened, &path)?;
            form(visit, &opened, target, None)
        })
        .await
}

/// `POST /n/{pid}/edit`: saves, or shows a preview.
pub async fn save(Path(pid): Path<i64>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit.run(move |visit| submit(visit, pid, &form)).await
}

fn submit(visit: &Visit, pid: i64, sent: &Form) -> Result<Reply> {
    check(visit)?;
    let opened = open(visit, pid)?;
    let path: Vec<String> = match sent.field("section") {
        "" => Vec::new(),
        json => serde_json::from_str(json)
            .map_err(|_| Error::invalid_params("the form names no section; open the note again"))?,
    };
    let text = with_line_ends(sent.field("text"), &opened.text);
    let wants_preview = sent.field("do") == "preview" || visit.wants_part();
    if wants_preview {
        let target = Target { path, text };
        if visit.wants_part() {
            let html = rendered(visit, &opened, &target.text)?;
            return Ok(Html::of(&PreviewPart { html }, Audience::Caller)?.into());
        }
        let etag = sent.field("etag").to_owned();
        return form_with(visit, &opened, target, etag, None).map(Into::into);
    }
    let find = section_finder(|outline| outline.find(&path));
    let request = EditRequest {
        note: NoteRef { pid: Some(pid), ..NoteRef::default() },
        place: if path.is_empty() { Place::Note } else { Place::Section(&find) },
        op: match path.is_empty() {
            true => EditOp::Rewrite(&text),
            false => EditOp::Change(Edit::Replace(&text)),
        },
        etag: Some(sent.field("etag")),
        dry_run: false,
        actor: visit.rights().actor("web"),
        fenced: visit.rights().role() != Role::Owner,
    };
    match visit.app().edit_page(&request, visit.rights()) {
        Ok(answer) => {
            let change = answer.change.map_or(String::new(), |id| format!("?saved={id}"));
            let place = answer.match_id.map_or(String::new(), |id| format!("#c{}", id.chunk));
            Ok(Reply::see(&format!("/n/{pid}{change}{place}")))
        }
        Err(error) if error.code == Code::Conflict => {
            let html = conflict(visit, pid, Target { path, text }, &error)?;
            Ok(html.with_status(StatusCode::CONFLICT).into())
        }
        Err(error) if matches!(error.code, Code::InvalidParams | Code::Limit | Code::Outside) => {
            let etag = sent.field("etag").to_owned();
            let problem = Some(sentence(error.plain()));
            let html = form_with(visit, &opened, Target { path, text }, etag, problem)?;
            Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
        }
        Err(error) => Err(error),
    }
}

/// Browsers send CRLF. A note keeps the line ends that it has.
fn with_line_ends(sent: &str, original: &str) -> String {
    let text = sent.replace("\r\n", "\n");
    match original.contains("\r\n") {
        true => text.replace('\n', "\r\n"),
        false => text,
    }
}

fn rendered(visit: &Visit, opened: &Opened, text: &str) -> Result<String> {
    let links = PageLinks::new(visit.app(), visit.rights(), opened)?;
    page::preview(text, &links).map(scrollable)
}

fn form(visit: &Visit, opened: &Opened, target: Target, problem: Option<String>) -> Result<Html> {
    let etag = visit.app().etag_for_editing(opened, visit.rights()).unwrap_or_default();
    form_with(visit, opened, target, etag, problem)
}

fn form_with(
    visit: &Visit,
    opened: &Opened,
    target: Target,
    etag: String,
    problem: Option<String>,
) -> Result<Html> {
    let page = EditPage {
        shell: visit.shell(),
        pid: Some(opened.pid.0),
        title: opened.title.clone(),
        path: opened.path.clone(),
        section: target.json(),
        section_name: target.path.join(" › "),
        etag,
        preview: rendered(visit, opened, &target.text)?,
        text: target.text,
        problem,
        conflict: None,
    };
    Html::of(&page, Audience::Caller)
}

/// The page that shows both versions. Saving from it replaces the current one.
fn conflict(visit: &Visit, pid: i64, mine: Target, error: &Error) -> Result<Html> {
    let opened = open(visit, pid)?;
    let current = Target::of(&opened, &mine.path).map(|target| target.text).unwrap_or_default();
    let etag = visit.app().etag_for_editing(&opened, visit.rights()).unwrap_or_default();
    let why = error.plain().lines().next().unwrap_or_default();
    let why = why.split(". Nothing was changed").next().unwrap_or(why);
    let page = EditPage {
        shell: visit.shell(),
        pid: Some(pid),
        title: opened.title.clone(),
        path: opened.path.clone(),
        section: mine.json(),
        section_name: mine.path.join(" › "),
        etag,
        preview: rendered(visit, &opened, &mine.text)?,
        problem: Some(sentence(why.trim_start_matches("conflict: "))),
        conflict: Some(Conflict { diff: diff_lines(&current, &mine.text), current }),
        text: mine.text,
    };
    Html::of(&page, Audience::Caller)
}

/// `GET /new?path=…`: a note to be made.
pub async fn new(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let path = visit.value("path").unwrap_or_default().to_owned();
            new_form(visit, path, String::new(), None)
        })
        .await
}

/// `POST /new`.
pub async fn make(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            check(visit)?;
            let path = form.field("path").trim().to_owned();
            let text = with_line_ends(form.field("text"), "");
            if visit.wants_part() || form.field("do") == "preview" {
                return new_form(visit, path, text, None).map(Reply::from);
            }
            let note = NoteRef { path: Some(path.clone()), ..NoteRef::default() };
            let request = EditRequest {
                note,
                place: Place::Note,
                op: EditOp::Create { text: &text, fields: None },
                etag: None,
                dry_run: false,
                actor: visit.rights().actor("web"),
                fenced: visit.rights().role() != Role::Owner,
            };
            match visit.app().edit_page(&request, visit.rights()) {
                Ok(answer) => Ok(Reply::see(&match answer.pid {
                    Some(pid) => format!("/n/{pid}"),
                    None => "/browse".to_owned(),
                })),
                Err(error) if matches!(error.code, Code::InvalidParams | Code::Limit) => {
                    let problem = Some(sentence(error.plain()));
                    let html = new_form(visit, path, text, problem)?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

fn new_form(visit: &Visit, path: String, text: String, problem: Option<String>) -> Result<Html> {
    let nowhere = |_: &crate::markdown::links::LinkTarget| None;
    let preview = Note::parse(&text, "").page(&text, &nowhere)?;
    if visit.wants_part() {
        return Html::of(&PreviewPart { html: preview }, Audience::Caller);
    }
    let page = EditPage {
        shell: visit.shell(),
        pid: None,
        title: "New note".to_owned(),
        path,
        section: String::new(),
        section_name: String::new(),
        etag: String::new(),
        text,
        preview,
        problem,
        conflict: None,
    };
    Html::of(&page, Audience::Caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_keeps_its_line_ends() {
        assert_eq!(with_line_ends("a\r\nб\r\n", "x\n"), "a\nб\n");
        assert_eq!(with_line_ends("a\r\nб\r\n", "x\r\ny\r\n"), "a\r\nб\r\n");
    }
}
