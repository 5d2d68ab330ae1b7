//! Errors as pages: what happened, and what to do.

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{Audience, Html, Shell, Visit};
use crate::{
    domain::{Code, Error},
    telemetry,
};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    shell: Shell,
    heading: &'static str,
    message: String,
    remedy: &'static str,
    incident: Option<String>,
    sign_in: bool,
}

/// The page of an error.
pub fn page(visit: &Visit, error: Error) -> Response {
    let (status, heading, remedy) = match error.code {
        Code::Parse | Code::InvalidRequest | Code::InvalidParams => (
            StatusCode::BAD_REQUEST,
            "The request cannot be carried out",
            "Go back, change it, and try again.",
        ),
        Code::NotFound => (
            StatusCode::NOT_FOUND,
            "Page not found",
            "There is no such page, or it is not shared with you. Search for it, or ask the owner for access.",
        ),
        Code::Limit => (
            StatusCode::TOO_MANY_REQUESTS,
            "Too much at once",
            "Wait a moment, then reload this page.",
        ),
        Code::Conflict => (
            StatusCode::CONFLICT,
            "Somebody changed this meanwhile",
            "Nothing was saved. Look at the current version, then make your change again.",
        ),
        Code::Storage => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The library cannot be used at the moment",
            "Nothing was lost. Try again in a moment.",
        ),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong here",
            "Nothing that was saved is lost. Try again; if it happens again, the log says more.",
        ),
    };
    let (message, incident) = match error.code {
        Code::Internal => {
            let incident = error.incident().map(str::to_owned).unwrap_or_else(|| {
                let incident = telemetry::incident();
                tracing::error!(incident = %incident, error = ?error, "a page failed");
                incident
            });
            ("The page could not be made.".to_owned(), Some(incident))
        }
        _ => (sentence(error.plain()), None),
    };
    let mut response = respond(visit, status, heading, message, remedy, incident);
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        let seconds = HeaderValue::from(wait_seconds(&error));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// How long whoever reached a limit has to wait.
pub fn wait_seconds(error: &Error) -> u64 {
    let seconds = error.data.as_ref().and_then(|data| data.get("retry_after_seconds")?.as_u64());
    seconds.unwrap_or(1)
}

/// The answer to somebody who may not see a page: a visitor is asked to sign in, anybody else
/// reads that it is not for them.
pub fn forbidden(visit: &Visit) -> Response {
    respond(
        visit,
        StatusCode::FORBIDDEN,
        "Not for this account",
        "This page is for people with more rights than you have here.".to_owned(),
        "Sign in with another account, or ask the owner of this library for access.",
        None,
    )
}

fn respond(
    visit: &Visit,
    status: StatusCode,
    heading: &'static str,
    message: String,
    remedy: &'static str,
    incident: Option<String>,
) -> Response {
    let sign_in =
        !visit.is_known() && matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND);
    let page = ErrorPage { shell: visit.shell(), heading, message, remedy, incident, sign_in };
    match Html::of(&page, Audience::Caller) {
        Ok(html) => html.with_status(status).answer(&visit.headers),
        Err(error) => {
            tracing::error!(?error, "could not render the page of an error");
            (status, heading).into_response()
        }
    }
}

/// A message as a sentence: a capital letter and a full stop.
pub fn sentence(message: &str) -> String {
    let mut letters = message.trim().chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if message.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// A message as HTML: what stands between backticks is code. Everything is escaped.
pub fn marked(message: impl AsRef<str>) -> String {
    let parts: Vec<&str> = message.as_ref().split('`').collect();
    let last = parts.len() - 1;
    let mut html = String::new();
    for (number, part) in parts.into_iter().enumerate() {
        match (number % 2, number == last) {
            (0, _) => html += &escaped(part),
            (_, false) => html += &format!("<code>{}</code>", escaped(part)),
            // A backtick without its pair is a sign like any other.
            (_, true) => html += &format!("`{}", escaped(part)),
        }
    }
    html
}

/// As the templates escape.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&#38;").replace('<', "&#60;").replace('>', "&#62;");
    text.replace('"', "&#34;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_quotes_is_code_and_never_markup() {
        assert_eq!(
            marked("see `a<b>` and `c`"),
            "see <code>a&#60;b&#62;</code> and <code>c</code>"
        );
        assert_eq!(marked("one ` alone <i>"), "one ` alone &#60;i&#62;");
        assert_eq!(marked("`\"'&`"), "<code>&#34;&#39;&#38;</code>");
        assert_eq!(marked(""), "");
    }

    #[test]
    fn a_message_becomes_a_sentence() {
        assert_eq!(sentence("path `x` is empty"), "Path `x` is empty.");
        assert_eq!(sentence("ёж."), "Ёж.");
        assert_eq!(sentence(""), ".");
    }
}
