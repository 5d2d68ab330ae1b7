//! Who watches a folder of notes: of all processes that share a store, one at a time. The others
//! hear of its changes from the change log.

use std::time::{Duration, Instant};

use super::App;
use crate::store::{pages::VaultRow, postgres::Lease};

/// How often the lease is looked at, or tried for.
const LOOK: Duration = Duration::from_secs(2);

/// Whether this process watches a folder.
#[derive(Default)]
pub(super) struct Watching {
    lease: Option<Lease>,
    looked: Option<Instant>,
}

/// What this process may do with a folder now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It watches.
    Ours,
    /// It watches from now on: what changed before is not known.
    Begun,
    /// Another process watches.
    Theirs,
}

impl App {
    /// Whether this process watches a vault's folder. Alone on its store, it always does.
    pub(super) fn watch_turn(&self, vault: &VaultRow, watching: &mut Watching) -> Turn {
        let Some(replica) = self.replica.as_ref().filter(|_| !vault.is_hosted()) else {
            return Turn::Ours;
        };
        if watching.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return if watching.lease.is_some() { Turn::Ours } else { Turn::Theirs };
        }
        watching.looked = Some(Instant::now());
        if let Some(lease) = &watching.lease {
            if lease.is_held() {
                return Turn::Ours;
            }
            tracing::warn!(vault = vault.name, "the lease on the folder was lost; trying for it");
            watching.lease = None;
        }
        // A process that does not have the folder leaves it to one that has.
        if !vault.folder().is_dir() {
            return Turn::Theirs;
        }
        watching.lease = replica.remote().lease(&format!("watch:{}", vault.name)).ok().flatten();
        if watching.lease.is_some() { Turn::Begun } else { Turn::Theirs }
    }
}
