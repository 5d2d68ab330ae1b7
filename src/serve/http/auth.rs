//! Gives each request its caller. A wrong token is 401, never anonymous.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::Response,
};
use percent_encoding::percent_decode_str;

use super::{Site, connections::Connection, hold, refuse};
use crate::{
    app::App,
    config::Anonymous,
    domain::{Author, Caller, Error, Result, Toolsets},
    serve::mcp::{Identity, Link},
};

pub async fn identify(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let app = site.hub.app.clone();
    let link = match secret(request.headers()) {
        Err(()) => Ok(None),
        Ok(None) => Ok(anonymous(app.config.server.anonymous).map(|caller| {
            let address = connection.as_ref().map(|connection| connection.address);
            let identity = address.map_or(Identity::Process, Identity::Address);
            Link { identity, ..Link::of(app.rights(caller)) }
        })),
        // The store blocks.
        Ok(Some(secret)) => {
            let store = app.clone();
            let token = tokio::task::spawn_blocking(move || store.token_of(&secret)).await;
            let token = token.unwrap_or_else(|error| {
                Err(Error::internal("could not check the token").with_source(error))
            });
            token.map(|token| {
                let credential = token?;
                let identity = Identity::Token(credential.token.id);
                Some(Link { identity, ..Link::of(app.rights(credential.caller())) })
            })
        }
    };
    let link = match link {
        Ok(Some(link)) => link,
        Ok(None) => return unauthorized(),
        Err(error) => {
            tracing::error!(error = ?error, "could not check a token");
            return refuse(
                StatusCode::INTERNAL_SERVER_ERROR,
                &Error::internal("could not check the token; the server's log says why"),
            );
        }
    };
    if let (Identity::Token(_), Some(connection)) = (&link.identity, &connection) {
        connection.set_known();
    }
    let link = match narrowed(link, request.uri()) {
        Ok(link) => link,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    let link = match confined(app, link, request.uri()).await {
        Ok(link) => link,
        Err(refused) => return *refused,
    };
    request.extensions_mut().insert(link);
    next.run(request).await
}

/// The secret that a request carries; an `Authorization` that is not a bearer token is wrong.
fn secret(headers: &HeaderMap) -> std::result::Result<Option<String>, ()> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().map_err(drop)?;
        let (scheme, token) = value.split_once(' ').ok_or(())?;
        return match scheme.eq_ignore_ascii_case("bearer") {
            true => Ok(Some(token.trim().to_owned())),
            false => Err(()),
        };
    }
    match headers.get("x-api-key") {
        Some(value) => value.to_str().map(|value| Some(value.trim().to_owned())).map_err(drop),
        None => Ok(None),
    }
}

fn anonymous(rule: Anonymous) -> Option<Caller> {
    match rule {
        Anonymous::Free => Some(Caller::Anonymous),
        Anonymous::Owner => Some(Caller::Owner),
        Anonymous::Off => None,
    }
}

pub fn unauthorized() -> Response {
    let mut response = refuse(
        StatusCode::UNAUTHORIZED,
        &Error::invalid_request(
            "Unauthorized: this token is wrong, expired or revoked; make one with `notewell token create`",
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

/// Confines a request under `/_system/mcp/{username}` to that author. An author of whom the caller
/// sees no page is unknown, which is 404 whatever the transport.
async fn confined(
    app: Arc<App>,
    mut link: Link,
    uri: &Uri,
) -> std::result::Result<Link, Box<Response>> {
    let name = uri.path().strip_prefix("/_system/mcp/").map(|name| name.trim_end_matches('/'));
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(link) };
    let name = percent_decode_str(name).decode_utf8_lossy();
    let unknown = || {
        let short: String = name.chars().take(100).collect();
        Error::not_found(format!(
            "no note here has the author `{short}`; the address without an author is /_system/mcp"
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
