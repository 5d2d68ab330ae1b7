//! Which passages may be answered at all: filters, phrases that must occur and words that must not,
//! as one set of bits per segment. Terms and vectors are then narrowed by the same set.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tantivy::{
    DocAddress, DocId, Searcher, SegmentReader, Term,
    columnar::Column,
    index::SegmentId,
    query::{BooleanQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery},
    schema::IndexRecordOption,
};

use super::{
    census::Counts,
    keys::ByKey,
    property,
    schema::{Fields, author_fact, fact, first, label_fact},
    tokens, visible,
};
use crate::domain::{
    Author, Filters, Kind, Result, error::Doing, property::PropertyFilter, query::Condition,
};

/// Memory for sets kept for the next search; one of a million passages takes 125 kB.
const KEPT_BYTES: usize = 16_000_000;
/// Segments and parts of the library whose numbers are kept, about 250 bytes each.
const KEPT_COUNTS: usize = 4_096;
/// Segments whose columns are kept open.
const KEPT_COLUMNS: usize = 256;

/// What narrows a search, before it is looked up.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The conditions.
    pub filters: &'a Filters,
    /// Each must occur in the passage, word after word.
    pub phrases: &'a [String],
    /// None may occur anywhere in the item.
    pub excluded: &'a [String],
    /// Two letters: only items in this language.
    pub lang: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// Filters alone.
    pub fn by(filters: &'a Filters) -> Self {
        Self { filters, phrases: &[], excluded: &[], lang: None }
    }
}

/// The passages that may be answered, segment by segment.
pub struct Narrowing {
    /// `None`: every passage of the segment.
    pub(super) segments: Vec<Option<Arc<Bits>>>,
    /// How many passages pass, deleted ones included.
    pub(super) passing: usize,
    pub(super) total: usize,
    /// Whether a passage may pass where another one of its item does not.
    pub(super) by_passage: bool,
    /// Whether the caller may see only a part of the collection.
    pub(super) is_part: bool,
}

impl Narrowing {
    pub(super) fn passes(&self, segment: u32, doc: DocId) -> bool {
        match &self.segments[segment as usize] {
            Some(bits) => bits.has(doc),
            None => true,
        }
    }

    /// These passages and no others.
    pub(super) fn of(searcher: &Searcher, addresses: &[DocAddress]) -> Self {
        let readers = searcher.segment_readers();
        let mut sets: Vec<Bits> =
            readers.iter().map(|reader| Bits::none(reader.max_doc())).collect();
        for address in addresses {
            sets[address.segment_ord as usize].add(address.doc_id);
        }
        let total = readers.iter().map(|reader| reader.max_doc() as usize).sum();
        let segments = sets.into_iter().map(|set| Some(Arc::new(set))).collect();
        Self { segments, passing: addresses.len(), total, by_passage: true, is_part: false }
    }

    /// Whether looking at each passing passage beats looking at all.
    pub(super) fn is_narrow(&self) -> bool {
        self.passing * 20 < self.total
    }

    /// Whether nothing passes.
    pub fn is_empty(&self) -> bool {
        self.passing == 0
    }
}

/// A set of passages of one segment.
#[derive(Debug, Clone)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn none(docs: u32) -> Self {
        Self(vec![0; (docs as usize).div_ceil(64)])
    }

    pub(super) fn has(&self, doc: DocId) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, doc: DocId) {
        if let Some(word) = self.0.get_mut(doc as usize / 64) {
            *word |= 1 << (doc % 64);
        }
    }

    /// The last one that is not after `doc`.
    #[allow(clippy::cast_possible_truncation, reason = "tantivy numbers documents with 32 bits")]
    pub(super) fn last_until(&self, doc: DocId) -> Option<DocId> {
        let mut at = doc as usize / 64;
        let mut word = self.0.get(at)? & (u64::MAX >> (63 - doc % 64));
        while word == 0 {
            at = at.checked_sub(1)?;
            word = self.0[at];
        }
        Some(at as u32 * 64 + 63 - word.leading_zeros())
    }

    /// The first one after `doc`.
    pub(super) fn first_after(&self, doc: DocId) -> Option<DocId> {
        let (mut at, rest) = ((doc as usize + 1) / 64, (doc + 1) % 64);
        let mut word = self.0.get(at)? & (u64::MAX << rest);
        while word == 0 {
            at += 1;
            word = *self.0.get(at)?;
        }
        #[allow(
            clippy::cast_possible_truncation,
            reason = "tantivy numbers documents with 32 bits"
        )]
        Some(at as u32 * 64 + word.trailing_zeros())
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = DocId> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut word = *word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                (word != 0).then(|| {
                    word &= word - 1;
                    #[allow(
                        clippy::cast_possible_truncation,
                        reason = "tantivy numbers documents with 32 bits"
                    )]
                    let base = at as u32 * 64;
                    base + bit
                })
            })
        })
    }
}

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

/// Sets by segment and condition, and the memory they take.
type Sets = (HashMap<(SegmentId, String), Arc<Bits>>, usize);

