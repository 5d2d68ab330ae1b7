//! The limits around one request: its share of the server is held until the last byte of its
//! answer is taken, and a token that is revoked ends it.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use http_body::{Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{
    Site, auth, body,
    connections::Connection,
    gate::{Resource, Share, Visitor},
    origin, refuse,
};
use crate::{
    domain::Error,
    serve::mcp::{Identity, Link},
};

/// Marks an answer that goes on until somebody ends it, such as a stream of notifications.
#[derive(Clone, Copy)]
pub struct Endless;

/// The credentials that have requests or streams open, each with what ends them.
#[derive(Default)]
pub struct Credentials(Mutex<HashMap<Identity, CancellationToken>>);

impl Credentials {
    fn ending(&self, identity: &Identity) -> CancellationToken {
        match identity {
            Identity::Token(_) | Identity::Connection(_) => {
                let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                open.entry(identity.clone()).or_default().clone()
            }
            // Nothing revokes these while a request lasts.
            Identity::User(_) | Identity::Network(_) | Identity::Process => {
                CancellationToken::new()
            }
        }
    }

    pub fn open(&self) -> Vec<Identity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Ends everything that a credential opened.
    pub fn end(&self, identity: &Identity) {
        let ending = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(identity);
        if let Some(ending) = ending {
            ending.cancel();
        }
    }
}

/// Runs a request within the limits of its caller.
pub async fn limit(State(site): State<Site>, request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let visitor = match request.extensions().get::<Link>() {
        Some(link) => Visitor::of(link),
        // A route without a caller, such as `/readyz`.
        None => Visitor {
            identity: Identity::of_address(origin::address(
                &site,
                request.headers(),
                request.extensions(),
            )),
            owner: false,
        },
    };
    let ending = site.credentials.ending(&visitor.identity);
    let share = match site.gate.take(&visitor, Resource::Requests, 1) {
        Ok(share) => share,
        Err(error) => {
            body::discard(request.into_body()).await;
            return busy(&error);
        }
    };
    let response = tokio::select! {
        response = next.run(request) => response,
        () = ending.cancelled() => return auth::unauthorized(),
    };
    let endless = response.extensions().get::<Endless>().is_some();
    let share = match endless {
        false => share,
        true => match site.gate.take(&visitor, Resource::Streams, 1) {
            Ok(share) => share,
            Err(error) => return busy(&error),
        },
    };
    let deadline = connection.filter(|_| !endless).map(|connection| {
        let time = Duration::from_secs(site.hub.app.config.limits.request_seconds) * 2;
        connection.set_deadline(Some(Instant::now() + time));
        Deadline(connection)
    });
    response.map(|inner| {
        Body::new(Held {
            inner,
            pending: Bytes::new(),
            ending: Box::pin(ending.cancelled_owned()),
            _share: share,
            _deadline: deadline,
        })
    })
}

/// The answer to a caller who uses as much as they may.
pub fn busy(error: &Error) -> Response {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, error);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Lifts the connection's deadline when the answer was taken.
struct Deadline(Arc<Connection>);

impl Drop for Deadline {
    fn drop(&mut self) {
        self.0.set_deadline(None);
    }
}

/// The most that is handed to the connection at once. A large answer stays with its share until the
/// client has taken nearly all of it.
const PIECE: usize = 64 << 10;

struct Held {
    inner: Body,
    pending: Bytes,
    ending: Pin<Box<WaitForCancellationFutureOwned>>,
    _share: Share,
    _deadline: Option<Deadline>,
}

impl Held {
    fn piece(&mut self) -> Frame<Bytes> {
        let size = self.pending.len().min(PIECE);
        Frame::data(self.pending.split_to(size))
    }
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ending.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if !self.pending.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.len() > PIECE => {
                    self.pending = data;
                    Poll::Ready(Some(Ok(self.piece())))
                }
                Ok(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
                Err(frame) => Poll::Ready(Some(Ok(frame))),
            },
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pending.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let pending = self.pending.len() as u64;
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + pending);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + pending);
        }
        hint
    }
}
