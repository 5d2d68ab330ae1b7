//! Gives each request its caller. A wrong token is 401, never anonymous.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::Response,
};
use percent_encoding::percent_decode_str;

use super::{Site, connections::Connection, refuse};
use crate::{
    config::Anonymous,
    domain::{Caller, Error, Result},
    serve::mcp::{Identity, Link},
    tools::Toolsets,
};

pub async fn identify(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let app = site.hub.app.clone();
    let link = match secret(request.headers()) {
        Err(()) => Ok(None),
        Ok(None) => Ok(anonymous(app.config.server.anonymous).map(|caller| {
            let address = connection.as_ref().map(|connection| connection.address);
            let identity = address.map_or(Identity::Process, Identity::Address);
            Link { identity, ..Link::of(caller) }
        })),
        // The store blocks.
        Ok(Some(secret)) => tokio::task::spawn_blocking(move || app.token_of(&secret))
            .await
            .unwrap_or_else(|error| {
                Err(Error::internal("could not check the token").with_source(error))
            })
            .map(|token| {
                let token = token?;
                let identity = Identity::Token(token.id);
                Some(Link { identity, ..Link::of(token.caller()) })
            }),
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
    match narrowed(link, request.uri()) {
        Ok(link) => request.extensions_mut().insert(link),
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
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

/// Adds what the address asks for: `?toolsets=vault,cards`, `?method=NAME`,
/// `/_system/mcp/{username}`.
fn narrowed(mut link: Link, uri: &Uri) -> Result<Link> {
    for (key, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match key.as_ref() {
            "toolsets" => link.toolsets = Toolsets::parse(&value)?,
            "method" => link.method = Some(value.into_owned()),
            _ => {}
        }
    }
    link.author = uri
        .path()
        .strip_prefix("/_system/mcp/")
        .map(|name| name.trim_end_matches('/'))
        .filter(|name| !name.is_empty())
        .map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned());
    Ok(link)
}
