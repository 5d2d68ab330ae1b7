//! The documents by which clients find out how to get a token.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{Site, is_open, resource};
use crate::serve::http::origin;

const PROTECTED: &str = "/.well-known/oauth-protected-resource";

/// `GET /.well-known/oauth-protected-resource/…`: RFC 9728, for each address that asks for a token.
/// Its `resource` is the address as the client wrote it.
pub async fn resource(State(site): State<Site>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix(PROTECTED).unwrap_or_default();
    if !resource::is_ours(&site, path) || !is_open(&site).await {
        return missing();
    }
    let base = origin::base(&site, &headers);
    document(json!({
        "resource": format!("{base}{path}"),
        "authorization_servers": [base],
        "scopes_supported": ["read", "write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Notewell",
    }))
}

/// `GET /.well-known/oauth-authorization-server`: RFC 8414.
pub async fn server(State(site): State<Site>, headers: HeaderMap) -> Response {
    if !is_open(&site).await {
        return missing();
    }
    let base = origin::base(&site, &headers);
    document(json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "revocation_endpoint": format!("{base}/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "revocation_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "scopes_supported": ["read", "write", "offline_access"],
        "client_id_metadata_document_supported": true,
        "authorization_response_iss_parameter_supported": true,
    }))
}

fn document(body: Value) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, [(header::CACHE_CONTROL, "no-store")], "no such document\n")
        .into_response()
}
