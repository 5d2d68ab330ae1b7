//! Words to passages: BM25 over four fields with weights. A question's postings are usually few and
//! added up ([`Sums`]); where they are many, tantivy skips (block-WAND): every (word, field) pair is
//! then a `should` clause of plain term queries, which is the form that it prunes.
//!
//! A word's rarity is taken over all fields at once (the largest count), as in BM25F:
//! otherwise a common word would count as rare wherever it is rare in titles. Lengths are compared
//! within a field; passages without labels make the average label list short, which only makes long
//! lists count a little less.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tantivy::{
    DocAddress, DocId, DocSet, Score, Searcher, SegmentReader, TERMINATED, Term,
    collector::{Collector, SegmentCollector},
    query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, Occur, Query, TermQuery, Weight},
    schema::{Field, IndexRecordOption},
};

use super::{
    bits::Bits,
    cache::Cache,
    census::{self, Census},
    expand::{Expansion, Replacement, expand},
    narrow::Narrowing,
    schema::Fields,
    tally::{Clause, Dictionaries, Heap, Sums},
    tokens::{self, QueryTerm},
};
use crate::{
    domain::{Result, error::Doing},
    text::{Kind, is_stop_word},
};

const TITLE: f32 = 2.4;
const HEADINGS: f32 = 1.2;
const BODY: f32 = 1.0;
const LABELS: f32 = 1.0;
/// How fast a word grows with how often it is asked.
const REPEATED: f32 = 0.9;
/// Weight of a word that replaces the typed one.
const STAND_IN: f32 = 0.6;
/// Words of a question that are looked up; the rarest count.
const MAX_WORDS: usize = 64;
const MAX_LOOKED_AT: usize = 256;
/// Postings that are worth walking to count matches exactly.
const COUNTABLE: u64 = 1_000_000;

/// How many items match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// Items wanted.
    pub items: usize,
    /// Otherwise it is at least that many.
    pub exact: bool,
}

/// A question's words as they are looked up.
pub struct Words {
    dictionaries: Dictionaries,
    census: Arc<Census>,
    pub(super) clauses: Vec<Clause>,
    /// In how many passages each term's text occurs at most in one field.
    frequencies: HashMap<Vec<u8>, u64>,
    /// Words that stand in for words that do not occur.
    pub expansions: Vec<Expansion>,
    /// The typed words that occur nowhere and could not be replaced.
    pub unknown: Vec<String>,
    /// Terms of whole items.
    pub(super) whole: Vec<Clause>,
    /// What an item would score that had every word that was asked, those that occur nowhere too.
    pub ideal: f32,
    /// Every term that is looked for, so that a snippet can show them.
    pub terms: Vec<String>,
    /// The part of `ideal` that each of `terms` has.
    pub weights: Vec<f32>,
}

