//! People in browsers: the session cookie, who a page request comes from, and the check that a
//! change comes from a page of ours.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};

use super::{
    Site,
    auth::{self, Head},
    origin, refuse,
};
use crate::{
    app::App,
    domain::{Error, Result, Scopes},
    serve::mcp::{Identity, Link},
    store::{sessions::Session, tokens::Holder},
};

/// How long a browser keeps the cookie: as long as an unused session lasts.
const MAX_AGE_SECONDS: u64 = 30 * 24 * 60 * 60;

/// The session of a person who signed in. The middleware [`identify`] attaches it to their requests.
#[derive(Clone)]
pub struct SignedIn {
    /// The browser's session.
    pub session: Session,
    /// The account.
    pub holder: Holder,
}

impl SignedIn {
    /// The link of a request of this person: a browser may do whatever its user may.
    pub fn link(&self, site: &Site) -> Link {
        let rights = site.hub.app.rights(self.holder.caller(Scopes::ALL));
        Link { identity: Identity::User(self.holder.id.0), ..Link::of(rights) }
    }
}

/// Gives each page request its [`Link`]: by the session cookie, by a token, or by the rule for
/// callers without either. A request with a session has its [`SignedIn`] too.
pub async fn identify(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    let head = Head::of(&request);
    let headers = head.headers;
    let (link, session) = if auth::has_credential(headers) {
        match auth::by_token(&site, head).await {
            Ok(link) => (link, None),
            Err(refused) => return *refused,
        }
    } else {
        let session = match session(&site, headers).await {
            Ok(session) => session,
            Err(error) => return failed(&error),
        };
        let link = match &session {
            Some(signed_in) => Some(signed_in.link(&site)),
            None => auth::anonymous(&site, head),
        };
        match link {
            Some(link) => (link, session),
            None => return sign_in_first(head),
        }
    };
    if let Some(signed_in) = session {
        request.extensions_mut().insert(signed_in);
    }
    request.extensions_mut().insert(link);
    next.run(request).await
}

/// Sends a person to the sign-in page, and tells a program that it needs a token.
fn sign_in_first(head: Head<'_>) -> Response {
    let wants_page = auth::accepts(head.headers, "text/html");
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    match wants_page && head.method == Method::GET {
        true => Redirect::to(&sign_in_address(path)).into_response(),
        false => auth::unauthorized(),
    }
}

/// The address of the sign-in page that leads on to a path of this server.
pub fn sign_in_address(next: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", next);
    format!("/sign-in?{}", query.finish())
}

/// The session that a request's cookie opens, with its account.
pub async fn session(site: &Site, headers: &HeaderMap) -> Result<Option<SignedIn>> {
    let base = origin::base(site, headers);
    if secret(headers, &base).is_none() {
        return Ok(None);
    }
    let (app, headers) = (site.hub.app.clone(), headers.clone());
    let found = tokio::task::spawn_blocking(move || signed_in(&app, &headers, &base)).await;
    found.unwrap_or_else(|error| {
        Err(Error::internal("could not check the session").with_source(error))
    })
}

/// The same, where the store may block.
pub fn signed_in(app: &App, headers: &HeaderMap, base: &str) -> Result<Option<SignedIn>> {
    let Some(secret) = secret(headers, base) else { return Ok(None) };
    let found = app.session_of(&secret)?;
    Ok(found.map(|(session, holder)| SignedIn { session, holder }))
}

fn failed(error: &Error) -> Response {
    tracing::error!(error = ?error, "could not check a session");
    refuse(
        StatusCode::INTERNAL_SERVER_ERROR,
        &Error::internal("could not check the session; the server's log says why"),
    )
}

/// `__Host-` binds a cookie to https and to this very host. Plain http has no such cookie.
fn name(base: &str) -> &'static str {
    if base.starts_with("https:") { "__Host-nw" } else { "nw" }
}

