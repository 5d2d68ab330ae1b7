//! Bookmarks: listed, filtered, judged by hand, added from the browser, imported and exported.

mod access;
mod add;
mod asked;
mod export;
mod import;
mod job;
mod list;
mod one;
mod trends;
mod view;

pub use job::{Jobs, State as JobState};
pub use one::tags;

use axum::{
    Router,
    routing::{get, post},
};

use crate::serve::http::Site;

/// The pages of bookmarks.
pub fn pages() -> Router<Site> {
    Router::new()
        .route("/bookmarks", get(list::show))
        .route("/bookmarks/add", get(add::show).post(add::save))
        .route("/bookmarks/import", get(import::show).post(import::start))
        .route("/bookmarks/import/{id}", get(import::progress).post(import::stop))
        .route("/bookmarks/export.jsonl", get(export::file))
        .route("/bookmarks/{pid}", get(one::show).post(one::save))
        .route("/bookmarks/{pid}/delete", post(one::delete))
        .route("/trends", get(trends::show))
}
