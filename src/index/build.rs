//! A build being written: first filled with every item, then following the log. One step at a
//! time, each ending in a commit, so that a kill at any moment loses at most a step.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use tantivy::{
    IndexWriter, Term,
    indexer::{LogMergePolicy, UserOperation},
    merge_policy::NoMergePolicy,
};

use super::{
    Source,
    generation::{Generation, Position},
    lease::Lease,
    schema,
    view::View,
};
use crate::domain::{Chunk, Document, Error, Pid, Result, error::Doing};

/// Below this many items a thread costs more than it saves.
const MIN_ITEMS_PER_THREAD: usize = 8;

pub(super) struct Build {
    pub(super) lease: Arc<Lease>,
    pub(super) generation: Arc<Generation>,
    pub(super) position: Option<Position>,
    /// When something was last written.
    pub(super) touched: Instant,
    /// The build that this one replaces: items whose text cannot be read keep their passages.
    pub(super) old: Option<View>,
    writer: IndexWriter,
    /// What the first fill has still to do, last first.
    todo: Option<Vec<Pid>>,
    total: usize,
}

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Nothing is left to do now.
    pub(super) done: bool,
    /// Items of the first fill, while it is under way.
    pub(super) filled: Option<(usize, usize)>,
}

impl Build {
    pub(super) fn open(lease: Arc<Lease>, generation: Arc<Generation>) -> Result<Self> {
        let position = generation.position()?;
        let writer = generation.writer()?;
        let touched = Instant::now();
        Ok(Self { lease, generation, position, touched, old: None, writer, todo: None, total: 0 })
    }

    /// Brings at most about `limit` items in and commits.
    pub(super) fn step(&mut self, source: &dyn Source, limit: usize) -> Result<Step> {
        match self.position {
            None => {
                // The log position is read before the items: what changes in between is seen twice,
                // which is harmless, never not at all.
                let seq = source.reached()?;
                let library = source.library()?;
                self.position = Some(Position { seq, filled: Some(i64::MIN), library });
                self.fill(source, limit)
            }
            Some(Position { filled: Some(_), .. }) => self.fill(source, limit),
            Some(position) => self.follow(source, position, limit),
        }
    }

    fn fill(&mut self, source: &dyn Source, limit: usize) -> Result<Step> {
        let Some(Position { seq, filled: Some(after), library }) = self.position else {
            return Err(Error::internal("a fill was asked of a build that is filled"));
        };
        if self.todo.is_none() {
            let mut pids = source.all()?;
            self.total = pids.len();
            pids.retain(|pid| pid.0 > after);
            pids.sort_unstable_by(|a, b| b.cmp(a));
            // Merging while filling would do the work twice.
            self.writer.set_merge_policy(Box::new(NoMergePolicy));
            self.todo = Some(pids);
        }
        let todo = self.todo.get_or_insert_default();
        let mut batch = todo.split_off(todo.len().saturating_sub(limit));
        batch.reverse();
        let last = batch.last().map_or(after, |pid| pid.0);
        let done = todo.is_empty();
        let left = todo.len();
        self.put(source, &batch)?;
        if done {
            self.todo = None;
            self.writer.set_merge_policy(Box::new(merge_policy()));
        }
        self.commit(Position { seq, filled: (!done).then_some(last), library })?;
        // Whether the log moved on meanwhile is for the next step to see.
        Ok(Step { done: false, filled: (!done).then_some((self.total - left, self.total)) })
    }

    fn follow(&mut self, source: &dyn Source, position: Position, limit: usize) -> Result<Step> {
        let changes = source.changes(position.seq, limit)?;
        let Some(&(seq, _)) = changes.last() else {
            return Ok(Step { done: true, filled: None });
        };
        let mut seen = HashSet::new();
        let pids: Vec<Pid> =
            changes.iter().map(|(_, pid)| *pid).filter(|pid| seen.insert(*pid)).collect();
        self.put(source, &pids)?;
        self.commit(Position { seq, filled: None, ..position })?;
        Ok(Step { done: changes.len() < limit, filled: None })
    }

    /// Replaces what the index has of these items by what the source has.
    fn put(&mut self, source: &dyn Source, pids: &[Pid]) -> Result<()> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        // Operations are numbered when they are handed over, and a segment finds what a deletion
        // concerns by number: items that overtake each other between the two would delete themselves.
        let writer = Mutex::new(&self.writer);
        let fields = &self.generation.fields;
        let (old, filling) = (self.old.as_ref(), self.todo.is_some());
        let put_one = |pid: Pid| -> Result<()> {
            let passages = match source.document(pid)? {
                // What this build has of it stays.
                Some(document) if document.unread && old.is_none() && !filling => return Ok(()),
                Some(mut document) => {
                    if document.unread
                        && let Some(old) = old
                    {
                        take_over(&mut document, old)?;
                    }
                    schema::documents(fields, &document)?
                }
                None => Vec::new(),
            };
            // In one go, so that an item's passages stand side by side in one segment: counting
            // items relies on it.
            let mut operations = Vec::with_capacity(passages.len() + 1);
            operations.push(UserOperation::Delete(Term::from_field_i64(fields.pid, pid.0)));
            operations.extend(passages.into_iter().map(UserOperation::Add));
            let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.run(operations).doing(format!("index item `{pid}`"))?;
            Ok(())
        };
        let run = || {
            while !stop.load(Ordering::Relaxed) {
                let Some(pid) = pids.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                if let Err(error) = put_one(*pid) {
                    stop.store(true, Ordering::Relaxed);
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        };
        let threads = if pids.len() < MIN_ITEMS_PER_THREAD {
            1
        } else {
            thread::available_parallelism().map_or(1, |count| count.get().min(8))
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(run);
            }
            run();
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(error) => {
                // Half a step must not be committed with the next one.
                self.writer.rollback().doing("undo half a step of indexing")?;
                self.todo = None;
                Err(error)
            }
        }
    }

