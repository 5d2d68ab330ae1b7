//! The index as the rest of the program holds it: what is shown to searches, who writes, and how
//! the two stay together across threads and processes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    Source,
    build::{Build, Step},
    centre::Centre,
    generation::{Builds, Generation, Position, Stamp, unusable},
    lease::Lease,
    narrow::Cache,
    vectors::{Progress, Vectors},
    view::View,
};
use crate::domain::{Filters, Result, error::Doing};

/// Items a search brings in itself before it looks at the clock again.
const SMALL_STEP: usize = 100;
/// Items between two commits of a long catch-up.
const LARGE_STEP: usize = 4_000;
const POLL: Duration = Duration::from_millis(3);

/// How a search's answer stands to what was acknowledged before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freshness {
    /// Changes that the answer has not seen. 0: it has seen everything.
    pub behind: u64,
    /// Items in and items in all, while the index is filled for the first time.
    pub filling: Option<(usize, usize)>,
    /// Places that were not looked at yet: what changed there while nobody watched is not known.
    pub unread: usize,
}

impl Freshness {
    pub fn is_fresh(&self) -> bool {
        self.behind == 0 && self.filling.is_none()
    }

    /// What a caller may know of it who does not see everything: that the index is being made, but
    /// not how much there is or that something changed, which may be something private.
    pub fn without_counts(self) -> Self {
        Self { behind: 0, filling: self.filling.map(|_| (0, 0)), unread: 0 }
    }
}

/// What `status` tells of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub passages: u64,
    pub segments: usize,
    pub freshness: Freshness,
    pub vectors: Option<Progress>,
    /// Whether this process writes at the moment.
    pub writing: bool,
    /// The build was made by another version of the analyser and is being replaced.
    pub outdated: bool,
    pub build: String,
}

struct Shown {
    generation: Arc<Generation>,
    position: Option<Position>,
    filled: Option<(usize, usize)>,
    stamp: Stamp,
    pointer: Stamp,
}

