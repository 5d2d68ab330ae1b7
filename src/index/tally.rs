//! A question's words against every passage, one word after the other: each posting adds to the sum
//! of its passage. For the some ten thousand postings that a question usually has this beats
//! skipping, which has to keep a list for every word and field in step; and everything else that a
//! search wants to know falls out of it: the score of any passage, and how many match.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use tantivy::{
    DocAddress, DocId, InvertedIndexReader, Score, Searcher, Term,
    fieldnorm::FieldNormReader,
    postings::TermInfo,
    query::Bm25Weight,
    schema::{Field, IndexRecordOption},
};

use super::{
    cache::Cache,
    census::{Census, KINDS},
    narrow::Narrowing,
};
use crate::domain::{Result, error::Doing};

/// Postings that are worth adding up: some ten milliseconds. A question with more is answered by
/// skipping.
pub(super) const MAX_POSTINGS: u64 = 4_000_000;
/// Sums that are looked at together when the best are sought.
const STRIDE: usize = 16;

/// A word in one field.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub(super) term: Term,
    pub(super) field: Field,
    pub(super) weight: f32,
    /// In how many documents its rarity says it is.
    pub(super) frequency: u64,
    /// How many postings it has.
    pub(super) postings: u64,
    /// Where they are, segment by segment.
    pub(super) places: Vec<Option<TermInfo>>,
}

/// What the words of a question add up to in every passage, or in every item; empty when they have
/// too many postings.
pub struct Sums {
    segments: Option<Vec<Vec<Score>>>,
}

/// The dictionaries of the fields that are searched, segment by segment, opened once for a question.
pub(super) struct Dictionaries(Vec<(Field, Vec<Option<Arc<InvertedIndexReader>>>)>);

impl Dictionaries {
    pub(super) fn open(
        searcher: &Searcher,
        fields: impl IntoIterator<Item = Field>,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for field in fields {
            let mut opened = Vec::with_capacity(searcher.segment_readers().len());
            for segment in searcher.segment_readers() {
                let terms = segment.inverted_index(field).doing("look up a word")?;
                opened.push((terms.terms().num_terms() > 0).then_some(terms));
            }
            all.push((field, opened));
        }
        Ok(Self(all))
    }

    /// `None` for a segment that has nothing in that field.
    fn of(&self, field: Field) -> &[Option<Arc<InvertedIndexReader>>] {
        self.0.iter().find(|(known, _)| *known == field).map_or(&[], |(_, opened)| opened)
    }
}

impl Clause {
    /// Looks the word up in one field. Only the postings that the caller may see are counted.
    pub(super) fn look_up(
        searcher: &Searcher,
        census: &Census,
        known: &Dictionaries,
        field: Field,
        text: &str,
    ) -> Result<Self> {
        let term = Term::from_field_text(field, text);
        let mut places = Vec::new();
        let mut postings = 0;
        for (ordinal, terms) in known.of(field).iter().enumerate() {
            let Some(terms) = terms else {
                places.push(None);
                continue;
            };
            let place = terms.get_term_info(&term).doing("look up a word")?;
            if let Some(place) = &place {
                let segment = searcher.segment_reader(u32::try_from(ordinal).unwrap_or(u32::MAX));
                postings += census.postings(ordinal, segment, terms, place)?;
            }
            places.push(place);
        }
        Ok(Self { term, field, weight: 1.0, frequency: postings, postings, places })
    }
}

