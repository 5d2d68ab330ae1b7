//! What is worth keeping between searches. A segment never changes, so neither does what is known of
//! it; [`Cache::keep_living`] forgets the segments that are gone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use tantivy::{DocId, Searcher, SegmentReader, Term, columnar::Column, index::SegmentId};

use super::{
    bits::Bits,
    census::Counts,
    keys::ByKey,
    narrow::{matching, term},
    schema::{Fields, first},
    state::lock,
};
use crate::domain::{Kind, Result, error::Doing};

/// Memory for sets kept for the next search; one of a million passages takes 125 kB.
const KEPT_BYTES: usize = 16_000_000;
/// Segments and parts of the library whose numbers are kept, about 250 bytes each.
const KEPT_COUNTS: usize = 4_096;
/// Segments whose columns are kept open.
const KEPT_COLUMNS: usize = 256;

/// The numbers of a segment's passages, opened once.
pub(super) struct Columns {
    pub(super) pid: Column<i64>,
    pub(super) ordinal: Column<u64>,
    pub(super) key: Column<u64>,
    pub(super) fold: Column<u64>,
    pub(super) date: Column<i64>,
    kind: Kinds,
    by_key: OnceLock<ByKey>,
}

/// The kinds of a segment's passages, by their place in [`Kind::ALL`].
enum Kinds {
    One(u8),
    Each(Vec<u8>),
}

impl Kinds {
    #[allow(clippy::cast_possible_truncation, reason = "there are four kinds")]
    fn of(column: &Column<u64>, docs: DocId) -> Self {
        let known = |kind: u64| kind.min(Kind::ALL.len() as u64 - 1) as u8;
        let (least, most) = (known(column.min_value()), known(column.max_value()));
        if docs == 0 || least >= most {
            return Self::One(most);
        }
        Self::Each((0..docs).map(|doc| column.first(doc).map_or(0, known)).collect())
    }
}

impl Columns {
    /// The kind of a passage, as its place in [`Kind::ALL`].
    pub(super) fn kind(&self, doc: DocId) -> usize {
        match &self.kind {
            Kinds::One(kind) => usize::from(*kind),
            Kinds::Each(kinds) => usize::from(kinds[doc as usize]),
        }
    }

    /// The kind of all passages, where there is only one.
    pub(super) fn only_kind(&self) -> Option<usize> {
        match &self.kind {
            Kinds::One(kind) => Some(usize::from(*kind)),
            Kinds::Each(_) => None,
        }
    }

    /// The passages that have `key`, those that are gone included.
    pub(super) fn with_key(&self, key: u64) -> impl Iterator<Item = DocId> {
        let by_key = self.by_key.get_or_init(|| ByKey::of(&self.key, self.key.num_docs()));
        by_key.find(&self.key, key)
    }
}

/// Sets by segment and condition.
#[derive(Default)]
struct Sets {
    by_condition: HashMap<(SegmentId, String), Arc<Bits>>,
    /// The memory that they take.
    bytes: usize,
}

/// A segment, the number of its deleted passages, and the part that is counted; `None` for all.
type CountKey = (SegmentId, u32, Option<Arc<str>>);

/// What is known of the segments of one index.
#[derive(Default)]
pub(super) struct Cache {
    sets: Mutex<Sets>,
    columns: Mutex<HashMap<SegmentId, Arc<Columns>>>,
    /// By segment, the number of its deleted passages and the part of the library that is counted:
    /// together they never change.
    counts: Mutex<HashMap<CountKey, Counts>>,
}

impl Cache {
    /// The numbers of a segment, counted once for each number of `deleted` passages and each `part`
    /// of the library.
    pub(super) fn counts(
        &self,
        segment: &SegmentReader,
        deleted: u32,
        part: Option<&Arc<str>>,
        count: impl FnOnce() -> Result<Counts>,
    ) -> Result<Counts> {
        let key = (segment.segment_id(), deleted, part.cloned());
        if let Some(counts) = lock(&self.counts).get(&key) {
            return Ok(counts.clone());
        }
        let counts = count()?;
        let mut kept = lock(&self.counts);
        if kept.len() >= KEPT_COUNTS {
            kept.clear();
        }
        kept.insert(key, counts.clone());
        Ok(counts)
    }

