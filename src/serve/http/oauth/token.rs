//! `/token` exchanges codes and refresh tokens for access tokens; `/revoke` ends them.

use std::{cell::Cell, net::IpAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{
    ACCESS_MS, GRACE_MS, REFRESH_MS, Site, client_auth,
    form::{self, Fault},
    is_open, pkce,
    request::{Params, lenient},
    resource,
};
use crate::{
    app::{App, accounts::Actor, tokens},
    domain::{Error, Result, Scopes, Timestamp},
    serve::http::{origin, refuse},
    store::oauth::{Connection, Pair, Redeemed, Refreshed},
};

/// A form that a program posted.
struct Posted {
    site: Site,
    headers: HeaderMap,
    base: String,
    from: IpAddr,
    pairs: Vec<(String, String)>,
}

/// `POST /token`.
pub async fn exchange(State(site): State<Site>, request: Request) -> Response {
    answered(site, request, issue).await
}

/// `POST /revoke`: RFC 7009. A token that is unknown is as good as revoked.
pub async fn revoke(State(site): State<Site>, request: Request) -> Response {
    answered(site, request, end).await
}

async fn answered(
    site: Site,
    request: Request,
    work: fn(&Posted) -> Result<Response, Fault>,
) -> Response {
    if !is_open(&site).await {
        return refuse(StatusCode::NOT_FOUND, &Error::not_found("nobody can sign in here yet"));
    }
    let (parts, body) = request.into_parts();
    let from = origin::address(&site, &parts.headers, &parts.extensions);
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        let what = "the body must be a form: application/x-www-form-urlencoded";
        return Fault::new("invalid_request", what).into_response();
    }
    let bytes = match form::read(&site, from, body).await {
        Ok(bytes) => bytes,
        Err(refused) => return *refused,
    };
    let posted = Posted {
        base: origin::base(&site, &parts.headers),
        headers: parts.headers,
        from,
        pairs: url::form_urlencoded::parse(&bytes).into_owned().collect(),
        site,
    };
    // The store blocks.
    let answer = tokio::task::spawn_blocking(move || {
        let answer = work(&posted);
        braked(&posted, answer)
    })
    .await;
    match answer {
        Ok(Ok(response)) => response,
        Ok(Err(fault)) => fault.into_response(),
        Err(error) => {
            Fault::from(Error::internal("the request ended without an answer").with_source(error))
                .into_response()
        }
    }
}

/// Counts wrong codes, tokens and secrets; who sends too many has to wait. What is right is never
/// refused.
fn braked(posted: &Posted, answer: Result<Response, Fault>) -> Result<Response, Fault> {
    let app = &posted.site.hub.app;
    answer.map_err(|fault| {
        if !matches!(fault.error, "invalid_grant" | "invalid_client") {
            return fault;
        }
        app.token_failed(posted.from);
        match app.brake_token(posted.from) {
            Ok(()) => fault,
            Err(error) => Fault::too_many(&error),
        }
    })
}

fn issue(posted: &Posted) -> Result<Response, Fault> {
    let app = &posted.site.hub.app;
    let params = Params(&posted.pairs);
    if let Some(name) = params.repeated() {
        return Err(Fault::new("invalid_request", format!("`{name}` occurs more than once")));
    }
    let grant = params.get("grant_type");
    if !matches!(grant, Some("authorization_code" | "refresh_token")) {
        return Err(match grant {
            None => Fault::new("invalid_request", "grant_type is missing"),
            Some(_) => Fault::new(
                "unsupported_grant_type",
                "grant_type must be authorization_code or refresh_token",
            ),
        });
    }
    let client = client_auth::identify(app, &posted.headers, &params)?;
    let fresh = Fresh::new()?;
    let (connection, scopes) = match grant {
        Some("authorization_code") => redeem(posted, &params, &client, &fresh.pair)?,
        _ => refresh(posted, &params, &client, &fresh.pair)?,
    };
    tracing::info!(connection = connection.id, "issued tokens to a connected client");
    Ok(form::answer(
        StatusCode::OK,
        json!({
            "access_token": fresh.access,
            "token_type": "Bearer",
            "expires_in": ACCESS_MS / 1000,
            "refresh_token": fresh.refresh,
            "scope": scopes.to_string(),
        }),
    ))
}

/// Two new secrets, and what is kept of them.
struct Fresh {
    access: String,
    refresh: String,
    pair: Pair,
}

impl Fresh {
    fn new() -> Result<Self> {
        let now = Timestamp::now();
        let (access, refresh) = (tokens::new_secret("nw_")?, tokens::new_secret("nwr_")?);
        let pair = Pair {
            access: tokens::hash(&access),
            access_expires: Timestamp(now.0 + ACCESS_MS),
            refresh: tokens::hash(&refresh),
            refresh_expires: Timestamp(now.0 + REFRESH_MS),
        };
        Ok(Self { access, refresh, pair })
    }
}

