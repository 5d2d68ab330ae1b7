//! The authorization server: how clients get tokens for `/mcp` with their user's consent.
//!
//! OAuth 2.1 with PKCE, resource indicators and `iss`; clients are known by pinned metadata
//! documents, by documents that are fetched where the config allows it, or by registration. Tokens
//! are opaque and kept as hashes. Nothing here answers before an owner can sign in.

mod metadata;
pub mod resource;

use std::sync::atomic::{AtomicBool, Ordering};

use axum::{Router, routing::get};

use super::Site;

/// What the authorization server keeps in memory.
#[derive(Default)]
pub struct State {
    /// Whether an owner can sign in. Once true, it stays.
    has_owner: AtomicBool,
}

/// The endpoints of the authorization server.
pub fn routes() -> Router<Site> {
    Router::new()
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::resource))
        .route("/.well-known/oauth-authorization-server", get(metadata::server))
        .route("/.well-known/openid-configuration", get(metadata::server))
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
