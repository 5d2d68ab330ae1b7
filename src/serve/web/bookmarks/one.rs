//! One bookmark: what it says, and what its owner decides about it.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::{
    access::BookmarkAccess,
    view::{BookmarkView, decided, words},
};
use crate::{
    app::bookmarks::Change,
    domain::{
        Bookmark, Pid, Result,
        query::{Action, Sentiment},
    },
    serve::web::{Audience, Form, Html, Reply, Shell, Visit, errors},
};

#[derive(Template)]
#[template(path = "bookmark.html")]
struct Page {
    shell: Shell,
    bookmark: BookmarkView,
    /// The form as it is, or as it was sent.
    draft: Draft,
    categories: Vec<String>,
    actions: Vec<(&'static str, String)>,
    sentiments: &'static [Sentiment],
    /// Who decided on each value.
    decided: Decided,
    etag: String,
    pid: Pid,
    may_write: bool,
    may_undo: bool,
    is_stale: bool,
    saved: bool,
}

struct Decided {
    category: String,
    tags: String,
    action: String,
    sentiment: String,
    summary: String,
}

/// What the form says of a bookmark.
#[derive(Debug, Default, PartialEq)]
struct Draft {
    category: String,
    tags: String,
    action: String,
    sentiment: String,
    summary: String,
}

impl Draft {
    fn of(bookmark: &Bookmark) -> Self {
        Self {
            category: bookmark.category.as_ref().map(|j| j.value.clone()).unwrap_or_default(),
            tags: bookmark.tags.as_ref().map(|j| j.value.join(", ")).unwrap_or_default(),
            action: bookmark.action.as_ref().map(|j| j.value.to_string()).unwrap_or_default(),
            sentiment: bookmark.sentiment.as_ref().map(|j| j.value.to_string()).unwrap_or_default(),
            summary: bookmark.summary.as_ref().map(|j| j.value.clone()).unwrap_or_default(),
        }
    }

    fn read(form: &Form) -> Self {
        let text = |name| form.field(name).trim().to_owned();
        Self {
            category: text("category"),
            tags: text("tags"),
            action: text("action"),
            sentiment: text("sentiment"),
            summary: text("summary").replace("\r\n", "\n"),
        }
    }

    /// What differs from the bookmark. A field that is left empty is left as it is: a judgement
    /// can be replaced, not taken away.
    fn change(&self, bookmark: &Bookmark) -> Result<Option<Change>> {
        let before = Self::of(bookmark);
        if *self == before {
            return Ok(None);
        }
        let changed = |now: &String, before: &String| now != before && !now.is_empty();
        Ok(Some(Change {
            tags: (self.tags != before.tags).then(|| tags(&self.tags)),
            category: changed(&self.category, &before.category).then(|| self.category.clone()),
            action: changed(&self.action, &before.action)
                .then(|| self.action.parse::<Action>())
                .transpose()?,
            sentiment: changed(&self.sentiment, &before.sentiment)
                .then(|| self.sentiment.parse::<Sentiment>())
                .transpose()?,
            summary: changed(&self.summary, &before.summary).then(|| self.summary.clone()),
        }))
    }
}

/// Tags as somebody types them: with commas between them, with or without `#`.
pub fn tags(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in text.split([',', '、']) {
        let tag = tag.trim().trim_start_matches('#').trim();
        if !tag.is_empty() && !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

/// The words of actions, each as the form sends it and as people read it.
pub fn actions() -> Vec<(&'static str, String)> {
    Action::ALL.iter().map(|action| (action.as_str(), words(action.as_str()))).collect()
}

/// `GET /bookmarks/{pid}`.
pub async fn show(Path(pid): Path<i64>, visit: Visit) -> Response {
    visit
        .run(move |visit| match BookmarkAccess::to_read(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => {
                let bookmark = access.get(Pid(pid))?;
                let draft = Draft::of(&bookmark);
                page(&access, Pid(pid), &bookmark, draft, false).map(Reply::from)
            }
        })
        .await
}

/// `POST /bookmarks/{pid}`.
pub async fn save(Path(pid): Path<i64>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| match BookmarkAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => change(&access, Pid(pid), &form),
        })
        .await
}

fn change(access: &BookmarkAccess<'_>, pid: Pid, form: &Form) -> Result<Reply> {
    let bookmark = access.get(pid)?;
    let draft = Draft::read(form);
    let saved = Reply::see(&format!("/bookmarks/{pid}?saved=1"));
    let Some(change) = draft.change(&bookmark)? else { return Ok(saved) };
    if form.value("etag").is_some_and(|seen| access.etag(pid).is_ok_and(|now| now != seen)) {
        let html = page(access, pid, &bookmark, draft, true)?;
        return Ok(html.with_status(StatusCode::CONFLICT).into());
    }
    access.0.app().change_bookmark(&bookmark.id, &change, &access.actor())?;
    Ok(saved)
}

/// `POST /bookmarks/{pid}/delete`.
pub async fn delete(Path(pid): Path<i64>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| match BookmarkAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(access) => {
                let bookmark = access.get(Pid(pid))?;
                visit.app().remove_bookmark(&bookmark.id, &access.actor())?;
                Ok(match access.last_change(Pid(pid))? {
                    Some(change) => Reply::see(&format!("/bookmarks?deleted={change}")),
                    None => Reply::see("/bookmarks"),
                })
            }
        })
        .await
}

fn page(
    access: &BookmarkAccess<'_>,
    pid: Pid,
    bookmark: &Bookmark,
    draft: Draft,
    is_stale: bool,
) -> Result<Html> {
    let visit = access.0;
    let mut categories = visit.app().category_names()?;
    if !draft.category.is_empty() && !categories.contains(&draft.category) {
        categories.push(draft.category.clone());
    }
    let page = Page {
        shell: visit.shell(),
        bookmark: BookmarkView::of(pid, bookmark),
        draft,
        categories,
        actions: actions(),
        sentiments: Sentiment::ALL,
        decided: Decided {
            category: decided(&bookmark.category),
            tags: decided(&bookmark.tags),
            action: decided(&bookmark.action),
            sentiment: decided(&bookmark.sentiment),
            summary: decided(&bookmark.summary),
        },
        etag: access.etag(pid)?,
        pid,
        may_write: access.may_write(),
        may_undo: access.may_undo(),
        is_stale,
        saved: visit.value("saved").is_some(),
    };
    Html::of(&page, Audience::Caller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Timestamp, bookmark::Judged};

    #[test]
    fn a_form_changes_what_differs() {
        let mut bookmark = Bookmark::new(Some("1"), "", "text", Timestamp(0)).unwrap();
        bookmark.category = Some(Judged::by_rule("AI".to_owned(), 0.5));
        bookmark.tags = Some(Judged::by_rule(vec!["a".into(), "б".into()], 0.5));
        assert!(Draft::of(&bookmark).change(&bookmark).unwrap().is_none());
        let draft = Draft { tags: "#a, 家、a,".into(), ..Draft::of(&bookmark) };
        let change = draft.change(&bookmark).unwrap().unwrap();
        assert_eq!(change.tags.unwrap(), ["a", "家"]);
        assert!(change.category.is_none() && change.action.is_none());
        let bad = Draft { action: "dance".into(), ..Draft::of(&bookmark) };
        assert!(bad.change(&bookmark).is_err());
    }
}
