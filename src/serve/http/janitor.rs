//! What the server does once a second: ends what revoked credentials opened, closes connections whose
//! client takes no answer, and gives memory back after work.

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use super::Site;
use crate::{
    app::App,
    domain::{Result, Timestamp},
    serve::{mcp::Identity, memory},
};

const ROUND: Duration = Duration::from_secs(1);
/// Rounds without a request after which freed memory goes back to the system. Sessions and streams
/// whose clients went without a word end some seconds later, and free theirs then.
const QUIET: [u32; 3] = [3, 10, 30];

/// Rounds after which what expired is forgotten.
const HOUR: u64 = 3600;

pub async fn run(site: Site) {
    let (mut answered, mut quiet) = (0, 0_u32);
    let mut rounds = 0_u64;
    loop {
        if rounds.is_multiple_of(HOUR) {
            forget(&site).await;
        }
        rounds += 1;
        tokio::time::sleep(ROUND).await;
        site.connections.close_overdue();
        end_revoked(&site).await;
        let now = site.answered.load(Ordering::Relaxed);
        quiet = if now == answered { quiet.saturating_add(1) } else { 0 };
        answered = now;
        if QUIET.contains(&quiet) {
            let app = site.hub.app.clone();
            // Closes connections to the database, so it stays off the threads that answer.
            drop(tokio::task::spawn_blocking(move || app.release_memory()).await);
            memory::release().await;
        }
    }
}

/// Forgets the codes, tokens and clients whose time is over.
async fn forget(site: &Site) {
    let app = site.hub.app.clone();
    let pruned = tokio::task::spawn_blocking(move || app.store.oauth.prune(Timestamp::now())).await;
    if let Ok(Err(error)) = pruned {
        tracing::warn!(?error, "could not forget what expired; it is tried again in an hour");
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
            Identity::User(_) | Identity::Network(_) | Identity::Process => {}
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