    fn commit(&mut self, position: Position) -> Result<()> {
        self.generation.commit(&mut self.writer, position)?;
        self.position = Some(position);
        self.touched = Instant::now();
        Ok(())
    }

    /// Waits for merges, flushes to the disk and lets the lease go.
    pub(super) fn close(self) -> Result<()> {
        self.writer.wait_merging_threads().doing("finish merging the index")?;
        self.generation.seal();
        self.generation.directory.flush().doing("flush the index")
    }
}

/// Gives an item the passages that another build has of it, and its title, date and mark of an
/// archived one where those are not known. Labels are lost until it can be read: an index has them as
/// terms only.
fn take_over(document: &mut Document, old: &View) -> Result<()> {
    for hit in old.passages_of(document.pid)? {
        document.date = document.date.or(old.date(&hit)?);
        document.archived |= old.is_archived(&hit)?;
        let passage = old.passage(&hit)?;
        if document.title.is_empty() {
            document.title = passage.title;
        }
        document.chunks.push(Chunk {
            ordinal: hit.id.chunk,
            toc_path: passage.toc_path,
            text: passage.text,
            range: passage.range,
        });
    }
    Ok(())
}

pub(super) fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    // Small edits merge among themselves, not with a big segment every time.
    policy.set_min_layer_size(1_000);
    policy.set_del_docs_ratio_before_merge(0.3);
    policy
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{
        domain::{Document, Filters, Kind, Pid, Timestamp},
        index::{
            Asked, Index,
            shelf::{Shelf, page},
        },
    };

    fn passages(index: &Index, pid: i64) -> Vec<String> {
        index.ensure_fresh(Duration::from_secs(60)).unwrap();
        let view = index.view().unwrap();
        let hits = view.passages_of(Pid(pid)).unwrap();
        hits.iter().map(|hit| view.passage(hit).unwrap().text).collect()
    }

    #[test]
    fn items_that_are_put_side_by_side_do_not_delete_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        let index = Index::open(folder.path(), shelf.source(), None).unwrap();
        for round in 0..40 {
            for pid in 1..=60 {
                shelf.put(page(pid, "Title", &[&format!("Text {round}"), "яблоко", "東京"]));
            }
            index.ensure_fresh(Duration::from_secs(60)).unwrap();
            let passages = index.view().unwrap().contents().unwrap();
            assert_eq!(passages.len(), 60 * 3, "round {round}");
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test's own file")]
    fn a_new_writer_removes_segments_that_no_commit_names() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        let index = Index::open(folder.path(), shelf.source(), None).unwrap();
        shelf.put(page(1, "Tea", &["Green tea", "чай", "お茶"]));
        assert_eq!(passages(&index, 1).len(), 3);
        index.rest().unwrap();
        let left = index.generation().path.join("f".repeat(32) + ".idx");
        std::fs::write(&left, b"half a segment").unwrap();
        shelf.put(page(2, "Tea", &["Black tea"]));
        assert_eq!(passages(&index, 2).len(), 1);
        assert!(!left.exists());
        assert_eq!(passages(&index, 1).len(), 3);
    }

    #[test]
    fn an_item_that_cannot_be_read_keeps_its_passages() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        let texts = ["Tomatoes need water.", "Помидорам нужна вода.", "トマトには水が必要です。"];
        shelf.put(page(1, "Garden", &texts));
        let index = Index::open(folder.path(), shelf.source(), None).unwrap();
        assert_eq!(passages(&index, 1), texts);
        let mut unread = page(1, "Garden", &[]);
        unread.unread = true;
        shelf.put(unread);
        assert_eq!(passages(&index, 1), texts, "a change that cannot be read changes nothing");
        index.rebuild(&|_| {}).unwrap();
        assert_eq!(passages(&index, 1), texts, "a rebuild takes them over");
        shelf.put(page(1, "Garden", &["New."]));
        assert_eq!(passages(&index, 1), ["New."]);
        shelf.remove(1);
        assert!(passages(&index, 1).is_empty());
    }

    #[test]
    fn a_card_that_is_lost_stays_archived_and_keeps_its_date() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        let date = Some(Timestamp(1_700_000_000_000));
        shelf.put(Document { archived: true, date, ..page(1, "Garden", &["Tomatoes."]) });
        let index = Index::open(folder.path(), shelf.source(), None).unwrap();
        assert_eq!(passages(&index, 1), ["Tomatoes."]);
        let lost = |pid| Document { unread: true, ..Document::new(Pid(pid), Kind::Card, "", "id") };
        shelf.put(lost(1));
        shelf.put(lost(2));
        index.rebuild(&|_| {}).unwrap();
        assert_eq!(passages(&index, 1), ["Tomatoes."]);
        assert!(passages(&index, 2).is_empty(), "nothing is known of it");
        let view = index.view().unwrap();
        let all = view.narrow(&Asked::by(&Filters::default())).unwrap();
        let [hit] = view.passages_of(Pid(1)).unwrap()[..] else { panic!() };
        assert!(!view.is_among(&all, &hit));
        assert_eq!(view.date(&hit).unwrap(), date);
    }
}
