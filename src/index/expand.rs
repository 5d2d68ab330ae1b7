//! A word of the question that occurs nowhere is tried as the beginning of words that do, and then
//! with one typing error. The answer says so.

use std::collections::HashMap;

use tantivy::{Searcher, Term, query::FuzzyTermQuery, schema::Field};

use super::census::Census;
use crate::domain::{Result, error::Doing};

/// Words tried in place of one.
const MAX_REPLACEMENTS: usize = 8;
/// A common beginning has thousands of continuations; the first few hundred of each segment are
/// enough to choose from.
const CONTINUATIONS: usize = 512;
/// Letters of a beginning; a shorter one means nothing.
const SHORTEST_PREFIX: usize = 3;
/// Letters of the word and of its replacement: most shorter words are one letter from another word.
const SHORTEST_TYPO: usize = 4;

/// How a word was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// A longer word that begins with it.
    Prefix,
    /// A word one or two edits away.
    Typo,
}

/// A word that occurs nowhere and what was looked for instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// As it was typed.
    pub word: String,
    /// How the words are related.
    pub how: Replacement,
    /// Terms of the index, the commonest first.
    pub instead: Vec<String>,
}

/// Terms close to `term` in `fields`, the commonest first. A term that occurs in nothing that the
/// caller may see is not one of them.
pub(super) fn expand(
    searcher: &Searcher,
    census: &Census,
    fields: &[Field],
    term: &str,
) -> Result<Option<(Replacement, Vec<String>)>> {
    let length = term.chars().count();
    // A pair of Han or kana characters is not a word that can be misspelt, and another number is
    // another number.
    if term.chars().any(|c| is_unspaced(c) || c.is_numeric()) {
        return Ok(None);
    }
    if length >= SHORTEST_PREFIX {
        let found =
            collect(fields, |field, counts| prefixed(searcher, census, field, term, counts))?;
        if !found.is_empty() {
            return Ok(Some((Replacement::Prefix, found)));
        }
    }
    if length >= SHORTEST_TYPO {
        let mut found =
            collect(fields, |field, counts| misspelt(searcher, census, field, term, counts))?;
        // Most typing errors are late in a word: `cofee` is `coffee` rather than `code`.
        let alike = |other: &String| {
            term.chars().zip(other.chars()).take_while(|(one, two)| one == two).count()
        };
        found.retain(|other| length > SHORTEST_TYPO || !is_replaced(term, other));
        let most = found.iter().map(alike).max();
        found.retain(|other| Some(alike(other)) == most);
        if !found.is_empty() {
            return Ok(Some((Replacement::Typo, found)));
        }
    }
    Ok(None)
}

/// Whether one letter stands in place of another: in a short word that usually makes another word,
/// as in `data` and `date`.
fn is_replaced(term: &str, other: &str) -> bool {
    term.chars().count() == other.chars().count()
        && term.chars().zip(other.chars()).filter(|(one, two)| one != two).count() == 1
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn collect(
    fields: &[Field],
    look: impl Fn(Field, &mut HashMap<String, u64>) -> Result<()>,
) -> Result<Vec<String>> {
    let mut counts = HashMap::new();
    for field in fields {
        look(*field, &mut counts)?;
    }
    let mut found: Vec<(String, u64)> = counts.into_iter().collect();
    found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MAX_REPLACEMENTS);
    Ok(found.into_iter().map(|(term, _)| term).collect())
}

/// Adds what a term counts, and says whether it counts at all.
fn add(counts: &mut HashMap<String, u64>, term: &str, postings: u64) -> bool {
    if postings > 0 {
        *counts.entry(term.to_owned()).or_default() += postings;
    }
    postings > 0
}

fn prefixed(
    searcher: &Searcher,
    census: &Census,
    field: Field,
    prefix: &str,
    counts: &mut HashMap<String, u64>,
) -> Result<()> {
    let what = "look for words that begin alike";
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let terms = segment.inverted_index(field).doing(what)?;
        let mut stream = terms.terms().range().ge(prefix).into_stream().doing(what)?;
        let mut found = 0;
        while found < CONTINUATIONS && stream.advance() {
            if !stream.key().starts_with(prefix.as_bytes()) {
                break;
            }
            if let Ok(term) = str::from_utf8(stream.key()) {
                let postings = census.postings(ordinal, segment, &terms, stream.value())?;
                found += usize::from(add(counts, term, postings));
            }
        }
    }
    Ok(())
}

fn misspelt(
    searcher: &Searcher,
    census: &Census,
    field: Field,
    word: &str,
    counts: &mut HashMap<String, u64>,
) -> Result<()> {
    let what = "look for words with one typing error";
    let query = FuzzyTermQuery::new(Term::from_field_text(field, word), 1, true);
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let terms = segment.inverted_index(field).doing(what)?;
        let automaton = query.automaton().doing(what)?;
        // People mistype the first letter least of all, so only the words that begin with it are
        // walked through.
        let first = &word[..word.chars().next().map_or(0, char::len_utf8)];
        let mut stream =
            terms.terms().search(automaton).ge(first).lt(after(first)).into_stream().doing(what)?;
        while stream.advance() {
            if let Ok(term) = str::from_utf8(stream.key())
                && term.chars().count() >= SHORTEST_TYPO
            {
                let postings = census.postings(ordinal, segment, &terms, stream.value())?;
                add(counts, term, postings);
            }
        }
    }
    Ok(())
}

/// The first bytes after all that begin with `prefix`.
fn after(prefix: &str) -> Vec<u8> {
    let mut bytes = prefix.as_bytes().to_vec();
    // The last byte of a character is never the highest there is.
    if let Some(last) = bytes.last_mut() {
        *last += 1;
    }
    bytes
}
