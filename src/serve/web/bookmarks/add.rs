//! Saving a link: from the form, from the bookmarklet, or shared by another app of the phone.

use askama::Template;
use axum::response::Response;

use super::{
    access::BookmarkAccess,
    one::{actions, tags},
};
use crate::{
    app::bookmarks::{Add, Change},
    domain::{Result, Timestamp, query::Action},
    serve::web::{Audience, Form, Html, Reply, Shell, Visit, errors},
};

#[derive(Template)]
#[template(path = "bookmark_add.html")]
struct Page {
    shell: Shell,
    url: String,
    title: String,
    text: String,
    categories: Vec<String>,
    actions: Vec<(&'static str, String)>,
    /// What a bookmark of the browser runs.
    bookmarklet: String,
}

/// `GET /bookmarks/add?url=&title=&text=`. Nothing is saved before the form is sent.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match BookmarkAccess::to_write(visit) {
            None => Ok(Reply::from(errors::forbidden(visit))),
            Some(_) => page(visit).map(Reply::from),
        })
        .await
}

fn page(visit: &Visit) -> Result<Html> {
    let given = |name| visit.value(name).unwrap_or_default().to_owned();
    let (mut url, mut text) = (given("url"), given("text"));
    // Android shares the address inside of the text.
    if url.is_empty()
        && let Some(found) = shared_address(&text)
    {
        url = found.to_owned();
        text = text.replace(found, "").trim().to_owned();
    }
    let page = Page {
        shell: visit.shell(),
        url,
        title: given("title"),
        text,
        categories: visit.app().category_names()?,
        actions: actions(),
        bookmarklet: bookmarklet(&visit.base),
    };
    Html::of(&page, Audience::Caller)
}

/// `POST /bookmarks/add`.
pub async fn save(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let Some(access) = BookmarkAccess::to_write(visit) else {
                return Ok(Reply::from(errors::forbidden(visit)));
            };
            let given = |name| form.value(name).map(|value: &str| value.replace("\r\n", "\n"));
            let tags = tags(form.field("tags"));
            let add = Add {
                url: form.field("url").to_owned(),
                title: given("title"),
                text: given("text"),
                author: given("author"),
                change: Change {
                    tags: (!tags.is_empty()).then_some(tags),
                    category: given("category"),
                    action: form.value("action").map(str::parse::<Action>).transpose()?,
                    ..Change::default()
                },
            };
            let (put, _) = visit.app().add_bookmark(add, Timestamp::now(), &access.actor())?;
            Ok(Reply::see(&format!("/bookmarks/{}?saved=1", put.pid())))
        })
        .await
}

fn shared_address(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| word.starts_with("https://") || word.starts_with("http://"))
}

/// A program for the bookmarks bar: opens the form with the page and what is selected on it.
fn bookmarklet(base: &str) -> String {
    // The base is a host that the guard has checked; quotes in it would end the text.
    let base: String = base.chars().filter(|c| !matches!(c, '\'' | '"' | '\\' | '<')).collect();
    format!(
        "javascript:(()=>{{const e=encodeURIComponent;location.href='{base}/bookmarks/add?url='+e(location.href)+'&title='+e(document.title)+'&text='+e(String(getSelection()).slice(0,4000))}})()"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_a_shared_text() {
        let text = "Смотри: https://example.org/a?b=c на досуге";
        assert_eq!(shared_address(text), Some("https://example.org/a?b=c"));
        assert_eq!(shared_address("ftp://example.org 見て"), None);
        assert!(bookmarklet("http://a'b").contains("='http://ab/bookmarks/add?url='+"));
    }
}
