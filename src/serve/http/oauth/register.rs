//! `POST /register`: a client introduces itself (RFC 7591). Anybody may, so it is bounded: by rate
//! for each address, by number in all, and a client that nobody connects is forgotten after a day.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Site,
    clients::{self, Metadata},
    form::{self, Fault},
    is_open, redirect,
    request::short,
};
use crate::{
    app::{App, tokens},
    domain::{Error, Timestamp, network_of},
    serve::http::{origin, refuse},
    store::oauth::RegisteredClient,
};

/// Clients that registered and were not connected.
const MAX_UNUSED: usize = 500;
/// Redirect addresses of one client.
const MAX_REDIRECTS: usize = 20;
/// Registrations of one address in a window of time, and how many addresses are counted.
const PER_ADDRESS: u32 = 30;
const WINDOW: Duration = Duration::from_secs(10 * 60);
const MAX_ADDRESSES: usize = 10_000;

/// What a client sends. What is not known is left out of the answer, as the standard has it.
#[derive(Deserialize)]
struct Introduction {
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default)]
    client_name: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    grant_types: Option<Vec<String>>,
    #[serde(default)]
    response_types: Option<Vec<String>>,
    #[serde(default)]
    scope: Option<String>,
}

/// `POST /register`.
pub async fn register(State(site): State<Site>, request: Request) -> Response {
    if !is_open(&site).await {
        return refuse(StatusCode::NOT_FOUND, &Error::not_found("nobody can sign in here yet"));
    }
    let (parts, body) = request.into_parts();
    let from = origin::address(&site, &parts.headers, &parts.extensions);
    if let Err(wait) = site.oauth.registrations.count(from, Instant::now()) {
        let error = Error::limit("this address registered too many clients; wait before the next")
            .with_data(json!({ "retry_after_seconds": wait.as_secs().max(1) }));
        return Fault::too_many(&error).into_response();
    }
    let bytes = match form::read(&site, from, body).await {
        Ok(bytes) => bytes,
        Err(refused) => return *refused,
    };
    let app = site.hub.app.clone();
    // The store blocks.
    match tokio::task::spawn_blocking(move || keep(&app, &bytes)).await {
        Ok(Ok(response)) => response,
        Ok(Err(fault)) => fault.into_response(),
        Err(error) => {
            Fault::from(Error::internal("the request ended without an answer").with_source(error))
                .into_response()
        }
    }
}

fn keep(app: &App, bytes: &[u8]) -> Result<Response, Fault> {
    let wrong = |what: String| Fault::new("invalid_client_metadata", what);
    let sent: Introduction = serde_json::from_slice(bytes)
        .map_err(|_| wrong("the body is not a client's metadata in JSON".to_owned()))?;
    check_redirects(&sent.redirect_uris)?;
    let supports = |sent: &Option<Vec<String>>, ours: &str| {
        sent.as_ref().is_none_or(|sent| sent.is_empty() || sent.iter().any(|one| one == ours))
    };
    if !supports(&sent.grant_types, "authorization_code") {
        return Err(wrong("grant_types must have authorization_code".to_owned()));
    }
    if !supports(&sent.response_types, "code") {
        return Err(wrong("response_types must have code".to_owned()));
    }
    let method = sent.token_endpoint_auth_method.as_deref().unwrap_or("client_secret_basic");
    let secret = match method {
        "none" => None,
        "client_secret_basic" | "client_secret_post" => Some(tokens::new_secret("nwcs_")?),
        _ => {
            return Err(wrong(
                "token_endpoint_auth_method must be none, client_secret_post or client_secret_basic"
                    .to_owned(),
            ));
        }
    };
    let name = clients::display_name(sent.client_name.as_deref().unwrap_or_default());
    let name = if name.is_empty() { "a client without a name".to_owned() } else { name };
    let metadata = Metadata {
        client_name: name.clone(),
        redirect_uris: sent.redirect_uris.clone(),
        token_endpoint_auth_method: Some(method.to_owned()),
        ..Metadata::default()
    };
    let metadata = serde_json::to_string(&metadata)
        .map_err(|error| Error::internal("could not keep a client").with_source(error))?;
    let client = RegisteredClient {
        id: tokens::new_secret("client_")?,
        secret: secret.as_deref().map(tokens::hash),
        metadata,
        created: Timestamp::now(),
        used: None,
    };
    app.store.oauth.register(&client, MAX_UNUSED)?;
    tracing::info!("a client registered");
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": client.created.0 / 1000,
        "client_name": name,
        "redirect_uris": sent.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    });
    if let Some(secret) = secret {
        answer["client_secret"] = secret.into();
        answer["client_secret_expires_at"] = 0.into();
    }
    if let Some(scope) = sent.scope {
        answer["scope"] = scope.into();
    }
    Ok(form::answer(StatusCode::CREATED, answer))
}

fn check_redirects(uris: &[String]) -> Result<(), Fault> {
    let wrong = |what: String| Err(Fault::new("invalid_redirect_uri", what));
    if uris.is_empty() || uris.len() > MAX_REDIRECTS {
        return wrong(format!("redirect_uris must have 1 to {MAX_REDIRECTS} addresses"));
    }
    match uris.iter().find_map(|uri| Some((uri, redirect::problem(uri)?))) {
        Some((uri, problem)) => wrong(format!("`{}` {problem}", short(uri))),
        None => Ok(()),
    }
}

/// How many clients each network registered lately.
#[derive(Default)]
pub struct Registrations(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Registrations {
    /// Counts one more, or says how long to wait.
    fn count(&self, from: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let age = |began: Instant| now.saturating_duration_since(began);
        if counts.len() >= MAX_ADDRESSES {
            counts.retain(|_, (began, _)| age(*began) < WINDOW);
        }
        let from = network_of(from);
        if counts.len() >= MAX_ADDRESSES && !counts.contains_key(&from) {
            return Err(WINDOW);
        }
        let (began, count) = counts.entry(from).or_insert((now, 0));
        if age(*began) >= WINDOW {
            (*began, *count) = (now, 0);
        }
        if *count >= PER_ADDRESS {
            return Err(WINDOW.saturating_sub(age(*began)));
        }
        *count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_registers_so_many_and_no_more() {
        let registrations = Registrations::default();
        let now = Instant::now();
        let from = "2001:db8::1".parse().unwrap();
        for _ in 0..PER_ADDRESS {
            registrations.count(from, now).unwrap();
        }
        assert_eq!(registrations.count("2001:db8::2".parse().unwrap(), now), Err(WINDOW));
        assert!(registrations.count("192.0.2.1".parse().unwrap(), now).is_ok());
        assert!(registrations.count(from, now + WINDOW).is_ok());
    }
}
