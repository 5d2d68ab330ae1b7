//! The versions of an item, what changed from one to the next, and the way back.

use askama::Template;
use axum::{extract::Path, response::Response};
use similar::{ChangeTag, TextDiff};

use super::super::{Audience, Form, Html, Shell, Visit, age::Age, errors::sentence, visit::Reply};
use crate::{
    app::{history::ChangeEntry, rights::Right},
    domain::{Code, Error, Pid, Result, count},
    store::revisions::ChangeId,
};

/// Changes on a page.
const SHOWN: usize = 30;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Lines of a difference that are shown.
const MAX_LINES: usize = 2_000;

/// A line of a difference.
#[derive(Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// `add`, `remove`, `same` or `gap`.
    pub kind: &'static str,
    /// `+`, `-`, or a space.
    pub sign: &'static str,
    /// The line.
    pub text: String,
}

/// The lines that differ, with some around them.
pub fn diff_lines(old: &str, new: &str) -> Vec<DiffLine> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            lines.push(DiffLine { kind: "gap", sign: " ", text: "…".to_owned() });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (kind, sign) = match change.tag() {
                ChangeTag::Delete => ("remove", "-"),
                ChangeTag::Insert => ("add", "+"),
                ChangeTag::Equal => ("same", " "),
            };
            let text = change.value().trim_end_matches(['\r', '\n']).to_owned();
            lines.push(DiffLine { kind, sign, text });
        }
    }
    if lines.len() > MAX_LINES {
        let left_out = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        let text = format!("… and {}", count(left_out, "more line"));
        lines.push(DiffLine { kind: "gap", sign: " ", text });
    }
    lines
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    shell: Shell,
    /// The item; `None` for the changes of all.
    pid: Option<i64>,
    title: String,
    changes: Vec<ChangeLine>,
    older: Option<String>,
    message: Option<String>,
}

struct ChangeLine {
    id: i64,
    age: Age,
    who: String,
    tool: String,
    summary: String,
    items: Vec<Changed>,
    more: usize,
    undoes: Option<i64>,
    undone_by: Option<i64>,
}

struct Changed {
    href: Option<String>,
    kind: &'static str,
    name: String,
    diff: String,
}

#[derive(Template)]
#[template(path = "version.html")]
struct VersionPage {
    shell: Shell,
    pid: i64,
    version: i64,
    name: String,
    text: Option<String>,
    diff: Vec<DiffLine>,
}

fn check(visit: &Visit) -> Result<()> {
    match visit.rights().may(Right::History) {
        true => Ok(()),
        false => Err(Error::not_found("the history is not shared with you")),
    }
}

/// `GET /n/{pid}/history`.
pub async fn of_item(Path(pid): Path<i64>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            check(visit)?;
            let app = visit.app();
            let item = app.item_with_history(Some(pid), None).map_err(|_| super::absent())?;
            let found = app.versions(item, before(visit), SHOWN)?;
            let title = match app.open_pid(Pid(pid), visit.rights())? {
                Some(opened) => opened.title,
                None => found
                    .first()
                    .and_then(|entry| entry.items.first())
                    .map_or_else(|| "Deleted item".to_owned(), |item| item.name.clone()),
            };
            list(visit, Some(pid), title, found)
        })
        .await
}

/// `GET /history`.
pub async fn of_all(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let found = visit.app().changes(before(visit), SHOWN)?;
            list(visit, None, "Changes".to_owned(), found)
        })
        .await
}

fn before(visit: &Visit) -> Option<ChangeId> {
    visit.value("before").and_then(|id| id.parse().ok()).map(ChangeId)
}

fn list(visit: &Visit, pid: Option<i64>, title: String, found: Vec<ChangeEntry>) -> Result<Html> {
    let oldest = found.last().filter(|_| found.len() == SHOWN).map(|entry| entry.change.id);
    let page = HistoryPage {
        shell: visit.shell(),
        pid,
        title,
        changes: found.into_iter().map(line).collect(),
        older: oldest.map(|id| format!("{}?before={id}", visit.path)),
        message: message(visit).map(str::to_owned),
    };
    Html::of(&page, Audience::Caller)
}

/// What brought the reader here.
fn message(visit: &Visit) -> Option<&'static str> {
    if visit.value("undone").is_some() {
        return Some("The change was taken back.");
    }
    let deleted = visit.value("deleted").is_some();
    deleted.then_some("The note is in the trash of its vault. Undo brings it back.")
}

