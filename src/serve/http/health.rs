//! Is it alive, is it ready, what has it done.

use axum::{
    Extension,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{Site, refuse};
use crate::{app::rights::Right, domain::Error, serve::mcp::Link, telemetry};

pub async fn alive() -> &'static str {
    "ok\n"
}

/// Ready when the library's database answers.
pub async fn ready(State(site): State<Site>) -> Response {
    if site.closing.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n").into_response();
    }
    let app = site.hub.app.clone();
    match tokio::task::spawn_blocking(move || app.store.items.head()).await {
        Ok(Ok(_)) => "ready\n".into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the library's database does not answer\n")
            .into_response(),
    }
}

pub async fn metrics(Extension(link): Extension<Link>) -> Response {
    if !link.rights.may(Right::Metrics) {
        return refuse(
            StatusCode::UNAUTHORIZED,
            &Error::invalid_request("Unauthorized: metrics are for the owner; send an owner token"),
        );
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], telemetry::render_metrics())
        .into_response()
}