impl Sums {
    /// `documents` is the number that rarity is taken over.
    pub(super) fn of(
        searcher: &Searcher,
        cache: &Cache,
        census: &Census,
        known: &Dictionaries,
        clauses: &[Clause],
        documents: u64,
    ) -> Result<Self> {
        if clauses.iter().map(|clause| clause.postings).sum::<u64>() > MAX_POSTINGS {
            return Ok(Self { segments: None });
        }
        let what = "search the words";
        // Lengths are compared within a kind.
        let mut weights: Vec<[Option<Bm25Weight>; KINDS]> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let frequency = clause.frequency.min(documents);
            weights.push(std::array::from_fn(|kind| {
                let average = census.average(clause.field, kind)?;
                let weight =
                    Bm25Weight::for_one_term_without_explain(frequency, documents, average);
                Some(weight.boost_by(clause.weight))
            }));
        }
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
            let mut sums = vec![0.0; segment.max_doc() as usize];
            let columns = cache.columns(segment)?;
            let mut measured: Vec<(Field, FieldNormReader)> = Vec::new();
            for (clause, weight) in clauses.iter().zip(&weights) {
                let Some(place) = clause.places.get(ordinal).and_then(Option::as_ref) else {
                    continue;
                };
                let Some(Some(terms)) = known.of(clause.field).get(ordinal) else { continue };
                let mut block = terms
                    .read_block_postings_from_terminfo(place, IndexRecordOption::WithFreqs)
                    .doing(what)?;
                if !measured.iter().any(|(field, _)| *field == clause.field) {
                    let lengths = segment.get_fieldnorms_reader(clause.field).doing(what)?;
                    measured.push((clause.field, lengths));
                }
                let Some((_, lengths)) = measured.iter().find(|(field, _)| *field == clause.field)
                else {
                    continue;
                };
                while !block.docs().is_empty() {
                    for (doc, times) in block.docs().iter().zip(block.freqs()) {
                        if let Some(weight) = &weight[columns.kind(*doc)] {
                            sums[*doc as usize] += weight.score(lengths.fieldnorm_id(*doc), *times);
                        }
                    }
                    block.advance();
                }
            }
            segments.push(sums);
        }
        Ok(Self { segments: Some(segments) })
    }

    /// As if the postings were too many.
    #[cfg(test)]
    pub(super) fn unknown() -> Self {
        Self { segments: None }
    }

    /// Whether the postings were too many.
    pub(super) fn is_unknown(&self) -> bool {
        self.segments.is_none()
    }

    /// What a passage scores; 0 when it has none of the words.
    pub(super) fn at(&self, address: DocAddress) -> Score {
        self.segment(address.segment_ord)[address.doc_id as usize]
    }

    pub(super) fn segment(&self, ordinal: u32) -> &[Score] {
        self.segments.as_ref().map_or(&[], |segments| segments[ordinal as usize].as_slice())
    }

    /// The best `limit` of those that may be answered, best first.
    #[allow(clippy::cast_possible_truncation, reason = "tantivy numbers documents with 32 bits")]
    pub(super) fn best(
        &self,
        searcher: &Searcher,
        narrowing: &Narrowing,
        limit: usize,
    ) -> Vec<(Score, DocAddress)> {
        let mut all = Vec::new();
        for (ordinal, segment) in (0u32..).zip(searcher.segment_readers()) {
            let mut heap = Heap::new(limit);
            let mut floor = 0.0;
            for (stride, sums) in self.segment(ordinal).chunks(STRIDE).enumerate() {
                // Without a branch for each, so that they are compared side by side.
                if !sums.iter().fold(false, |any, sum| any | (*sum > floor)) {
                    continue;
                }
                for (doc, sum) in ((stride * STRIDE) as DocId..).zip(sums) {
                    let passes =
                        *sum > floor && narrowing.passes(ordinal, doc) && !segment.is_deleted(doc);
                    if passes {
                        heap.push(*sum, doc);
                        floor = heap.floor().max(0.0);
                    }
                }
            }
            all.extend(heap.into_addresses(ordinal));
        }
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        all.truncate(limit);
        all
    }
}

/// Scores are never NaN, so they have an order; of equal ones the earlier passage is better.
#[derive(PartialEq)]
struct Scored(Score, Reverse<DocId>);

impl Eq for Scored {}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then_with(|| self.1.cmp(&other.1))
    }
}

/// The best of a segment.
pub(super) struct Heap {
    limit: usize,
    kept: BinaryHeap<Reverse<Scored>>,
}

impl Heap {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::with_capacity(limit + 1) }
    }

    pub(super) fn push(&mut self, score: Score, doc: DocId) {
        self.kept.push(Reverse(Scored(score, Reverse(doc))));
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// What a passage must exceed to matter.
    pub(super) fn floor(&self) -> Score {
        match self.kept.peek() {
            Some(Reverse(Scored(score, _))) if self.kept.len() == self.limit => *score,
            _ => Score::MIN,
        }
    }

    pub(super) fn into_addresses(self, ordinal: u32) -> impl Iterator<Item = (Score, DocAddress)> {
        self.kept
            .into_iter()
            .map(move |Reverse(Scored(score, Reverse(doc)))| (score, DocAddress::new(ordinal, doc)))
    }
}