/// The terms and vectors of every passage.
pub struct Index {
    root: PathBuf,
    pub(super) source: Arc<dyn Source>,
    pub(super) vectors: Option<Arc<Vectors>>,
    shown: RwLock<Shown>,
    writing: Mutex<Option<Build>>,
    rebuilding: AtomicBool,
    /// Counts what was published here, so that threads can wait for more.
    published: (Mutex<u64>, Condvar),
    narrowings: Arc<Cache>,
    centre: Centre,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
        let vectors = match model {
            Some((id, dims)) => Some(Arc::new(Vectors::open(root, id, dims)?)),
            None => None,
        };
        let builds = Builds(root);
        let pointer = builds.pointer();
        let generation = Self::open_build(root)?;
        let stamp = generation.stamp();
        let position = generation.position()?;
        Ok(Self {
            root: root.to_owned(),
            source,
            vectors,
            shown: RwLock::new(Shown { generation, position, filled: None, stamp, pointer }),
            writing: Mutex::new(None),
            rebuilding: AtomicBool::new(false),
            published: (Mutex::new(0), Condvar::new()),
            narrowings: Arc::default(),
            centre: Centre::default(),
        })
    }

    /// The build that is searched; an empty one when there is none that can be trusted.
    fn open_build(root: &Path) -> Result<Arc<Generation>> {
        let builds = Builds(root);
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let usable = builds.current().filter(|name| !Generation::is_torn(root, name));
            if let Some(name) = usable {
                let opened =
                    Generation::open(root, &name).and_then(|build| build.position().map(|_| build));
                match opened {
                    Ok(build) => return Ok(build),
                    Err(error) => tracing::warn!(?error, build = name, "the index is made anew"),
                }
            }
            // Only the holder of the lease makes builds; another process may be doing so now.
            if let Some(_lease) = Lease::try_take(&root.join("lease"))? {
                let name = builds.fresh()?;
                let build = Generation::open(root, &name)?;
                builds.choose(&name)?;
                return Ok(build);
            }
            if Instant::now() > deadline {
                return Err(unusable(&builds.current().unwrap_or_default()));
            }
            thread::sleep(POLL);
        }
    }

    /// What can be searched now. It does not change while it is held.
    pub fn view(&self) -> Result<View> {
        self.refresh()?;
        let generation = {
            let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&shown.generation)
        };
        let rows = self.vectors.as_ref().map(|vectors| vectors.rows()).transpose()?;
        Ok(View::new(&generation, rows, Arc::clone(&self.narrowings)))
    }

    /// This moment of the index as a caller sees it whose filters these are.
    pub fn view_for(&self, filters: &Filters) -> Result<View> {
        let view = self.view()?;
        if filters.only_free { view.only_free() } else { Ok(view) }
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
        let deadline = Instant::now() + wait;
        let unread = self.source.settle(deadline);
        let head = self.source.head()?;
        loop {
            let freshness = Freshness { unread, ..self.freshness(head)? };
            if freshness.is_fresh() || Instant::now() >= deadline {
                return Ok(freshness);
            }
            match self.writing.try_lock() {
                Ok(mut writing) => {
                    if self.hold(&mut writing)? {
                        self.step(&mut writing, SMALL_STEP)?;
                        continue;
                    }
                }
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
        Ok(Freshness { behind, filling, unread: 0 })
    }

    /// Brings everything in now, telling how far it is: `progress(done, total)`, in items for a
    /// first fill and in changes otherwise.
    pub fn catch_up(&self, progress: &dyn Fn(usize, usize)) -> Result<Freshness> {
        let head = self.source.head()?;
        let start = self.freshness(head)?.behind;
        loop {
            let freshness = self.freshness(head)?;
            match freshness.filling {
                Some((done, total)) => progress(done, total),
                None => progress(
                    usize::try_from(start.saturating_sub(freshness.behind)).unwrap_or(0),
                    usize::try_from(start).unwrap_or(0),
                ),
            }
            if freshness.is_fresh() {
                return Ok(freshness);
            }
            let mut writing = lock(&self.writing);
            if self.hold(&mut writing)? {
                self.step(&mut writing, LARGE_STEP)?;
            } else {
                drop(writing);
                // Another process is at it.
                self.wait_for_more(Duration::from_millis(50));
            }
        }
    }

    /// Makes the terms anew beside the ones that are searched, and changes over when they are whole.
    pub fn rebuild(&self, progress: &dyn Fn(usize, usize)) -> Result<()> {
        let (lease, name) = loop {
            let mut writing = lock(&self.writing);
            if self.hold(&mut writing)?
                && let Some(build) = writing.as_ref()
            {
                self.rebuilding.store(true, Ordering::Release);
                break (Arc::clone(&build.lease), Builds(&self.root).fresh()?);
            }
            drop(writing);
            self.wait_for_more(Duration::from_millis(50));
        };
        let result = self.rebuild_as(lease, &name, progress);
        self.rebuilding.store(false, Ordering::Release);
        result
    }

    fn rebuild_as(
        &self,
        lease: Arc<Lease>,
        name: &str,
        progress: &dyn Fn(usize, usize),
    ) -> Result<()> {
        let mut build = Build::open(lease, Generation::open(&self.root, name)?)?;
        build.old = Some(self.view()?);
        // The old build goes on following the log meanwhile: its lock is not held here.
        loop {
            let step = build.step(self.source.as_ref(), LARGE_STEP)?;
            if let Some((done, total)) = step.filled {
                progress(done, total);
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
        {
            let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
            shown.pointer = builds.pointer();
            shown.stamp = build.generation.stamp();
            shown.generation = Arc::clone(&build.generation);
            shown.position = build.position;
            shown.filled = None;
        }
        drop(old);
        builds.sweep(name);
        *writing = Some(build);
        drop(writing);
        self.publish();
        Ok(())
    }

    pub fn status(&self) -> Result<Status> {
        let freshness = self.freshness(self.source.head()?)?;
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        let searcher = shown.generation.reader.searcher();
        Ok(Status {
            passages: searcher.num_docs(),
            segments: searcher.segment_readers().len(),
            freshness,
            vectors: self.vectors.as_ref().map(|vectors| vectors.progress(searcher.num_docs())),
            writing: self.writing.try_lock().map_or(true, |writing| writing.is_some()),
            outdated: !Builds::is_wanted(&shown.generation.name),
            build: shown.generation.name.clone(),
        })
    }

    /// How many of the passages of `view` have their vector; `None` without an embedder.
    pub fn vector_progress(&self, view: &View) -> Result<Option<Progress>> {
        let Some(vectors) = &self.vectors else { return Ok(None) };
        let progress = vectors.progress(view.passages());
        if view.is_part() {
            let total = view.visible_passages()?;
            return Ok(Some(match progress.is_complete() {
                true => Progress { done: total, total },
                false => view.visible_progress()?,
            }));
        }
        Ok(Some(progress))
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
        let Some(build) = writing.as_mut() else { return Ok(Step { done: true, filled: None }) };
        let ahead = build.position.is_some_and(|position| position.filled.is_none())
            && self.source.head()? < build.position.map_or(0, |position| position.seq);
        if ahead {
            // The log is not the one this build followed (a restored backup): begin again.
            let name = Builds(&self.root).fresh()?;
            let lease = Arc::clone(&build.lease);
            *build = Build::open(lease, Generation::open(&self.root, &name)?)?;
            Builds(&self.root).choose(&name)?;
        }
        let step = match build.step(self.source.as_ref(), limit) {
            Ok(step) => step,
            Err(error) => {
                // A writer that failed is not used again; the next one starts from the last commit.
                *writing = None;
                return Err(error);
            }
        };
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.generation = Arc::clone(&build.generation);
        shown.pointer = Builds(&self.root).pointer();
        shown.stamp = build.generation.stamp();
        shown.position = build.position;
        shown.filled = step.filled;
        drop(shown);
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
        let head = self.source.head()?;
        let fresh = self.freshness(head)?.is_fresh();
        let (outdated, ahead) = {
            let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
            let ahead = shown.position.is_some_and(|position| position.seq > head);
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
        if !self.hold(&mut writing)? {
            return Ok(false);
        }
        let step = self.step(&mut writing, LARGE_STEP)?;
        drop(writing);
        if outdated && step.done {
            self.rebuild(&|_, _| {})?;
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
