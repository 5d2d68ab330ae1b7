//! Follows one vault while a process serves: its watcher, and the changes that are still to be
//! read. A change is forgotten only when it was read; one that could not be is tried again.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    App,
    watching::{Turn, Watching},
};
use crate::{
    domain::{Code, Silent},
    store::{items::Synced, pages::VaultRow},
    vault::watch::{self, Change, Watch},
};

/// The pause before a failed look is tried again; doubled each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// How often a vault that could not be read, or that nobody watches, is looked at again.
const AGAIN: Duration = Duration::from_secs(3);
/// How often a vault with files that could not be read is looked at again.
const UNREADABLE_AGAIN: Duration = Duration::from_secs(30);
/// The pause between two looks at what another process has read.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// More paths than this are read as a whole vault.
const MAX_PATHS: usize = 2000;

/// A vault that is followed.
pub(super) struct Followed {
    row: VaultRow,
    pending: Arc<Mutex<Pending>>,
    watch: Option<Watch>,
    /// Whether another process watches it.
    watching: Watching,
    /// When the vault was last looked at without a watcher to ask for it.
    looked: Instant,
    /// When files that could not be read were last tried again.
    tried: Instant,
}

/// What changed and was not read yet.
#[derive(Default)]
struct Pending {
    paths: BTreeSet<PathBuf>,
    rescan: bool,
    failures: u32,
    due: Option<Instant>,
}

impl Pending {
    fn add(&mut self, change: Change) {
        match change {
            Change::Batch(paths) => self.paths.extend(paths),
            Change::Rescan => self.rescan = true,
        }
        if self.paths.len() > MAX_PATHS {
            self.rescan = true;
        }
        if self.rescan {
            self.paths.clear();
        }
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.rescan
    }

    fn is_due(&self) -> bool {
        !self.is_empty() && self.due.is_none_or(|due| Instant::now() >= due)
    }

    fn postpone(&mut self) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10)).min(MAX_PAUSE);
        self.failures += 1;
        self.due = Some(Instant::now() + pause);
    }
}

fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

impl App {
    /// Starts to watch a vault. What changed before is for [`Self::first_look`] to find.
    pub(super) fn follow_vault(self: &Arc<Self>, row: VaultRow) -> Followed {
        let now = Instant::now();
        let mut followed = Followed {
            row,
            pending: Arc::default(),
            watch: None,
            watching: Watching::default(),
            looked: now,
            tried: now,
        };
        if self.watch_turn(&followed.row, &mut followed.watching) != Turn::Theirs {
            self.start_watch(&mut followed);
        }
        followed
    }

    fn start_watch(self: &Arc<Self>, followed: &mut Followed) {
        let row = &followed.row;
        if row.is_hosted() {
            // Whoever writes to it logs the change.
            return;
        }
        let options = watch::Options { poll: row.poll, ..watch::Options::default() };
        let (app, watched) = (self.clone(), row.clone());
        let pending = followed.pending.clone();
        let on_change = move |change| {
            lock(&pending).add(change);
            app.read_pending(&watched, &pending);
        };
        match watch::watch(row.folder(), options, on_change) {
            Ok(watch) => {
                if let Some(why) = watch.polling {
                    tracing::info!(vault = row.name, why, "looking for changes every few seconds");
                }
                followed.watch = Some(watch);
            }
            Err(error) => {
                tracing::warn!(vault = row.name, error = ?error, "the vault cannot be followed now");
            }
        }
    }

    /// The first look at a vault; one that fails is tried again by [`Self::tend_vault`].
    pub(super) fn first_look(&self, followed: &mut Followed) {
        if self.watch_turn(&followed.row, &mut followed.watching) == Turn::Theirs {
            return self.await_look_of_another(&followed.row.name);
        }
        let started = Instant::now();
        lock(&followed.pending).add(Change::Rescan);
        self.read_pending(&followed.row, &followed.pending);
        tracing::info!(
            vault = followed.row.name,
            seconds = started.elapsed().as_secs_f64(),
            "looked at the vault"
        );
    }

