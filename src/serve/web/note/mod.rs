//! Reading an item: its text, its outline, and what stands around it.

mod around;
pub mod edit;
pub mod file;
pub mod history;
mod links;
pub mod moving;

use askama::Template;
use axum::{extract::Path, http::Method, response::Response};
use percent_encoding::percent_decode_str;

use self::{
    around::{Around, around},
    links::PageLinks,
};
use super::{Audience, Html, Shell, Visit, age::Age, asked::noun, encode, public, visit::Reply};
use crate::{
    app::{
        notes::{NoteRef, Opened},
        rights::Right,
    },
    domain::{Code, Error, Kind, Pid, Result, Timestamp, Toolset, property},
};

#[derive(Template)]
#[template(path = "note.html")]
struct NotePage {
    shell: Shell,
    pid: Pid,
    title: String,
    kind: &'static str,
    is_page: bool,
    crumbs: Vec<(String, String)>,
    source: Option<String>,
    author: Option<String>,
    age: Option<Age>,
    is_free: bool,
    properties: Vec<(String, String)>,
    outline: Vec<Heading>,
    body: String,
    around: Around,
    may_edit: bool,
    may_undo: bool,
    saved: Option<i64>,
    canonical: Option<String>,
    summary: String,
    indexed: bool,
}

/// A line of the outline.
struct Heading {
    id: String,
    title: String,
    level: u8,
}

#[derive(Template)]
#[template(path = "preview.html")]
struct Preview {
    title: String,
    text: String,
}

/// `GET /n/{pid}`.
pub async fn by_number(Path(pid): Path<i64>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            let opened = open(visit, pid)?;
            match page_of_its_own(visit, Pid(pid))? {
                Some(address) => Ok(Reply::see(&address)),
                None => show(visit, &opened),
            }
        })
        .await
}

/// Where an item is shown that has pages of its own kind, if the caller may open those.
fn page_of_its_own(visit: &Visit, pid: Pid) -> Result<Option<String>> {
    let item = visit.app().store.items.get(pid)?.filter(|item| !item.gone);
    let may = |toolset| visit.rights().may(Right::Use(toolset));
    Ok(item.and_then(|item| match item.kind {
        Kind::Bookmark if may(Toolset::Bookmarks) => Some(format!("/bookmarks/{pid}")),
        Kind::Prompt => Some(format!("/prompts/of/{}", encode(&item.key))),
        Kind::Card if may(Toolset::Cards) => Some(format!("/cards/{}", encode(&item.key))),
        _ => None,
    }))
}

/// Any other address: the path of a note.
pub async fn by_path(method: Method, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            if method != Method::GET && method != Method::HEAD {
                return Err(absent());
            }
            match find(visit, &visit.path) {
                Ok(opened) => show(visit, &opened),
                // `/mira` shows what is Mira's.
                Err(error) if error.code == Code::NotFound => {
                    let name = percent_decode_str(visit.path.trim_matches('/')).decode_utf8_lossy();
                    public::author(visit, &name)?.ok_or(error)
                }
                Err(error) => Err(error),
            }
        })
        .await
}

/// `GET /preview?href=PATH`: the beginning of a note, for a link to it.
pub async fn preview(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let href = visit.value("href").unwrap_or_default();
            let opened = match href.strip_prefix("/n/").and_then(|pid| pid.parse().ok()) {
                Some(pid) => open(visit, pid)?,
                None => find(visit, href)?,
            };
            let text = opened.note.preview(opened.note.outline.root(), 280);
            Html::of(&Preview { title: opened.title, text }, Audience::Caller)
        })
        .await
}

fn absent() -> Error {
    Error::not_found("there is no page at this address that you may see")
}

/// The item of a number, if the caller may see it.
fn open(visit: &Visit, pid: i64) -> Result<Opened> {
    visit.app().await_first_look();
    visit.app().open_pid(Pid(pid), visit.rights())?.ok_or_else(absent)
}

/// The note at a path, if the caller may see it.
fn find(visit: &Visit, path: &str) -> Result<Opened> {
    let reference = NoteRef { href: Some(path.to_owned()), ..NoteRef::default() };
    visit.app().open_note(&reference, visit.rights()).map_err(|error| match error.code {
        Code::InvalidParams => absent(),
        _ => error,
    })
}

