//! Requests of programs with a form in their body, and the JSON that answers them.

use axum::{
    Json,
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::Site;
use crate::{
    domain::Error,
    serve::{
        http::{body, gate::Visitor},
        mcp::Identity,
    },
};

/// The longest body: a few tokens and addresses.
const MAX_BYTES: usize = 64 << 10;

/// A refusal in the words of RFC 6749.
#[derive(Debug)]
pub struct Fault {
    pub status: StatusCode,
    pub error: &'static str,
    pub description: String,
    /// How long to wait, for somebody who tries too often.
    pub retry_after: Option<u64>,
    /// Whether the client tried HTTP Basic and is to be asked for it.
    pub asks_basic: bool,
}

impl Fault {
    pub fn new(error: &'static str, description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            error,
            description: description.into(),
            retry_after: None,
            asks_basic: false,
        }
    }

    /// Somebody tries too often.
    pub fn too_many(error: &Error) -> Self {
        let seconds =
            error.data.as_ref().and_then(|data| data.get("retry_after_seconds")?.as_u64());
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(seconds.unwrap_or(60)),
            ..Self::new("slow_down", error.plain())
        }
    }
}

/// A fault here: the cause goes to the log.
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        tracing::error!(?error, "the authorization server failed");
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            ..Self::new("server_error", "something failed here; the server's log says what")
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.error, "error_description": self.description });
        let mut response = answer(self.status, body);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.asks_basic {
            let challenge = HeaderValue::from_static("Basic realm=\"notewell\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// An answer that nothing on the way keeps.
pub fn answer(status: StatusCode, body: Value) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    (status, headers, Json(body)).into_response()
}

/// Reads a small body. The error is the answer.
pub async fn read(
    site: &Site,
    from: std::net::IpAddr,
    body: Body,
) -> Result<axum::body::Bytes, Box<Response>> {
    let visitor = Visitor { identity: Identity::of_address(from), owner: false };
    let most = (MAX_BYTES, "a request to this address");
    body::read_up_to(site, &visitor, body, most).await.map(|read| read.bytes).map_err(Box::new)
}