impl Words {
    /// Whether no word can match.
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

/// A word in the fields that it occurs in.
type Occurs = Vec<Clause>;

/// Looks up the words of a question; those that occur nowhere are replaced where something is near.
pub(super) fn words(
    searcher: &Searcher,
    fields: &Fields,
    census: Arc<Census>,
    text: &str,
) -> Result<Words> {
    let weighted = weighted(fields);
    let mut out = Words {
        dictionaries: Dictionaries::open(searcher, census::fields(fields))?,
        census,
        clauses: Vec::new(),
        frequencies: HashMap::new(),
        expansions: Vec::new(),
        unknown: Vec::new(),
        whole: Vec::new(),
        ideal: 0.0,
        terms: Vec::new(),
        weights: Vec::new(),
    };
    let mut seen = HashSet::new();
    let mut found: Vec<(u64, String, f32, Occurs)> = Vec::new();
    // A word's form in one language, and the word: the form is no rarer than it.
    let mut no_rarer: HashMap<String, String> = HashMap::new();
    // How common each typed word is: a form of it in one language is no rarer than the word.
    let mut common: HashMap<String, (u64, String)> = HashMap::new();
    let mut missing: Vec<(String, String)> = Vec::new();
    // The typed words of which at least one form occurs: their other forms need no replacing.
    let mut known = HashSet::new();
    let mut spelt = HashSet::new();
    let asked = tokens::question(text);
    // A word that is asked twice is meant, though not quite twice as much.
    let mut sums: HashMap<String, f32> = HashMap::new();
    for QueryTerm { term, weight } in &asked {
        *sums.entry(term.term.clone()).or_default() += weight;
    }
    for QueryTerm { term: token, weight } in asked {
        if found.len() >= MAX_LOOKED_AT {
            break;
        }
        if !seen.insert(token.term.clone()) {
            continue;
        }
        let (most, occurs) = frequency(searcher, &out, &weighted, &token.term)?;
        let typed = text.get(token.range.clone()).unwrap_or(&token.term).to_owned();
        let most = match (token.kind, common.get(&typed)) {
            (Kind::Form(_), Some((count, word))) => {
                no_rarer.insert(token.term.clone(), word.clone());
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
                sums.get(&token.term).map_or(weight, |sum| weight * (sum / weight).powf(REPEATED));
            found.push((most, token.term, weight, occurs));
        } else if token.kind == Kind::Word {
            missing.push((typed, token.term));
        } else if token.kind == Kind::Key {
            // The table of word forms has it: it is spelt right and only does not occur.
            spelt.insert(typed);
        }
    }
    let mut idle = Vec::new();
    for (typed, term) in missing {
        if known.contains(&typed) {
            continue;
        }
        // `how` that occurs nowhere is no loss, and `who` would be no gain in its place.
        if is_stop_word(&typed.to_lowercase(), None) {
            idle.push(typed);
            continue;
        }
        let names: Vec<Field> = weighted.iter().map(|(field, _)| *field).collect();
        let expanded = expand(searcher, &out.census, &names, &term)?
            .filter(|(how, _)| *how != Replacement::Typo || !spelt.contains(&typed));
        match expanded {
            Some((how, instead)) => {
                for term in &instead {
                    if seen.insert(term.clone()) {
                        let (most, occurs) = frequency(searcher, &out, &weighted, term)?;
                        found.push((most, term.clone(), STAND_IN, occurs));
                    }
                }
                known.insert(typed.clone());
                out.expansions.push(Expansion { word: typed, how, instead });
            }
            None => out.unknown.push(typed),
        }
    }
    if found.is_empty() {
        out.unknown.extend(idle);
    }
    found.sort_by_key(|(most, ..)| *most);
    found.truncate(MAX_WORDS);
    let passages = out.census.passages;
    let in_items = |out: &Words, text: &str| {
        Clause::look_up(searcher, &out.census, &out.dictionaries, fields.whole, text)
    };
    for (most, text, weight, occurs) in found {
        let part = weight * fullest(most, passages);
        out.ideal += part;
        out.weights.push(part);
        for (field, boost) in weighted {
            if let Some(clause) = occurs.iter().find(|clause| clause.field == field) {
                let weight = boost * weight;
                out.clauses.push(Clause { weight, frequency: most, ..clause.clone() });
            }
        }
        let whole = in_items(&out, &text)?;
        let word = match no_rarer.get(&text) {
            Some(word) => in_items(&out, word)?.postings,
            None => 0,
        };
        // A segment may count items that are gone; more than there are would be no rarity.
        let frequency = whole.postings.max(word).min(out.census.items);
        out.whole.push(Clause { weight, frequency, ..whole });
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
    known: &Words,
    weighted: &[(Field, f32)],
    text: &str,
) -> Result<(u64, Occurs)> {
    let (mut most, mut occurs) = (0, Vec::new());
    for (field, _) in weighted {
        let clause = Clause::look_up(searcher, &known.census, &known.dictionaries, *field, text)?;
        most = most.max(clause.postings);
        if clause.postings > 0 {
            occurs.push(clause);
        }
    }
    Ok((most, occurs))
}

fn query(clauses: &[Clause]) -> BooleanQuery {
    let clause = |clause: &Clause| -> (Occur, Box<dyn Query>) {
        let query = TermQuery::new(clause.term.clone(), IndexRecordOption::WithFreqs);
        (Occur::Should, Box::new(BoostQuery::new(Box::new(query), clause.weight)))
    };
    BooleanQuery::new(clauses.iter().map(clause).collect())
}

/// What the words add up to in each passage.
pub(super) fn sums(searcher: &Searcher, cache: &Cache, words: &Words) -> Result<Sums> {
    let census = &words.census;
    Sums::of(searcher, cache, census, &words.dictionaries, &words.clauses, census.counted)
}

/// What the words add up to in each item, at its first passage: BM25 over all its words, with its
/// length and the words' rarity counted in items.
pub(super) fn item_sums(searcher: &Searcher, cache: &Cache, words: &Words) -> Result<Sums> {
    let census = &words.census;
    Sums::of(searcher, cache, census, &words.dictionaries, &words.whole, census.items)
}

/// The items that say most of what was asked, by their first passages.
pub(super) fn best_items(
    searcher: &Searcher,
    words: &Words,
    sums: &Sums,
    narrowing: &Narrowing,
    limit: usize,
) -> Result<Vec<(Score, DocAddress)>> {
    if words.is_empty() || narrowing.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    if !sums.is_unknown() {
        return Ok(sums.best(searcher, narrowing, limit));
    }
    searcher
        .search_with_statistics_provider(
            &query(&words.whole),
            &Best { narrowing, limit },
            &ItemStatistics { words },
        )
        .doing("search whole items")
}

/// Lengths and rarity in items rather than passages.
struct ItemStatistics<'a> {
    words: &'a Words,
}

impl Bm25StatisticsProvider for ItemStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.words.census.tokens(field))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.words.census.items)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let clause = self.words.whole.iter().find(|clause| clause.term == *term);
        Ok(clause.map_or(0, |clause| clause.frequency))
    }
}

