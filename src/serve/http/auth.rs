//! Gives each request its caller. A wrong token is 401, never anonymous.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::Response,
};
use percent_encoding::percent_decode_str;

use super::{Site, connections::Connection, help, hold, oauth, origin, refuse};
use crate::{
    app::App,
    config::Anonymous,
    domain::{Author, Caller, Code, Error, Result, Timestamp, Toolsets},
    serve::mcp::{Identity, Link},
    store::tokens::Credential,
};

/// The address that always asks for a token.
const DOOR: &str = "/mcp";
/// Addresses below which a name confines a request to an author.
const AUTHORED: [&str; 2] = ["/_system/mcp/", "/mcp/"];

/// A request without its body, which cannot be shared between threads.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    pub fn of(request: &'a Request) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

/// Gives a request of an agent its [`Link`]. `/mcp` always asks for a token; the other addresses
/// follow the rule for callers without one.
pub async fn identify(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    let head = Head::of(&request);
    let link = match has_credential(head.headers) {
        true => by_token(&site, head).await,
        false => match anonymous(&site, head) {
            Some(link) => Ok(link),
            None if is_browser(head) => return help(&site, head),
            None => Err(Box::new(challenge(&site, head, false).await)),
        },
    };
    let link = match link {
        Ok(link) => link,
        Err(refused) => return *refused,
    };
    let link = match narrowed(link, request.uri()) {
        Ok(link) => link,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    let link = match confined(site.hub.app.clone(), link, request.uri()).await {
        Ok(link) => link,
        Err(refused) => return *refused,
    };
    request.extensions_mut().insert(link);
    next.run(request).await
}

/// The link of the token that a request carries. It must be valid, at this address. The error is
/// the answer to send.
pub async fn by_token(site: &Site, head: Head<'_>) -> std::result::Result<Link, Box<Response>> {
    let app = site.hub.app.clone();
    let (secret, from) =
        (secret(head.headers), origin::address(site, head.headers, head.extensions));
    let here = oauth::resource::of_path(&origin::base(site, head.headers), head.uri.path());
    let store = app.clone();
    // The store blocks.
    let checked = tokio::task::spawn_blocking(move || {
        let is_for_here = |found: &Credential| {
            found.token.audience.as_ref().is_none_or(|audience| *audience == here)
        };
        match secret.map(|secret| store.token_issued(&secret)).transpose()?.flatten() {
            Some(found) if found.token.is_valid(Timestamp::now()) && is_for_here(&found) => {
                Ok(Some(found))
            }
            // A token that has ended, or is for elsewhere, is no guess.
            Some(_) => Ok(None),
            // Who guesses has to wait. A right token is never refused.
            None => {
                store.token_failed(from);
                store.brake_token(from).map(|()| None)
            }
        }
    })
    .await;
    let checked = checked.unwrap_or_else(|error| {
        Err(Error::internal("could not check the token").with_source(error))
    });
    let credential = match checked {
        Ok(Some(credential)) => credential,
        Ok(None) => return Err(Box::new(challenge(site, head, true).await)),
        Err(error) if error.code == Code::Limit => return Err(Box::new(too_many(&error))),
        Err(error) => {
            tracing::error!(error = ?error, "could not check a token");
            return Err(Box::new(refuse(
                StatusCode::INTERNAL_SERVER_ERROR,
                &Error::internal("could not check the token; the server's log says why"),
            )));
        }
    };
    if let Some(connection) = head.extensions.get::<Arc<Connection>>() {
        connection.set_known();
    }
    let identity = match credential.token.connection {
        Some(connection) => Identity::Connection(connection),
        None => Identity::Token(credential.token.id),
    };
    Ok(Link { identity, ..Link::of(app.rights(credential.caller())) })
}

/// The answer to somebody who tries too often.
fn too_many(error: &Error) -> Response {
    let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, error);
    let seconds = error.data.as_ref().and_then(|data| data.get("retry_after_seconds")?.as_u64());
    response.headers_mut().insert(header::RETRY_AFTER, seconds.unwrap_or(60).into());
    response
}

/// Whether a request names a token, right or wrong.
pub fn has_credential(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || headers.contains_key("x-api-key")
}

/// The secret that a request carries. An `Authorization` that is not a bearer token has none.
fn secret(headers: &HeaderMap) -> Option<String> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned());
    }
    headers.get("x-api-key")?.to_str().ok().map(|value| value.trim().to_owned())
}

