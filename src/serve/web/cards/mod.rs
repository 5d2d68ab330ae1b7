//! Cards as a board: made, ticked, coloured, labelled, pinned, archived, arranged, deleted. Every
//! change is a form; the script only saves the reload.

mod access;
mod act;
mod board;
mod draft;
mod edit;
mod picture;
mod view;

use axum::{
    Router,
    routing::{get, post},
};

use crate::serve::http::Site;

/// The pages of cards.
pub fn pages() -> Router<Site> {
    Router::new()
        .route("/cards", get(board::show).post(edit::create))
        .route("/cards/{id}", get(edit::show).post(act::act))
        .route("/cards/{id}/edit", post(edit::save))
        .route("/cards/{id}/pictures", post(picture::add))
        .route("/cards/{id}/pictures/{n}", get(picture::show))
}
