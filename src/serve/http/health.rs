//! `/healthz`, `/readyz` and `/metrics`.

use std::time::{Duration, Instant};

use axum::{
    Extension,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{Site, refuse};
use crate::{
    app::{rights::Right, status::Readiness},
    domain::{Error, Patience, count},
    serve::mcp::Link,
    telemetry,
};

/// How long a probe may take.
const PROBE: Duration = Duration::from_secs(5);

pub async fn alive() -> &'static str {
    "ok\n"
}

/// Ready when the library's database answers. A replica is ready once it has caught up, and stays
/// so while its store is away or its disk is full: searches and reads go on.
pub async fn ready(State(site): State<Site>) -> Response {
    if site.closing.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n").into_response();
    }
    let app = site.hub.app.clone();
    let state = tokio::task::spawn_blocking(move || {
        let begun = Patience::until(Instant::now() + PROBE);
        begun.during(|| app.readiness())
    });
    match state.await {
        Ok(Ok(Readiness::Ready)) => "ready\n".into_response(),
        // Not why: the sentence names the server, and anybody may ask.
        Ok(Ok(Readiness::Degraded)) => {
            "degraded: the library's store does not answer; searches and reads go on, writes fail\n"
                .into_response()
        }
        Ok(Ok(Readiness::Full)) => {
            "degraded: the disk is full; searches and reads go on without the latest changes\n"
                .into_response()
        }
        Ok(Ok(Readiness::Behind(changes))) => {
            let text = format!("catching up: {} not read yet\n", count(changes, "change"));
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
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