fn line(entry: ChangeEntry) -> ChangeLine {
    let shown = entry.items.len();
    let items = entry.items.into_iter().map(|item| Changed {
        href: item.pid.map(|pid| format!("/n/{pid}/history/{}", entry.change.id)),
        kind: item.kind.as_str(),
        name: item.name,
        diff: item.diff,
    });
    ChangeLine {
        id: entry.change.id.0,
        age: Age::of(entry.change.at),
        items: items.collect(),
        more: entry.change.revisions.saturating_sub(shown),
        who: match entry.change.actor.who {
            who if who.trim().is_empty() => "an unnamed token".to_owned(),
            who => who,
        },
        tool: entry.change.actor.tool,
        summary: entry.change.summary,
        undoes: entry.change.undoes.map(|id| id.0),
        undone_by: entry.undone_by.map(|id| id.0),
    }
}

/// `GET /n/{pid}/history/{version}`.
pub async fn version(Path((pid, version)): Path<(i64, i64)>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            check(visit)?;
            let app = visit.app();
            let found =
                app.version(Pid(pid), ChangeId(version)).map_err(|error| match error.code {
                    Code::InvalidParams => Error::not_found("there is no such version"),
                    _ => error,
                })?;
            let now = app.open_pid(Pid(pid), visit.rights())?;
            let diff = match (&found.text, now.filter(|now| now.page.is_some())) {
                (Some(then), Some(now)) => diff_lines(then, &now.text),
                _ => compact(&found.diff),
            };
            let page = VersionPage {
                shell: visit.shell(),
                pid,
                version,
                name: found.name,
                text: found.text,
                diff,
            };
            Html::of(&page, Audience::Caller)
        })
        .await
}

/// The lines of a compact difference.
fn compact(diff: &str) -> Vec<DiffLine> {
    diff.lines()
        .map(|line| {
            let (kind, sign) = match line.chars().next() {
                Some('+') => ("add", "+"),
                Some('-') => ("remove", "-"),
                Some('@') => ("gap", " "),
                _ => ("same", " "),
            };
            let text = if kind == "gap" { "…" } else { line.get(1..).unwrap_or_default() };
            DiffLine { kind, sign, text: text.to_owned() }
        })
        .collect()
}

/// `POST /undo`: takes a change back.
pub async fn undo(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            check(visit)?;
            let id: i64 = form
                .field("change")
                .parse()
                .map_err(|_| Error::invalid_params("the form names no change; open the history"))?;
            let actor = visit.rights().actor("web");
            let done = visit.app().undo(Some(ChangeId(id)), false, &actor);
            done.map_err(|error| first_line(error, "change"))?;
            let back = form.back();
            let sign = if back.contains('?') { '&' } else { '?' };
            Ok(Reply::see(&format!("{back}{sign}undone={id}")))
        })
        .await
}

/// `POST /n/{pid}/restore`: brings a version back.
pub async fn restore(Path(pid): Path<i64>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            check(visit)?;
            let version: i64 = form.field("version").parse().map_err(|_| {
                Error::invalid_params("the form names no version; open the history")
            })?;
            let actor = visit.rights().actor("web");
            let restored = visit.app().restore(Pid(pid), ChangeId(version), &actor);
            let change = restored.map_err(|error| first_line(error, "version"))?;
            Ok(Reply::see(&format!("/n/{pid}?saved={change}")))
        })
        .await
}

/// The first line of a refusal; the page has no room for the rest.
fn first_line(error: Error, what: &str) -> Error {
    if !matches!(error.code, Code::Conflict | Code::InvalidParams) {
        return error;
    }
    let first = error.plain().lines().next().unwrap_or(what).to_owned();
    Error::new(error.code, sentence(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changed_and_where() {
        let old = "a\nb\nв\n四\ne\n";
        let lines = diff_lines(old, &old.replace('в', "Г"));
        let signs: String = lines.iter().map(|line| line.sign).collect();
        assert_eq!(signs, "  -+  ");
        assert_eq!(lines[3].text, "Г");
        assert!(diff_lines(old, old).is_empty());
        let long = diff_lines("", &"x\n".repeat(3_000));
        assert_eq!(long.len(), MAX_LINES + 1);
    }
}
