//! The index as the rest of the program holds it: what is shown to searches, who writes, and how
//! the two stay together across threads and processes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    Source,
    build::{Build, Step},
    centre::Centre,
    coverage::Coverage,
    generation::{Builds, Generation, Position, Stamp},
    guard::Obstacle,
    heal::open_build,
    lease::{Holder, Lease},
    narrow::Cache,
    repair::Repairs,
    vectors::{Progress, Vectors},
    view::View,
};
use crate::domain::{Error, Filters, Progress as Watch, Result, error::Doing};

/// Items a search brings in itself before it looks at the clock again.
const SMALL_STEP: usize = 100;
/// Items between two commits of a long catch-up.
const LARGE_STEP: usize = 4_000;
pub(super) const POLL: Duration = Duration::from_millis(3);

/// How a search's answer stands to what was acknowledged before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freshness {
    /// Changes that the answer has not seen. 0: it has seen everything.
    pub behind: u64,
    /// Items in and items in all, while the index is filled for the first time.
    pub filling: Option<(usize, usize)>,
    /// Places that were not looked at yet: what changed there while nobody watched is not known.
    pub unread: usize,
    /// Why the index cannot follow, when the disk does not let it.
    pub obstacle: Option<Obstacle>,
    /// The store does not answer: what was written since is not known.
    pub away: bool,
}

/// How far a long write has come.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Items of a first fill: done, in all.
    Items(usize, usize),
    /// Changes of the log: done, in all.
    Changes(usize, usize),
    /// Another process writes.
    Waiting(Option<Holder>),
}

impl Stage {
    /// Reports the stage to whoever watches.
    pub fn report(&self, progress: &dyn Watch) {
        match self {
            Self::Items(done, total) => {
                progress.report(*done as u64, Some(*total as u64), "indexing items");
            }
            Self::Changes(done, total) => {
                progress.report(*done as u64, Some(*total as u64), "indexing changes");
            }
            Self::Waiting(Some(Holder { pid, since })) => progress.waiting(&format!(
                "waiting for process {pid}, which has been writing the index since {since}"
            )),
            Self::Waiting(None) => progress.waiting("waiting for another process to index"),
        }
    }
}

impl Freshness {
    /// Whether every acknowledged change is searchable.
    pub fn is_fresh(&self) -> bool {
        self.behind == 0 && self.filling.is_none()
    }

    /// What a caller may know of it who does not see everything: that the index is being made, but
    /// not how much there is or that something changed, which may be something private.
    pub fn without_counts(self) -> Self {
        Self { filling: self.filling.map(|_| (0, 0)), away: self.away, ..Self::default() }
    }
}

/// What `status` tells of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Passages that can be found.
    pub passages: u64,
    /// Segments of the term index.
    pub segments: usize,
    /// How far the index follows the log.
    pub freshness: Freshness,
    /// How far embedding is; `None` without a model.
    pub vectors: Option<Progress>,
    /// Whether this process writes at the moment.
    pub writing: bool,
    /// The build was made by another version of the analyser and is being replaced.
    pub outdated: bool,
    /// The generation in use.
    pub build: String,
}

pub(super) struct Shown {
    pub(super) generation: Arc<Generation>,
    position: Option<Position>,
    filled: Option<(usize, usize)>,
    stamp: Stamp,
    pointer: Stamp,
}