/// The answer to a code or token that is no good, whatever the reason.
fn invalid_grant(what: &str) -> Fault {
    Fault::new(
        "invalid_grant",
        format!("this {what} is wrong, expired, used or revoked; connect again"),
    )
}

/// The resource that a request names, which must be the one that the user agreed to. A request may
/// leave it out.
fn is_same_resource(posted: &Posted, params: &Params<'_>, agreed: &str) -> bool {
    params.get("resource").is_none_or(|text| {
        resource::named(&posted.site, &posted.base, text).is_some_and(|named| named == agreed)
    })
}

fn redeem(
    posted: &Posted,
    params: &Params<'_>,
    client: &str,
    pair: &Pair,
) -> Result<(Connection, Scopes), Fault> {
    let app = &posted.site.hub.app;
    let code =
        params.get("code").ok_or_else(|| Fault::new("invalid_request", "code is missing"))?;
    let verifier = params
        .get("code_verifier")
        .ok_or_else(|| Fault::new("invalid_request", "code_verifier is missing"))?;
    let wrong_target = Cell::new(false);
    let redeemed =
        app.store.oauth.redeem(&tokens::hash(code), pair, Timestamp::now(), &|code| {
            let is_same_redirect =
                params.get("redirect_uri").is_none_or(|given| given == code.redirect_uri);
            let is_theirs = code.client == client
                && is_same_redirect
                && pkce::proves(verifier, &code.challenge);
            wrong_target.set(is_theirs && !is_same_resource(posted, params, &code.resource));
            is_theirs && !wrong_target.get()
        })?;
    match redeemed {
        Redeemed::Issued(connection) => {
            record(app, posted, &connection, "client_connect", "ok");
            let scopes = connection.scopes;
            Ok((connection, scopes))
        }
        Redeemed::Replayed(connection) => {
            record(app, posted, &connection, "client_disconnect", "code_used_twice");
            Err(invalid_grant("code"))
        }
        Redeemed::Refused if wrong_target.get() => {
            Err(Fault::new("invalid_target", "the user agreed to another resource"))
        }
        Redeemed::Refused => Err(invalid_grant("code")),
    }
}

fn refresh(
    posted: &Posted,
    params: &Params<'_>,
    client: &str,
    pair: &Pair,
) -> Result<(Connection, Scopes), Fault> {
    let app = &posted.site.hub.app;
    let token = params
        .get("refresh_token")
        .ok_or_else(|| Fault::new("invalid_request", "refresh_token is missing"))?;
    // Words that are not known ask for nothing; the user's consent is the bound.
    let scopes = params.get("scope").map(lenient).filter(|scopes| *scopes != Scopes::NONE);
    let wrong_target = Cell::new(false);
    let refreshed = app.store.oauth.refresh(
        &tokens::hash(token),
        pair,
        scopes,
        Timestamp::now(),
        GRACE_MS,
        &|connection| {
            let is_theirs = connection.client == client;
            wrong_target.set(is_theirs && !is_same_resource(posted, params, &connection.resource));
            is_theirs && !wrong_target.get()
        },
    )?;
    match refreshed {
        Refreshed::Issued(connection, scopes) => Ok((connection, scopes)),
        Refreshed::Replayed(connection) => {
            record(app, posted, &connection, "client_disconnect", "refresh_token_used_twice");
            Err(invalid_grant("refresh token"))
        }
        Refreshed::Refused if wrong_target.get() => {
            Err(Fault::new("invalid_target", "the user agreed to another resource"))
        }
        Refreshed::Refused => Err(invalid_grant("refresh token")),
    }
}

fn record(
    app: &App,
    posted: &Posted,
    connection: &Connection,
    action: &'static str,
    outcome: &'static str,
) {
    let who = app.user_name(connection.user).unwrap_or_default();
    app.audit(Actor::user(&who, posted.from).entry(action, &connection.client_name, outcome));
}

fn end(posted: &Posted) -> Result<Response, Fault> {
    let app = &posted.site.hub.app;
    let params = Params(&posted.pairs);
    if let Some(name) = params.repeated() {
        return Err(Fault::new("invalid_request", format!("`{name}` occurs more than once")));
    }
    let client = client_auth::identify(app, &posted.headers, &params)?;
    let Some(token) = params.get("token") else {
        return Err(Fault::new("invalid_request", "token is missing"));
    };
    if app.store.oauth.revoke_by_token(&tokens::hash(token), &client)? {
        app.audit(Actor::user("", posted.from).entry("client_disconnect", client, "ok"));
    }
    Ok(form::answer(StatusCode::OK, json!({})))
}
