//! The threads that compute vectors in the background: what changed last first, batches of equal
//! length, every batch kept as soon as it is there.

use std::{
    cmp::Reverse,
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tantivy::index::SegmentId;

use super::{
    passage::embedded_text,
    priority,
    state::Index,
    vectors::{Keys, Lineage, VectorWriter, Vectors},
    view::View,
};
use crate::{
    domain::{Patience, Result, call::join_within, error::Doing},
    telemetry::metric,
};

/// Passages given to the model at once.
const BATCH: usize = 16;
/// Passages between two looks at what changed meanwhile; sorted by length among themselves.
const ROUND: usize = 256;
const TICK: Duration = Duration::from_millis(500);
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// How long the thread is waited for at the end. A source that hangs must not hold up a shutdown.
const JOIN_LIMIT: Duration = Duration::from_secs(10);
/// The lease is let go after this long with nothing to do.
const IDLE: Duration = Duration::from_secs(2);

/// Segments of the index whose every passage has a vector. A segment never changes, so after a
/// commit only the new ones are looked at: the passages of what changed, or of a merge.
#[derive(Default)]
struct CoveredSegments {
    ids: HashSet<SegmentId>,
    /// The rows that cover them. When these are replaced, nothing is known.
    rows: Option<Lineage>,
}

impl CoveredSegments {
    /// Forgets everything unless the rows are those of the last time, or more.
    fn check(&mut self, vectors: &Vectors) -> Result<()> {
        let now = vectors.rows()?.lineage();
        if !self.rows.as_ref().is_some_and(|before| before.leads_to(&now)) {
            self.ids.clear();
        }
        self.rows = Some(now);
        Ok(())
    }
}

/// Turns passages into vectors, one each, on the calling thread.
pub type Embed = Arc<dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>> + Send + Sync>;

/// Computes missing vectors until it is dropped.
pub struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// `threads`: how many passages are computed side by side; 0 for all cores but one.
    pub fn start(index: Arc<Index>, embed: Embed, threads: usize) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let cores = thread::available_parallelism().map_or(1, |count| count.get());
        let threads = if threads == 0 { (cores - 1).max(1) } else { threads };
        let thread = thread::Builder::new()
            .name("vectors".to_owned())
            .spawn(move || {
                Patience::background().during(|| {
                    priority::lower();
                    let covered = Mutex::new(CoveredSegments::default());
                    while !stopping.load(Ordering::Acquire) {
                        let worked = index.guarded(|| {
                            let mut covered =
                                covered.lock().unwrap_or_else(PoisonError::into_inner);
                            work(&index, &embed, threads, &mut covered, &stopping)
                        });
                        if let Err(error) = worked {
                            tracing::error!(?error, "vectors could not be computed");
                            thread::park_timeout(AFTER_FAILURE);
                        }
                    }
                })
            })
            .doing("start the vectors' thread")?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            join_within(thread, JOIN_LIMIT);
        }
    }
}

impl Index {
    /// Computes every missing vector now and reports passages: `progress(done, total)`. Waits for
    /// another process that is at it.
    pub fn embed_all(
        &self,
        embed: &Embed,
        threads: usize,
        progress: &dyn Fn(u64, u64),
    ) -> Result<()> {
        let Some(vectors) = self.vectors.clone() else { return Ok(()) };
        loop {
            let view = self.view()?;
            let state = self.vector_progress(&view)?.unwrap_or_default();
            progress(state.done, state.total);
            let Some(mut writer) = vectors.writer()? else {
                if state.is_complete() {
                    return Ok(());
                }
                thread::sleep(TICK);
                continue;
            };
            for round in missing(&view, &writer, &HashSet::new())?.chunks(ROUND) {
                compute(&view, &mut writer, round, embed, threads.max(1), &AtomicBool::new(false))?;
                let state = self.vector_progress(&self.view()?)?.unwrap_or_default();
                progress(state.done, state.total);
            }
            return writer.close();
        }
    }

    /// Computes missing vectors for about `budget`, the newest passages first, and at least one
    /// batch, so that a command that is repeated gets to the end. Returns without a word when
    /// another process is at it.
    pub fn embed_for(&self, embed: &Embed, threads: usize, budget: Duration) -> Result<()> {
        let deadline = Instant::now() + budget;
        let Some(vectors) = self.vectors.clone() else { return Ok(()) };
        let view = self.view()?;
        if self.vector_progress(&view)?.is_none_or(|progress| progress.is_complete()) {
            return Ok(());
        }
        let Some(mut writer) = vectors.writer()? else { return Ok(()) };
        let threads = threads.max(1);
        for round in missing(&view, &writer, &HashSet::new())?.chunks(BATCH * threads) {
            compute(&view, &mut writer, round, embed, threads, &AtomicBool::new(false))?;
            if Instant::now() >= deadline {
                break;
            }
        }
        writer.close()
    }
}

/// Waits for something to do, becomes the writer, and does it until nothing is left for a while.
fn work(
    index: &Index,
    embed: &Embed,
    threads: usize,
    covered: &mut CoveredSegments,
    stop: &AtomicBool,
) -> Result<()> {
    let Some(vectors) = index.vectors.clone() else {
        stop.store(true, Ordering::Release);
        return Ok(());
    };
    let Some(mut writer) = vectors.writer()? else {
        // Another process computes.
        thread::park_timeout(TICK);
        return Ok(());
    };
    covered.check(&vectors)?;
    let mut seen = None;
    let mut rested = Instant::now();
    while !stop.load(Ordering::Acquire) {
        let publications = index.publications();
        if seen == Some(publications) {
            if rested.elapsed() > IDLE {
                writer.close()?;
                wait_for_publication(index, publications, stop);
                return Ok(());
            }
            index.wait_for_more(TICK);
            continue;
        }
        let busy = catch_up(index, &mut writer, embed, threads, covered, stop)?;
        covered.check(&vectors)?;
        seen = Some(publications);
        if busy {
            rested = Instant::now();
        }
    }
    writer.close()
}

