//! `POST /webhooks/stripe`: what Stripe reports. The signature over the raw body is the only
//! credential.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{Site, body, gate::Visitor, origin, refuse};
use crate::{
    app::{accounts::Actor, market::Received},
    domain::{Code, Error},
    serve::mcp::Identity,
    store::ledger::Outside,
};

/// Larger events are none that we asked for.
const MAX_BYTES: usize = 256 << 10;
const SIGNATURE: &str = "stripe-signature";

/// `POST /webhooks/stripe`.
pub async fn stripe(State(site): State<Site>, request: Request) -> Response {
    let (parts, content) = request.into_parts();
    let Some(signature) = text(&parts.headers, SIGNATURE) else {
        body::discard(content).await;
        let error = Error::invalid_request("the event was refused: it has no `Stripe-Signature`");
        return refuse(StatusCode::BAD_REQUEST, &error);
    };
    let from = origin::address(&site, &parts.headers, &parts.extensions);
    let visitor = Visitor { identity: Identity::of_address(from), owner: false };
    let read = match body::read_up_to(&site, &visitor, content, (MAX_BYTES, "an event")).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let app = site.hub.app.clone();
    // The store blocks.
    let received = tokio::task::spawn_blocking(move || {
        let received = app.market().receive(Outside::Stripe, &signature, &read.bytes)?;
        if let Received::Booked(user) = received {
            let account = app.store.users.get(user)?;
            let name = account.map_or_else(String::new, |account| account.name.to_string());
            let provider = Actor { who: "stripe".into(), address: from.to_string() };
            app.audit(provider.entry("market_top_up", name, "ok"));
        }
        Ok(received)
    })
    .await
    .unwrap_or_else(|error| {
        Err(Error::internal("the event could not be taken in").with_source(error))
    });
    match received {
        Ok(received) => {
            let outcome = match received {
                Received::Booked(_) => "booked",
                Received::Repeat => "repeat",
                Received::Ignored => "ignored",
            };
            tracing::info!(outcome, "an event of Stripe");
            axum::Json(json!({ "received": true })).into_response()
        }
        // Stripe sends it again, and tells the operator when that does not help.
        Err(error) => {
            tracing::warn!(?error, "an event of Stripe was refused");
            let status = match error.code {
                Code::Internal | Code::Storage | Code::Damaged => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::BAD_REQUEST,
            };
            refuse(status, &error)
        }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