/// Rarity over all fields at once.
struct Statistics<'a> {
    words: &'a Words,
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.words.census.tokens(field))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.words.census.counted)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // Every term that is searched for was looked up before.
        let known = self.words.frequencies.get(term.serialized_value_bytes());
        Ok(known.copied().unwrap_or(0))
    }
}

/// The best `limit` passages with their scores, best first.
pub(super) fn best(
    searcher: &Searcher,
    words: &Words,
    sums: &Sums,
    narrowing: &Narrowing,
    limit: usize,
) -> Result<Vec<(Score, DocAddress)>> {
    if words.is_empty() || narrowing.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    if !sums.is_unknown() {
        return Ok(sums.best(searcher, narrowing, limit));
    }
    searcher
        .search_with_statistics_provider(
            &query(&words.clauses),
            &Best { narrowing, limit },
            &Statistics { words },
        )
        .doing("search the words")
}

/// Keeps the best passages among those that may be answered.
struct Best<'a> {
    narrowing: &'a Narrowing,
    limit: usize,
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
        let mut heap = Heap::new(self.limit);
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
        Ok(heap.into_addresses(ordinal).collect())
    }
}

/// How many items have at least one of the words and may be answered.
pub(super) fn count(
    searcher: &Searcher,
    fields: &Fields,
    words: &Words,
    items: &Sums,
    narrowing: &Narrowing,
    cache: &Cache,
) -> Result<Total> {
    if narrowing.by_passage || items.is_unknown() {
        return count_by_passages(searcher, words, narrowing, cache);
    }
    // The words of an item stand together at its first passage, all but those of its headings.
    let mut total = 0;
    for (ordinal, segment) in (0u32..).zip(searcher.segment_readers()) {
        let firsts = cache.firsts(searcher, segment, fields)?;
        let sums = items.segment(ordinal);
        let mut matching = Bits::none(segment.max_doc());
        firsts.iter().filter(|doc| sums[*doc as usize] > 0.0).for_each(|doc| matching.add(doc));
        for clause in words.clauses.iter().filter(|clause| clause.field == fields.headings) {
            each_posting(segment, &clause.term, |doc| {
                firsts.last_until(doc).into_iter().for_each(|first| matching.add(first));
            })?;
        }
        let counts = |doc: &DocId| narrowing.passes(ordinal, *doc) && !segment.is_deleted(*doc);
        total += matching.iter().filter(counts).count();
    }
    Ok(Total { items: total, exact: true })
}

fn each_posting(segment: &SegmentReader, term: &Term, mut with: impl FnMut(DocId)) -> Result<()> {
    let what = "count what matches";
    let block = segment
        .inverted_index(term.field())
        .doing(what)?
        .read_block_postings(term, IndexRecordOption::Basic)
        .doing(what)?;
    if let Some(mut block) = block {
        while !block.docs().is_empty() {
            block.docs().iter().for_each(|doc| with(*doc));
            block.advance();
        }
    }
    Ok(())
}

/// As [`count`], where the passage itself has to pass: a phrase stands in it, or the words are too
/// many to be added up.
fn count_by_passages(
    searcher: &Searcher,
    words: &Words,
    narrowing: &Narrowing,
    cache: &Cache,
) -> Result<Total> {
    // Rarest first, so that what is left out of an inexact count is the least telling.
    let mut clauses: Vec<&Clause> = words.clauses.iter().collect();
    clauses.sort_by_key(|clause| clause.postings);
    let mut walked = 0;
    let counted = clauses.iter().take_while(|clause| {
        walked += clause.postings;
        walked <= COUNTABLE
    });
    let counted = counted.count();
    let mut items = 0;
    for (ordinal, segment) in (0u32..).zip(searcher.segment_readers()) {
        let mut matching = Bits::none(segment.max_doc());
        for clause in &clauses[..counted] {
            each_posting(segment, &clause.term, |doc| matching.add(doc))?;
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
