//! Pages for people: server-rendered HTML, one stylesheet and one script. Every page works without
//! the script. The pages call the same use cases as the tools; they decide nothing themselves.
//!
//! One file per group of pages, one template per page in `assets/web/`. A handler takes a [`Visit`],
//! hands its work to [`Visit::run`], fills a template that has a [`Shell`], and returns a
//! [`Html`] with its [`Audience`].

mod account;
mod age;
mod answer;
mod asked;
mod assets;
pub mod bookmarks;
mod browse;
mod cards;
pub mod errors;
mod form;
mod front;
mod hits;
mod manage;
mod market;
mod note;
pub(super) mod plot;
mod prompts;
mod public;
mod recent;
mod reports;
mod setup;
mod shell;
mod sign_in;
mod spool;
mod theme;
mod top_up;
mod upload;
mod visit;

pub use answer::{Audience, Html};
pub use form::Form;
pub use shell::Shell;
pub use upload::Upload;
pub use visit::{Reply, Visit};

use axum::{
    Router,
    routing::{get, post},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::http::Site;

/// The pages. They see what the caller's rights show.
pub(super) fn pages() -> Router<Site> {
    let pages = Router::new()
        .route("/", get(front::show))
        .route("/suggest", get(front::suggest))
        .route("/browse", get(browse::show))
        .route("/account", get(account::show))
        .route("/account/connection", post(account::disconnect))
        .route("/account/password", post(account::set_password))
        .route("/account/session", post(account::end_session))
        .route("/account/token", post(account::tokens::make))
        .route("/account/token/revoke", post(account::tokens::revoke))
        .route("/audit", get(manage::audit::show))
        .route("/connect", get(account::connect::show))
        .route("/doctor", get(manage::status::doctor))
        .route("/status", get(manage::status::show))
        .route("/users", get(manage::users::show).post(manage::users::add))
        .route("/users/{name}", get(manage::users::one).post(manage::users::change))
        .route("/feed.xml", get(public::feed))
        .route("/sitemap.xml", get(public::map))
        .route("/@{name}", get(public::by_author))
        .route("/preview", get(note::preview))
        .route("/n/{pid}", get(note::by_number))
        .route("/n/{pid}/edit", get(note::edit::show).post(note::edit::save))
        .route("/n/{pid}/file/{*path}", get(note::file::show))
        .route("/n/{pid}/history", get(note::history::of_item))
        .route("/n/{pid}/history/{version}", get(note::history::version))
        .route("/n/{pid}/move", get(note::moving::show).post(note::moving::submit))
        .route("/n/{pid}/restore", post(note::history::restore))
        .route("/new", get(note::edit::new).post(note::edit::make))
        .route("/history", get(note::history::of_all))
        .route("/undo", post(note::history::undo))
        .route("/theme", post(theme::set))
        .merge(bookmarks::pages())
        .merge(cards::pages())
        .merge(market::pages())
        .merge(reports::pages())
        .merge(prompts::pages())
        .fallback(note::by_path);
    #[cfg(feature = "passkeys")]
    let pages = pages.merge(account::passkeys::pages());
    pages
}

/// What everybody may open: the stylesheet, the script and the icon, and the way in.
pub(super) fn open() -> Router<Site> {
    let entrances = Router::new()
        .route("/_system/web/{name}", get(assets::file))
        .route("/robots.txt", get(public::robots))
        .route("/manifest.webmanifest", get(assets::manifest))
        .route("/sign-in", get(sign_in::show).post(sign_in::enter))
        .route("/sign-out", post(sign_in::leave))
        .route("/setup", get(setup::show).post(setup::make));
    #[cfg(feature = "passkeys")]
    let entrances = entrances.merge(account::passkeys::entrances());
    entrances
}

/// The address of a path with these values. Blank ones are left out.
pub fn address<'a>(path: &str, values: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let given = values.into_iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> =
        given.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    match pairs.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", pairs.join("&")),
    }
}

/// The place in a list where a page starts, for an address: nothing for the first page.
pub fn start_in_address(start: usize) -> String {
    if start == 0 { String::new() } else { start.to_string() }
}

/// A text as one part of an address, whatever it holds.
pub fn encode(text: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, KEPT).to_string()
}
