//! Words to passages: BM25 over four fields with weights, pruned by block-WAND.
//!
//! Every (word, field) pair is a `should` clause of plain term queries, which is the form tantivy
//! prunes. A word's rarity is taken over all fields at once (the largest count), as in BM25F:
//! otherwise a common word would count as rare wherever it is rare in titles. Lengths are compared
//! within a field; passages without labels make the average label list short, which only makes long
//! lists count a little less.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
};

use tantivy::{
    DocAddress, DocId, DocSet, Score, Searcher, SegmentReader, TERMINATED, Term,
    collector::{Collector, SegmentCollector},
    query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, Occur, Query, TermQuery, Weight},
    schema::{Field, IndexRecordOption},
};

use super::{
    expand::{Expansion, expand},
    narrow::{Bits, Cache, Narrowing},
    schema::{self, Fields},
    tokens,
};
use crate::{
    domain::{Result, error::Doing},
    text::Kind,
};

const TITLE: f32 = 1.6;
const HEADINGS: f32 = 1.2;
const BODY: f32 = 1.0;
const LABELS: f32 = 1.0;
/// What a word counts that stands in for the one that was typed.
const STAND_IN: f32 = 0.6;
/// Words of a question that are looked up; the rarest count.
const MOST_WORDS: usize = 64;
const MOST_LOOKED_AT: usize = 256;
/// Postings that are worth walking to count matches exactly.
const COUNTABLE: u64 = 1_000_000;

/// How many items match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    pub items: usize,
    /// Otherwise it is at least that many.
    pub exact: bool,
}

/// A question's words as they are looked up.
pub struct Words {
    /// Term, field, weight.
    pub(super) clauses: Vec<(Term, Field, f32)>,
    /// In how many passages each term's text occurs at most in one field.
    frequencies: HashMap<Vec<u8>, u64>,
    pub expansions: Vec<Expansion>,
    /// The typed words that occur nowhere and could not be replaced.
    pub unknown: Vec<String>,
    /// Terms of whole items, with their weights.
    whole: Vec<(Term, f32)>,
    /// A word's form in one language, and the word: the form is no rarer than it.
    no_rarer: HashMap<String, String>,
    /// What an item would score that had every word that was asked, those that occur nowhere too.
    pub ideal: f32,
    /// Every term that is looked for, so that a snippet can show them.
    pub terms: Vec<String>,
    /// The part of `ideal` that each of `terms` has.
    pub weights: Vec<f32>,
}

impl Words {
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }
}

fn weighted(fields: &Fields) -> [(Field, f32); 4] {
    [
        (fields.body, BODY),
        (fields.title, TITLE),
        (fields.headings, HEADINGS),
        (fields.labels, LABELS),
    ]
}

/// Looks up the words of a question; those that occur nowhere are replaced where something is near.
pub(super) fn words(searcher: &Searcher, fields: &Fields, text: &str) -> Result<Words> {
    let weighted = weighted(fields);
    let mut out = Words {
        clauses: Vec::new(),
        frequencies: HashMap::new(),
        expansions: Vec::new(),
        unknown: Vec::new(),
        whole: Vec::new(),
        no_rarer: HashMap::new(),
        ideal: 0.0,
        terms: Vec::new(),
        weights: Vec::new(),
    };
    let mut seen = HashSet::new();
    let mut found: Vec<(u64, String, f32, Vec<Field>)> = Vec::new();
    // How common each typed word is: a form of it in one language is no rarer than the word.
    let mut common: HashMap<String, (u64, String)> = HashMap::new();
    let mut missing: Vec<(String, String)> = Vec::new();
    // The typed words of which at least one form occurs: their other forms need no replacing.
    let mut known = HashSet::new();
    let asked = tokens::question(text);
    // A word that is asked twice is meant twice.
    let mut times: HashMap<String, f32> = HashMap::new();
    for token in &asked {
        *times.entry(token.term.clone()).or_default() += 1.0;
    }
    for token in asked {
        if found.len() >= MOST_LOOKED_AT {
            break;
        }
        if !seen.insert(token.term.clone()) {
            continue;
        }
        let (most, occurs) = frequency(searcher, &weighted, &token.term)?;
        let typed = text.get(token.range.clone()).unwrap_or(&token.term).to_owned();
        let most = match (token.kind, common.get(&typed)) {
            (Kind::Form(_), Some((count, word))) => {
                out.no_rarer.insert(token.term.clone(), word.clone());
                most.max(*count)
            }
            _ => most,
        };
        if token.kind == Kind::Word {
            common.insert(typed.clone(), (most, token.term.clone()));
        }
        if !occurs.is_empty() {
            known.insert(typed);
            let weight =
                tokens::weight(token.kind) * times.get(&token.term).copied().unwrap_or(1.0);
            found.push((most, token.term, weight, occurs));
        } else if token.kind == Kind::Word {
            missing.push((typed, token.term));
        }
    }
    for (typed, term) in missing {
        if known.contains(&typed) {
            continue;
        }
        let names: Vec<Field> = weighted.iter().map(|(field, _)| *field).collect();
        match expand(searcher, &names, &term)? {
            Some((how, instead)) => {
                for term in &instead {
                    if seen.insert(term.clone()) {
                        let (most, occurs) = frequency(searcher, &weighted, term)?;
                        found.push((most, term.clone(), STAND_IN, occurs));
                    }
                }
                known.insert(typed.clone());
                out.expansions.push(Expansion { word: typed, how, instead });
            }
            None => out.unknown.push(typed),
        }
    }
    found.sort_by_key(|(most, ..)| *most);
    found.truncate(MOST_WORDS);
    let passages = searcher.num_docs();
    for (most, text, weight, occurs) in found {
        let part = weight * fullest(most, passages);
        out.ideal += part;
        out.weights.push(part);
        for (field, boost) in weighted.iter().filter(|(field, _)| occurs.contains(field)) {
            out.clauses.push((Term::from_field_text(*field, &text), *field, boost * weight));
        }
        out.whole.push((Term::from_field_text(fields.whole, &text), weight));
        out.frequencies.insert(text.clone().into_bytes(), most);
        out.terms.push(text);
    }
    out.unknown.retain(|typed| !known.contains(typed));
    out.unknown.dedup();
    out.ideal += out.unknown.len() as f32 * fullest(0, passages);
    Ok(out)
}