    /// The columns of a segment.
    pub(super) fn columns(&self, segment: &SegmentReader) -> Result<Arc<Columns>> {
        let mut kept = lock(&self.columns);
        if let Some(columns) = kept.get(&segment.segment_id()) {
            return Ok(Arc::clone(columns));
        }
        let what = "read the index's columns";
        let fast = segment.fast_fields();
        let columns = Arc::new(Columns {
            pid: fast.i64("pid").doing(what)?,
            ordinal: fast.u64("ordinal").doing(what)?,
            key: fast.u64("key").doing(what)?,
            fold: fast.u64("fold").doing(what)?,
            date: fast
                .column_opt::<i64>("date")
                .doing(what)?
                .unwrap_or_else(|| Column::build_empty_column(segment.max_doc())),
            kind: Kinds::of(&fast.u64("kind").doing(what)?, segment.max_doc()),
            by_key: OnceLock::new(),
        });
        if kept.len() >= KEPT_COLUMNS {
            kept.clear();
        }
        kept.insert(segment.segment_id(), Arc::clone(&columns));
        Ok(columns)
    }

    /// The first passage of every item of a segment. The others of the item follow it.
    pub(super) fn firsts(
        &self,
        searcher: &Searcher,
        segment: &SegmentReader,
        fields: &Fields,
    ) -> Result<Arc<Bits>> {
        let name = first();
        self.bits(segment, &name, || {
            let query = term(Term::from_field_text(fields.facts, &name));
            matching(searcher, segment, query.as_ref())
        })
    }

    /// The passages of a segment that meet the condition `key`, made by `make` unless they are known.
    pub(super) fn bits(
        &self,
        segment: &SegmentReader,
        key: &str,
        make: impl FnOnce() -> Result<Bits>,
    ) -> Result<Arc<Bits>> {
        let id = (segment.segment_id(), key.to_owned());
        if let Some(bits) = lock(&self.sets).by_condition.get(&id) {
            return Ok(Arc::clone(bits));
        }
        let bits = Arc::new(make()?);
        let mut kept = lock(&self.sets);
        if kept.bytes + bytes(&bits) > KEPT_BYTES {
            *kept = Sets::default();
        }
        kept.bytes += bytes(&bits);
        kept.by_condition.insert(id, Arc::clone(&bits));
        Ok(bits)
    }

    /// Forgets every segment that `searcher` does not have. Without this each commit would leave
    /// what was known of the segments that it replaced, and hold their files open.
    pub(super) fn keep_living(&self, searcher: &Searcher) {
        let living: HashMap<SegmentId, u32> = searcher
            .segment_readers()
            .iter()
            .map(|segment| (segment.segment_id(), segment.num_deleted_docs()))
            .collect();
        let mut sets = lock(&self.sets);
        sets.by_condition.retain(|(segment, _), _| living.contains_key(segment));
        sets.bytes = sets.by_condition.values().map(|bits| bytes(bits)).sum();
        drop(sets);
        lock(&self.columns).retain(|segment, _| living.contains_key(segment));
        lock(&self.counts).retain(|(segment, deleted, _), _| living.get(segment) == Some(deleted));
    }
}

/// The memory that a set takes with its key.
fn bytes(bits: &Bits) -> usize {
    bits.0.len() * 8 + 192
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{
        domain::Filters,
        index::{
            Asked, Index,
            shelf::{Shelf, page},
        },
    };

    /// Edits that follow each other replace segments; what was known of those must go with them.
    #[test]
    fn what_is_known_of_segments_does_not_outgrow_them() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        let index = Index::open(folder.path(), shelf.source(), None).unwrap();
        for round in 0..60 {
            shelf.put(page(round % 7, "Tea", &[&format!("Green tea {round}"), "чай", "お茶"]));
            index.ensure_fresh(Duration::from_secs(60)).unwrap();
            let view = index.view().unwrap();
            view.narrow(&Asked::by(&Filters::default())).unwrap();
            view.census().unwrap();
        }
        let view = index.view().unwrap();
        let segments = view.segment_ids().count();
        let cache = &view.cache;
        assert!(super::lock(&cache.columns).len() <= segments);
        assert!(super::lock(&cache.counts).len() <= segments);
        let sets = super::lock(&cache.sets);
        assert!(sets.by_condition.len() <= segments * 3, "{}", sets.by_condition.len());
        assert_eq!(
            sets.bytes,
            sets.by_condition.values().map(|set| super::bytes(set)).sum::<usize>()
        );
    }
}