    /// Waits a moment for the process that watches a new vault: it may still be reading it.
    fn await_look_of_another(&self, vault: &str) {
        let until = Instant::now() + super::CATCH_UP;
        let is_seen = || {
            let row = self.sources.vault(vault).ok().flatten();
            row.is_none_or(|row| row.seen.is_some())
        };
        while !is_seen() && Instant::now() < until {
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Follows the vaults that were added since, and lets go of those that were removed.
    pub(super) fn renew_followed(self: &Arc<Self>, followed: &mut Vec<Followed>) {
        let Ok(rows) = self.sources.vaults_outer_first() else { return };
        let row_of = |name: &str| rows.iter().find(|row| row.name == name);
        let is_there = |vault: &mut Followed| row_of(&vault.row.name).is_some();
        let gone: Vec<Followed> = followed.extract_if(.., |vault| !is_there(vault)).collect();
        for vault in &gone {
            tracing::info!(vault = vault.row.name, "the vault was removed");
            self.vault_reads.set_behind(&vault.row.name, false);
        }
        let is_new = |row: &&VaultRow| !followed.iter().any(|vault| vault.row.name == row.name);
        let new: Vec<VaultRow> = rows.iter().filter(is_new).cloned().collect();
        for vault in followed.iter() {
            let folder = vault.row.folder();
            let mut others = gone.iter().map(|gone| &gone.row).chain(&new);
            // What an inner vault took or left, and what was removed and added again in between.
            let is_other = others.any(|other| other.folder().starts_with(folder));
            let is_anew = row_of(&vault.row.name).is_some_and(VaultRow::is_unread);
            if is_other || is_anew {
                lock(&vault.pending).add(Change::Rescan);
            }
        }
        drop(gone);
        if new.is_empty() {
            return;
        }
        self.vault_reads.add(new.len());
        // The outer vaults first: what they lose to an inner one keeps its number there.
        for vault in followed.iter_mut() {
            self.tend_vault(vault);
        }
        for row in new {
            let mut vault = self.follow_vault(row);
            self.first_look(&mut vault);
            self.vault_reads.finish_added();
            followed.push(vault);
        }
    }

    /// One round of what keeps a vault followed: reads what is due, and looks again at a vault that
    /// could not be read or is not watched.
    pub(super) fn tend_vault(self: &Arc<Self>, followed: &mut Followed) {
        let is_due = followed.looked.elapsed() >= AGAIN;
        // Before the turn: who does not have the old folder may have the new one.
        let in_trouble = is_due && self.renew_row(followed);
        match self.watch_turn(&followed.row, &mut followed.watching) {
            Turn::Ours => {}
            Turn::Begun => {
                self.start_watch(followed);
                lock(&followed.pending).add(Change::Rescan);
            }
            Turn::Theirs => {
                followed.watch = None;
                return;
            }
        }
        if is_due {
            if in_trouble {
                // A folder that was mounted anew is another one than was watched.
                followed.watch = None;
            }
            if followed.watch.is_none() && followed.row.folder().is_dir() {
                self.start_watch(followed);
                lock(&followed.pending).add(Change::Rescan);
            }
        }
        if followed.tried.elapsed() >= UNREADABLE_AGAIN {
            followed.tried = Instant::now();
            // A permission that is given back changes no file, so that nobody tells.
            if self.sources.has_unreadable(&followed.row.name) {
                lock(&followed.pending).add(Change::Rescan);
            }
        }
        self.read_pending(&followed.row, &followed.pending);
    }

    /// Follows a vault to the folder that somebody pointed it at. Returns whether it could not be read.
    fn renew_row(&self, followed: &mut Followed) -> bool {
        followed.looked = Instant::now();
        let row = self.sources.vault(&followed.row.name).ok().flatten();
        let in_trouble = row.as_ref().is_some_and(|row| row.problem.is_some());
        if let Some(row) = row.filter(|row| row.location != followed.row.location) {
            followed.row = row;
            followed.watch = None;
        }
        in_trouble
    }

    /// Reads what changed, unless a failure asks for a pause first. What fails stays pending.
    fn read_pending(&self, row: &VaultRow, pending: &Mutex<Pending>) {
        // Held while reading: the watcher's thread and the one that tries again take turns.
        let mut pending = lock(pending);
        if !pending.is_due() {
            return;
        }
        let synced = match pending.rescan {
            true => self.sources.sync_vault(row, &Silent),
            false => {
                let paths: Vec<PathBuf> = pending.paths.iter().cloned().collect();
                self.sources.sync_paths(row, &paths)
            }
        };
        match synced {
            Ok(synced) => {
                *pending = Pending::default();
                self.vault_reads.set_behind(&row.name, false);
                self.tell_synced(row, synced);
            }
            // The vault was removed; the next round lets go of it.
            Err(error) if error.code == Code::NotFound => {
                pending.add(Change::Rescan);
                pending.postpone();
                self.vault_reads.set_behind(&row.name, false);
            }
            // The folder is away, which is recorded; the vault is looked at when it is back.
            Err(_) if row.is_away() => {
                *pending = Pending::default();
                self.vault_reads.set_behind(&row.name, false);
            }
            Err(error) => {
                if pending.failures == 0 {
                    tracing::warn!(vault = row.name, error = ?error, "changes could not be read; trying again");
                }
                pending.postpone();
                self.vault_reads.set_behind(&row.name, true);
            }
        }
    }

    fn tell_synced(&self, row: &VaultRow, synced: Synced) {
        if synced.any() {
            let Synced { new, changed, gone } = synced;
            tracing::info!(vault = row.name, new, changed, gone, "read changes");
            self.wake_index();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_stays_and_the_pause_grows_to_a_limit() {
        let mut pending = Pending::default();
        assert!(!pending.is_due());
        pending.add(Change::Batch(vec!["a.md".into()]));
        assert!(pending.is_due());
        let mut last = Duration::ZERO;
        for _ in 0..40 {
            pending.postpone();
            let pause = pending.due.unwrap().saturating_duration_since(Instant::now());
            assert!(pause <= MAX_PAUSE);
            assert!(pause + Duration::from_millis(50) >= last);
            last = pause;
        }
        assert!(!pending.is_due() && !pending.is_empty());
        pending.add(Change::Batch(vec!["b.md".into()]));
        assert_eq!(pending.paths.len(), 2);
        pending.add(Change::Rescan);
        assert!(pending.rescan && pending.paths.is_empty());
    }
}
