//! What a question may know about the collection: how many passages and items there are, how long
//! they are, and in how many of them a term occurs.
//!
//! Rarity, average lengths, stand-ins for a misspelt word and "occurs nowhere" all follow from these
//! numbers. For a caller who may not see everything they are counted over what the caller may see,
//! so that no answer depends on the rest. For everybody else they come from the dictionaries.

use tantivy::{
    InvertedIndexReader, Searcher, SegmentReader,
    postings::TermInfo,
    schema::{Field, IndexRecordOption},
};

use super::{cache::Cache, narrow::Narrowing, schema::Fields, view::Part as Visible};
use crate::domain::{Kind, Result, error::Doing};

/// How many kinds of item there are.
pub(super) const KINDS: usize = Kind::ALL.len();

/// The numbers of one kind of item in one segment.
#[derive(Debug, Clone, Copy, Default)]
struct KindCounts {
    passages: u64,
    items: u64,
    /// By the order of [`fields`].
    tokens: [u64; 5],
}

/// The numbers of one segment, by kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts([KindCounts; KINDS]);

/// The fields whose lengths are compared.
pub(super) fn fields(fields: &Fields) -> [Field; 5] {
    [fields.body, fields.title, fields.headings, fields.labels, fields.whole]
}

/// The numbers of the collection as one caller may know them.
pub(super) struct Census {
    /// The passages that the caller may see; `None` for all of them.
    visible: Option<Visible>,
    /// Living passages.
    pub(super) passages: u64,
    /// What rarity is counted in: for the whole collection, deleted passages are included until
    /// their segment is merged, because the dictionaries include them.
    pub(super) counted: u64,
    pub(super) items: u64,
    fields: [Field; 5],
    tokens: [u64; 5],
    kinds: [KindCounts; KINDS],
}

impl Census {
    /// Counts the collection, or the visible part of it.
    pub(super) fn take(
        searcher: &Searcher,
        names: &Fields,
        cache: &Cache,
        visible: Option<Visible>,
    ) -> Result<Self> {
        let mut kinds = [KindCounts::default(); KINDS];
        let (mut passages, mut items) = (0, 0);
        for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
            let counts = match &visible {
                Some(Visible { name, passages }) => {
                    let part = Part::Visible(passages, ordinal);
                    cache.counts(segment, segment.num_deleted_docs(), Some(name), || {
                        count(searcher, segment, names, cache, part)
                    })?
                }
                None => {
                    passages += u64::from(segment.num_docs());
                    // Deleted passages included, as in the dictionaries: what is counted once of a
                    // segment holds as long as the segment.
                    cache.counts(segment, ALL, None, || whole(searcher, segment, names, cache))?
                }
            };
            for (sum, counts) in kinds.iter_mut().zip(counts.0) {
                sum.passages += counts.passages;
                sum.items += counts.items;
                sum.tokens.iter_mut().zip(counts.tokens).for_each(|(sum, more)| *sum += more);
            }
            items = kinds.iter().map(|kind| kind.items).sum();
        }
        let counted = kinds.iter().map(|kind| kind.passages).sum();
        if visible.is_some() {
            passages = counted;
        }
        let mut tokens = [0; 5];
        for kind in &kinds {
            tokens.iter_mut().zip(kind.tokens).for_each(|(sum, more)| *sum += more);
        }
        Ok(Self {
            visible,
            passages,
            counted,
            items: items.max(1),
            fields: fields(names),
            tokens,
            kinds,
        })
    }

    /// The tokens of all passages in one field.
    pub(super) fn tokens(&self, field: Field) -> u64 {
        self.place(field).map_or(0, |at| self.tokens[at])
    }

    fn place(&self, field: Field) -> Option<usize> {
        self.fields.iter().position(|known| *known == field)
    }

    /// The mean length of a field in items of one kind; `None` where there are none. A note is long
    /// or short among notes: beside thousands of bookmarks of one line, every note would be long.
    pub(super) fn average(&self, field: Field, kind: usize) -> Option<f32> {
        let at = self.place(field)?;
        let counts = &self.kinds[kind];
        if counts.passages == 0 {
            return None;
        }
        // The words of the whole item stand on its first passage only.
        let documents = if at == WHOLE { counts.items } else { counts.passages };
        Some(counts.tokens[at] as f32 / documents.max(1) as f32)
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
        let bits = visible.passages.segments[ordinal].as_deref();
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

/// Stands for "deleted passages included" in the cache of counts.
const ALL: u32 = u32::MAX;
/// The place of the field with the words of a whole item in [`fields`].
const WHOLE: usize = 4;

/// Which passages of a segment are counted.
enum Part<'a> {
    /// Those that are left and visible; with the number of the segment.
    Visible(&'a Narrowing, usize),
    All,
}

/// The numbers of a whole segment, deleted passages included.
fn whole(
    searcher: &Searcher,
    segment: &SegmentReader,
    names: &Fields,
    cache: &Cache,
) -> Result<Counts> {
    let Some(kind) = cache.columns(segment)?.only_kind() else {
        return count(searcher, segment, names, cache, Part::All);
    };
    let what = "measure the passages";
    let mut counts = KindCounts { passages: u64::from(segment.max_doc()), ..KindCounts::default() };
    for (sum, field) in counts.tokens.iter_mut().zip(fields(names)) {
        *sum = segment.inverted_index(field).doing(what)?.total_num_tokens();
    }
    let first = tantivy::Term::from_field_text(names.facts, &super::schema::first());
    let facts = segment.inverted_index(names.facts).doing(what)?;
    counts.items = u64::from(facts.doc_freq(&first).doing(what)?);
    let mut all = Counts::default();
    all.0[kind] = counts;
    Ok(all)
}

/// Counts passages one by one. Lengths are those that BM25 compares: rounded, as the index keeps
/// them.
fn count(
    searcher: &Searcher,
    segment: &SegmentReader,
    names: &Fields,
    cache: &Cache,
    part: Part<'_>,
) -> Result<Counts> {
    let firsts = cache.firsts(searcher, segment, names)?;
    let columns = cache.columns(segment)?;
    // A small part of a large library is counted in the time that the part takes.
    let counted: Vec<u32> = match &part {
        Part::Visible(visible, ordinal) => match visible.segments[*ordinal].as_deref() {
            Some(bits) => bits.iter().filter(|doc| !segment.is_deleted(*doc)).collect(),
            None => segment.doc_ids_alive().collect(),
        },
        Part::All => (0..segment.max_doc()).collect(),
    };
    let mut counts = Counts::default();
    for doc in counted.iter().copied() {
        let kind = &mut counts.0[columns.kind(doc)];
        kind.passages += 1;
        kind.items += u64::from(firsts.has(doc));
    }
    for (at, field) in fields(names).into_iter().enumerate() {
        let lengths = segment.get_fieldnorms_reader(field).doing("measure the passages")?;
        for doc in counted.iter().copied() {
            counts.0[columns.kind(doc)].tokens[at] += u64::from(lengths.fieldnorm(doc));
        }
    }
    Ok(counts)
}