/// The terms and vectors of every passage.
pub struct Index {
    pub(super) root: PathBuf,
    pub(super) source: Arc<dyn Source>,
    pub(super) vectors: Option<Arc<Vectors>>,
    pub(super) shown: RwLock<Shown>,
    pub(super) writing: Mutex<Option<Build>>,
    pub(super) repairs: Repairs,
    rebuilding: AtomicBool,
    /// Counts what was published here, so that threads can wait for more.
    published: (Mutex<u64>, Condvar),
    narrowings: Arc<Cache>,
    centre: Centre,
    coverage: Coverage,
    /// Why the last write failed, when that was the disk's doing.
    obstacle: Mutex<Option<Obstacle>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Index {
    /// Opens the index in `root` (`DATA/index`), making it when it is not there. `model` is the
    /// embedder's id and dimensions; without one there are words only.
    pub fn open(
        root: &Path,
        source: Arc<dyn Source>,
        model: Option<(&str, usize)>,
    ) -> Result<Self> {
        fs::create_dir_all(root).doing(format!("create `{}`", root.display()))?;
        let repairs = Repairs::new(root);
        let vectors = match model {
            Some((id, dims)) => Some(Arc::new(Vectors::open(root, id, dims, &repairs)?)),
            None => None,
        };
        Self::showing(root, source, vectors, repairs, open_build)
    }

    /// Opens the index with the build that `open` gives.
    pub(super) fn showing(
        root: &Path,
        source: Arc<dyn Source>,
        vectors: Option<Arc<Vectors>>,
        repairs: Repairs,
        open: impl FnOnce(&Path, &dyn Source, &Repairs) -> Result<Arc<Generation>>,
    ) -> Result<Self> {
        // Read before the build is opened: one that is chosen meanwhile is noticed later.
        let pointer = Builds(root).pointer();
        let generation = open(root, source.as_ref(), &repairs)?;
        // A build that another process replaces at this moment has none; the first look at it sees
        // its successor.
        let position = generation.position().unwrap_or(None);
        let shown = Shown { stamp: generation.opened, generation, position, filled: None, pointer };
        Ok(Self {
            root: root.to_owned(),
            source,
            vectors,
            shown: RwLock::new(shown),
            writing: Mutex::new(None),
            rebuilding: AtomicBool::new(false),
            published: (Mutex::new(0), Condvar::new()),
            narrowings: Arc::default(),
            centre: Centre::default(),
            coverage: Coverage::default(),
            obstacle: Mutex::default(),
            repairs,
        })
    }

    /// What can be searched now. It does not change while it is held.
    pub fn view(&self) -> Result<View> {
        self.refresh()?;
        self.view_of(&self.generation())
    }

    fn view_of(&self, generation: &Arc<Generation>) -> Result<View> {
        let rows = self.vectors.as_ref().map(|vectors| vectors.rows()).transpose()?;
        Ok(View::new(generation, rows, Arc::clone(&self.narrowings)))
    }

    /// This moment of the index as a caller sees it whose filters these are.
    pub fn view_for(&self, filters: &Filters) -> Result<View> {
        self.view()?.for_filters(filters)
    }

    /// The same once the index has caught up as [`Self::ensure_fresh`] lets it, and how fresh it is.
    pub fn fresh_view_for(&self, filters: &Filters, wait: Duration) -> Result<(View, Freshness)> {
        // Of the build that the freshness is about: another process may begin a new one at any
        // moment, which is empty at first.
        let (freshness, generation) = self.caught_up(wait)?;
        Ok((self.view_of(&generation)?.for_filters(filters)?, freshness))
    }

    /// The mean of the vectors that `view` has; `None` where they are too few to have one.
    pub fn centre(&self, view: &View) -> Result<Option<Arc<[f32]>>> {
        match &self.vectors {
            Some(_) if view.is_part() => self.centre.of_visible(view),
            Some(vectors) => self.centre.of(vectors, view.rows()),
            None => Ok(None),
        }
    }

    /// Lets the index catch up with everything acknowledged before this call, for at most `wait`,
    /// and says what it did not manage.
    pub fn ensure_fresh(&self, wait: Duration) -> Result<Freshness> {
        Ok(self.caught_up(wait)?.0)
    }

    /// The same with the build that it is about.
    fn caught_up(&self, wait: Duration) -> Result<(Freshness, Arc<Generation>)> {
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
    fn freshness(&self, head: i64) -> Result<Freshness> {
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

    /// Makes the terms anew beside the ones that are searched, and changes over when they are whole.
    pub fn rebuild(&self, report: &dyn Fn(Stage)) -> Result<()> {
        let (lease, name) = loop {
            let writing = lock(&self.writing);
            // The old build may be too damaged to be written, so its writer is not asked for.
            let lease = match writing.as_ref() {
                Some(build) => Some(Arc::clone(&build.lease)),
                None => Lease::try_take(&self.root.join("lease"))?.map(Arc::new),
            };
            if let Some(lease) = lease {
                self.rebuilding.store(true, Ordering::Release);
                break (lease, Builds(&self.root).fresh()?);
            }
            drop(writing);
            report(Stage::Waiting(self.holder()));
            self.wait_for_more(Duration::from_millis(50));
        };
        let result = self.rebuild_as(lease, &name, report);
        self.rebuilding.store(false, Ordering::Release);
        result
    }

    fn rebuild_as(&self, lease: Arc<Lease>, name: &str, report: &dyn Fn(Stage)) -> Result<()> {
        let mut build = Build::open(lease, Generation::open(&self.root, name)?)?;
        // A damaged build has nothing that can be kept.
        let intact = self.generation().damage().is_none();
        build.old = intact.then(|| self.view()).transpose()?;
        // The old build goes on following the log meanwhile: its lock is not held here.
        loop {
            let step = build.step(self.source.as_ref(), LARGE_STEP)?;
            if let Some((done, total)) = step.filled {
                report(Stage::Items(done, total));
            }
            if step.done {
                break;
            }
        }
        let mut writing = lock(&self.writing);
        while !build.step(self.source.as_ref(), LARGE_STEP)?.done {}
        build.old = None;
        let builds = Builds(&self.root);
        builds.choose(name)?;
        let old = writing.take();
        self.show(&build, None);
        drop(old);
        builds.sweep(name);
        *writing = Some(build);
        drop(writing);
        self.publish();
        Ok(())
    }

    /// The state of the index.
    pub fn status(&self) -> Result<Status> {
        self.guarded(|| self.status_once())
    }

    fn status_once(&self) -> Result<Status> {
        let freshness = self.freshness(self.source.head()?)?;
        let view = self.view()?;
        let vectors = self.vector_progress(&view)?;
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        let searcher = shown.generation.reader.searcher();
        Ok(Status {
            passages: searcher.num_docs(),
            segments: searcher.segment_readers().len(),
            freshness,
            vectors,
            writing: self.writing.try_lock().map_or(true, |writing| writing.is_some()),
            outdated: !Builds::is_wanted(&shown.generation.name),
            build: shown.generation.name.clone(),
        })
    }

    /// How many of the passages of `view` have their vector; `None` without an embedder.
    pub fn vector_progress(&self, view: &View) -> Result<Option<Progress>> {
        match view.is_part() {
            true => self.vectors.as_ref().map(|_| view.visible_progress()).transpose(),
            false => view.covered(&self.coverage),
        }
    }

    /// Notices what another process committed.
    fn refresh(&self) -> Result<()> {
        let builds = Builds(&self.root);
        let pointer = builds.pointer();
        {
            let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
            if shown.pointer == pointer && shown.stamp == shown.generation.stamp() {
                return Ok(());
            }
        }
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        if shown.pointer != pointer {
            if let Some(name) = builds.current().filter(|name| *name != shown.generation.name) {
                shown.generation = Generation::open(&self.root, &name)?;
                shown.filled = None;
            }
            shown.pointer = pointer;
        }
        // In this order: the stamp may be older than the position, the position older than what the
        // reader sees, never the other way round.
        shown.stamp = shown.generation.stamp();
        shown.position = shown.generation.position()?;
        shown.generation.reader.reload().doing("read the index anew")?;
        drop(shown);
        self.publish();
        Ok(())
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

    /// Lets searches see what was written.
    pub(super) fn show(&self, build: &Build, filled: Option<(usize, usize)>) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.pointer = Builds(&self.root).pointer();
        shown.stamp = build.generation.stamp();
        shown.generation = Arc::clone(&build.generation);
        shown.position = build.position;
        shown.filled = filled;
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

    fn publish(&self) {
        let (count, changed) = &self.published;
        *lock(count) += 1;
        changed.notify_all();
    }

    /// How often something was published here.
    pub(super) fn publications(&self) -> u64 {
        *lock(&self.published.0)
    }

    /// Waits until something is published here, at most `at_most`.
    pub(super) fn wait_for_more(&self, at_most: Duration) {
        let (count, changed) = &self.published;
        let _ = changed.wait_timeout(lock(count), at_most);
    }
}
