//! Attachments: the pictures and documents that a note shows, for whoever may read the note.

use axum::{
    extract::Path,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    domain::{Error, Pid, Result},
    serve::web::{Visit, answer, assets},
};

/// The largest file that is sent.
const MAX_BYTES: u64 = 64 << 20;

/// Kinds that a browser shows. Anything else is offered to be saved.
const SHOWN: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("svg", "image/svg+xml"),
];

/// `GET /n/{pid}/file/{path}`.
pub async fn show(Path((pid, path)): Path<(i64, String)>, visit: Visit) -> Response {
    visit.run(move |visit| send(visit, Pid(pid), &path)).await
}

fn send(visit: &Visit, pid: Pid, path: &str) -> Result<Response> {
    let missing = || Error::not_found("there is no such file in this note");
    let file = visit.app().attachment(pid, path, visit.rights())?.ok_or_else(missing)?;
    let bytes = visit.app().sources.attachment_bytes(&file.vault, &file.path, MAX_BYTES)?;
    let ending = file.path.file_name().rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let kind = SHOWN.iter().find(|(known, _)| Some(*known) == ending.as_deref());
    let etag = answer::etag_of(&bytes);
    let mut response = match assets::has(&visit.headers, &etag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => bytes.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind.map_or("application/octet-stream", |(_, kind)| kind)),
        // Whatever the file says of itself, it is what its ending says, and runs nothing.
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'",
        ),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::VARY, "Cookie, Authorization"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if kind.is_none() {
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    Ok(response)
}
