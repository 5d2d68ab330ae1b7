//! A rendered page as an HTTP answer, with the headers that keep it safe and private.

use askama::Template;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use super::assets;
use crate::domain::{Result, error::Doing};

/// The policy of every page. A page that posts a form which redirects to another site names that
/// site with [`Html::posting_to`].
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Below this size a page is sent as it is.
const WORTH_PACKING: usize = 1 << 10;

/// Who may see an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The caller alone: nothing on the way or in the browser keeps it.
    Caller,
    /// Everybody: it may be kept, and is asked for again with its ETag.
    Everybody,
}

/// The ETag of a content.
pub fn etag_of(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// A rendered page.
#[derive(Debug)]
pub struct Html {
    body: String,
    status: StatusCode,
    audience: Audience,
    kind: &'static str,
    form_action: Option<String>,
    is_entrance: bool,
}

impl Html {
    /// Renders a template.
    pub fn of(template: &impl Template, audience: Audience) -> Result<Self> {
        let body = template.render().doing("render a page")?;
        let kind = "text/html; charset=utf-8";
        Ok(Self {
            body,
            status: StatusCode::OK,
            audience,
            kind,
            form_action: None,
            is_entrance: false,
        })
    }

    /// A plain text.
    pub fn plain(body: String, audience: Audience) -> Self {
        let kind = "text/plain; charset=utf-8";
        Self { body, status: StatusCode::OK, audience, kind, form_action: None, is_entrance: false }
    }

    /// The same page with another status.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same text as another kind of document, such as a feed.
    pub fn with_kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    /// Lets the page's forms end, through a redirect, at this origin.
    pub fn posting_to(mut self, origin: &str) -> Self {
        self.form_action = Some(origin.to_owned());
        self
    }

    /// Marks a page on the way in. A client may open it in a window of its own, which must stay
    /// connected to the client; and browsers name our Origin with its forms on plain http too.
    pub fn into_entrance(mut self) -> Self {
        self.is_entrance = true;
        self
    }

    /// The answer to a request with these headers.
    pub fn answer(self, request: &HeaderMap) -> Response {
        let policy = match &self.form_action {
            None => POLICY.to_owned(),
            Some(origin) => {
                POLICY.replace("form-action 'self'", &format!("form-action 'self' {origin}"))
            }
        };
        let (keep, etag) = match self.audience {
            Audience::Caller => ("no-store", None),
            Audience::Everybody => ("no-cache", Some(etag_of(self.body.as_bytes()))),
        };
        let known = etag.as_ref().is_some_and(|etag| assets::has(request, etag));
        let packed = match self.body.len() > WORTH_PACKING && assets::reads_gzip(request) {
            true => assets::gzip(self.body.as_bytes()),
            false => Default::default(),
        };
        let is_packed = !packed.is_empty();
        let (status, body) = match (known && self.status == StatusCode::OK, is_packed) {
            (true, _) => (StatusCode::NOT_MODIFIED, Body::empty()),
            (false, true) => (self.status, Body::from(packed)),
            (false, false) => (self.status, Body::from(self.body)),
        };
        let (opener, referrer) = match self.is_entrance {
            true => ("unsafe-none", "same-origin"),
            false => ("same-origin", "no-referrer"),
        };
        let mut response = (
            status,
            [
                (header::CONTENT_TYPE, self.kind),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (header::REFERRER_POLICY, referrer),
                (header::CACHE_CONTROL, keep),
                (header::VARY, "Cookie, Authorization, Accept-Encoding"),
            ],
            body,
        )
            .into_response();
        let headers = response.headers_mut();
        headers.insert("cross-origin-opener-policy", HeaderValue::from_static(opener));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        // An origin that no header can carry is one that no form may post to.
        let policy =
            HeaderValue::from_str(&policy).unwrap_or_else(|_| HeaderValue::from_static(POLICY));
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        if is_packed && status != StatusCode::NOT_MODIFIED {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Some(etag) = etag.and_then(|etag| HeaderValue::from_str(&etag).ok()) {
            headers.insert(header::ETAG, etag);
        }
        response
    }
}
