//! The authorization server: how clients get tokens for `/mcp` with their user's consent.
//!
//! OAuth 2.1 with PKCE, resource indicators and `iss`; clients are known by pinned metadata
//! documents, by documents that are fetched where the config allows it, or by registration. Tokens
//! are opaque and kept as hashes. Nothing here answers before an owner can sign in.

mod authorize;
mod client_auth;
mod clients;
mod form;
mod metadata;
mod pkce;
mod redirect;
mod register;
mod request;
pub mod resource;
mod token;

use std::sync::atomic::{AtomicBool, Ordering};

use axum::{
    Router,
    routing::{get, post},
};

use super::Site;

/// What the authorization server keeps in memory.
#[derive(Default)]
pub struct State {
    /// Whether an owner can sign in. Once true, it stays.
    has_owner: AtomicBool,
    fetched: clients::Fetched,
    registrations: register::Registrations,
}

/// How long a code can be redeemed.
const CODE_MS: i64 = 60 * 1000;
/// How long an access token is valid.
const ACCESS_MS: i64 = 60 * 60 * 1000;
/// How long a refresh token is valid.
const REFRESH_MS: i64 = 60 * 24 * 60 * 60 * 1000;
/// How long the refresh token before the newest is good: two processes of one client may refresh at
/// once, and an answer may be lost.
const GRACE_MS: i64 = 60 * 1000;

/// The endpoints of the authorization server.
pub fn routes() -> Router<Site> {
    Router::new()
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::resource))
        .route("/.well-known/oauth-authorization-server", get(metadata::server))
        .route("/.well-known/openid-configuration", get(metadata::server))
        .route("/authorize", get(authorize::show).post(authorize::decide))
        .route("/token", post(token::exchange))
        .route("/register", post(register::register))
        .route("/revoke", post(token::revoke))
}

/// Whether clients can get tokens: an owner can sign in. While none can, nothing of the
/// authorization server is there, because some clients begin a login as soon as they find it.
pub async fn is_open(site: &Site) -> bool {
    if site.oauth.has_owner.load(Ordering::Relaxed) {
        return true;
    }
    let app = site.hub.app.clone();
    let found = tokio::task::spawn_blocking(move || app.has_owner()).await;
    match found {
        Ok(Ok(has_owner)) => {
            site.oauth.has_owner.store(has_owner, Ordering::Relaxed);
            has_owner
        }
        Ok(Err(error)) => {
            tracing::error!(?error, "could not look for an owner");
            false
        }
        Err(_) => false,
    }
}
