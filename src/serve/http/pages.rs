//! A note in a browser: what the address in a search result leads to. Plain, sanitised, no scripts.

use axum::{
    Extension,
    extract::State,
    http::{Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};

use super::{Site, hold, html};
use crate::{
    app::{App, notes::NoteRef, rendering::Links},
    domain::{Code, Result},
    markdown::template::{self, Part},
    serve::mcp::Link,
};

pub async fn show(
    State(site): State<Site>,
    Extension(link): Extension<Link>,
    method: Method,
    uri: Uri,
) -> Response {
    if method != Method::GET {
        return nothing();
    }
    let permit = match site.hub.permit(&link.rights).await {
        Ok(permit) => permit,
        Err(error) => return hold::busy(&error),
    };
    let app = site.hub.app.clone();
    let path = uri.path().to_owned();
    let page = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        render(&app, &link, path)
    })
    .await;
    match page {
        Ok(Ok(page)) => html::answer(page),
        Ok(Err(error)) if error.code == Code::InvalidParams => nothing(),
        Ok(Err(error)) if error.code == Code::Limit => {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("{}\n", error.message)).into_response()
        }
        Ok(Err(error)) => {
            tracing::error!(error = ?error, "could not show a note");
            (StatusCode::INTERNAL_SERVER_ERROR, "the note could not be read; the log says why\n")
                .into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn render(app: &App, link: &Link, path: String) -> Result<String> {
    let rights = &link.rights;
    let reference = NoteRef { href: Some(path), ..NoteRef::default() };
    let opened = app.open_note(&reference, rights)?;
    let links = Links::new(app, rights, opened.page.as_ref())?;
    let body = opened.text.get(opened.note.body..).unwrap_or_default();
    let body = opened.note.html(body, &links)?;
    // One pass: what a title or a note says is never read as a placeholder.
    template::render(include_str!("../../../assets/note.html"), |part| {
        Ok(match part {
            Part::Variable { name: "title", .. } => html::escape(&opened.title).into(),
            Part::Variable { name: "path", .. } => html::escape(&opened.path).into(),
            Part::Variable { name: "body", .. } => body.as_str().to_owned().into(),
            Part::Variable { whole, .. } | Part::Note { whole, .. } | Part::Text(whole) => {
                whole.into()
            }
        })
    })
}

fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "nothing is here for you; the MCP endpoint is /_system/mcp\n")
        .into_response()
}
