//! What a question may know about the collection: how many passages and items there are, how long
//! they are, and in how many of them a term occurs.
//!
//! Rarity, average lengths, stand-ins for a misspelt word and "occurs nowhere" all follow from these
//! numbers. For a caller who may not see everything they are counted over what the caller may see,
//! so that no answer depends on the rest. For everybody else they come from the dictionaries.

use std::sync::Arc;

use tantivy::{
    InvertedIndexReader, Searcher, SegmentReader,
    postings::TermInfo,
    schema::{Field, IndexRecordOption},
};

use super::{
    narrow::{Bits, Cache, Narrowing},
    schema::Fields,
};
use crate::domain::{Result, error::Doing};

/// The numbers of one segment.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    passages: u64,
    items: u64,
    /// By the order of [`fields`].
    tokens: [u64; 5],
}

/// The fields whose lengths are compared.
pub(super) fn fields(fields: &Fields) -> [Field; 5] {
    [fields.body, fields.title, fields.headings, fields.labels, fields.whole]
}

/// The numbers of the collection as one caller may know them.
pub(super) struct Census {
    /// The passages that the caller may see; `None` for all of them.
    visible: Option<Arc<Narrowing>>,
    /// Living passages.
    pub(super) passages: u64,
    /// What rarity is counted in: for the whole collection, deleted passages are included until
    /// their segment is merged, because the dictionaries include them.
    pub(super) counted: u64,
    pub(super) items: u64,
    tokens: [(Field, u64); 5],
}

impl Census {
    /// Counts the collection, or the visible part of it.
    pub(super) fn take(
        searcher: &Searcher,
        names: &Fields,
        cache: &Cache,
        visible: Option<Arc<Narrowing>>,
    ) -> Result<Self> {
        let mut sum = Counts::default();
        for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
            let counts = match &visible {
                Some(visible) => cache.counts(segment, || {
                    count(searcher, segment, names, cache, visible.segments[ordinal].as_deref())
                })?,
                None => from_dictionaries(segment, names)?,
            };
            sum.passages += counts.passages;
            sum.items += counts.items;
            for (sum, tokens) in sum.tokens.iter_mut().zip(counts.tokens) {
                *sum += tokens;
            }
        }
        let max_docs =
            searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc()));
        let counted = if visible.is_some() { sum.passages } else { max_docs.sum() };
        let mut tokens = fields(names).map(|field| (field, 0));
        for ((_, tokens), sum) in tokens.iter_mut().zip(sum.tokens) {
            *tokens = sum;
        }
        Ok(Self { visible, passages: sum.passages, counted, items: sum.items.max(1), tokens })
    }

    /// The tokens of all passages in one field.
    pub(super) fn tokens(&self, field: Field) -> u64 {
        self.tokens.iter().find(|(known, _)| *known == field).map_or(0, |(_, tokens)| *tokens)
    }

    /// In how many passages of a segment a term occurs.
    pub(super) fn postings(
        &self,
        ordinal: usize,
        segment: &SegmentReader,
        terms: &InvertedIndexReader,
        place: &TermInfo,
    ) -> Result<u64> {
        let Some(visible) = &self.visible else { return Ok(u64::from(place.doc_freq)) };
        let bits = visible.segments[ordinal].as_deref();
        let mut block = terms
            .read_block_postings_from_terminfo(place, IndexRecordOption::Basic)
            .doing("look up a word")?;
        let mut count = 0;
        while !block.docs().is_empty() {
            let passes =
                |doc: &&u32| bits.is_none_or(|bits| bits.has(**doc)) && !segment.is_deleted(**doc);
            count += block.docs().iter().filter(passes).count() as u64;
            block.advance();
        }
        Ok(count)
    }
}

fn from_dictionaries(segment: &SegmentReader, names: &Fields) -> Result<Counts> {
    let what = "measure the passages";
    let mut counts = Counts { passages: u64::from(segment.num_docs()), ..Counts::default() };
    for (sum, field) in counts.tokens.iter_mut().zip(fields(names)) {
        *sum = segment.inverted_index(field).doing(what)?.total_num_tokens();
    }
    let first = tantivy::Term::from_field_text(names.facts, &super::schema::first());
    let facts = segment.inverted_index(names.facts).doing(what)?;
    counts.items = u64::from(facts.doc_freq(&first).doing(what)?);
    Ok(counts)
}

/// Counts the living passages of a segment that are in `visible`. Lengths are those that BM25
/// compares: rounded, as the index keeps them.
fn count(
    searcher: &Searcher,
    segment: &SegmentReader,
    names: &Fields,
    cache: &Cache,
    visible: Option<&Bits>,
) -> Result<Counts> {
    let firsts = cache.firsts(searcher, segment, names)?;
    let passes = |doc: &u32| visible.is_none_or(|visible| visible.has(*doc));
    let mut counts = Counts::default();
    for doc in segment.doc_ids_alive().filter(passes) {
        counts.passages += 1;
        counts.items += u64::from(firsts.has(doc));
    }
    for (sum, field) in counts.tokens.iter_mut().zip(fields(names)) {
        let lengths = segment.get_fieldnorms_reader(field).doing("measure the passages")?;
        *sum = segment
            .doc_ids_alive()
            .filter(passes)
            .map(|doc| u64::from(lengths.fieldnorm(doc)))
            .sum();
    }
    Ok(counts)
}
