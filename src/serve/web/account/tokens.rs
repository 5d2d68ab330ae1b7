//! Making and revoking tokens. A secret is shown on one page, once.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    super::{Audience, Form, Html, Shell, errors::sentence, visit::Reply},
    Person, page,
};
use crate::{
    domain::{Code, Error, Result, Scope, Scopes, Timestamp},
    store::tokens::Power,
};

#[derive(Template)]
#[template(path = "token.html")]
struct TokenPage {
    shell: Shell,
    name: String,
    secret: String,
    endpoint: String,
}

/// `POST /account/token`.
pub async fn make(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let person = Person::required(visit)?;
            let app = visit.app();
            let made = power(&person, &form).and_then(|power| {
                let expires = expiry(form.field("expires"))?;
                app.issue_token(&person.actor(visit), form.field("name"), power, expires)
            });
            match made {
                Ok((token, secret)) => {
                    let shell = visit.shell();
                    let endpoint = format!("{}/mcp", visit.base);
                    let page = TokenPage { shell, name: token.name, secret, endpoint };
                    Html::of(&page, Audience::Caller).map(Reply::from)
                }
                Err(error) if error.code == Code::InvalidParams => {
                    let html = page(visit, &person, Some(sentence(error.plain())))?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

/// What the new token opens: what the person ticked of what they may.
fn power(person: &Person, form: &Form) -> Result<Power> {
    let has = |scope: &str| form.values("scope").any(|ticked| ticked == scope);
    let scopes = Scopes { read: has("read"), write: has("write"), market: has("market") };
    if scopes == Scopes::NONE {
        return Err(Error::invalid_params("tick what the token may be used for"));
    }
    Ok(match &person.account {
        Some(account) => Power::User(account.id, scopes),
        // The owner of a server without accounts: everything, or what everybody may read.
        None if scopes.write => Power::Scope(Scope::Owner),
        None => Power::Scope(Scope::Reader),
    })
}

fn expiry(days: &str) -> Result<Option<Timestamp>> {
    match days {
        "" | "never" => Ok(None),
        days => match days.parse::<i64>() {
            Ok(days) if (1..=3650).contains(&days) => Ok(Some(Timestamp::now().plus_days(days))),
            _ => Err(Error::invalid_params("choose when the token ends")),
        },
    }
}

/// `POST /account/token/revoke`.
pub async fn revoke(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let person = Person::required(visit)?;
            let app = visit.app();
            let id = form.number("id")?;
            let known = app.store.tokens.all()?.into_iter().find(|token| token.id == id);
            if !known.is_some_and(|token| person.manages(&token)) {
                return Err(Error::not_found("there is no such token any more"));
            }
            app.revoke_token(&person.actor(visit), id)?;
            Ok(Reply::see("/account?done=revoked"))
        })
        .await
}
