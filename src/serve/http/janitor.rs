//! What the server does once a second: ends what revoked tokens opened, closes connections whose
//! client takes no answer, and gives memory back after work.

use std::{sync::atomic::Ordering, time::Duration};

use super::{Site, memory};

const ROUND: Duration = Duration::from_secs(1);
/// Rounds without a request after which freed memory goes back to the system.
const QUIET: u32 = 3;

pub async fn run(site: Site) {
    let (mut answered, mut quiet) = (0, 0_u32);
    loop {
        tokio::time::sleep(ROUND).await;
        site.connections.close_overdue();
        end_revoked(&site).await;
        let now = site.answered.load(Ordering::Relaxed);
        quiet = if now == answered { quiet.saturating_add(1) } else { 0 };
        answered = now;
        if quiet == QUIET {
            // Walks the heap, so it stays off the threads that answer.
            drop(tokio::task::spawn_blocking(memory::release).await);
        }
    }
}

/// Ends the requests, streams and sessions of tokens that are no longer valid.
async fn end_revoked(site: &Site) {
    let open = site.tokens.open();
    if open.is_empty() {
        return;
    }
    let (app, ids) = (site.hub.app.clone(), open.clone());
    // When the database does not answer, the next round asks again.
    let Ok(Ok(valid)) = tokio::task::spawn_blocking(move || app.valid_tokens(&ids)).await else {
        return;
    };
    for token in open.into_iter().filter(|token| !valid.contains(token)) {
        tracing::info!(token, "ended what a revoked or expired token had open");
        site.tokens.end(token);
        site.sessions.end_of_token(token).await;
    }
}
