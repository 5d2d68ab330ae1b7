//! The front page: search.

use askama::Template;
use axum::response::Response;

use super::{Audience, Html, Shell, Visit};

#[derive(Template)]
#[template(path = "front.html")]
struct Front {
    shell: Shell,
}

/// `GET /`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let mut shell = visit.shell();
            shell.query = visit.value("q").unwrap_or_default().to_owned();
            shell.focus = true;
            Html::of(&Front { shell }, Audience::Caller)
        })
        .await
}
