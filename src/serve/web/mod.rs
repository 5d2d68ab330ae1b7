//! Pages for people: server-rendered HTML, one stylesheet and one script. Every page works without
//! the script. The pages call the same use cases as the tools; they decide nothing themselves.
//!
//! One file per group of pages, one template per page in `assets/web/`. A handler takes a [`Visit`],
//! hands its work to [`Visit::run`], fills a template that has a [`Shell`], and returns a
//! [`Html`] with its [`Audience`].

mod answer;
mod assets;
mod errors;
mod form;
mod front;
mod shell;
mod theme;
mod visit;

pub use answer::{Audience, Html};
pub use form::Form;
pub use shell::Shell;
pub use visit::Visit;

use axum::{
    Router,
    routing::{get, post},
};

use super::http::Site;

/// The pages. They see what the caller's rights show.
pub(super) fn pages() -> Router<Site> {
    Router::new().route("/", get(front::show)).route("/theme", post(theme::set))
}

/// The stylesheet, the script and the icon, which are for everybody.
pub(super) fn files() -> Router<Site> {
    Router::new().route("/_system/web/{name}", get(assets::file))
}
