//! How the index follows the log: whoever needs it fresh becomes the writer and takes a step, or
//! waits for the thread or the process that is at it.

use std::{
    sync::{Arc, PoisonError, TryLockError, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{
    build::{Build, Step},
    freshness::{Freshness, Stage},
    generation::{Builds, Generation, Position},
    guard::Obstacle,
    lease::{Holder, Lease},
    state::{Index, POLL, lock},
};
use crate::domain::{Error, Result, error::Doing};

/// Items a search brings in itself before it looks at the clock again.
const SMALL_STEP: usize = 100;
/// Items between two commits of a long catch-up.
pub(super) const LARGE_STEP: usize = 4_000;

impl Index {
    /// Lets the index catch up with everything acknowledged before this call, for at most `wait`,
    /// and says what it did not manage.
    pub fn ensure_fresh(&self, wait: Duration) -> Result<Freshness> {
        Ok(self.caught_up(wait)?.0)
    }

    /// The same with the build that it is about.
    pub(super) fn caught_up(&self, wait: Duration) -> Result<(Freshness, Arc<Generation>)> {
        let deadline = Instant::now() + wait;
        let unread = self.source.settle(deadline);
        let head = self.source.head()?;
        let so_far = || {
            let (freshness, generation) = self.freshness_of_build(head)?;
            Ok((Freshness { unread, ..freshness }, generation))
        };
        // A copy that cannot be written gets no further.
        let goal = if self.source.is_full() { self.source.reached()?.min(head) } else { head };
        loop {
            if self.freshness(goal)?.is_fresh() || Instant::now() >= deadline {
                return so_far();
            }
            match self.writing.try_lock() {
                Ok(mut writing) => match self.advance(&mut writing, SMALL_STEP) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(error) => {
                        drop(writing);
                        return if self.obstacle().is_some() { so_far() } else { Err(error) };
                    }
                },
                Err(TryLockError::Poisoned(poisoned)) => {
                    *poisoned.into_inner() = None;
                    self.writing.clear_poison();
                }
                Err(TryLockError::WouldBlock) => {}
            }
            self.wait_for_more(POLL);
        }
    }

    /// How the index stands to `head` now.
    pub(super) fn freshness(&self, head: i64) -> Result<Freshness> {
        Ok(self.freshness_of_build(head)?.0)
    }

    /// How the build that is shown now stands to `head`.
    fn freshness_of_build(&self, head: i64) -> Result<(Freshness, Arc<Generation>)> {
        self.refresh()?;
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        let behind = match shown.position {
            Some(position) => u64::try_from(head.saturating_sub(position.seq)).unwrap_or(0),
            None => u64::try_from(head).unwrap_or(0),
        };
        let filling = match shown.position {
            // Nothing was ever written: there is nothing to fill it with either.
            None if head == 0 => None,
            Some(Position { filled: None, .. }) => None,
            _ => Some(shown.filled.unwrap_or((0, 0))),
        };
        let full = || self.source.is_full().then_some(Obstacle::DiskFull);
        let obstacle = self.obstacle().or_else(full).filter(|_| behind > 0 || filling.is_some());
        let away = self.source.is_away();
        let freshness = Freshness { behind, filling, unread: 0, obstacle, away };
        Ok((freshness, Arc::clone(&shown.generation)))
    }

    /// Brings everything in now and reports how far it is. Ends early, with what is left, when the
    /// disk does not let it go on.
    pub fn catch_up(&self, report: &dyn Fn(Stage)) -> Result<Freshness> {
        self.guarded(|| self.catch_up_once(report))
    }

    fn catch_up_once(&self, report: &dyn Fn(Stage)) -> Result<Freshness> {
        let head = self.source.head()?;
        let start = self.freshness(head)?.behind;
        loop {
            let freshness = self.freshness(head)?;
            report(match freshness.filling {
                Some((done, total)) => Stage::Items(done, total),
                None => Stage::Changes(
                    usize::try_from(start.saturating_sub(freshness.behind)).unwrap_or(0),
                    usize::try_from(start).unwrap_or(0),
                ),
            });
            if freshness.is_fresh() {
                return Ok(freshness);
            }
            let mut writing = lock(&self.writing);
            match self.advance(&mut writing, LARGE_STEP) {
                Ok(true) => {}
                Ok(false) => {
                    drop(writing);
                    report(Stage::Waiting(self.holder()));
                    self.wait_for_more(Duration::from_millis(50));
                }
                Err(error) => {
                    drop(writing);
                    match self.obstacle() {
                        Some(_) => return self.freshness(head),
                        None => return Err(error),
                    }
                }
            }
        }
    }

    /// Becomes the writer and takes one step. `false` when another process writes. What the disk
    /// refuses is remembered until a step succeeds.
    fn advance(&self, writing: &mut Option<Build>, limit: usize) -> Result<bool> {
        let advanced = self.hold(writing).and_then(|held| match held {
            true => self.step(writing, limit).map(|_| true),
            false => Ok(false),
        });
        match &advanced {
            Ok(true) => *lock(&self.obstacle) = None,
            Ok(false) => {}
            Err(error) => self.note_obstacle(error),
        }
        advanced
    }

    fn note_obstacle(&self, error: &Error) {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        let written = shown.generation.directory.take_failure().and_then(Obstacle::of_kind);
        *lock(&self.obstacle) = Obstacle::of(error).or(written);
    }

    /// Why the last write failed, when that was the disk's doing.
    pub fn obstacle(&self) -> Option<Obstacle> {
        *lock(&self.obstacle)
    }

    /// The process that writes terms.
    pub fn holder(&self) -> Option<Holder> {
        Lease::holder(&self.root.join("lease"))
    }

    /// Becomes the writer if nobody else is.
    fn hold(&self, writing: &mut Option<Build>) -> Result<bool> {
        if writing.is_some() {
            return Ok(true);
        }
        let Some(lease) = Lease::try_take(&self.root.join("lease"))? else { return Ok(false) };
        self.refresh()?;
        let generation = {
            let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&shown.generation)
        };
        Builds(&self.root).sweep(&generation.name);
        *writing = Some(Build::open(Arc::new(lease), generation)?);
        Ok(true)
    }

    fn step(&self, writing: &mut Option<Build>, limit: usize) -> Result<Step> {
        let position = writing.as_ref().and_then(|build| build.position);
        if let Some(position) = position
            && (self.source.library()? != position.library
                || (position.filled.is_none() && self.source.reached()? < position.seq))
        {
            // The log is not the one this build followed (a restored backup): begin again.
            self.begin_anew(writing)?;
        }
        let Some(build) = writing.as_mut() else { return Ok(Step { done: true, filled: None }) };
        let step = match build.step(self.source.as_ref(), limit) {
            Ok(step) => step,
            Err(error) => {
                // A writer that failed is not used again; the next one starts from the last commit.
                *writing = None;
                return Err(error);
            }
        };
        self.show(build, step.filled);
        self.publish();
        Ok(step)
    }

    /// Changes that are not in yet.
    pub(super) fn behind(&self) -> Result<u64> {
        Ok(self.freshness(self.source.head()?)?.behind)
    }

    /// One round of the background thread: catches up, replaces an outdated build, lets go of the
    /// lease when nothing was written for `idle`. Tells whether this process is the writer.
    pub(super) fn tend(&self, idle: Duration) -> Result<bool> {
        let (head, reached) = (self.source.head()?, self.source.reached()?);
        let fresh = self.freshness(head)?.is_fresh();
        let (outdated, ahead) = {
            let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
            let ahead = shown.position.is_some_and(|position| position.seq > reached);
            (!Builds::is_wanted(&shown.generation.name), ahead)
        };
        let mut writing = lock(&self.writing);
        if fresh && !outdated && !ahead {
            let rested = writing.as_ref().is_some_and(|build| build.touched.elapsed() >= idle);
            if rested && !self.rebuilding.load(Ordering::Acquire) {
                self.release(&mut writing)?;
            }
            return Ok(writing.is_some());
        }
        if !self.advance(&mut writing, LARGE_STEP)? {
            return Ok(false);
        }
        drop(writing);
        if outdated && self.behind()? == 0 {
            self.rebuild(&|_| {})?;
        }
        Ok(true)
    }

    fn release(&self, writing: &mut Option<Build>) -> Result<()> {
        let Some(build) = writing.take() else { return Ok(()) };
        let generation = Arc::clone(&build.generation);
        build.close()?;
        generation.reader.reload().doing("read the index anew")
    }

    /// Lets another process write. The next change takes the lease again.
    pub fn rest(&self) -> Result<()> {
        self.release(&mut lock(&self.writing))
    }
}