/// The most that BM25 gives for a word that so many of the passages have.
fn fullest(count: u64, passages: u64) -> f32 {
    const SATURATED: f32 = 2.2;
    let (count, passages) = (count as f32, passages.max(count) as f32);
    SATURATED * (1.0 + (passages - count + 0.5) / (count + 0.5)).ln()
}

fn frequency(
    searcher: &Searcher,
    weighted: &[(Field, f32)],
    text: &str,
) -> Result<(u64, Vec<Field>)> {
    let (mut most, mut occurs) = (0, Vec::new());
    for (field, _) in weighted {
        let count =
            searcher.doc_freq(&Term::from_field_text(*field, text)).doing("look up a word")?;
        if count > 0 {
            occurs.push(*field);
        }
        most = most.max(count);
    }
    Ok((most, occurs))
}

fn query(words: &Words) -> BooleanQuery {
    let clause = |(term, _, weight): &(Term, Field, f32)| -> (Occur, Box<dyn Query>) {
        let query = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
        (Occur::Should, Box::new(BoostQuery::new(Box::new(query), *weight)))
    };
    BooleanQuery::new(words.clauses.iter().map(clause).collect())
}

/// The items that say most of what was asked, by their first passages: BM25 over all words of an
/// item, its length and its rarity counted in items.
pub(super) fn best_items(
    searcher: &Searcher,
    fields: &Fields,
    words: &Words,
    narrowing: &Narrowing,
    limit: usize,
) -> Result<Vec<(Score, DocAddress)>> {
    if words.is_empty() || narrowing.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let what = "search whole items";
    let clause = |(term, weight): &(Term, f32)| -> (Occur, Box<dyn Query>) {
        let query = TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
        (Occur::Should, Box::new(BoostQuery::new(Box::new(query), *weight)))
    };
    let query = BooleanQuery::new(words.whole.iter().map(clause).collect());
    let items = Term::from_field_text(fields.facts, &schema::first());
    let items = searcher.doc_freq(&items).doing(what)?.max(1);
    searcher
        .search_with_statistics_provider(
            &query,
            &Best { narrowing, limit },
            &ItemStatistics { searcher, words, items },
        )
        .doing(what)
}

/// Lengths and rarity in items rather than passages.
struct ItemStatistics<'a> {
    searcher: &'a Searcher,
    words: &'a Words,
    items: u64,
}

impl Bm25StatisticsProvider for ItemStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.items)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let mut count = self.searcher.doc_freq(term)?;
        let text = std::str::from_utf8(term.serialized_value_bytes()).unwrap_or_default();
        if let Some(word) = self.words.no_rarer.get(text) {
            count = count.max(self.searcher.doc_freq(&Term::from_field_text(term.field(), word))?);
        }
        // A segment may count items that are gone; more than there are would be no rarity at all.
        Ok(count.min(self.items))
    }
}

/// Rarity over all fields at once.
struct Statistics<'a> {
    searcher: &'a Searcher,
    words: &'a Words,
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.searcher.total_num_docs()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.words.frequencies.get(term.serialized_value_bytes()) {
            Some(most) => Ok(*most),
            None => self.searcher.doc_freq(term),
        }
    }
}

