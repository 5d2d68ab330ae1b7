//! How a client proves who it is at `/token` and `/revoke`: a public one by its name alone, a
//! confidential one with its secret, in the form or by HTTP Basic.

use axum::http::{HeaderMap, StatusCode, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    clients,
    form::Fault,
    request::{Params, short},
};
use crate::app::{App, tokens};

/// The `client_id` of who makes a request, proven where the client has a secret. Blocks.
pub fn identify(app: &App, headers: &HeaderMap, params: &Params<'_>) -> Result<String, Fault> {
    let basic = basic(headers)?;
    let (id, secret, is_basic) = match (basic, params.get("client_id")) {
        (Some((id, _)), Some(other)) if id != other => {
            return Err(Fault::new("invalid_request", "the header and the form name two clients"));
        }
        (Some((id, secret)), _) => (id, Some(secret), true),
        (None, Some(id)) => (id.to_owned(), params.get("client_secret").map(str::to_owned), false),
        (None, None) => return Err(Fault::new("invalid_request", "client_id is missing")),
    };
    // A code or token of such a client is bound to the document that was read for it.
    if clients::is_document(&id) {
        return Ok(id);
    }
    let wrong = |description: String| Fault {
        status: StatusCode::UNAUTHORIZED,
        asks_basic: is_basic,
        ..Fault::new("invalid_client", description)
    };
    let Some(registered) = app.store.oauth.client(&id)? else {
        return Err(wrong(format!(
            "the client `{}` is not registered here; register again",
            short(&id)
        )));
    };
    let given = secret.map(|secret| tokens::hash(&secret));
    match (registered.secret, given) {
        (None, _) => Ok(id),
        // Both are hashes of secrets: how long a comparison takes tells nothing of use.
        (Some(own), Some(given)) if own == given => Ok(id),
        (Some(_), _) => Err(wrong("the secret of the client is missing or wrong".to_owned())),
    }
}

/// The name and secret of an `Authorization: Basic` header.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Fault> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let decoded = || {
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
        let (id, secret) = text.split_once(':')?;
        Some((unescaped(id), unescaped(secret)))
    };
    match decoded() {
        Some(pair) => Ok(Some(pair)),
        None => Err(Fault {
            status: StatusCode::UNAUTHORIZED,
            asks_basic: true,
            ..Fault::new("invalid_client", "the Authorization header is not HTTP Basic")
        }),
    }
}

/// Both parts are encoded as in a form (RFC 6749, 2.3.1).
fn unescaped(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_is_read_as_the_standard_writes_it() {
        let mut headers = HeaderMap::new();
        assert!(basic(&headers).unwrap().is_none());
        headers.insert(
            header::AUTHORIZATION,
            format!("basic {}", STANDARD.encode("a%3Ab:c+d")).parse().unwrap(),
        );
        assert_eq!(basic(&headers).unwrap(), Some(("a:b".into(), "c d".into())));
        headers.insert(header::AUTHORIZATION, "Bearer x".parse().unwrap());
        assert_eq!(basic(&headers).unwrap_err().status, StatusCode::UNAUTHORIZED);
    }
}
