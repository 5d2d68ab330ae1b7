//! The index as the rest of the program holds it: what is shown to searches, and how that stays
//! together with what is written, across threads and processes.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, atomic::AtomicBool},
    time::Duration,
};

use super::{
    Source,
    build::Build,
    cache::Cache,
    centre::Centre,
    coverage::Coverage,
    freshness::Freshness,
    generation::{Builds, Generation, Position, Stamp},
    guard::Obstacle,
    heal::open_build,
    repair::Repairs,
    vectors::{Progress, Vectors},
    view::View,
};
use crate::domain::{Filters, Result, error::Doing};

pub(super) const POLL: Duration = Duration::from_millis(3);

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
    pub(super) position: Option<Position>,
    pub(super) filled: Option<(usize, usize)>,
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
    pub(super) rebuilding: AtomicBool,
    /// Counts what was published here, so that threads can wait for more.
    published: (Mutex<u64>, Condvar),
    cache: Arc<Cache>,
    centre: Centre,
    coverage: Coverage,
    /// Why the last write failed, when that was the disk's doing.
    pub(super) obstacle: Mutex<Option<Obstacle>>,
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
            cache: Arc::default(),
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
        Ok(View::new(generation, rows, Arc::clone(&self.cache)))
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
    pub(super) fn refresh(&self) -> Result<()> {
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
        self.forget_dead_segments(&shown.generation);
        drop(shown);
        self.publish();
        Ok(())
    }

    /// Lets searches see what was written.
    pub(super) fn show(&self, build: &Build, filled: Option<(usize, usize)>) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.pointer = Builds(&self.root).pointer();
        shown.stamp = build.generation.stamp();
        shown.generation = Arc::clone(&build.generation);
        shown.position = build.position;
        shown.filled = filled;
        self.forget_dead_segments(&shown.generation);
    }

    fn forget_dead_segments(&self, generation: &Generation) {
        self.cache.keep_living(&generation.reader.searcher());
        generation.directory.forget_unmapped();
    }

    /// Wakes whoever waits for more.
    pub(super) fn publish(&self) {
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