/// A segment, the number of its deleted passages, and the part that is counted; `None` for all.
type CountKey = (SegmentId, u32, Option<Arc<str>>);

/// What is worth keeping between searches: segments never change, so neither does what is known of
/// them.
#[derive(Default)]
pub(super) struct Cache {
    bits: Mutex<Sets>,
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
        let lock = || self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = lock().get(&key) {
            return Ok(counts.clone());
        }
        let counts = count()?;
        let mut kept = lock();
        if kept.len() >= KEPT_COUNTS {
            kept.clear();
        }
        kept.insert(key, counts.clone());
        Ok(counts)
    }

    pub(super) fn columns(&self, segment: &SegmentReader) -> Result<Arc<Columns>> {
        let mut kept = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn bits(
        &self,
        segment: &SegmentReader,
        key: &str,
        make: impl FnOnce() -> Result<Bits>,
    ) -> Result<Arc<Bits>> {
        let id = (segment.segment_id(), key.to_owned());
        if let Some(bits) = self.bits.lock().unwrap_or_else(PoisonError::into_inner).0.get(&id) {
            return Ok(Arc::clone(bits));
        }
        let bits = Arc::new(make()?);
        let mut kept = self.bits.lock().unwrap_or_else(PoisonError::into_inner);
        kept.1 += bits.0.len() * 8 + 128;
        if kept.1 > KEPT_BYTES {
            *kept = (HashMap::new(), bits.0.len() * 8 + 128);
        }
        kept.0.insert(id, Arc::clone(&bits));
        Ok(bits)
    }
}

/// One condition: how it is known in the cache, and how it is looked up.
struct Clause {
    key: String,
    must: bool,
    how: How,
}

enum How {
    Query(Box<dyn Query>),
    /// From, until, in milliseconds.
    Dates(i64, i64),
    Property(PropertyFilter),
}

pub(super) fn term(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

pub(super) fn any(queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    Box::new(BooleanQuery::new(queries.into_iter().map(|query| (Occur::Should, query)).collect()))
}

fn clauses(fields: &Fields, asked: &Asked<'_>) -> Vec<Clause> {
    let filters = asked.filters;
    let mut out = Vec::new();
    let mut must = |key: String, how: How| out.push(Clause { key, must: true, how });
    if !filters.kinds.is_empty() {
        let kinds = filters.kinds.iter();
        let queries = kinds.map(|kind| term(Term::from_field_u64(fields.kind, *kind as u64)));
        must(format!("kind {:?}", filters.kinds), How::Query(any(queries.collect())));
    }
    let mut facts: Vec<String> = filters.labels.iter().map(|label| label_fact(label)).collect();
    facts.extend(filters.category.iter().map(|category| fact("category", category)));
    facts.extend(filters.author.iter().map(|author| named_author(author)));
    facts.extend(filters.sentiment.iter().map(|sentiment| fact("sentiment", sentiment.as_str())));
    facts.extend(filters.action.iter().map(|action| fact("action", action.as_str())));
    facts.extend(asked.lang.map(|lang| fact("lang", lang)));
    facts.extend(filters.path.as_ref().and_then(|path| path_fact(path)));
    for fact in facts {
        let query = term(Term::from_field_text(fields.facts, &fact));
        must(fact, How::Query(query));
    }
    if filters.from.is_some() || filters.until.is_some() {
        let from = filters.from.map_or(i64::MIN, |from| from.0);
        let until = filters.until.map_or(i64::MAX, |until| until.0);
        must(format!("date {from} {until}"), How::Dates(from, until));
    }
    if !filters.visible.is_everything() {
        let query = visible::query(fields, &filters.visible);
        must(visible::name(&filters.visible), How::Query(query));
    }
    for phrase in asked.phrases {
        if let Some(query) = phrase_query(fields, phrase) {
            must(format!("phrase {phrase}"), How::Query(query));
        }
    }
    let mut must_not =
        |key: String, query| out.push(Clause { key, must: false, how: How::Query(query) });
    if !filters.archived {
        must_not("archived".to_owned(), term(Term::from_field_bool(fields.archived, true)));
    }
    for condition in &filters.excluded {
        let fact = match condition {
            Condition::Kind(kind) => {
                let query = term(Term::from_field_u64(fields.kind, *kind as u64));
                must_not(format!("kind {kind}"), query);
                continue;
            }
            Condition::Label(label) => label_fact(label),
            Condition::Category(category) => fact("category", category),
            Condition::Author(author) => named_author(author),
            Condition::Sentiment(sentiment) => fact("sentiment", sentiment.as_str()),
            Condition::Action(action) => fact("action", action.as_str()),
            Condition::Path(path) => match path_fact(path) {
                Some(fact) => fact,
                None => continue,
            },
        };
        let query = term(Term::from_field_text(fields.facts, &fact));
        must_not(fact, query);
    }
    for filter in &filters.properties {
        let key = format!("property {} {:?}", filter.name, filter.test);
        let how = How::Property(filter.clone());
        out.push(Clause { key, must: !filter.excluded, how });
    }
    out
}

/// The fact of an author as a question names them; a name without a letter is nobody's.
fn named_author(name: &str) -> String {
    Author::new(name).map_or_else(|| fact("author", ""), |author| author_fact(&author))
}

/// `None` for the root, which everything is below.
fn path_fact(path: &str) -> Option<String> {
    let path = path.trim().trim_matches('/');
    (!path.is_empty()).then(|| fact("path", path))
}

/// The words of `phrase` one after the other, in any one field. `None` when it has no words.
fn phrase_query(fields: &Fields, phrase: &str) -> Option<Box<dyn Query>> {
    let readings = tokens::phrase(phrase);
    let in_field = |reading: &[(usize, String)], field| -> Box<dyn Query> {
        let terms = reading.iter();
        let mut terms: Vec<(usize, Term)> =
            terms.map(|(at, text)| (*at, Term::from_field_text(field, text))).collect();
        match terms.len() {
            1 => term(terms.remove(0).1),
            _ => Box::new(PhraseQuery::new_with_offset(terms)),
        }
    };
    let mut queries = Vec::new();
    for reading in &readings {
        for field in [fields.body, fields.title, fields.headings, fields.labels] {
            queries.push(in_field(reading, field));
        }
    }
    (!queries.is_empty()).then(|| any(queries))
}

fn matching(searcher: &Searcher, segment: &SegmentReader, query: &dyn Query) -> Result<Bits> {
    let what = "look up a filter";
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher)).doing(what)?;
    let mut bits = Bits::none(segment.max_doc());
    weight
        .for_each_no_score(segment, &mut |docs| docs.iter().for_each(|doc| bits.add(*doc)))
        .doing(what)?;
    Ok(bits)
}

