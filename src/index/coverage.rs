//! How many passages can be found by meaning: those whose key has a row.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tantivy::{DocId, SegmentReader, index::SegmentId};

use super::{
    cache::Columns,
    vectors::{Lineage, Progress, Snapshot},
};
use crate::domain::Result;

/// The passages of each segment that had no row when it was last counted. A segment never changes
/// and rows are only added to a set, so each passage is looked up once and the rest again only
/// while it has none.
#[derive(Default)]
pub(super) struct Coverage(Mutex<Known>);

#[derive(Default)]
struct Known {
    rows: Option<Lineage>,
    segments: HashMap<SegmentId, Vec<(DocId, u64)>>,
}

impl Coverage {
    /// Counts the living passages of `segments` that have a row.
    pub(super) fn count<'a>(
        &self,
        rows: &Snapshot,
        segments: impl Iterator<Item = Result<(&'a SegmentReader, &'a Columns)>>,
    ) -> Result<Progress> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lineage = rows.lineage();
        if !known.rows.as_ref().is_some_and(|before| before.leads_to(&lineage)) {
            known.segments.clear();
        }
        known.rows = Some(lineage);
        let mut before = std::mem::take(&mut known.segments);
        let mut progress = Progress::default();
        for entry in segments {
            let (segment, columns) = entry?;
            let id = segment.segment_id();
            let unchecked = before.remove(&id).unwrap_or_else(|| {
                let docs = 0..segment.max_doc();
                docs.filter_map(|doc| Some((doc, columns.key.first(doc)?))).collect()
            });
            let missing = rows.without_row(unchecked);
            let living = missing.iter().filter(|(doc, _)| !segment.is_deleted(*doc)).count() as u64;
            progress.total += u64::from(segment.num_docs());
            progress.done += u64::from(segment.num_docs()).saturating_sub(living);
            known.segments.insert(id, missing);
        }
        Ok(progress)
    }
}
