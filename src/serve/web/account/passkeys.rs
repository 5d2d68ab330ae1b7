//! Passkeys: the section of the account page, the button of the sign-in page, and what they post.
//!
//! The script asks for a challenge, hands it to the authenticator, and posts the answer as a form.

use askama::Template;
use axum::{
    Json, Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde_json::{Value, json};

use super::{
    super::{Form, Reply, Visit, age::Age, assets, errors, sign_in},
    Person,
};
use crate::{
    app::accounts::passkeys_work_at,
    domain::{Code, Error, Result, error::Doing},
    serve::http::{Site, cookie},
    store::users::Account,
};

/// For people who signed in.
pub fn pages() -> Router<Site> {
    Router::new()
        .route("/account/passkey", post(add))
        .route("/account/passkey/begin", post(begin))
        .route("/account/passkey/remove", post(remove))
}

/// For everybody.
pub fn entrances() -> Router<Site> {
    Router::new()
        .route("/sign-in/passkey", post(enter))
        .route("/sign-in/passkey/begin", post(begin_to_enter))
}

#[derive(Template)]
#[template(path = "passkeys.html")]
struct Section {
    script: String,
    name: String,
    has_password: bool,
    passkeys: Vec<Line>,
    /// Why none can be added at this address.
    obstacle: Option<Obstacle>,
}

struct Line {
    id: String,
    name: String,
    created: Age,
    used: Option<Age>,
}

struct Obstacle {
    base: String,
    /// The same page where passkeys work, if that is on this machine.
    elsewhere: Option<String>,
}

#[derive(Template)]
#[template(path = "passkey_button.html")]
struct Button<'a> {
    script: String,
    next: &'a str,
}

/// The section of the account page.
pub fn section(visit: &Visit, account: &Account) -> Result<String> {
    let lines = visit.app().passkeys(account.id)?.into_iter().map(|row| Line {
        id: BASE64.encode(&row.credential),
        name: row.name,
        created: Age::of(row.created),
        used: row.used.map(Age::of),
    });
    let section = Section {
        script: assets::address("passkey.js"),
        name: account.name.to_string(),
        has_password: account.password.is_some(),
        passkeys: lines.collect(),
        obstacle: obstacle(&visit.base),
    };
    section.render().doing("render the passkeys")
}

fn obstacle(base: &str) -> Option<Obstacle> {
    if passkeys_work_at(base) {
        return None;
    }
    let elsewhere = url::Url::parse(base).ok().and_then(|mut url| {
        let is_loopback = match url.host()? {
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
            url::Host::Domain(_) => false,
        };
        url.set_host(Some("localhost")).ok()?;
        is_loopback.then(|| format!("{}/account", url.origin().ascii_serialization()))
    });
    Some(Obstacle { base: base.to_owned(), elsewhere })
}

/// The button of the sign-in page; empty where no passkey can be used.
pub fn button(visit: &Visit, next: &str) -> Result<String> {
    if !passkeys_work_at(&visit.base) {
        return Ok(String::new());
    }
    let button = Button { script: assets::address("passkey.js"), next };
    button.render().doing("render the button of passkeys")
}

/// `POST /account/passkey/begin`: the options for the authenticator.
async fn begin(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let (account, session) = required(visit)?;
            let (name, password) = (form.field("name"), form.field("password"));
            answer(visit.app().begin_passkey(
                &visit.base,
                &account,
                session,
                name,
                password,
                visit.from,
            ))
        })
        .await
}

/// `POST /account/passkey`: the authenticator's answer.
async fn add(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let (account, session) = required(visit)?;
            let person = Person::required(visit)?;
            let actor = person.actor(visit);
            let added = visit.app().add_passkey(
                &actor,
                &visit.base,
                &account,
                session,
                form.field("credential"),
            );
            done(visit, &person, added, "/account?done=passkey-added")
        })
        .await
}

/// `POST /account/passkey/remove`.
async fn remove(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let (account, _) = required(visit)?;
            let person = Person::required(visit)?;
            let credential = BASE64.decode(form.field("id")).map_err(|_| {
                Error::invalid_params("the form names no passkey; open its page again")
            })?;
            let removed = visit.app().remove_passkey(&person.actor(visit), &account, &credential);
            done(visit, &person, removed, "/account?done=passkey-removed")
        })
        .await
}

/// Goes on, or shows the account with what was wrong.
fn done(visit: &Visit, person: &Person, changed: Result<()>, next: &str) -> Result<Reply> {
    match changed {
        Ok(()) => Ok(Reply::see(next)),
        Err(error) if matches!(error.code, Code::InvalidRequest | Code::Conflict) => {
            let html = super::page(visit, person, Some(errors::sentence(error.plain())))?;
            Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
        }
        Err(error) => Err(error),
    }
}

/// The account and the session of whoever signed in.
fn required(visit: &Visit) -> Result<(Account, i64)> {
    let account = Person::required(visit)?.account;
    let session = visit.signed_in.as_ref().map(|signed_in| signed_in.session.id);
    account
        .zip(session)
        .ok_or_else(|| Error::not_found("passkeys belong to an account; sign in first"))
}

/// `POST /sign-in/passkey/begin`: the options for the authenticator, the same for everybody.
async fn begin_to_enter(form: Form) -> Response {
    form.visit
        .run(|visit| {
            let begun = visit.app().begin_passkey_sign_in(&visit.base, visit.from);
            answer(begun.map(|(number, mut options)| {
                options["attempt"] = number.into();
                options
            }))
        })
        .await
}

/// `POST /sign-in/passkey`: the authenticator's answer.
async fn enter(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let next = cookie::local_path(form.field("next"));
            let (attempt, credential) = (form.field("attempt"), form.field("credential"));
            let app = visit.app();
            match app.sign_in_with_passkey(&visit.base, attempt, credential, visit.from) {
                Ok(account) => sign_in::open(visit, account.id, &next),
                Err(error) => sign_in::refused(visit, error, next, String::new()),
            }
        })
        .await
}

/// The answer to the script: JSON, also where something is wrong with the request.
fn answer(worked: Result<Value>) -> Result<Reply> {
    let (status, body, wait) = match worked {
        Ok(options) => (StatusCode::OK, options, None),
        Err(error) => {
            let (status, wait) = match error.code {
                Code::InvalidRequest | Code::InvalidParams => (StatusCode::BAD_REQUEST, None),
                Code::Conflict => (StatusCode::CONFLICT, None),
                Code::Limit => (StatusCode::TOO_MANY_REQUESTS, Some(errors::wait_seconds(&error))),
                _ => return Err(error),
            };
            (status, json!({ "message": errors::sentence(error.plain()) }), wait)
        }
    };
    let headers =
        [(header::CACHE_CONTROL, "no-store"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    let mut response = (status, headers, Json(body)).into_response();
    if let Some(seconds) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    Ok(response.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_name_leads_to_localhost() {
        let elsewhere = |base| obstacle(base).and_then(|obstacle| obstacle.elsewhere);
        assert!(obstacle("http://localhost:7717").is_none());
        assert_eq!(
            elsewhere("http://127.0.0.1:7717").as_deref(),
            Some("http://localhost:7717/account")
        );
        assert_eq!(
            elsewhere("http://[::1]:7717").as_deref(),
            Some("http://localhost:7717/account")
        );
        assert!(obstacle("http://192.0.2.1").is_some_and(|one| one.elsewhere.is_none()));
    }
}
