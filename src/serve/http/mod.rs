//! HTTP: MCP in its three forms, health, metrics, and a help page. Every request passes the guard
//! (Host, Origin), then is given its caller, before anything is routed.

mod auth;
mod front;
mod guard;
mod health;
mod help;
mod html;
mod pages;
mod sse;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::CancellationToken;

use super::mcp::{Handler, Hub, Link, message};
use crate::{
    app::App,
    domain::{Caller, Error, Result, error::Doing},
    telemetry::metric,
};

/// What every HTTP handler shares.
#[derive(Clone)]
struct Site {
    hub: Arc<Hub>,
    guard: Arc<guard::Guard>,
    streamable: StreamableHttpService<Handler, LocalSessionManager>,
    sse: Arc<sse::Sessions>,
    closing: CancellationToken,
}

/// A server that is bound to its address and not yet answering.
pub struct Server {
    listener: tokio::net::TcpListener,
    app: Arc<App>,
    pub address: SocketAddr,
}

impl Server {
    /// Takes an address, with its real port where any was asked for: links carry it.
    pub fn listen(listen: SocketAddr) -> Result<(std::net::TcpListener, SocketAddr)> {
        let what = "read the server's own address";
        let listener = std::net::TcpListener::bind(listen).map_err(|error| {
            Error::invalid_params(format!(
                "could not listen on `{listen}`: {error}; choose another address with `--listen`"
            ))
        })?;
        let address = listener.local_addr().doing(what)?;
        Ok((listener, address))
    }

    /// Takes over an address that is listened on.
    pub fn on(listener: std::net::TcpListener, app: Arc<App>) -> Result<Self> {
        let what = "take the address over";
        let address = listener.local_addr().doing(what)?;
        listener.set_nonblocking(true).doing(what)?;
        let listener = tokio::net::TcpListener::from_std(listener).doing(what)?;
        app.serve_http();
        Ok(Self { listener, app, address })
    }

    /// Answers until `stop` resolves, then finishes what was accepted.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let closing = CancellationToken::new();
        let drain = Duration::from_secs(self.app.config.server.drain_seconds);
        let router = router(self.app, self.address, closing.clone());
        let stopping = closing.clone();
        let served =
            axum::serve(self.listener, router.into_make_service_with_connect_info::<SocketAddr>())
                .with_graceful_shutdown(async move {
                    stop.await;
                    tracing::info!("shutting down: finishing what was accepted");
                    // Streams never end by themselves; requests under way do.
                    stopping.cancel();
                })
                .into_future();
        let mut served = std::pin::pin!(served);
        tokio::select! {
            result = &mut served => return result.doing("serve HTTP"),
            () = closing.cancelled() => {}
        }
        if tokio::time::timeout(drain, served).await.is_err() {
            tracing::warn!(seconds = drain.as_secs(), "some connections did not end in time");
        }
        Ok(())
    }
}

fn router(app: Arc<App>, address: SocketAddr, closing: CancellationToken) -> Router {
    let config = &app.config;
    let guard = Arc::new(guard::Guard::new(&config.server, address));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive =
        Some(Duration::from_secs(config.server.session_idle_seconds));
    // Host and Origin are checked by our own guard, for every route and not only this one.
    let settings = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(config.limits.body_bytes)
        .with_cancellation_token(closing.child_token());
    let hub = Hub::new(app);
    let shared = hub.clone();
    let streamable = StreamableHttpService::new(
        move || Ok(Handler::new(shared.clone(), Link::of(Caller::Anonymous))),
        Arc::new(sessions),
        settings,
    );
    let site = Site { hub, guard, streamable, sse: Arc::default(), closing };
    Router::new()
        .route("/_system/mcp", any(front::mcp))
        .route("/_system/mcp/", any(front::mcp))
        .route("/_system/mcp/{username}", any(front::mcp))
        .route("/_system/mcp/{username}/", any(front::mcp))
        .route("/_system/sse", get(sse::open))
        .route("/_system/messages", post(sse::message))
        .route("/metrics", get(health::metrics))
        .fallback(pages::show)
        .layer(middleware::from_fn_with_state(site.clone(), auth::identify))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .layer(middleware::from_fn_with_state(site.clone(), guard::check))
        .layer(middleware::from_fn(count))
        .with_state(site)
}

async fn count(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    metrics::counter!(metric::HTTP_REQUESTS, "status" => response.status().as_u16().to_string())
        .increment(1);
    response
}

/// An error as an HTTP answer with a JSON-RPC body, which is what every client here reads.
fn refuse(status: StatusCode, error: &Error) -> Response {
    metrics::counter!(metric::HTTP_REFUSED, "status" => status.as_u16().to_string()).increment(1);
    let body = message::error(&serde_json::Value::Null, error);
    (status, axum::Json(body)).into_response()
}

/// Where the site is, for links in pages that it serves.
fn base(site: &Site) -> String {
    site.hub.app.config.public_url()
}
