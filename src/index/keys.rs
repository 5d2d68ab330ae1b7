//! Maps the key of a vector to the passages of a segment that have it. A scan of vectors returns
//! keys, some of them of deleted passages, and a search looks up some hundred of them. A lookup here
//! takes two memory reads; a term dictionary would need a walk. The map takes 8.5 bytes a passage.

use tantivy::{DocId, columnar::Column};

/// Passages that share a bucket, about.
const SHARED: usize = 8;

/// Passages in buckets by the upper bits of their keys, which are hashes and so spread evenly.
pub(super) struct ByKey {
    /// Where each bucket begins in `entries`, and where the last one ends.
    starts: Vec<u32>,
    /// The lower bits of a key, and its passage.
    entries: Vec<(u32, DocId)>,
}

fn bucket(key: u64, buckets: usize) -> usize {
    #[allow(clippy::cast_possible_truncation, reason = "the product is below `buckets`")]
    let at = ((u128::from(key) * buckets as u128) >> 64) as usize;
    at
}

#[allow(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
fn lower(key: u64) -> u32 {
    key as u32
}

impl ByKey {
    pub(super) fn of(keys: &Column<u64>, docs: u32) -> Self {
        let buckets = (docs as usize / SHARED).max(1);
        let each = || (0..docs).filter_map(|doc| keys.first(doc).map(|key| (key, doc)));
        let mut starts = vec![0u32; buckets + 1];
        each().for_each(|(key, _)| starts[bucket(key, buckets) + 1] += 1);
        for at in 0..buckets {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0); starts[buckets] as usize];
        for (key, doc) in each() {
            let place = &mut next[bucket(key, buckets)];
            entries[*place as usize] = (lower(key), doc);
            *place += 1;
        }
        Self { starts, entries }
    }

    /// The passages that have `key`, in order, those that are gone included.
    pub(super) fn find(&self, keys: &Column<u64>, key: u64) -> impl Iterator<Item = DocId> {
        let at = bucket(key, self.starts.len() - 1);
        let entries = &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize];
        entries
            .iter()
            .filter(move |(low, doc)| *low == lower(key) && keys.first(*doc) == Some(key))
            .map(|(_, doc)| *doc)
    }
}
