//! Taking over the change log.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{Pulse, Replica, lock};
use crate::{
    domain::{Patience, Result, call::join_within, error::Doing},
    store::{
        postgres::{Listener, WaitEnd},
        sqlite,
    },
};

/// Entries of the log that are taken over at once.
const AT_ONCE: usize = 500;
/// How often the log is looked at when nobody calls.
const POLL: Duration = Duration::from_secs(2);
/// The pause before a server that is away is tried again.
const RETRY: Duration = Duration::from_millis(250);
/// How long the end of the thread is waited for.
const JOIN_LIMIT: Duration = Duration::from_secs(5);
/// How often a wait looks whether it should end.
const TICK: Duration = Duration::from_millis(200);

impl Replica {
    /// Takes over the log until the copy stands where `wanted` says, or time is up. A server that
    /// goes away meanwhile ends it too, and so does a full disk.
    pub(super) fn reach(&self, wanted: Pulse, until: Instant) -> Result<()> {
        loop {
            if self.has_reached(wanted)? {
                self.caught_up.store(true, Ordering::Release);
                // Another process that shares the directory may have had room.
                self.copied(Ok(()))?;
                return Ok(());
            }
            if self.is_marked_full() {
                return Ok(());
            }
            let turn = lock(&self.following);
            // Another thread may have done it meanwhile.
            if !self.has_reached(wanted)? && !self.step(wanted)? {
                return Ok(());
            }
            drop(turn);
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn has_reached(&self, wanted: Pulse) -> Result<bool> {
        let has_state = self.state.load(Ordering::Acquire) >= wanted.state;
        Ok(has_state && self.position()? >= wanted.head)
    }

    /// Forgets the copy: the server's log ends before a position that the copy has. The server was
    /// restored from a backup, or lost what it had not sent to its standby.
    pub(super) fn begin_anew(&self, position: i64) -> Result<()> {
        let _turn = lock(&self.following);
        tracing::warn!(position, "the store's log ends earlier; the copy is made anew");
        self.state.store(-1, Ordering::Release);
        self.local.clear_mirror()
    }

    /// Takes one part of the log over; `false` when the server is away or the disk is full.
    fn step(&self, wanted: Pulse) -> Result<bool> {
        if self.state.load(Ordering::Acquire) < wanted.state {
            let columns = self.columns(&sqlite::WHOLE)?;
            let Some((state, tables)) = self.reached(self.remote.whole(&columns))? else {
                return Ok(false);
            };
            let Some(state) = self.copied(self.local.mirror_whole(state, &tables))? else {
                return Ok(false);
            };
            self.state.store(state, Ordering::Release);
        }
        let columns = self.columns(&sqlite::OF_ITEMS)?;
        let batch = self.reached(self.remote.batch(self.position()?, AT_ONCE, &columns))?;
        let Some(batch) = batch else { return Ok(false) };
        if batch.pids.is_empty() {
            return Ok(true);
        }
        Ok(self.copied(self.local.mirror(&batch))?.is_some())
    }

    fn columns(&self, tables: &[&'static str]) -> Result<Vec<(&'static str, Vec<String>)>> {
        let of = |table: &&'static str| Ok((*table, self.local.mirrored_columns(table)?));
        tables.iter().map(of).collect()
    }

    /// Follows the log in a thread of its own, and calls `on_news` after each part that it took
    /// over. The server's call wakes it; a look every two seconds is the safety net.
    pub fn follow(self: &Arc<Self>, on_news: impl Fn() + Send + 'static) -> Result<Following> {
        let stop = Arc::new(AtomicBool::new(false));
        let (replica, stopping) = (self.clone(), stop.clone());
        self.watched.store(true, Ordering::Release);
        let thread = std::thread::Builder::new()
            .name("replica".into())
            .spawn(move || {
                Patience::background().during(|| replica.run(&on_news, &stopping));
                replica.watched.store(false, Ordering::Release);
            })
            .doing("start following the store")?;
        Ok(Following { stop, thread: Some(thread) })
    }

    fn run(&self, on_news: &dyn Fn(), stop: &AtomicBool) {
        let mut listener = None;
        while !stop.load(Ordering::Acquire) {
            if listener.is_none() {
                // Before the look, so that nothing between the two is missed.
                listener = self.remote.listen().ok();
            }
            let before = self.position().unwrap_or_default();
            match self.look() {
                Ok(true) => {}
                Ok(false) => {
                    listener = None;
                    std::thread::park_timeout(RETRY);
                    continue;
                }
                Err(error) => {
                    tracing::error!(?error, "the store's log could not be followed");
                    std::thread::park_timeout(POLL);
                    continue;
                }
            }
            if self.position().unwrap_or_default() != before {
                on_news();
            }
            if !wait(&mut listener, stop) {
                listener = None;
            }
        }
    }

    /// One look at the log; `false` when the server is away.
    fn look(&self) -> Result<bool> {
        let Some(pulse) = self.ask()? else { return Ok(false) };
        self.reach(pulse, Instant::now() + POLL)?;
        Ok(lock(&self.away).is_none())
    }
}

/// Waits for news, at most until the next look is due; `false` when the listener is of no use any
/// more.
fn wait(listener: &mut Option<Listener>, stop: &AtomicBool) -> bool {
    let due = Instant::now() + POLL;
    while !stop.load(Ordering::Acquire) && Instant::now() < due {
        match listener {
            None => std::thread::park_timeout(TICK),
            Some(listener) => match listener.wait(TICK) {
                WaitEnd::Change => return true,
                WaitEnd::TimedOut => {}
                WaitEnd::Disconnected => return false,
            },
        }
    }
    true
}

/// The thread that follows the log. It ends when this is dropped.
pub struct Following {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            join_within(thread, JOIN_LIMIT);
        }
    }
}
