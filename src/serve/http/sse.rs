//! HTTP+SSE of 2024-11-05, which n8n and older clients speak: a stream that first names the address
//! to post to, then carries every answer.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Extension,
    extract::{Query, State},
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{Stream, StreamExt, stream};
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage},
    service::serve_directly_with_ct,
    transport::Transport,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{
    OwnedSemaphorePermit, Semaphore,
    mpsc::{self, error::SendTimeoutError},
};

use super::{
    Site,
    body::{self, Read},
    gate::Visitor,
    hold::{self, Endless},
    refuse,
};
use crate::{
    domain::Error,
    serve::mcp::{
        Handler, Link,
        message::{self, Incoming},
    },
};

/// Open streams, by the id in the address to post to.
#[derive(Default)]
pub struct Streams(Mutex<HashMap<String, Session>>);

#[derive(Clone)]
struct Session {
    visitor: Visitor,
    incoming: mpsc::Sender<ClientJsonRpcMessage>,
    outgoing: mpsc::Sender<Box<RawValue>>,
}

/// Requests of one stream whose answers were not taken yet. Further ones wait.
const UNANSWERED: usize = 16;

impl Streams {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub async fn open(State(site): State<Site>, Extension(link): Extension<Link>) -> Response {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        return refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            &Error::internal("the system gave no random numbers; try again"),
        );
    }
    let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (incoming, requests) = mpsc::channel(UNANSWERED);
    let (outgoing, answers) = mpsc::channel(UNANSWERED);
    let visitor = Visitor::of(&link);
    site.sse.lock().insert(id.clone(), Session { visitor, incoming, outgoing: outgoing.clone() });
    let handler = Handler::new(site.hub.clone(), link);
    let ending = site.closing.child_token();
    let places = Arc::new(Semaphore::new(UNANSWERED));
    let channel = Channel { requests, outgoing, places, unanswered: Arc::default() };
    let running = serve_directly_with_ct(handler, channel, None, ending.clone());
    let end = End { site: site.clone(), id: id.clone(), ending: ending.clone() };
    tokio::spawn(async move { drop(running.waiting().await) });
    let endpoint =
        Event::default().event("endpoint").data(format!("/_system/messages?sessionId={id}"));
    let first = stream::once(async { Ok::<_, Infallible>(endpoint) });
    let stream = first.chain(events(answers, end)).take_until(ending.cancelled_owned());
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
    // The gate counts it as a stream, or refuses it, which ends it.
    (Extension(Endless), Sse::new(stream).keep_alive(keep_alive)).into_response()
}

/// Every answer as an event; dropping the stream (the client went away) ends the session.
fn events(
    answers: mpsc::Receiver<Box<RawValue>>,
    end: End,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((answers, end), |(mut answers, end)| async move {
        let message = answers.recv().await?;
        Some((Ok(Event::default().event("message").data(message.get())), (answers, end)))
    })
}

struct End {
    site: Site,
    id: String,
    ending: tokio_util::sync::CancellationToken,
}

impl Drop for End {
    fn drop(&mut self) {
        self.site.sse.lock().remove(&self.id);
        self.ending.cancel();
    }
}

#[derive(Deserialize)]
pub struct Address {
    #[serde(rename = "sessionId", alias = "session_id", default)]
    session: String,
}

pub async fn message(
    State(site): State<Site>,
    Extension(link): Extension<Link>,
    Query(address): Query<Address>,
    body: axum::body::Body,
) -> Response {
    let visitor = Visitor::of(&link);
    let session = site.sse.lock().get(&address.session).cloned();
    // Somebody else's stream is as unknown as any other.
    let Some(session) = session.filter(|session| session.visitor.is_same_caller(&visitor)) else {
        return refuse(
            StatusCode::NOT_FOUND,
            &Error::invalid_request("no such session; open a stream at /_system/sse first"),
        );
    };
    let Read { bytes, share: _share } = match body::read(&site, &visitor, body).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let values = match body::parse(&site, &bytes).await {
        Ok(Incoming::One(value)) => vec![value],
        Ok(Incoming::Batch(values)) => values,
        Err(refused) => return refused,
    };
    drop(bytes);
    let time = Duration::from_secs(site.hub.app.config.limits.request_seconds);
    for value in values {
        let sent = match message::decode(value) {
            Ok(mut message) => {
                // The rights of this request count, not those that the stream was opened with.
                message.insert_extension(parts_with(link.clone()));
                session.incoming.send_timeout(message, time).await.map_err(is_slow)
            }
            Err(answer) => {
                session.outgoing.send_timeout(message::text(&answer), time).await.map_err(is_slow)
            }
        };
        match sent {
            Ok(()) => {}
            Err(true) => {
                return hold::busy(&Error::limit(
                    "this stream has too many answers that were not read; read them first",
                ));
            }
            Err(false) => {
                return refuse(StatusCode::GONE, &Error::invalid_request("the stream has ended"));
            }
        }
    }
    (StatusCode::ACCEPTED, "Accepted").into_response()
}

/// What the front attaches to a request that the SDK takes in itself.
fn parts_with(link: Link) -> http::request::Parts {
    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.extensions.insert(link);
    parts
}

fn is_slow<T>(error: SendTimeoutError<T>) -> bool {
    matches!(error, SendTimeoutError::Timeout(_))
}

/// One stream as the SDK's transport.
struct Channel {
    requests: mpsc::Receiver<ClientJsonRpcMessage>,
    outgoing: mpsc::Sender<Box<RawValue>>,
    /// One permit for each request that may be under way, and those that are.
    places: Arc<Semaphore>,
    unanswered: Arc<Mutex<HashMap<RequestId, OwnedSemaphorePermit>>>,
}

impl Transport<RoleServer> for Channel {
    type Error = mpsc::error::SendError<Box<RawValue>>;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (outgoing, unanswered) = (self.outgoing.clone(), self.unanswered.clone());
        async move {
            let sent = outgoing.send(message::encode(&item)).await;
            if let Some(id) = message::answers(&item) {
                unanswered.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // Nothing is taken before it may run: this future may be dropped while it waits.
        let place = self.places.clone().acquire_owned().await.ok()?;
        let message = self.requests.recv().await?;
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        match &message {
            ClientJsonRpcMessage::Request(request) => {
                unanswered.insert(request.id.clone(), place);
            }
            ClientJsonRpcMessage::Notification(notification) => {
                // A cancelled request has no answer.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    unanswered.remove(id);
                }
            }
            _ => {}
        }
        drop(unanswered);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
