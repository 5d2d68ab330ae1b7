//! A person's own account: tokens, connected clients, sessions, and how to connect more.

pub mod connect;
#[cfg(feature = "passkeys")]
pub mod passkeys;
mod person;
pub mod tokens;

pub use person::Person;

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{Audience, Form, Html, Shell, Visit, age::Age, errors::sentence, visit::Reply};
use crate::{
    domain::{Code, Error, Result, Timestamp, user::Role},
    store::tokens::{Power, Token},
};

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    shell: Shell,
    name: String,
    display_name: String,
    role: &'static str,
    /// What the user may read and write, besides what everybody may.
    grants: Vec<String>,
    tokens: Vec<TokenLine>,
    connections: Vec<ConnectionLine>,
    sessions: Vec<SessionLine>,
    /// The section about passkeys; empty without them.
    passkeys: String,
    /// Whether there is a password to change.
    has_account: bool,
    may_set_up: bool,
    message: Option<&'static str>,
    problem: Option<String>,
}

struct TokenLine {
    id: i64,
    name: String,
    /// What it opens.
    power: String,
    created: Age,
    expires: Option<String>,
}

struct ConnectionLine {
    id: i64,
    client: String,
    who: String,
    scopes: String,
    created: Age,
    used: Age,
}

struct SessionLine {
    id: i64,
    agent: String,
    address: String,
    seen: Age,
    is_this: bool,
}

/// `GET /account`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match Person::of(visit)? {
            Some(person) => page(visit, &person, None).map(Reply::from),
            None => Ok(Reply::sign_in(visit)),
        })
        .await
}

fn page(visit: &Visit, person: &Person, problem: Option<String>) -> Result<Html> {
    let app = visit.app();
    let now = Timestamp::now();
    let mut tokens = Vec::new();
    for token in app.store.tokens.all()? {
        if token.is_valid(now) && token.connection.is_none() && person.manages(&token) {
            tokens.push(line(visit, token)?);
        }
    }
    let everybody = person.role == Role::Owner;
    let of = person.account.as_ref().map(|account| account.id);
    let mut connections = Vec::new();
    for connection in app.store.oauth.connections(of.filter(|_| !everybody))? {
        connections.push(ConnectionLine {
            id: connection.id,
            client: connection.client_name,
            who: app.user_name(connection.user)?,
            scopes: connection.scopes.to_string(),
            created: Age::of(connection.created),
            used: Age::of(connection.used),
        });
    }
    let sessions = match of {
        Some(user) => app.store.sessions.of_user(user, now)?,
        None => Vec::new(),
    };
    let this = visit.signed_in.as_ref().map(|signed_in| signed_in.session.id);
    let grants = match of {
        Some(user) => app.store.users.grants(user)?,
        None => Vec::new(),
    };
    let grants = grants.into_iter().map(|row| {
        let verb = if row.grant.write { "read and write" } else { "read" };
        format!("{verb} {}", row.grant.extent)
    });
    let page = AccountPage {
        shell: visit.shell(),
        name: person.name.clone(),
        display_name: person
            .account
            .as_ref()
            .map_or_else(|| person.name.clone(), |account| account.display_name.clone()),
        role: person.role.as_str(),
        grants: grants.collect(),
        tokens,
        connections,
        sessions: sessions
            .into_iter()
            .map(|session| SessionLine {
                id: session.id,
                agent: browser(&session.agent),
                address: session.address,
                seen: Age::of(session.seen),
                is_this: Some(session.id) == this,
            })
            .collect(),
        passkeys: passkeys_section(visit, person)?,
        has_account: person.account.is_some(),
        may_set_up: person.account.is_none() && !app.has_owner()?,
        message: match visit.value("done") {
            Some("revoked") => Some("It can no longer be used."),
            Some("ended") => Some("The session is over."),
            #[cfg(feature = "passkeys")]
            Some("passkey-added") => Some("The passkey is added. You can sign in with it."),
            #[cfg(feature = "passkeys")]
            Some("passkey-removed") => Some(
                "The passkey is removed. Browsers that signed in with it stay signed in until you end their sessions.",
            ),
            _ => None,
        },
        problem,
    };
    Html::of(&page, Audience::Caller)
}

