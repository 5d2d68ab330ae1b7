//! A running request: progress to its caller, cancellation and deadline from it.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::error::{Code, Error, Result};

/// Where a long piece of work reports how far it is.
pub trait Progress: Send + Sync {
    /// Reports `done` of `total` steps, and what is being done.
    fn report(&self, done: u64, total: Option<u64>, message: &str);

    /// Whether the work should end at the next safe point. What is done by then stays.
    fn stopped(&self) -> bool {
        false
    }

    /// Says why nothing goes on at the moment. Called again and again while that lasts.
    fn waiting(&self, _why: &str) {}
}

/// Nobody listens.
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _done: u64, _total: Option<u64>, _message: &str) {}
}

/// Joins a thread that should end soon. Returns `false` when it did not end within `limit`: it is
/// left to itself, so that work stuck in the system cannot hold up a shutdown.
pub fn join_within(thread: JoinHandle<()>, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while !thread.is_finished() {
        if Instant::now() >= deadline {
            tracing::warn!(thread = thread.thread().name(), "a thread did not end in time");
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    // A panic was reported by the thread itself.
    drop(thread.join());
    true
}

/// Whether the caller still wants the answer. Long work asks between two steps.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    gone: Arc<AtomicBool>,
    deadline: Option<Instant>,
    begun: Begun,
}

/// As of when the work reads what other processes write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begun {
    /// As of each read.
    #[default]
    Now,
    /// As of this moment or later: a request sees every change acknowledged before it began.
    At(Instant),
    /// As of whenever this process last looked. For threads that are woken when there is news.
    Before,
}

thread_local! {
    /// The patience of the request that this thread works for.
    static CURRENT: RefCell<Patience> = RefCell::default();
}

impl Patience {
    /// The patience of the request that this thread works for; endless outside of requests. Loops and
    /// calls to other machines ask it, so that no layer between has to hand it down.
    pub fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Runs `work` as a part of the request that has this patience.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore(Patience);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.replace(std::mem::take(&mut self.0));
            }
        }
        let _restore = Restore(CURRENT.replace(self.clone()));
        work()
    }

    /// Ends at `deadline`.
    pub fn until(deadline: Instant) -> Self {
        Self { gone: Arc::default(), deadline: Some(deadline), begun: Begun::At(Instant::now()) }
    }

    /// For threads that work for nobody in particular.
    pub fn background() -> Self {
        Self { begun: Begun::Before, ..Self::default() }
    }

    /// The same for a request that begins now, unless it began before.
    pub fn begin(&self) -> Self {
        match self.begun {
            Begun::Now => Self { begun: Begun::At(Instant::now()), ..self.clone() },
            Begun::At(_) | Begun::Before => self.clone(),
        }
    }

    /// As of when this work reads what other processes write.
    pub fn begun(&self) -> Begun {
        self.begun
    }

    /// The caller cancelled or went away.
    pub fn end(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// The time that is left, where there is an end.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Fails when the caller is gone or the deadline has passed.
    pub fn check(&self) -> Result<()> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(Error::new(Code::Cancelled, "the request was cancelled"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::limit(
                "the request took longer than `limits.request_seconds` allows; ask for less at once",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_patience_and_the_next_one_its_own() {
        let spent = Patience::until(Instant::now());
        let error = spent.during(|| {
            Patience::default().during(|| assert!(Patience::current().check().is_ok()));
            Patience::current().check()
        });
        assert_eq!(error.unwrap_err().code, Code::Limit);
        assert!(Patience::current().check().is_ok());
        let cancelled = Patience::default();
        cancelled.end();
        let error = cancelled.during(|| Patience::current().check());
        assert_eq!(error.unwrap_err().code, Code::Cancelled);
    }

    #[test]
    fn a_stuck_thread_is_not_waited_for() {
        assert!(join_within(thread::spawn(|| {}), Duration::from_secs(60)));
        let stuck = thread::spawn(|| thread::sleep(Duration::from_secs(3600)));
        assert!(!join_within(stuck, Duration::from_millis(20)));
    }
}
