//! WebDAV at `/_system/dav/{vault}/`, for hosted vaults. The crate `dav-server` speaks the protocol;
//! what a request may see and write is decided by [`HostedVault`](crate::app::hosted::HostedVault),
//! with the caller's rights.

mod condition;
mod credential;
mod file;
mod filesystem;
mod if_header;
mod locks;
mod outcome;
mod place;
mod transfer;

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use dav_server::DavHandler;
use futures::FutureExt;
use http_body_util::Full;
use percent_encoding::percent_decode_str;

use super::{
    http::{Site, read_body},
    mcp::Link,
};
use crate::{
    domain::{Error, VaultPath},
    post::xml,
};

pub(super) use credential::identify;
pub(super) use locks::Locks;

use filesystem::VaultFiles;
use outcome::{OUTSIDE, Outcome, plain};
use place::Place;
use transfer::Transfer;

/// What every address of a vault starts with.
pub(super) const ROOT: &str = "/_system/dav/";

/// How nextCloud's clients, rclone among them, send the time of a file, and how they learn that it
/// was kept.
const MTIME: &str = "x-oc-mtime";

/// How the Finder says how long a file is whose request does not.
const ENTITY_LENGTH: &str = "x-expected-entity-length";

const UNREADABLE_IF: &str = "the `If` header cannot be read, has more than 100 lists of conditions, or more than 64 KiB with the name of its file before each list; nothing was changed. Send a short one, as RFC 4918 has it: `(<token>)`, or `</path> ([\"etag\"])`";

/// Answers one request.
pub(super) async fn serve(State(site): State<Site>, request: Request) -> Response {
    let Some(link) = request.extensions().get::<Link>().cloned() else {
        return plain(StatusCode::UNAUTHORIZED, "this address needs a token");
    };
    let (mut parts, body) = request.into_parts();
    if !condition::rewrite_if(&mut parts.headers) {
        return plain(StatusCode::BAD_REQUEST, UNREADABLE_IF);
    }
    if !condition::has_whole_tags(&parts.headers) {
        return plain(
            StatusCode::BAD_REQUEST,
            "a tag of `If-Match`, `If-None-Match` or `If-Range` is not ASCII, or a quotation mark without its end; nothing was changed",
        );
    }
    let raw = parts.uri.path().strip_prefix(ROOT).unwrap_or_default();
    let raw = raw.split('/').next().unwrap_or_default();
    let decoded = percent_decode_str(raw).decode_utf8().map(|name| name.into_owned());
    let name = decoded.as_deref().ok().and_then(|name| VaultPath::parse(name).ok());
    let (Ok(decoded), Some(name)) = (decoded.as_deref(), name) else {
        return plain(StatusCode::NOT_FOUND, "the address names no vault");
    };
    let root = format!("{ROOT}{decoded}");
    if place::of_request(&parts.uri, &root) == Some(Place::Outside) {
        return plain(StatusCode::NOT_FOUND, "the address leads out of its vault");
    }
    match place::of_destination(&parts.headers, &root) {
        Some(Place::Vault) => {
            return plain(
                StatusCode::FORBIDDEN,
                "the destination is the vault itself; name a file or folder in it. Nothing was changed",
            );
        }
        Some(Place::Outside) => return plain(StatusCode::BAD_GATEWAY, OUTSIDE),
        Some(Place::Inside) | None => {}
    }
    let app = site.hub.app.clone();
    let outcome = Arc::new(Outcome::default());
    let files = VaultFiles {
        app: app.clone(),
        rights: Arc::new(link.rights.clone()),
        vault: name.as_str().into(),
        row: Arc::default(),
        method: parts.method.clone(),
        conditional: is_conditional(&parts.headers),
        mtime_ns: mtime_ns(&parts.headers),
        seen: Arc::default(),
        listed: Arc::default(),
        has_properties: Arc::default(),
        transfer: Transfer::of(&parts, &root),
        is_replacing: Arc::default(),
        is_replaced: Arc::default(),
        outcome: outcome.clone(),
    };
    if let Err(error) = files.open_vault().await {
        return outcome::refused(&error);
    }
    let is_file = matches!(parts.method.as_str(), "PUT" | "PATCH");
    let limit = match is_file {
        true => {
            let bytes = usize::try_from(app.config.hosted.file_bytes).unwrap_or(usize::MAX);
            (bytes, "`hosted.file_bytes`")
        }
        false => (MAX_BODY, "a WebDAV request without a file"),
    };
    // Whole before anything is written: a connection that breaks changes nothing.
    let read = match read_body(&site, &link, body, limit).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    // What is no file is XML, of which the crate builds a tree.
    if !is_file && !xml::is_shallow(&read.bytes) {
        return plain(StatusCode::BAD_REQUEST, "the XML of the request is nested too deep");
    }
    let is_lock = parts.method.as_str() == "LOCK";
    if is_lock && !locks::keeps_owner(&read.bytes) {
        return plain(StatusCode::BAD_REQUEST, locks::LONG_OWNER);
    }
    if is_file && let Err(refusal) = set_length(&mut parts.headers, read.bytes.len()) {
        return plain(StatusCode::BAD_REQUEST, &refusal);
    }
    let at = place::in_vault(&parts.uri, &root);
    if let Err(error) = files.check_rights(at).await {
        return outcome::refused(&error);
    }
    if let Some(refusal) = files.transfer.as_ref().and_then(Transfer::refusal) {
        return plain(StatusCode::FORBIDDEN, refusal);
    }
    let principal = link.rights.actor("webdav").who;
    let locks = site.locks.of_vault(&files, &principal);
    let handler = DavHandler::<()>::builder()
        .strip_prefix(root)
        .filesystem(Box::new(files))
        .locksystem(Box::new(locks.clone()))
        .principal(principal)
        .autoindex(false)
        .read_buf_size(64 << 10)
        .build_handler();
    let has_mtime = parts.headers.contains_key(MTIME) && parts.method == Method::PUT;
    let method = parts.method.clone();
    let request = Request::from_parts(parts, Full::<Bytes>::new(read.bytes));
    // A panic of the crate must not leave the caller without an answer.
    let Ok(response) = AssertUnwindSafe(handler.handle(request)).catch_unwind().await else {
        tracing::error!(%method, "a WebDAV request could not be handled");
        return plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the request could not be handled; look whether it changed something before you send it again",
        );
    };
    locks.end_replaced();
    let response = response.map(Body::new);
    drop(read.share);
    finished(response, &method, outcome, has_mtime)
}