fn show(visit: &Visit, opened: &Opened) -> Result<Reply> {
    let (app, rights) = (visit.app(), visit.rights());
    let body = scrollable(opened.note.page(&opened.text, &PageLinks::new(app, rights, opened)?)?);
    let page = opened.page.as_ref().map(|row| &row.facts.page);
    let is_free = page.is_some_and(|page| page.free);
    let sections = &opened.note.outline.sections()[1..];
    let headings = opened.note.heading_ids().into_iter().zip(sections);
    let may_edit = page.is_some_and(|page| rights.writes(page));
    let outline: Vec<Heading> = headings
        .map(|(id, section)| Heading { id, title: section.title.clone(), level: section.level })
        .collect();
    let body = if may_edit { with_edit_links(body, opened.pid, &outline) } else { body };
    let mut shell = visit.shell();
    if let Some(lang) = page.and_then(|page| page.lang.clone()) {
        shell.lang = lang;
    }
    let canonical = page.filter(|_| is_free).map(|_| app.href(&opened.path));
    let view = NotePage {
        shell,
        pid: opened.pid,
        title: opened.title.clone(),
        kind: noun(opened.kind),
        is_page: opened.kind == Kind::Page,
        crumbs: match opened.kind {
            Kind::Page => crumbs(&opened.path),
            _ => Vec::new(),
        },
        source: (opened.kind == Kind::Bookmark).then(|| opened.url.clone()),
        author: page.and_then(|page| page.author.clone()),
        age: opened.page.as_ref().map(|row| Age::of(Timestamp(row.mtime_ns / 1_000_000))),
        is_free,
        properties: shown_properties(opened),
        outline,
        body,
        around: around(app, rights, opened)?,
        may_edit,
        may_undo: rights.may(Right::History),
        saved: just_saved(visit, opened.pid)?,
        canonical,
        summary: opened.note.preview(opened.note.outline.root(), 200),
        indexed: is_free && app.config.web.robots,
    };
    // What everybody may read, asked for by nobody in particular, may be kept on the way.
    let audience = match is_free && !visit.is_known() {
        true => Audience::Everybody,
        false => Audience::Caller,
    };
    Ok(Html::of(&view, audience)?.into())
}

/// The change that brought the reader here, if it is the newest of this note: what an address says
/// alone offers nothing to undo.
fn just_saved(visit: &Visit, pid: Pid) -> Result<Option<i64>> {
    let named = visit.value("saved").and_then(|change| change.parse::<i64>().ok());
    let Some(named) = named.filter(|_| visit.is_known()) else { return Ok(None) };
    let newest = visit.app().store.revisions.of_item(pid, None, 1)?;
    Ok(newest.first().map(|(change, _)| change.id.0).filter(|newest| *newest == named))
}

/// The properties that the page does not show elsewhere.
fn shown_properties(opened: &Opened) -> Vec<(String, String)> {
    opened
        .properties
        .iter()
        .filter(|(name, _)| *name != "author" && *name != "lang")
        .map(|(name, value)| (name.clone(), property::shown(value)))
        .collect()
}

/// The folders that lead to a path, each with its address.
fn crumbs(path: &str) -> Vec<(String, String)> {
    let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
    folders
        .map(|folder| {
            let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
            (name, super::browse::address(folder))
        })
        .collect()
}

/// Lets the keyboard scroll what may be wider than the page: code and tables. The HTML is sanitised,
/// so `<` begins a tag wherever it stands.
fn scrollable(html: String) -> String {
    html.replace("<pre", "<pre tabindex=\"0\"")
        .replace(
            "<table",
            "<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table",
        )
        .replace("</table>", "</table></div>")
}

/// Puts a link to edit its section into each heading of a rendered note.
fn with_edit_links(html: String, pid: Pid, outline: &[Heading]) -> String {
    let mut out = String::with_capacity(html.len() + outline.len() * 80);
    let mut rest = html.as_str();
    for (heading, section) in outline.iter().zip(1..) {
        let start = format!("<h{} id=\"{}\">", heading.level, heading.id);
        let end = format!("</h{}>", heading.level);
        let Some(at) = rest.find(&start) else { continue };
        let Some(close) = rest[at..].find(&end).map(|close| at + close) else { continue };
        out += &rest[..close];
        out += &format!(
            " <a class=\"edit\" href=\"/n/{pid}/edit?section={section}\">edit<span class=\"hidden\"> this section</span></a>"
        );
        rest = &rest[close..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_parts_can_be_scrolled_with_the_keyboard() {
        let html = "<pre><code>&lt;pre&gt;</code></pre><table align=\"left\"><tr></tr></table>";
        let out = scrollable(html.to_owned());
        assert_eq!(out.matches("tabindex=\"0\"").count(), 2, "{out}");
        assert!(out.ends_with("</table></div>") && out.contains("<table align"), "{out}");
    }

    #[test]
    fn each_heading_gets_its_own_edit_link() {
        let heading = |id: &str| Heading { id: id.into(), title: String::new(), level: 2 };
        let html = "<h2 id=\"s-a\">A</h2><p>x</p><h2 id=\"s-b\">B</h2>".to_owned();
        let out = with_edit_links(html, Pid(7), &[heading("s-a"), heading("none"), heading("s-b")]);
        assert_eq!(out.matches("class=\"edit\"").count(), 2, "{out}");
        assert!(
            out.contains("/n/7/edit?section=1") && out.contains("/n/7/edit?section=3"),
            "{out}"
        );
    }
}
