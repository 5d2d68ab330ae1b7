//! Who asks: a token as the password of Basic, or as Bearer. The user name of Basic is not looked
//! at, for the token says who it is.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use base64::{Engine, engine::general_purpose::STANDARD};

use super::super::http::{Site, auth};
use crate::{config::Anonymous, serve::mcp::Link};

/// What a client without a token is asked for. Basic first: it is all that most clients know.
const CHALLENGE: &str = "Basic realm=\"Notewell: the password is a token\", charset=\"UTF-8\"";

/// Gives a request its [`Link`]. Without a token only `[server] anonymous = "owner"` lets it in.
pub async fn identify(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    if let Some(token) = basic(&request) {
        match HeaderValue::from_str(&format!("Bearer {token}")) {
            Ok(bearer) => request.headers_mut().insert(header::AUTHORIZATION, bearer),
            Err(_) => request.headers_mut().remove(header::AUTHORIZATION),
        };
    }
    let head = auth::Head::of(&request);
    let link: Link = match auth::has_credential(head.headers) {
        true => match auth::by_token(&site, head).await {
            Ok(link) => link,
            Err(refused) => return challenged(*refused),
        },
        false => match auth::anonymous(&site, head) {
            Some(link) if site.hub.app.config.server.anonymous == Anonymous::Owner => link,
            _ => return challenged(auth::unauthorized()),
        },
    };
    request.extensions_mut().insert(link);
    next.run(request).await
}

/// The password of Basic.
fn basic(request: &Request) -> Option<String> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    decoded.split_once(':').map(|(_, password)| password.trim().to_owned())
}

fn challenged(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE));
        headers.append(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"notewell\""),
        );
    }
    response
}
