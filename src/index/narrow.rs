//! Which passages may be answered at all: filters, phrases that must occur and words that must not,
//! as one set of bits per segment. Terms and vectors are then narrowed by the same set.

use std::{collections::HashSet, sync::Arc};

use tantivy::{
    DocAddress, DocId, Searcher, SegmentReader, Term,
    query::{BooleanQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery},
    schema::IndexRecordOption,
};

use super::{
    bits::Bits,
    cache::{Cache, Columns},
    property,
    schema::{Fields, author_fact, fact, label_fact},
    tokens, visible,
};
use crate::domain::{
    Author, Filters, Result, error::Doing, property::PropertyFilter, query::Condition,
};

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

/// One condition: how it is known in the cache, and how it is looked up.
struct Clause {
    key: String,
    must: bool,
    how: Lookup,
}

enum Lookup {
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
    let mut must = |key: String, how: Lookup| out.push(Clause { key, must: true, how });
    if !filters.kinds.is_empty() {
        let kinds = filters.kinds.iter();
        let queries = kinds.map(|kind| term(Term::from_field_u64(fields.kind, *kind as u64)));
        must(format!("kind {:?}", filters.kinds), Lookup::Query(any(queries.collect())));
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
        must(fact, Lookup::Query(query));
    }
    if filters.from.is_some() || filters.until.is_some() {
        let from = filters.from.map_or(i64::MIN, |from| from.0);
        let until = filters.until.map_or(i64::MAX, |until| until.0);
        must(format!("date {from} {until}"), Lookup::Dates(from, until));
    }
    if !filters.visible.is_everything() {
        let query = visible::query(fields, &filters.visible);
        must(visible::name(&filters.visible), Lookup::Query(query));
    }
    for phrase in asked.phrases {
        if let Some(query) = phrase_query(fields, phrase) {
            must(format!("phrase {phrase}"), Lookup::Query(query));
        }
    }
    let mut must_not =
        |key: String, query| out.push(Clause { key, must: false, how: Lookup::Query(query) });
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
        let how = Lookup::Property(filter.clone());
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

/// The passages of a segment that `query` matches.
pub(super) fn matching(
    searcher: &Searcher,
    segment: &SegmentReader,
    query: &dyn Query,
) -> Result<Bits> {
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
                Lookup::Query(query) => matching(searcher, segment, query.as_ref()),
                Lookup::Property(filter) => property::matching(segment, fields, filter),
                Lookup::Dates(from, until) => {
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
