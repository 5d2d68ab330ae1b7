//! The thread that keeps the index up with the log when nobody is searching.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::state::Index;
use crate::domain::{Patience, Result, call::join_within, error::Doing};

/// Changes that this process makes one upon the other are committed together: a commit costs more
/// than they do. Its own searches do not wait for this, those of other processes hardly.
const GATHER: Duration = Duration::from_millis(40);
const GATHER_AT_MOST: Duration = Duration::from_millis(200);
/// While this process writes it looks often, because others wait for it; otherwise seldom.
const BUSY: Duration = Duration::from_millis(20);
const QUIET: Duration = Duration::from_millis(500);
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How long the thread is waited for at the end. A source that hangs must not hold up a shutdown.
const JOIN_LIMIT: Duration = Duration::from_secs(10);
/// The lease is let go after this long without a change.
const IDLE: Duration = Duration::from_secs(2);

/// Follows the log until it is dropped.
pub struct Follower {
    stop: Arc<AtomicBool>,
    /// Something was written here since the last look.
    woken: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Starts the thread.
    pub fn start(index: Arc<Index>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let woken = Arc::new(AtomicBool::new(false));
        let waking = Arc::clone(&woken);
        let thread = thread::Builder::new()
            .name("index-follower".to_owned())
            .spawn(move || {
                Patience::background().during(|| {
                    while !stopping.load(Ordering::Acquire) {
                        let own = waking.swap(false, Ordering::AcqRel);
                        let gathered = if own { gather(&index) } else { Ok(()) };
                        let pause = match gathered.and_then(|()| index.guarded(|| index.tend(IDLE)))
                        {
                            Ok(true) => BUSY,
                            Ok(false) => QUIET,
                            Err(error) => {
                                tracing::error!(?error, "the index could not follow the log");
                                AFTER_FAILURE
                            }
                        };
                        thread::park_timeout(pause);
                    }
                    if let Err(error) = index.rest() {
                        tracing::error!(?error, "the index could not be put to rest");
                    }
                })
            })
            .doing("start the index's thread")?;
        Ok(Self { stop, woken, thread: Some(thread) })
    }

    /// Looks at the log now: another process wrote, and nothing is to be gathered.
    pub fn nudge(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Looks at the log now: something was written.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// Waits while changes keep coming.
fn gather(index: &Index) -> Result<()> {
    let started = Instant::now();
    let mut before = index.behind()?;
    while before > 0 && started.elapsed() < GATHER_AT_MOST {
        thread::sleep(GATHER);
        let now = index.behind()?;
        if now <= before {
            break;
        }
        before = now;
    }
    Ok(())
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            join_within(thread, JOIN_LIMIT);
        }
    }
}
