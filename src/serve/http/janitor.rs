//! What the server does once a second: ends what revoked credentials opened, closes connections whose
//! client takes no answer, and gives memory back after work.

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use super::{Site, memory};
use crate::{app::App, domain::Result, serve::mcp::Identity};

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

/// Ends the requests, streams and sessions of tokens and connected clients that are no longer valid.
async fn end_revoked(site: &Site) {
    let open = site.credentials.open();
    if open.is_empty() {
        return;
    }
    let (app, asked) = (site.hub.app.clone(), open.clone());
    // When the database does not answer, the next round asks again.
    let Ok(Ok(valid)) = tokio::task::spawn_blocking(move || valid(&app, &asked)).await else {
        return;
    };
    for identity in open.into_iter().filter(|identity| !valid.contains(identity)) {
        tracing::info!(?identity, "ended what a revoked or expired credential had open");
        site.credentials.end(&identity);
        site.sessions.end_of(&identity).await;
    }
}

fn valid(app: &App, open: &[Identity]) -> Result<HashSet<Identity>> {
    let (mut tokens, mut connections) = (Vec::new(), Vec::new());
    for identity in open {
        match identity {
            Identity::Token(id) => tokens.push(*id),
            Identity::Connection(id) => connections.push(*id),
            Identity::User(_) | Identity::Address(_) | Identity::Process => {}
        }
    }
    let mut valid: HashSet<Identity> = HashSet::new();
    if !tokens.is_empty() {
        valid.extend(app.valid_tokens(&tokens)?.into_iter().map(Identity::Token));
    }
    if !connections.is_empty() {
        valid.extend(app.store.oauth.live(&connections)?.into_iter().map(Identity::Connection));
    }
    Ok(valid)
}