#[cfg(feature = "passkeys")]
fn passkeys_section(visit: &Visit, person: &Person) -> Result<String> {
    person.account.as_ref().map_or(Ok(String::new()), |account| passkeys::section(visit, account))
}

#[cfg(not(feature = "passkeys"))]
fn passkeys_section(_: &Visit, _: &Person) -> Result<String> {
    Ok(String::new())
}

fn line(visit: &Visit, token: Token) -> Result<TokenLine> {
    let power = match token.power {
        Power::Scope(scope) => scope.to_string(),
        Power::User(user, scopes) => format!("{}: {scopes}", visit.app().user_name(user)?),
    };
    Ok(TokenLine {
        id: token.id,
        name: token.shown_name(),
        power,
        created: Age::of(token.created),
        expires: token.expires.map(Timestamp::date),
    })
}

/// What a browser calls itself, as people call it.
fn browser(agent: &str) -> String {
    let known = [
        ("Edg/", "Edge"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    let systems = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let first = |words: &[(&str, &str)]| {
        words.iter().find(|(word, _)| agent.contains(word)).map(|(_, name)| (*name).to_owned())
    };
    match (first(&known), first(&systems)) {
        (Some(name), Some(system)) => format!("{name} on {system}"),
        (Some(name), None) => name,
        (None, _) if agent.is_empty() => "unknown browser".to_owned(),
        (None, _) => agent.chars().take(60).collect(),
    }
}

/// `POST /account/session`: ends a session.
pub async fn end_session(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let person = Person::required(visit)?;
            let account = person.account.ok_or_else(|| Error::not_found("there is no session"))?;
            visit.app().end_session(account.id, form.number("id")?)?;
            Ok(Reply::see("/account?done=ended"))
        })
        .await
}

/// `POST /account/connection`: disconnects a client.
pub async fn disconnect(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let person = Person::required(visit)?;
            let app = visit.app();
            let id = form.number("id")?;
            let of = person.account.as_ref().map(|account| account.id);
            let own = app.store.oauth.connections(of.filter(|_| person.role != Role::Owner))?;
            let known = own.iter().any(|connection| connection.id == id);
            if !known || (person.role != Role::Owner && of.is_none()) {
                return Err(Error::not_found("there is no such client any more"));
            }
            app.audited(&person.actor(visit), "connection_revoke", id, || {
                app.store.oauth.revoke_connection(id)
            })?;
            Ok(Reply::see("/account?done=revoked"))
        })
        .await
}

/// `POST /account/password`: a new password. Every session ends, this one too.
pub async fn set_password(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let person = Person::required(visit)?;
            let app = visit.app();
            let Some(account) = &person.account else {
                return Err(Error::not_found("there is no password to change"));
            };
            let new = form.field("new");
            let changed = match new == form.field("again") {
                false => Err(Error::invalid_params("the two new passwords are not the same")),
                true => app
                    .sign_in(&person.name, form.field("old"), visit.from)
                    .and_then(|_| app.set_password(&person.actor(visit), account, new)),
            };
            match changed {
                Ok(()) => Ok(Reply::see("/sign-in?next=%2Faccount")),
                Err(error)
                    if matches!(
                        error.code,
                        Code::InvalidParams | Code::InvalidRequest | Code::Limit
                    ) =>
                {
                    let html = page(visit, &person, Some(sentence(error.plain())))?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_as_people_call_it() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
        assert_eq!(browser(chrome), "Chrome on Linux");
        assert_eq!(browser("curl/8.9"), "curl");
        assert_eq!(browser(""), "unknown browser");
        assert_eq!(browser(&"я".repeat(90)).chars().count(), 60);
    }
}