/// The best `limit` passages with their scores, best first.
pub(super) fn best(
    searcher: &Searcher,
    words: &Words,
    narrowing: &Narrowing,
    limit: usize,
) -> Result<Vec<(Score, DocAddress)>> {
    if words.is_empty() || narrowing.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    searcher
        .search_with_statistics_provider(
            &query(words),
            &Best { narrowing, limit },
            &Statistics { searcher, words },
        )
        .doing("search the words")
}

/// Keeps the best passages among those that may be answered.
struct Best<'a> {
    narrowing: &'a Narrowing,
    limit: usize,
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

struct Heap {
    limit: usize,
    kept: BinaryHeap<Reverse<Scored>>,
}

impl Heap {
    fn push(&mut self, score: Score, doc: DocId) {
        self.kept.push(Reverse(Scored(score, Reverse(doc))));
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// What a passage must exceed to matter.
    fn floor(&self) -> Score {
        match self.kept.peek() {
            Some(Reverse(Scored(score, _))) if self.kept.len() == self.limit => *score,
            _ => Score::MIN,
        }
    }
}

/// Tantivy asks for a collector of single passages; ours works a segment at a time.
struct Unused;

impl SegmentCollector for Unused {
    type Fruit = Vec<(Score, DocAddress)>;

    fn collect(&mut self, _: DocId, _: Score) {}

    fn harvest(self) -> Self::Fruit {
        Vec::new()
    }
}

impl Collector for Best<'_> {
    type Fruit = Vec<(Score, DocAddress)>;
    type Child = Unused;

    fn for_segment(&self, _: u32, _: &SegmentReader) -> tantivy::Result<Unused> {
        Ok(Unused)
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Self::Fruit>) -> tantivy::Result<Self::Fruit> {
        let mut all: Vec<_> = fruits.into_iter().flatten().collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        all.truncate(self.limit);
        Ok(all)
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        ordinal: u32,
        segment: &SegmentReader,
    ) -> tantivy::Result<Self::Fruit> {
        let mut heap = Heap { limit: self.limit, kept: BinaryHeap::with_capacity(self.limit + 1) };
        let alive = segment.alive_bitset();
        match &self.narrowing.segments[ordinal as usize] {
            Some(bits) if self.narrowing.is_narrow() => {
                let mut scorer = weight.scorer(segment, 1.0)?;
                for doc in bits.iter() {
                    if scorer.doc() < doc {
                        scorer.seek(doc);
                    }
                    match scorer.doc() {
                        TERMINATED => break,
                        at if at == doc && alive.is_none_or(|alive| alive.is_alive(doc)) => {
                            heap.push(scorer.score(), doc);
                        }
                        _ => {}
                    }
                }
            }
            bits => weight.for_each_pruning(Score::MIN, segment, &mut |doc, score| {
                let passes = bits.as_ref().is_none_or(|bits| bits.has(doc))
                    && alive.is_none_or(|alive| alive.is_alive(doc));
                if passes {
                    heap.push(score, doc);
                }
                heap.floor()
            })?,
        }
        let address = |Reverse(Scored(score, Reverse(doc)))| (score, DocAddress::new(ordinal, doc));
        Ok(heap.kept.into_iter().map(address).collect())
    }
}

/// How many items have at least one of the words and may be answered.
pub(super) fn count(
    searcher: &Searcher,
    words: &Words,
    narrowing: &Narrowing,
    cache: &Cache,
) -> Result<Total> {
    let what = "count what matches";
    // Rarest first, so that what is left out of an inexact count is the least telling.
    let mut clauses: Vec<(u64, &Term)> = Vec::new();
    for (term, ..) in &words.clauses {
        clauses.push((searcher.doc_freq(term).doing(what)?, term));
    }
    clauses.sort_by_key(|(count, _)| *count);
    let mut walked = 0;
    let counted = clauses.iter().take_while(|(count, _)| {
        walked += count;
        walked <= COUNTABLE
    });
    let counted = counted.count();
    let mut items = 0;
    for (ordinal, segment) in (0u32..).zip(searcher.segment_readers()) {
        let mut matching = Bits::none(segment.max_doc());
        for (_, term) in &clauses[..counted] {
            let postings = segment
                .inverted_index(term.field())
                .doing(what)?
                .read_postings(term, IndexRecordOption::Basic)
                .doing(what)?;
            let Some(mut postings) = postings else { continue };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                matching.add(doc);
                doc = postings.advance();
            }
        }
        let columns = cache.columns(segment)?;
        let mut last = None;
        for doc in matching.iter() {
            if narrowing.passes(ordinal, doc) && !segment.is_deleted(doc) {
                // An item's passages stand side by side, so a new number is a new item.
                let pid = columns.pid.first(doc);
                items += usize::from(pid != last);
                last = pid;
            }
        }
    }
    Ok(Total { items, exact: counted == clauses.len() })
}
