//! The list: the one search over bookmarks, the newest first where nothing is asked.

use askama::Template;
use axum::response::Response;

use super::{access::BookmarkAccess, asked::Asked, view::BookmarkView};
use crate::{
    domain::{
        Pid, Result, count,
        query::{Action, Sentiment},
    },
    search::DEEPEST,
    serve::web::{Audience, Html, Reply, Shell, Visit, asked::Chip, errors},
};

/// Bookmarks on a page.
const PAGE: usize = 30;
/// Categories that are offered as chips; the form has all.
const CHIPS: usize = 10;

#[derive(Template)]
#[template(path = "bookmarks.html")]
struct List {
    shell: Shell,
    asked: Asked,
    bookmarks: Vec<BookmarkView>,
    count: String,
    notes: Vec<String>,
    in_force: Vec<Chip>,
    categories: Vec<Chip>,
    actions: Vec<Chip>,
    /// Names of categories for the form.
    all_categories: Vec<String>,
    sentiments: &'static [Sentiment],
    newer: Option<String>,
    older: Option<String>,
    /// The same as a list, or as a grid.
    other_view: String,
    may_write: bool,
    sees_all: bool,
    deleted: Option<String>,
    back: String,
}

/// `GET /bookmarks`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match BookmarkAccess::to_read(visit) {
            Some(access) => page(visit, &access).map(Reply::from),
            None => Ok(Reply::from(errors::forbidden(visit))),
        })
        .await
}

fn page(visit: &Visit, access: &BookmarkAccess<'_>) -> Result<Html> {
    let asked = Asked::of(visit);
    let app = visit.app();
    let answer = app.search(asked.question(PAGE)?, visit.rights())?.answer;
    let pids: Vec<Pid> = answer.results.iter().map(|found| found.pid).collect();
    let bookmarks: Vec<BookmarkView> = app
        .store
        .bookmarks
        .get_many(&pids)?
        .iter()
        .map(|(pid, bookmark)| BookmarkView::of(*pid, bookmark))
        .collect();
    let older = answer.next.map(|start| match start + PAGE <= DEEPEST {
        true => Asked { start, ..asked.clone() }.href(),
        // A search goes no deeper; the list goes on from the day that it has come to.
        false => asked.with("to", bookmarks.last().map(|last| last.day.as_str())).href(),
    });
    let newer = asked
        .start
        .checked_sub(1)
        .map(|_| Asked { start: asked.start.saturating_sub(PAGE), ..asked.clone() }.href());
    let all_categories: Vec<String> = match access.sees_all() {
        true => app.store.bookmarks.categories()?.into_iter().map(|(name, _)| name).collect(),
        false => Vec::new(),
    };
    let total = answer.total.items;
    let count = match (total, asked.is_open()) {
        (0, _) => String::new(),
        (total, _) => count(total, "bookmark"),
    };
    let mut shell = visit.shell();
    shell.query = String::new();
    let list = List {
        shell,
        bookmarks,
        count,
        notes: answer.notes().iter().map(|note| errors::sentence(note)).collect(),
        in_force: asked.in_force(),
        categories: asked
            .choices("category", all_categories.iter().take(CHIPS).map(String::as_str)),
        actions: asked.choices("action", Action::ALL.iter().map(|action| action.as_str())),
        all_categories,
        sentiments: Sentiment::ALL,
        newer,
        older,
        other_view: Asked { grid: !asked.grid, ..asked.clone() }.href(),
        may_write: access.may_write(),
        sees_all: access.sees_all(),
        deleted: visit.value("deleted").filter(|_| access.may_undo()).map(str::to_owned),
        back: asked.href(),
        asked,
    };
    Html::of(&list, Audience::Caller)
}