/// The secret of the session cookie.
pub fn secret(headers: &HeaderMap, base: &str) -> Option<String> {
    let name = name(base);
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, secret)| secret.to_owned())
        .filter(|secret| !secret.is_empty() && secret.len() <= 200)
}

/// The header that gives a browser its session.
pub fn give(base: &str, secret: &str) -> Option<HeaderValue> {
    header_value(base, secret, MAX_AGE_SECONDS)
}

/// The header that takes the session cookie away.
pub fn take_away(base: &str) -> Option<HeaderValue> {
    header_value(base, "", 0)
}

fn header_value(base: &str, secret: &str, max_age: u64) -> Option<HeaderValue> {
    let secure = if base.starts_with("https:") { "; Secure" } else { "" };
    let name = name(base);
    let text =
        format!("{name}={secret}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether a request that changes something comes from a page of ours. The browser says so in
/// `Sec-Fetch-Site`; one that does not send it must name our own Origin.
pub fn is_same_origin(headers: &HeaderMap, base: &str) -> bool {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or(""));
    match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => {
            url::Url::parse(base).is_ok_and(|base| base.origin().ascii_serialization() == origin)
        }
        (None, None) => false,
    }
}

/// A path of this server to go on to, or `/` where the text leads anywhere else.
pub fn local_path(next: &str) -> String {
    let elsewhere = || "/".to_owned();
    let is_plain = next.starts_with('/')
        && !next.starts_with("//")
        && next.len() <= 8000
        && !next.contains(|c: char| c == '\\' || c.is_control() || c.is_whitespace());
    if !is_plain {
        return elsewhere();
    }
    // Read as a browser reads it.
    let Ok(base) = url::Url::parse("http://here.invalid") else { return elsewhere() };
    match base.join(next) {
        Ok(url) if url.origin() == base.origin() && !url.path().starts_with("//") => {
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            format!("{}{query}", url.path())
        }
        _ => elsewhere(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_of_ours_is_gone_on_to() {
        for path in ["/", "/n/12?q=a%20b", "/authorize?redirect_uri=https%3A%2F%2Fa.example%2Fcb"] {
            assert_eq!(local_path(path), path);
        }
        for elsewhere in [
            "",
            "n",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/a\r\nSet-Cookie: nw=1",
            "/..//evil.example",
            "/.//evil.example",
            " //evil.example",
        ] {
            assert_eq!(local_path(elsewhere), "/", "{elsewhere}");
        }
    }

    #[test]
    fn the_cookie_is_bound_to_https_where_there_is_https() {
        let text = |base| give(base, "s3").unwrap().to_str().unwrap().to_owned();
        let secure = text("https://kb.example");
        assert!(secure.starts_with("__Host-nw=s3; Path=/;"), "{secure}");
        for word in ["; Secure", "; HttpOnly", "; SameSite=Lax"] {
            assert!(secure.contains(word), "{secure}");
        }
        let plain = text("http://127.0.0.1:7717");
        assert!(plain.starts_with("nw=s3;") && !plain.contains("Secure"), "{plain}");
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "a=b; nw=one; __Host-nw=two".parse().unwrap());
        assert_eq!(secret(&headers, "http://localhost").as_deref(), Some("one"));
        assert_eq!(secret(&headers, "https://kb.example").as_deref(), Some("two"));
    }

    #[test]
    fn a_change_comes_from_a_page_of_ours() {
        let base = "https://kb.example";
        let holds = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            is_same_origin(&headers, base)
        };
        assert!(holds(&[("sec-fetch-site", "same-origin")]));
        assert!(holds(&[("origin", "https://kb.example")]));
        for wrong in [
            &[][..],
            &[("sec-fetch-site", "cross-site"), ("origin", "https://kb.example")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("origin", "null")],
            &[("origin", "https://kb.example.evil.example")],
            &[("origin", "http://kb.example")],
        ] {
            assert!(!holds(wrong), "{wrong:?}");
        }
    }
}
