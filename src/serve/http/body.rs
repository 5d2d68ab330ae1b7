//! Reading a request's body within the limits on size, time and memory, and parsing it where it
//! does not hold up other requests.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::StatusCode,
    response::Response,
};
use bytes::BytesMut;
use http_body_util::BodyExt;

pub use super::gate::Share;
use super::{
    Site,
    gate::{Resource, Visitor},
    hold, refuse,
};
use crate::{
    domain::Error,
    serve::mcp::message::{self, Incoming},
};

/// A body up to this size is parsed where it was read; a larger one on the blocking pool.
pub const SMALL: usize = 32 << 10;

/// The setting that limits bodies, as errors name it.
pub const BODY_BYTES: &str = "`limits.body_bytes`";

/// Bytes in a second that a slow line carries.
const SLOW_LINE: u64 = 64 << 10;

/// A body, and the share of memory that it takes.
pub struct Read {
    pub bytes: Bytes,
    pub share: Share,
}

/// Reads a whole body. The error is the answer to send.
pub async fn read(site: &Site, visitor: &Visitor, body: Body) -> Result<Read, Response> {
    let most = site.hub.app.config.limits.body_bytes;
    read_up_to(site, visitor, body, (most, BODY_BYTES)).await
}

/// Reads a whole body of at most so many bytes; the limit comes with the name that errors give it.
/// The error is the answer to send.
pub async fn read_up_to(
    site: &Site,
    visitor: &Visitor,
    body: Body,
    most: (usize, &str),
) -> Result<Read, Response> {
    let limits = &site.hub.app.config.limits;
    // What is larger than any call gets the time that a slow line needs.
    let slow = match most.0 > limits.body_bytes {
        true => most.0 as u64 / SLOW_LINE,
        false => 0,
    };
    let time = Duration::from_secs(limits.body_seconds.max(slow));
    match tokio::time::timeout(time, collect(site, visitor, body, most)).await {
        Ok(read) => read,
        Err(_) => Err(refuse(
            StatusCode::REQUEST_TIMEOUT,
            &Error::limit(format!(
                "the body took longer than `limits.body_seconds` ({}) allows",
                limits.body_seconds
            )),
        )),
    }
}

async fn collect(
    site: &Site,
    visitor: &Visitor,
    mut body: Body,
    (most, name): (usize, &str),
) -> Result<Read, Response> {
    let too_large = || {
        refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            &Error::limit(format!(
                "the request has more than the {most} bytes of {name}; send less at once"
            )),
        )
    };
    let promised = http_body::Body::size_hint(&body).lower();
    if promised > most as u64 {
        return Err(too_large());
    }
    // Counted as it arrives, not as it is promised: a promise costs its sender nothing.
    let mut share =
        site.gate.take(visitor, Resource::Bytes, 0).map_err(|error| hold::busy(&error))?;
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            refuse(
                StatusCode::BAD_REQUEST,
                &Error::invalid_request("the request's body did not arrive whole"),
            )
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_large());
        }
        share.grow(data.len()).map_err(|error| hold::busy(&error))?;
        if bytes.is_empty() {
            bytes.reserve((promised as usize).max(data.len()));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Read { bytes: bytes.freeze(), share })
}

/// Reads a small body and keeps nothing of it, so that the connection of a client who was refused
/// can be used again. Of a large or slow one the rest stays unread, which closes the connection.
pub async fn discard(mut body: Body) {
    let mut left = SMALL;
    let all = async {
        while let Some(Ok(frame)) = body.frame().await {
            let size = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Nothing depends on how far it came.
    let _ = tokio::time::timeout(Duration::from_secs(1), all).await;
}

/// Parses a body. The error is the answer to send.
pub async fn parse(site: &Site, bytes: &Bytes) -> Result<Incoming, Response> {
    let batch = site.hub.app.config.limits.batch;
    let parsed = match bytes.len() <= SMALL {
        true => message::parse(bytes, batch),
        false => {
            let bytes = bytes.clone();
            tokio::task::spawn_blocking(move || message::parse(&bytes, batch))
                .await
                .unwrap_or_else(|_| Err(Error::internal("the request could not be parsed")))
        }
    };
    parsed.map_err(|error| refuse(StatusCode::BAD_REQUEST, &error))
}
