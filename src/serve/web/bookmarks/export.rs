//! All bookmarks as one file, which an import reads back.

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use tokio::sync::mpsc;

use super::access::BookmarkAccess;
use crate::{
    domain::{Error, Pid, Result, error::Doing},
    serve::web::{Visit, errors},
};

/// Bookmarks that are read at a time.
const PAGE: usize = 500;

/// `GET /bookmarks/export.jsonl`.
pub async fn file(visit: Visit) -> Response {
    if BookmarkAccess::whole(&visit).is_none() {
        return errors::forbidden(&visit);
    }
    // A slow client holds up the reading, not the memory.
    let (sender, receiver) = mpsc::channel::<Result<Bytes>>(2);
    tokio::task::spawn_blocking(move || {
        let mut last = None;
        loop {
            let page = page(&visit, last);
            let (chunk, next) = match page {
                Ok(Some((chunk, next))) => (Ok(chunk), Some(next)),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(?error, "an export ended early");
                    (Err(error), None)
                }
            };
            // A client that went away needs no more.
            if sender.blocking_send(chunk).is_err() || next.is_none() {
                return;
            }
            last = next;
        }
    });
    let chunks = futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    (
        [
            (header::CONTENT_TYPE, "application/jsonl; charset=utf-8"),
            (header::CONTENT_DISPOSITION, "attachment; filename=\"bookmarks.jsonl\""),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        Body::from_stream(chunks),
    )
        .into_response()
}

fn page(visit: &Visit, last: Option<Pid>) -> Result<Option<(Bytes, Pid)>, Error> {
    let page = visit.app().store.bookmarks.list(last, PAGE)?;
    let Some((newest, _)) = page.last() else { return Ok(None) };
    let mut lines = Vec::new();
    for (_, bookmark) in &page {
        serde_json::to_writer(&mut lines, bookmark).doing("write a bookmark as JSON")?;
        lines.push(b'\n');
    }
    Ok(Some((lines.into(), *newest)))
}
