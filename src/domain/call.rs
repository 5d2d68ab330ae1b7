//! What a running request can tell its caller and hear from it: progress, cancellation, deadline.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::error::{Code, Error, Result};

/// Where a long piece of work says how far it is.
pub trait Progress: Send + Sync {
    fn report(&self, done: u64, total: Option<u64>, message: &str);
}

/// Nobody listens.
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _done: u64, _total: Option<u64>, _message: &str) {}
}

/// Whether the caller still wants the answer. Long work asks between two steps.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    gone: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Patience {
    pub fn until(deadline: Instant) -> Self {
        Self { gone: Arc::default(), deadline: Some(deadline) }
    }

    /// The caller cancelled or went away.
    pub fn end(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// The time that is left, where there is an end.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

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
