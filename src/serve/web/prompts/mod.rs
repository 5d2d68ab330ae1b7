//! Prompts: listed, searched, read with their arguments filled in, and changed.

mod draft;
mod list;
mod one;

use axum::{Router, routing::get};

use super::Visit;
use crate::{
    app::rights::Right,
    domain::{Kind, Toolset},
    serve::http::Site,
};

/// The pages of prompts.
pub fn pages() -> Router<Site> {
    Router::new()
        .route("/prompts", get(list::show))
        .route("/prompts/new", get(one::new).post(one::create))
        .route("/prompts/of/{name}", get(one::show).post(one::act))
}

/// Whether the caller may read prompts, at least those that everybody may.
fn may_read(visit: &Visit) -> bool {
    let rights = visit.rights();
    rights.may(Right::Read(Kind::Prompt)) || rights.may(Right::SharedPrompts)
}

/// Whether the caller may change prompts.
fn may_write(visit: &Visit) -> bool {
    let rights = visit.rights();
    rights.may(Right::Use(Toolset::Prompts)) && rights.may(Right::Write(Kind::Prompt))
}