/// Bytes of the body of a request that sends no file.
const MAX_BODY: usize = 64 << 10;

fn finished(
    response: Response,
    method: &Method,
    outcome: Arc<Outcome>,
    has_mtime: bool,
) -> Response {
    let mut response = match response.status() {
        StatusCode::MULTI_STATUS if method.as_str() == "PROPFIND" => {
            outcome::whole(response, outcome)
        }
        StatusCode::MULTI_STATUS => outcome::described(response, outcome),
        _ => outcome.explained(response, method),
    };
    let is_done = response.status().is_success();
    let headers = response.headers_mut();
    for (name, value) in [
        // A page that somebody uploaded runs nothing here.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox; frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::VARY, "Authorization"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if has_mtime && is_done {
        headers.insert(MTIME, HeaderValue::from_static("accepted"));
    }
    response
}

/// Whether a request says what it expects to be there.
fn is_conditional(headers: &HeaderMap) -> bool {
    ["if-match", "if-none-match", "if-unmodified-since", "if"]
        .iter()
        .any(|name| headers.contains_key(*name))
}

/// Says how long the body is, which is whole by now, so that the crate compares it with a range before
/// it writes. Refuses another length that the client announced.
fn set_length(headers: &mut HeaderMap, size: usize) -> Result<(), String> {
    if let Some(announced) = headers.get(ENTITY_LENGTH) {
        let announced = String::from_utf8_lossy(announced.as_bytes());
        if announced.trim().parse() != Ok(size) {
            return Err(format!(
                "the file has {size} bytes, not `{}`, as `X-Expected-Entity-Length` says; nothing was changed. Send it again",
                announced.chars().take(20).collect::<String>().escape_debug()
            ));
        }
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    Ok(())
}

fn mtime_ns(headers: &HeaderMap) -> Option<i64> {
    let seconds: f64 = headers.get(MTIME)?.to_str().ok()?.trim().parse().ok()?;
    let is_sane = (0.0..4e9).contains(&seconds);
    is_sane.then_some((seconds * 1e9) as i64)
}

/// The error of a task of the blocking pool that did not end.
fn lost(error: tokio::task::JoinError) -> Error {
    Error::internal("a request to a hosted vault did not end").with_source(error)
}