/// Computes what is missing in the index as it is now. Tells whether there was anything.
fn catch_up(
    index: &Index,
    writer: &mut VectorWriter<'_>,
    embed: &Embed,
    threads: usize,
    covered: &mut CoveredSegments,
    stop: &AtomicBool,
) -> Result<bool> {
    let mut view = index.view()?;
    let mut planned = index.publications();
    let mut pending = missing(&view, writer, &covered.ids)?;
    let busy = !pending.is_empty();
    while !pending.is_empty() && !stop.load(Ordering::Acquire) {
        let round: Vec<u64> = pending.drain(..pending.len().min(ROUND)).collect();
        compute(&view, writer, &round, embed, threads, stop)?;
        if index.publications() != planned {
            // What was changed just now goes first.
            planned = index.publications();
            view = index.view()?;
            pending = missing(&view, writer, &covered.ids)?;
        }
    }
    if !stop.load(Ordering::Acquire) {
        covered.ids = view.segment_ids().collect();
    }
    // At least so many rows are of no living passage.
    let spare = writer.len().saturating_sub(usize::try_from(view.passages()).unwrap_or(0));
    if !stop.load(Ordering::Acquire) && spare * 4 > writer.len() {
        let all = HashSet::new();
        let live: Keys = view.living_keys(&all)?.into_iter().map(|(key, ..)| key).collect();
        writer.compact(&live)?;
    }
    Ok(busy)
}

fn wait_for_publication(index: &Index, seen: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) && index.publications() == seen {
        index.wait_for_more(TICK);
        // Another process may have indexed: looking publishes what it did.
        if index.view().is_err() {
            return;
        }
    }
}

/// The keys without a vector in all but the covered segments, the newest passage first.
fn missing(
    view: &View,
    writer: &VectorWriter<'_>,
    covered: &HashSet<SegmentId>,
) -> Result<Vec<u64>> {
    let mut wanted = view.living_keys(covered)?;
    metrics::counter!(metric::VECTORS_CHECKED).increment(wanted.len() as u64);
    wanted.retain(|(key, ..)| !writer.has(*key));
    wanted.sort_unstable_by_key(|(key, date, pid)| Reverse((*date, *pid, *key)));
    let mut seen = Keys::default();
    wanted.retain(|(key, ..)| seen.insert(*key));
    Ok(wanted.into_iter().map(|(key, ..)| key).collect())
}

/// Computes and keeps the vectors of `keys`.
fn compute(
    view: &View,
    writer: &mut VectorWriter<'_>,
    keys: &[u64],
    embed: &Embed,
    threads: usize,
    stop: &AtomicBool,
) -> Result<()> {
    let mut texts: Vec<(u64, String)> = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(passage) = view.embedded(*key)? {
            texts.push((*key, embedded_text(&passage.title, &passage.toc_path, &passage.text)));
        }
    }
    texts.sort_by_key(|(_, text)| text.len());
    let batches: Vec<&[(u64, String)]> = texts.chunks(BATCH).collect();
    let next = AtomicUsize::new(0);
    let writer = Mutex::new(writer);
    let failure = Mutex::new(None);
    let run = || {
        while !stop.load(Ordering::Acquire) {
            let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let inputs: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
            let kept = embed(&inputs).and_then(|vectors| {
                let rows = batch.iter().map(|(key, _)| *key).zip(vectors).collect();
                writer.lock().unwrap_or_else(PoisonError::into_inner).append(rows)
            });
            if let Err(error) = kept {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                next.store(batches.len(), Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(batches.len()) {
            scope.spawn(|| {
                priority::lower();
                run();
            });
        }
        run();
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::shelf::{DIMS, Shelf, embed, page};

    #[test]
    fn after_a_commit_only_what_changed_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        for pid in 1..=40 {
            shelf.put(page(pid, "Tea", &[&format!("Green tea {pid}"), &format!("Чай {pid}")]));
        }
        let index = Index::open(folder.path(), shelf.source(), Some(("test", DIMS))).unwrap();
        let fresh = || index.ensure_fresh(Duration::from_secs(60)).unwrap();
        fresh();
        let vectors = index.vectors.clone().unwrap();
        let mut writer = vectors.writer().unwrap().unwrap();
        let (mut covered, stop) = (CoveredSegments::default(), AtomicBool::new(false));
        let mut run = |covered: &mut CoveredSegments| {
            let busy = catch_up(&index, &mut writer, &embed(), 1, covered, &stop).unwrap();
            covered.check(&vectors).unwrap();
            busy
        };
        let unchecked = |covered: &CoveredSegments| {
            index.view().unwrap().living_keys(&covered.ids).unwrap().len()
        };
        covered.check(&vectors).unwrap();
        assert_eq!(unchecked(&covered), 80);
        assert!(run(&mut covered));
        assert_eq!(unchecked(&covered), 0);
        shelf.put(page(7, "Tea", &["Black tea", "お茶"]));
        fresh();
        assert_eq!(unchecked(&covered), 2);
        assert!(run(&mut covered), "both are new");
        assert!(!run(&mut covered), "nothing is left");
        let progress = index.vector_progress(&index.view().unwrap()).unwrap().unwrap();
        assert!(progress.is_complete(), "{progress:?}");
        // Rows that are not those of the last time cover nothing.
        covered.rows = None;
        covered.check(&vectors).unwrap();
        assert_eq!(unchecked(&covered), 80);
    }
}
