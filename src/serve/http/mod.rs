//! HTTP: MCP in its three forms, health, metrics, and a help page. Every request passes the guard
//! (Host, Origin), gets its caller, and is checked against that caller's limits, before it is routed.

pub(super) mod auth;
pub(super) mod body;
mod connections;
pub(super) mod cookie;
mod front;
mod gate;
mod guard;
mod health;
mod help;
mod hold;
pub(super) mod html;
mod janitor;
mod oauth;
pub(super) mod origin;
mod server;
mod sessions;
mod sse;
mod webhook;

pub use server::Server;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use self::{connections::Connections, gate::Gate, hold::Credentials, sessions::Sessions};
use super::mcp::{Handler, Hub, Link, message};
use crate::{
    app::App,
    config::{Config, Limits},
    domain::{Caller, Error, user::Role},
    telemetry::metric,
};

/// The longest form of somebody who is not signed in.
const MAX_STRANGERS_FORM: usize = 64 << 10;

/// What every HTTP handler shares.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) hub: Arc<Hub>,
    guard: Arc<guard::Guard>,
    gate: Arc<Gate>,
    connections: Arc<Connections>,
    credentials: Arc<Credentials>,
    streamable: StreamableHttpService<Handler, Sessions>,
    sessions: Arc<Sessions>,
    sse: Arc<sse::Streams>,
    /// Imports that were begun in a browser.
    pub(super) imports: Arc<super::web::bookmarks::Jobs>,
    /// Locks of WebDAV clients.
    pub(super) locks: Arc<super::dav::Locks>,
    oauth: Arc<oauth::State>,
    /// Requests answered since the start.
    answered: Arc<AtomicU64>,
    closing: CancellationToken,
}

impl Site {
    fn new(app: Arc<App>, address: SocketAddr, closing: CancellationToken) -> Self {
        let config = &app.config;
        let guard = Arc::new(guard::Guard::new(&config.server, address));
        let gate = Gate::new(&gate_limits(config));
        let connections = Connections::new(config.limits.connections);
        let sessions = Arc::new(Sessions::new(config));
        // Host and Origin are checked by our own guard, for every route and not only this one.
        let settings = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(config.limits.body_bytes)
            .with_cancellation_token(closing.child_token());
        let stranger = Link::of(app.rights(Caller::Anonymous));
        let hub = Hub::new(app);
        let shared = hub.clone();
        let streamable = StreamableHttpService::new(
            move || Ok(Handler::new(shared.clone(), stranger.clone())),
            sessions.clone(),
            settings,
        );
        Self {
            hub,
            guard,
            gate,
            connections,
            credentials: Arc::default(),
            streamable,
            sessions,
            sse: Arc::default(),
            imports: Arc::default(),
            locks: Arc::default(),
            oauth: Arc::default(),
            answered: Arc::default(),
            closing,
        }
    }

    /// The link of a caller of whom nothing is known.
    pub(super) fn stranger(&self) -> Link {
        Link::of(self.hub.app.rights(Caller::Anonymous))
    }
}

/// Reads the body of a posted form within the limits of its caller. One from somebody who is not
/// signed in has a few short fields. The error is the answer.
pub(super) async fn read_form(
    site: &Site,
    link: &Link,
    body: Body,
) -> Result<body::Read, Response> {
    let body_bytes = site.hub.app.config.limits.body_bytes;
    let is_stranger = link.rights.role() == Role::Anonymous;
    let most = match is_stranger && body_bytes > MAX_STRANGERS_FORM {
        true => (MAX_STRANGERS_FORM, "a form sent without signing in"),
        false => (body_bytes, body::BODY_BYTES),
    };
    body::read_up_to(site, &gate::Visitor::of(link), body, most).await
}

/// The limits of the gate: a file of a hosted vault fits, whatever they say.
fn gate_limits(config: &Config) -> Limits {
    let file = usize::try_from(config.hosted.file_bytes).unwrap_or(usize::MAX / 2);
    let mut limits = config.limits.clone();
    limits.buffer_bytes = limits.buffer_bytes.max(file.saturating_mul(2));
    limits
}

/// Reads a body of at most so many bytes, a limit with the name that errors give it. The error is
/// the answer.
pub(super) async fn read_body(
    site: &Site,
    link: &Link,
    body: Body,
    most: (usize, &str),
) -> Result<body::Read, Response> {
    body::read_up_to(site, &gate::Visitor::of(link), body, most).await
}

/// Every route of a server at `address`, without a socket: one request in, one answer out.
pub fn routes(app: Arc<App>, address: SocketAddr) -> Router {
    app.serve_http();
    router(Site::new(app, address, CancellationToken::new()))
}

fn router(site: Site) -> Router {
    let limit = || middleware::from_fn_with_state(site.clone(), hold::limit);
    let agents = Router::new()
        .route("/mcp", any(front::mcp))
        .route("/mcp/", any(front::mcp))
        .route("/mcp/{*username}", any(front::mcp))
        .route("/_system/mcp", any(front::mcp))
        .route("/_system/mcp/", any(front::mcp))
        .route("/_system/mcp/{*username}", any(front::mcp))
        .route("/_system/sse", get(sse::open))
        .route("/_system/messages", post(sse::message))
        .route("/metrics", get(health::metrics))
        .layer(limit())
        .layer(middleware::from_fn_with_state(site.clone(), auth::identify));
    // Cookies count only here: a page elsewhere must not call a tool with them.
    let people = super::web::pages()
        .layer(limit())
        .layer(middleware::from_fn_with_state(site.clone(), cookie::identify));
    let files = Router::new()
        .route("/_system/dav/{vault}", any(super::dav::serve))
        .route("/_system/dav/{vault}/", any(super::dav::serve))
        .route("/_system/dav/{vault}/{*path}", any(super::dav::serve))
        .layer(limit())
        .layer(middleware::from_fn_with_state(site.clone(), super::dav::identify));
    // What needs no caller, or finds out for itself who it is.
    let open = oauth::routes()
        .merge(super::web::open())
        .route("/webhooks/stripe", post(webhook::stripe))
        .route("/readyz", get(health::ready))
        .layer(limit());
    Router::new()
        .merge(agents)
        .merge(people)
        .merge(files)
        .merge(open)
        .route("/healthz", get(health::alive))
        .layer(middleware::from_fn_with_state(site.clone(), guard::check))
        .layer(middleware::from_fn_with_state(site.clone(), count))
        .with_state(site)
}

async fn count(State(site): State<Site>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    site.answered.fetch_add(1, Ordering::Relaxed);
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