fn dated(columns: &Columns, docs: u32, from: i64, until: i64) -> Bits {
    let mut bits = Bits::none(docs);
    for doc in 0..docs {
        if columns.date.first(doc).is_some_and(|date| (from..until).contains(&date)) {
            bits.add(doc);
        }
    }
    bits
}

/// Looks up which passages may be answered.
pub(super) fn narrow(
    searcher: &Searcher,
    fields: &Fields,
    cache: &Cache,
    asked: &Asked<'_>,
) -> Result<Narrowing> {
    let clauses = clauses(fields, asked);
    let banned = banned(searcher, fields, cache, asked.excluded)?;
    let mut segments = Vec::with_capacity(searcher.segment_readers().len());
    let (mut passing, mut total) = (0, 0);
    for segment in searcher.segment_readers() {
        let docs = segment.max_doc();
        total += docs as usize;
        let mut set: Option<Bits> = None;
        for clause in &clauses {
            let bits = cache.bits(segment, &clause.key, || match &clause.how {
                How::Query(query) => matching(searcher, segment, query.as_ref()),
                How::Property(filter) => property::matching(segment, fields, filter),
                How::Dates(from, until) => {
                    Ok(dated(cache.columns(segment)?.as_ref(), docs, *from, *until))
                }
            })?;
            if !clause.must && bits.is_empty() {
                continue;
            }
            let set = set.get_or_insert_with(|| Bits(vec![u64::MAX; bits.0.len()]));
            for (word, other) in set.0.iter_mut().zip(&bits.0) {
                *word &= if clause.must { *other } else { !*other };
            }
        }
        if !banned.is_empty() {
            let columns = cache.columns(segment)?;
            let mut allowed = Bits::none(docs);
            for doc in 0..docs {
                if columns.pid.first(doc).is_some_and(|pid| !banned.contains(&pid)) {
                    allowed.add(doc);
                }
            }
            let set = set.get_or_insert_with(|| allowed.clone());
            for (word, other) in set.0.iter_mut().zip(&allowed.0) {
                *word &= other;
            }
        }
        if let Some(set) = &mut set
            && let (Some(last), rest @ 1..) = (set.0.last_mut(), docs % 64)
        {
            *last &= (1 << rest) - 1;
        }
        passing += set.as_ref().map_or(docs as usize, Bits::count);
        segments.push(set.map(Arc::new));
    }
    let by_passage = !asked.phrases.is_empty();
    let is_part = !asked.filters.visible.is_everything();
    Ok(Narrowing { segments, passing, total, by_passage, is_part })
}

/// The items in which an excluded word or phrase occurs.
fn banned(
    searcher: &Searcher,
    fields: &Fields,
    cache: &Cache,
    excluded: &[String],
) -> Result<HashSet<i64>> {
    let mut banned = HashSet::new();
    for query in excluded.iter().filter_map(|words| phrase_query(fields, words)) {
        for segment in searcher.segment_readers() {
            let columns = cache.columns(segment)?;
            let bits = matching(searcher, segment, query.as_ref())?;
            banned.extend(
                bits.iter()
                    .filter(|doc| !segment.is_deleted(*doc))
                    .filter_map(|doc| columns.pid.first(doc)),
            );
        }
    }
    Ok(banned)
}
