//! Leaves a base alone for a while when it keeps failing.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Failures in a row after which a base is left alone.
const FAILURES: u32 = 3;
/// For how long; twice as long after each further failure.
const PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_secs(240);

#[derive(Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
    why: String,
}

/// Counts the failures of one base.
#[derive(Default)]
pub struct Breaker(Mutex<State>);

impl Breaker {
    /// Whether the base may be asked now; else for how long it is left alone, and why. After a
    /// pause one request at a time tries it.
    pub fn admit(&self, now: Instant) -> Result<(), (Duration, String)> {
        let mut state = self.lock();
        match state.until {
            Some(until) if now < until => Err((until - now, state.why.clone())),
            Some(_) => {
                // Others wait until this one has an answer, or has had the time for one.
                state.until = Some(now + PAUSE);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Counts an answer.
    pub fn succeeded(&self) {
        *self.lock() = State::default();
    }

    /// Counts a failure.
    pub fn failed(&self, now: Instant, why: String) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        state.why = why;
        if let Some(further) = state.failures.checked_sub(FAILURES) {
            let pause = PAUSE.saturating_mul(1 << further.min(8)).min(LONGEST_PAUSE);
            state.until = Some(now + pause);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_after_an_answer() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        for _ in 0..2 {
            breaker.failed(start, "no".into());
            assert!(breaker.admit(start).is_ok());
        }
        breaker.succeeded();
        for _ in 0..3 {
            assert!(breaker.admit(start).is_ok());
            breaker.failed(start, "down".into());
        }
        let (left, why) = breaker.admit(start).unwrap_err();
        assert_eq!((left, why.as_str()), (PAUSE, "down"));
        let later = start + PAUSE;
        assert!(breaker.admit(later).is_ok());
        assert!(breaker.admit(later).is_err(), "one at a time");
        breaker.failed(later, "down".into());
        assert!(breaker.admit(later + PAUSE).is_err(), "twice as long");
        assert!(breaker.admit(later + PAUSE * 2).is_ok());
        breaker.succeeded();
        assert!(breaker.admit(later).is_ok());
    }
}
