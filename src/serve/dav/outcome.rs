//! Why a request was refused: the protocol's crate knows status codes, people need a sentence.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    body::Body,
    http::{HeaderValue, Method, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use dav_server::fs::FsError;
use futures::StreamExt;
use http_body_util::BodyExt;

use crate::{
    domain::{Code, Error},
    serve::http::html,
};

/// How a `multistatus` of the protocol's crate ends. The addresses in it are percent-encoded.
const END: &[u8] = b"</D:multistatus>";

/// The first refusal of a request.
#[derive(Debug, Default)]
pub struct Outcome(Mutex<Option<(StatusCode, String)>>);

impl Outcome {
    /// Keeps the sentence, and gives what the protocol's crate understands.
    pub fn refuse(&self, error: &Error) -> FsError {
        let status = status(error);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(error = ?error, "a request to a hosted vault failed");
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            *kept = Some((status, sentence(error)));
        }
        match error.code {
            Code::NotFound => FsError::NotFound,
            Code::Conflict => FsError::Exists,
            Code::Limit => FsError::InsufficientStorage,
            Code::InvalidParams | Code::InvalidRequest => FsError::Forbidden,
            _ => FsError::GeneralFailure,
        }
    }

    /// A refusal that has no error of the library behind it.
    pub fn refuse_with(&self, status: StatusCode, sentence: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| (status, sentence.to_owned()));
    }

    /// Whether something failed that is no fault of the request.
    fn has_failed(&self) -> bool {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().is_some_and(|(status, _)| status.is_server_error())
    }

    /// The end of a `multistatus` with the sentence, which is known by then.
    fn with_description(&self, bytes: Bytes) -> Bytes {
        let Some(at) = end_of(&bytes) else { return bytes };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((_, sentence)) = kept else { return bytes };
        // XML has no place for control characters.
        let sentence: String = sentence.chars().filter(|c| !c.is_control()).collect();
        let described =
            format!("<D:responsedescription>{}</D:responsedescription>\n", html::escape(&sentence));
        [&bytes[..at], described.as_bytes(), &bytes[at..]].concat().into()
    }

    /// The answer with the sentence. What is not found is not explained: clients ask for much that
    /// is not there.
    pub fn explained(&self, response: Response, method: &Method) -> Response {
        let status = response.status();
        if !status.is_client_error() && !status.is_server_error() {
            return response;
        }
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept {
            Some((StatusCode::NOT_FOUND, sentence)) => with_text(response, &sentence),
            Some((better, sentence)) => {
                let mut response = with_text(response, &sentence);
                // The protocol's own codes for what it checked itself stay.
                if !matches!(status, StatusCode::PRECONDITION_FAILED | StatusCode::LOCKED)
                    && (status.is_server_error() || better != StatusCode::CONFLICT)
                {
                    *response.status_mut() = better;
                }
                response
            }
            None => match sentence_of(status, method) {
                Some(sentence) => with_text(response, sentence),
                None => response,
            },
        }
    }
}

/// The statuses of several files, with the sentence about the first refusal at their end.
pub fn described(response: Response, outcome: Arc<Outcome>) -> Response {
    response.map(|body| {
        Body::new(
            body.map_frame(move |frame| frame.map_data(|bytes| outcome.with_description(bytes))),
        )
    })
}

/// A listing that breaks off where something could not be read: a client that syncs would take what
/// is missing from a whole one for deleted.
pub fn whole(response: Response, outcome: Arc<Outcome>) -> Response {
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| match chunk {
            Ok(bytes) if outcome.has_failed() && end_of(&bytes).is_some() => {
                Err(axum::Error::new(io::Error::other("a folder could not be listed")))
            }
            chunk => chunk,
        }))
    })
}

fn end_of(bytes: &[u8]) -> Option<usize> {
    bytes.windows(END.len()).position(|window| window == END)
}

/// Why something cannot be moved or copied out of its vault.
pub const OUTSIDE: &str = "the destination is outside of this vault; nothing was changed";

/// Why a write whose conditions held before is refused.
pub const CHANGED: &str = "something else is there than the request expects: somebody wrote at this moment; nothing was changed. Read it again";

/// What a code of the protocol means to a person.
fn sentence_of(status: StatusCode, method: &Method) -> Option<&'static str> {
    Some(match status {
        StatusCode::METHOD_NOT_ALLOWED if method == Method::GET => {
            "this is a folder of a hosted vault, for WebDAV clients; the pages for people start at /"
        }
        StatusCode::PRECONDITION_FAILED => {
            "the file is not what the request expects; nothing was changed. Read it again"
        }
        StatusCode::LOCKED => {
            "somebody else holds a lock here; nothing was changed. It ends by itself after a while"
        }
        StatusCode::CONFLICT if method.as_str() == "UNLOCK" => {
            "there is no such lock of yours here; it may have ended by itself"
        }
        StatusCode::CONFLICT => "the folder above is not there; make it first",
        StatusCode::BAD_GATEWAY => OUTSIDE,
        StatusCode::NOT_IMPLEMENTED if method.as_str() == "PROPFIND" => return None,
        _ => return None,
    })
}

fn with_text(response: Response, sentence: &str) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    parts.headers.insert(header::CONTENT_TYPE, kind);
    Response::from_parts(parts, Body::from(format!("{sentence}\n")))
}

fn sentence(error: &Error) -> String {
    match status(error) {
        StatusCode::INTERNAL_SERVER_ERROR => {
            "something went wrong here, and the server's log says why; read the file again before you repeat the change"
                .to_owned()
        }
        _ => error.plain().to_owned(),
    }
}

/// The status of an error of the library.
fn status(error: &Error) -> StatusCode {
    match error.code {
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Conflict => StatusCode::CONFLICT,
        Code::Limit => StatusCode::INSUFFICIENT_STORAGE,
        Code::InvalidParams | Code::InvalidRequest => StatusCode::FORBIDDEN,
        Code::Storage | Code::Outside => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// An error as an answer.
pub fn refused(error: &Error) -> Response {
    let outcome = Outcome::default();
    outcome.refuse(error);
    plain(status(error), &sentence(error))
}

/// A sentence as an answer.
pub fn plain(status: StatusCode, sentence: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    with_text(response, sentence)
}

#[cfg(test)]
mod tests {
    use futures::{executor::block_on, stream};

    use super::*;

    fn listing(outcome: Outcome) -> Option<Bytes> {
        let chunks = ["<D:multistatus>", "<D:response/>", "\n</D:multistatus>"];
        let chunks = stream::iter(chunks.map(|chunk| Ok::<_, io::Error>(Bytes::from(chunk))));
        let response = whole(Response::new(Body::from_stream(chunks)), Arc::new(outcome));
        block_on(response.into_body().collect()).ok().map(|body| body.to_bytes())
    }

    #[test]
    fn a_listing_that_is_not_whole_does_not_end_like_one() {
        let [sound, refused, failed] = [(); 3].map(|()| Outcome::default());
        refused.refuse(&Error::not_found("gone since"));
        failed.refuse(&Error::storage("the store does not answer"));
        assert!(listing(sound).is_some_and(|body| body.ends_with(END)));
        assert!(listing(refused).is_some(), "a file that went is missing");
        assert!(listing(failed).is_none());
    }
}
