//! Which vaults this process has not read yet, and which have changes that it could not read, as
//! cards and prompts may have: until then an answer may lack what is on disk.

use std::{
    collections::HashSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a request waits for the read of a vault that was read before: most have not changed.
const KNOWN: Duration = Duration::from_millis(250);

/// Stands for the cards among what is behind; no vault has such a name.
pub const CARDS: &str = "/cards";

/// Stands for the prompts among what is behind.
pub const PROMPTS: &str = "/prompts";

/// Reads of vaults that are not done.
#[derive(Default)]
pub struct VaultReads {
    open: Mutex<Open>,
    finished: Condvar,
}

#[derive(Default)]
struct Open {
    /// Vaults whose first read by this process is not done.
    vaults: usize,
    /// One of them was never read at all.
    first: bool,
    /// Vaults that were registered since the start and are not read yet. Nobody waits for them: a
    /// large one would hold up what is asked of every other.
    added: usize,
    /// Vaults, and others, with changes that could not be read and are tried again.
    behind: HashSet<String>,
}

impl VaultReads {
    pub fn begin(&self, vaults: usize, first: bool) {
        let mut open = self.lock();
        open.vaults = vaults;
        open.first = first;
    }

    /// Adds vaults that were registered since.
    pub fn add(&self, vaults: usize) {
        self.lock().added += vaults;
    }

    pub fn finish_added(&self) {
        let mut open = self.lock();
        open.added = open.added.saturating_sub(1);
    }

    pub fn finish_one(&self) {
        let mut open = self.lock();
        open.vaults = open.vaults.saturating_sub(1);
        if open.vaults == 0 {
            self.finished.notify_all();
        }
    }

    /// Records whether changes of a vault, of the [`CARDS`] or the [`PROMPTS`] wait to be read.
    pub fn set_behind(&self, vault: &str, behind: bool) {
        let mut open = self.lock();
        match behind {
            true => open.behind.insert(vault.to_owned()),
            false => open.behind.remove(vault),
        };
    }

    /// Whether every vault has been read.
    pub fn are_done(&self) -> bool {
        let open = self.lock();
        open.vaults == 0 && open.added == 0
    }

    /// Waits for the reads begun at the start until `deadline`, and says how many vaults an answer may lack
    /// changes of.
    pub fn wait(&self, deadline: Instant) -> usize {
        let mut open = self.lock();
        let deadline = match open.first {
            true => deadline,
            false => deadline.min(Instant::now() + KNOWN),
        };
        while open.vaults > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            open = match self.finished.wait_timeout(open, left) {
                Ok((open, _)) => open,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        open.vaults + open.added + open.behind.len()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_for_the_reads_and_not_for_ever() {
        let reads = VaultReads::default();
        let now = Instant::now;
        assert_eq!(reads.wait(now() + Duration::from_secs(60)), 0, "nothing to wait for");
        reads.begin(2, true);
        assert_eq!(reads.wait(now() + Duration::from_millis(5)), 2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| reads.wait(now() + Duration::from_secs(60)));
            reads.finish_one();
            assert!(!reads.are_done());
            reads.finish_one();
            assert_eq!(waiting.join().unwrap(), 0);
        });
        assert!(reads.are_done());
    }

    #[test]
    fn changes_that_wait_are_counted_and_not_waited_for() {
        let reads = VaultReads::default();
        reads.set_behind("notes", true);
        assert_eq!(reads.wait(Instant::now() + Duration::from_secs(60)), 1);
        reads.set_behind("notes", false);
        assert_eq!(reads.wait(Instant::now()), 0);
    }

    #[test]
    fn a_vault_that_was_added_is_counted_and_not_waited_for() {
        let reads = VaultReads::default();
        reads.begin(0, false);
        reads.add(1);
        let deadline = Instant::now() + Duration::from_secs(60);
        assert_eq!(reads.wait(deadline), 1);
        assert!(!reads.are_done() && Instant::now() < deadline);
        reads.finish_added();
        assert_eq!(reads.wait(deadline), 0);
        assert!(reads.are_done());
    }
}