/// The link of a request without a token, where the rule for those allows one.
pub fn anonymous(site: &Site, head: Head<'_>) -> Option<Link> {
    let app = &site.hub.app;
    let caller = match app.config.server.anonymous {
        _ if is_door(head.uri.path()) => return None,
        Anonymous::Free => Caller::Anonymous,
        Anonymous::Owner => Caller::Owner,
        Anonymous::Off => return None,
    };
    let identity = Identity::of_address(origin::address(site, head.headers, head.extensions));
    Some(Link { identity, ..Link::of(app.rights(caller)) })
}

/// Whether a path is one of those that always ask for a token.
fn is_door(path: &str) -> bool {
    path == DOOR || path.strip_prefix(DOOR).is_some_and(|rest| rest.starts_with('/'))
}

/// A person who opened the address, where nothing else tells them what it is for.
fn is_browser(head: Head<'_>) -> bool {
    head.method == Method::GET && is_door(head.uri.path()) && accepts(head.headers, "text/html")
}

fn help(site: &Site, head: Head<'_>) -> Response {
    let base = origin::base(site, head.headers);
    help::page(&base, head.uri.path())
}

/// Whether a request takes an answer of this kind.
pub fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains(kind))
}

/// The answer to a request whose token is wrong or missing. Where clients can get a token by OAuth,
/// it names the metadata to begin with.
async fn challenge(site: &Site, head: Head<'_>, sent: bool) -> Response {
    let mut response = unauthorized();
    let base = origin::base(site, head.headers);
    let path = head.uri.path();
    if oauth::resource::is_ours(site, path)
        && oauth::is_open(site).await
        && let Ok(value) = HeaderValue::from_str(&oauth::resource::challenge(&base, path, sent))
    {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// The answer to a wrong token.
pub fn unauthorized() -> Response {
    let mut response = refuse(
        StatusCode::UNAUTHORIZED,
        &Error::invalid_request(
            "Unauthorized: this address needs a token, and the one sent, if any, is wrong, expired or revoked; sign in again, or make one with `notewell token create`",
        ),
    );
    let challenge = HeaderValue::from_static("Bearer realm=\"notewell\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// Adds what the query of the address asks for: `?toolsets=vault,cards`, `?method=NAME`.
fn narrowed(mut link: Link, uri: &Uri) -> Result<Link> {
    for (key, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match key.as_ref() {
            "toolsets" => link.rights = link.rights.within(Toolsets::parse(&value)?),
            "method" => link.method = Some(value.into_owned()),
            _ => {}
        }
    }
    Ok(link)
}

/// Confines a request under `/_system/mcp/{username}` or `/mcp/{username}` to that author. An author of whom the caller
/// sees no page is unknown, which is 404 whatever the transport.
async fn confined(
    app: Arc<App>,
    mut link: Link,
    uri: &Uri,
) -> std::result::Result<Link, Box<Response>> {
    let named = AUTHORED.iter().find_map(|start| Some((start, uri.path().strip_prefix(start)?)));
    let Some((start, name)) = named else { return Ok(link) };
    let (start, name) = (start.trim_end_matches('/'), name.trim_end_matches('/'));
    if name.is_empty() {
        return Ok(link);
    }
    let name = percent_decode_str(name).decode_utf8_lossy();
    let unknown = || {
        let short: String = name.chars().take(100).collect();
        Error::not_found(format!(
            "no note here has the author `{short}`; the address without an author is {start}"
        ))
    };
    let refused = |status, error: &Error| Err(Box::new(refuse(status, error)));
    let Some(author) = Author::new(&name) else {
        return refused(StatusCode::NOT_FOUND, &unknown());
    };
    link.rights = link.rights.confined_to(author);
    let rights = link.rights.clone();
    let known = tokio::task::spawn_blocking(move || app.knows_author(&rights)).await;
    let known = known.unwrap_or_else(|error| {
        Err(Error::internal("could not look for the author").with_source(error))
    });
    match known {
        Ok(Some(true)) => Ok(link),
        Ok(Some(false)) => refused(StatusCode::NOT_FOUND, &unknown()),
        Ok(None) => Err(Box::new(hold::busy(&Error::limit(
            "the notes are still being read; try again in a moment",
        )))),
        Err(error) => {
            tracing::error!(error = ?error, "could not look for an author");
            let error = Error::internal("could not look for the author; the server's log says why");
            refused(StatusCode::INTERNAL_SERVER_ERROR, &error)
        }
    }
}
