//! HTTP+SSE of 2024-11-05, which n8n and older clients speak: a stream that first names the address
//! to post to, then carries every answer.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Extension,
    body::Bytes,
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
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    service::serve_directly_with_ct,
    transport::Transport,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Site, refuse};
use crate::{
    domain::{Caller, Error},
    serve::mcp::{
        Handler, Link,
        message::{self, Incoming},
    },
};

/// Open streams, by the id in the address to post to.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Session>>);

#[derive(Clone)]
struct Session {
    caller: Caller,
    incoming: mpsc::Sender<ClientJsonRpcMessage>,
    outgoing: mpsc::Sender<Value>,
}

/// The most streams at once: each holds a task and a few buffers.
const MOST: usize = 1000;

impl Sessions {
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
    let (incoming, requests) = mpsc::channel(16);
    let (outgoing, answers) = mpsc::channel(64);
    {
        let mut sessions = site.sse.lock();
        if sessions.len() >= MOST {
            return refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                &Error::limit(format!(
                    "{MOST} streams are open, which is the most; try again later"
                )),
            );
        }
        let caller = link.caller.clone();
        sessions.insert(id.clone(), Session { caller, incoming, outgoing: outgoing.clone() });
    }
    let handler = Handler::new(site.hub.clone(), link);
    let ending = site.closing.child_token();
    let running =
        serve_directly_with_ct(handler, Channel { requests, outgoing }, None, ending.clone());
    let end = End { site: site.clone(), id: id.clone(), ending: ending.clone() };
    tokio::spawn(async move { drop(running.waiting().await) });
    let endpoint =
        Event::default().event("endpoint").data(format!("/_system/messages?sessionId={id}"));
    let first = stream::once(async { Ok::<_, Infallible>(endpoint) });
    let stream = first.chain(events(answers, end)).take_until(ending.cancelled_owned());
    Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

/// Every answer as an event; dropping the stream (the client went away) ends the session.
fn events(
    answers: mpsc::Receiver<Value>,
    end: End,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((answers, end), |(mut answers, end)| async move {
        let value = answers.recv().await?;
        Some((Ok(Event::default().event("message").data(value.to_string())), (answers, end)))
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
    let session = site.sse.lock().get(&address.session).cloned();
    // Somebody else's stream is told apart from none by nobody.
    let Some(session) = session.filter(|session| session.caller == link.caller) else {
        return refuse(
            StatusCode::NOT_FOUND,
            &Error::invalid_request("no such session; open a stream at /_system/sse first"),
        );
    };
    let limits = &site.hub.app.config.limits;
    let bytes: Bytes = match axum::body::to_bytes(body, limits.body_bytes).await {
        Ok(bytes) => bytes,
        Err(_) => {
            return refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                &Error::limit(format!(
                    "the request has more than `limits.body_bytes` ({}) bytes, or did not arrive whole",
                    limits.body_bytes
                )),
            );
        }
    };
    let values = match message::parse(&bytes, limits.batch) {
        Ok(Incoming::One(value)) => vec![value],
        Ok(Incoming::Batch(values)) => values,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    for value in values {
        let gone = match message::decode(value) {
            Ok(message) => session.incoming.send(message).await.is_err(),
            Err(answer) => session.outgoing.send(answer).await.is_err(),
        };
        if gone {
            return refuse(StatusCode::GONE, &Error::invalid_request("the stream has ended"));
        }
    }
    (StatusCode::ACCEPTED, "Accepted").into_response()
}

/// One stream as the SDK's transport.
struct Channel {
    requests: mpsc::Receiver<ClientJsonRpcMessage>,
    outgoing: mpsc::Sender<Value>,
}

impl Transport<RoleServer> for Channel {
    type Error = mpsc::error::SendError<Value>;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move { outgoing.send(message::encode(&item)).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.requests.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
