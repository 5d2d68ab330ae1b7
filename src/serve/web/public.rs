//! The free pages as a site: a feed, a map for search engines, and a page for each author.

use askama::Template;
use axum::{extract::Path, response::Response};

use super::{Audience, Html, Shell, Visit, age::Age, encode, visit::Reply};
use crate::{
    app::public::ListedPage,
    config::Anonymous,
    domain::{Author, Error, Result, Timestamp},
};

/// Entries of the feed.
const IN_FEED: usize = 30;
/// Addresses that a map may have.
const IN_MAP: usize = 50_000;

#[derive(Template)]
#[template(path = "feed.xml")]
struct Feed {
    title: String,
    site: String,
    updated: Timestamp,
    entries: Vec<Entry>,
}

struct Entry {
    title: String,
    href: String,
    id: String,
    author: String,
    published: Timestamp,
    updated: Timestamp,
    summary: String,
}

#[derive(Template)]
#[template(path = "sitemap.xml")]
struct Map {
    pages: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "author.html")]
struct AuthorPage {
    shell: Shell,
    name: String,
    endpoint: String,
    canonical: String,
    notes: Vec<NoteLine>,
    methods: Vec<MethodLine>,
}

struct NoteLine {
    href: String,
    title: String,
    age: Age,
}

struct MethodLine {
    name: String,
    title: String,
    description: String,
    price: Option<String>,
}

/// Text without what XML cannot hold.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// `GET /feed.xml`: the newest free pages. The same for everybody.
pub async fn feed(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let app = visit.app();
            let rights = app.public();
            let pages = app.listed_pages(&rights)?;
            let entry = |page: &ListedPage| -> Result<Option<Entry>> {
                let Some(opened) = app.open_pid(page.pid, &rights)? else { return Ok(None) };
                let summary = opened.note.preview(opened.note.outline.root(), 400);
                Ok(Some(Entry {
                    title: plain(&page.title),
                    href: app.href(&page.path),
                    id: format!("{}/n/{}", app.config.public_url(), page.pid),
                    author: plain(page.author.as_deref().unwrap_or(&app.config.web.title)),
                    published: page.date,
                    updated: page.changed,
                    summary: plain(&summary),
                }))
            };
            let entries: Vec<Option<Entry>> =
                pages.iter().take(IN_FEED).map(entry).collect::<Result<_>>()?;
            let entries: Vec<Entry> = entries.into_iter().flatten().collect();
            let newest = entries.iter().map(|entry| entry.updated).max();
            let feed = Feed {
                title: plain(&app.config.web.title),
                site: app.config.public_url(),
                updated: newest.unwrap_or(Timestamp(0)),
                entries,
            };
            let html = Html::of(&feed, Audience::Everybody)?;
            Ok(html.with_kind("application/atom+xml; charset=utf-8"))
        })
        .await
}

/// `GET /sitemap.xml`: every free page.
pub async fn map(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let app = visit.app();
            let pages = match app.config.web.robots {
                true => app.listed_pages(&app.public())?,
                false => Vec::new(),
            };
            let pages = pages.iter().take(IN_MAP);
            let map = Map {
                pages: pages.map(|page| (app.href(&page.path), page.changed.date())).collect(),
            };
            let html = Html::of(&map, Audience::Everybody)?;
            Ok(html.with_kind("application/xml; charset=utf-8"))
        })
        .await
}

/// `GET /robots.txt`.
pub async fn robots(visit: Visit) -> Response {
    let app = visit.app();
    let open = app.config.web.robots && app.config.server.anonymous != Anonymous::Off;
    let text = match open {
        true => format!(
            "User-agent: *\nDisallow: /_system/\nDisallow: /mcp\nDisallow: /suggest\nSitemap: {}/sitemap.xml\n",
            app.config.public_url()
        ),
        false => "User-agent: *\nDisallow: /\n".to_owned(),
    };
    Html::plain(text, Audience::Everybody).answer(&visit.headers)
}

/// `GET /@{name}`: what an author has for this caller.
pub async fn by_author(Path(name): Path<String>, visit: Visit) -> Response {
    visit.run(move |visit| author(visit, &name)?.ok_or_else(no_author)).await
}

fn no_author() -> Error {
    Error::not_found("nobody of this name has anything here that you may read")
}

/// The page of an author; `None` where the caller sees nothing of theirs.
pub fn author(visit: &Visit, name: &str) -> Result<Option<Reply>> {
    let app = visit.app();
    let Some(author) = Author::new(name) else { return Ok(None) };
    let rights = visit.rights().clone().confined_to(author.clone());
    if app.knows_author(&rights)? != Some(true) {
        return Ok(None);
    }
    let pages = app.listed_pages(&rights)?;
    let shown = pages.iter().find_map(|page| page.author.clone());
    let methods = app.methods(&rights)?.into_iter().filter(|method| !method.is_initialize());
    let base = app.config.public_url();
    let page = AuthorPage {
        shell: visit.shell(),
        name: shown.unwrap_or_else(|| author.as_str().to_owned()),
        endpoint: format!("{base}/mcp/{}", encode(author.as_str())),
        canonical: format!("{base}/@{}", encode(author.as_str())),
        notes: pages
            .into_iter()
            .map(|page| NoteLine {
                href: format!("/n/{}", page.pid),
                title: page.title,
                age: Age::of(page.date),
            })
            .collect(),
        methods: methods
            .map(|method| MethodLine {
                price: method
                    .price()
                    .map(|price| format!("{price} {}", app.config.market.currency)),
                name: method.name,
                title: method.title,
                description: method.description,
            })
            .collect(),
    };
    let audience = match visit.is_known() {
        true => Audience::Caller,
        false => Audience::Everybody,
    };
    Html::of(&page, audience).map(Reply::from).map(Some)
}
