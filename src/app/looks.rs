//! Which vaults have not been looked at since this process began to follow them: until then it
//! cannot know what changed while nobody watched.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a question waits for a look at a vault that was read before: most have not changed.
const KNOWN: Duration = Duration::from_millis(250);

/// Looks that are still to be finished.
#[derive(Default)]
pub struct Looks {
    open: Mutex<Open>,
    finished: Condvar,
}

#[derive(Default)]
struct Open {
    vaults: usize,
    /// One of them was never read at all.
    first: bool,
}

impl Looks {
    pub fn begin(&self, vaults: usize, first: bool) {
        *self.lock() = Open { vaults, first };
    }

    pub fn finish_one(&self) {
        let mut open = self.lock();
        open.vaults = open.vaults.saturating_sub(1);
        if open.vaults == 0 {
            self.finished.notify_all();
        }
    }

    /// Waits for them until `deadline` and says how many are left.
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
        open.vaults
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_waits_for_the_looks_and_not_for_ever() {
        let looks = Looks::default();
        let now = Instant::now;
        assert_eq!(looks.wait(now() + Duration::from_secs(60)), 0, "nothing to wait for");
        looks.begin(2, true);
        assert_eq!(looks.wait(now() + Duration::from_millis(5)), 2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| looks.wait(now() + Duration::from_secs(60)));
            looks.finish_one();
            looks.finish_one();
            assert_eq!(waiting.join().unwrap(), 0);
        });
    }
}
