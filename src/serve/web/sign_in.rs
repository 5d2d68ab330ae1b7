//! Signing in and out.

use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{Audience, Form, Html, Reply, Shell, Visit, errors};
use crate::{
    domain::{Code, Error, Result, UserId},
    serve::http::cookie::{self, SignedIn},
};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    shell: Shell,
    next: String,
    name: String,
    /// What was wrong with the last attempt.
    problem: String,
    /// Whether nobody can sign in yet.
    is_new: bool,
    /// The button for passkeys; empty without them.
    passkey: String,
}

/// `GET /sign-in`.
pub async fn show(visit: Visit) -> Response {
    let next = cookie::local_path(visit.value("next").unwrap_or_default());
    match cookie::session(&visit.site, &visit.headers).await {
        Ok(Some(_)) => return Reply::see(&next).into_response(),
        Ok(None) => {}
        Err(error) => return errors::page(&visit, error),
    }
    visit.run(move |visit| page(visit, next, String::new(), String::new())).await
}

fn page(visit: &Visit, next: String, name: String, problem: String) -> Result<Html> {
    let shell = Shell { search: false, ..visit.shell() };
    let is_new = !visit.app().has_owner()?;
    let passkey = passkey_button(visit, &next)?;
    let page = SignIn { shell, next, name, problem, is_new, passkey };
    Html::of(&page, Audience::Caller).map(Html::into_entrance)
}

#[cfg(feature = "passkeys")]
fn passkey_button(visit: &Visit, next: &str) -> Result<String> {
    super::account::passkeys::button(visit, next)
}

#[cfg(not(feature = "passkeys"))]
fn passkey_button(_: &Visit, _: &str) -> Result<String> {
    Ok(String::new())
}

/// `POST /sign-in`.
pub async fn enter(form: Form) -> Response {
    let next = cookie::local_path(form.field("next"));
    let (name, password) = (form.field("name").to_owned(), form.field("password").to_owned());
    form.visit
        .run(move |visit| {
            let app = visit.app();
            match app.sign_in(&name, &password, visit.from) {
                Ok(account) => open(visit, account.id, &next),
                Err(error) => refused(visit, error, next, name),
            }
        })
        .await
}

/// The form again, with what was wrong.
pub fn refused(visit: &Visit, error: Error, next: String, name: String) -> Result<Reply> {
    let (status, wait) = match error.code {
        Code::InvalidRequest | Code::InvalidParams => (StatusCode::UNAUTHORIZED, None),
        Code::Limit => (StatusCode::TOO_MANY_REQUESTS, Some(errors::wait_seconds(&error))),
        _ => return Err(error),
    };
    let problem = errors::sentence(error.plain());
    let html = page(visit, next, name, problem)?.with_status(status);
    let mut response = html.answer(&visit.headers);
    if let Some(seconds) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    Ok(response.into())
}

/// Opens a session, gives the browser its cookie and sends it on. A session that the browser had
/// before ends.
pub fn open(visit: &Visit, user: UserId, next: &str) -> Result<Reply> {
    end(visit)?;
    let agent = text(&visit.headers, header::USER_AGENT);
    let (_, secret) = visit.app().open_session(user, agent, visit.from)?;
    let mut response = Reply::see(next).into_response();
    let cookie = cookie::give(&visit.base, &secret);
    let cookie = cookie.ok_or_else(|| Error::internal("a session's secret fits no header"))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response.into())
}

/// Ends the session of the request's cookie, if there is one.
fn end(visit: &Visit) -> Result<()> {
    match cookie::signed_in(visit.app(), &visit.headers, &visit.base)? {
        Some(SignedIn { session, holder }) => {
            visit.app().end_session(holder.id, session.id).map(drop)
        }
        None => Ok(()),
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// `POST /sign-out`.
pub async fn leave(form: Form) -> Response {
    let next = cookie::local_path(form.field("next"));
    form.visit
        .run(move |visit| {
            end(visit)?;
            let mut response = Reply::see(&next).into_response();
            if let Some(cookie) = cookie::take_away(&visit.base) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            Ok(response)
        })
        .await
}
