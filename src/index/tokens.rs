//! Terms on their way into tantivy: analysed once by [`crate::text`], on our own threads, and handed
//! over with their positions, so that indexing and asking cannot disagree.
//!
//! Tantivy's own carrier for this (`PreTokenizedString`) goes through JSON and is cloned three times
//! a document; a flat text of `step term NUL` records costs one copy.

use tantivy::tokenizer::{Token as Out, TokenStream, Tokenizer};

use crate::{
    domain::Document,
    text::{self, Kind, Lang, Mode, Term},
};

/// The name under which the schema's fields ask for [`Fed`].
pub(super) const FED: &str = "fed";
const END: char = '\0';
/// A step is written as one character, below the surrogates.
const MAX_STEP: u32 = 0xD000;
/// Bytes of an item that are looked at to tell its language.
const SAMPLE: usize = 4_096;

/// The version of the analyser: a change means that the terms have to be built anew.
pub(super) const VERSION: u32 = text::VERSION;

/// The language of an item: what it says of itself, or what its first passages look like.
pub(super) fn language(document: &Document) -> Lang {
    let stated = document.lang.as_deref().and_then(Lang::from_code);
    stated.unwrap_or_else(|| {
        let mut sample = document.title.clone();
        for chunk in &document.chunks {
            if sample.len() >= SAMPLE {
                break;
            }
            sample.push('\n');
            sample.push_str(&chunk.text);
        }
        text::lang::detect(&sample)
    })
}

/// A term of a question and what it counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryTerm {
    pub(super) term: Term,
    pub(super) weight: f32,
}

/// The part of a word's weight that its stem keeps where its forms have keys; the keys share the rest.
const STEM_SHARE: f32 = 0.5;

/// The weight of a term, by how it came about; measured on the judged sets.
fn weight(term: &Term) -> f32 {
    match term.kind {
        // What is left of `e.g.`, of an initial or of a formula says little by itself.
        Kind::Word if is_letter(&term.term) => 0.3,
        Kind::Word | Kind::Key | Kind::Gram | Kind::Emoji => 1.0,
        // A single character of a word that its pairs say better.
        Kind::Single => 0.5,
        // An alternative: where it matches, the word usually does too.
        Kind::Form(_) | Kind::Variant | Kind::Whole => 0.5,
        Kind::Part => 0.3,
    }
}

/// Gives every term its weight. A word and the keys of its forms share one weight.
fn weigh(terms: Vec<Term>) -> Vec<QueryTerm> {
    let mut weighed: Vec<QueryTerm> = Vec::with_capacity(terms.len());
    for (at, term) in terms.iter().enumerate() {
        let own = weight(term);
        let weight = match term.kind {
            Kind::Word | Kind::Key => {
                let same = |other: &&Term| other.kind == Kind::Key && other.range == term.range;
                // The keys of a word stand directly behind it.
                let near = &terms[at.saturating_sub(MAX_KEYS)..terms.len().min(at + 1 + MAX_KEYS)];
                match (term.kind, near.iter().filter(same).count()) {
                    (_, 0) => own,
                    (Kind::Word, _) => own * STEM_SHARE,
                    (_, keys) => own * (1.0 - STEM_SHARE) / keys as f32,
                }
            }
            _ => own,
        };
        weighed.push(QueryTerm { term: term.clone(), weight });
    }
    weighed
}

/// Keys that one word has at most.
const MAX_KEYS: usize = 2;

fn is_letter(term: &str) -> bool {
    let mut chars = term.chars();
    matches!((chars.next(), chars.next()), (Some(c), None) if c.is_alphabetic())
}

/// The terms of a question, in order. English and Russian words that only hold a sentence together
/// are left out, unless there are no others: they match everything and mean nothing. (Japanese ones
/// are kept: cut into pairs of characters they are part of the words around them.)
pub(super) fn question(text: &str) -> Vec<QueryTerm> {
    let terms = text::with_analyser(|analyser| analyser.terms(text, None, Mode::Query));
    let is_filler = |term: &Term| {
        let typed = text.get(term.range.clone()).unwrap_or_default();
        [Lang::English, Lang::Russian].iter().any(|lang| text::is_stop_word(typed, Some(*lang)))
    };
    weigh(match terms.iter().all(is_filler) {
        true => terms,
        false => terms.into_iter().filter(|term| !is_filler(term)).collect(),
    })
}

/// The terms of a phrase with their distances from the first; several ways to read it where Chinese
/// folds characters together that Japanese keeps apart.
pub(super) fn phrase(text: &str) -> Vec<Vec<(usize, String)>> {
    let mut readings = Vec::new();
    for lang in [Lang::Japanese, Lang::Chinese] {
        let terms = text::with_analyser(|analyser| analyser.terms(text, Some(lang), Mode::Phrase));
        let first = terms.first().map_or(0, |term| term.position);
        let reading: Vec<(usize, String)> = terms
            .into_iter()
            .map(|term| (term.position.saturating_sub(first) as usize, term.term))
            .collect();
        if !reading.is_empty() && !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    readings
}

/// Analyses a text and writes it down for [`Fed`].
pub(super) fn feed(text: &str, lang: Lang) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    append(&mut out, text, lang);
    out
}

/// As [`feed`], after what is there already and one position apart from it, so that a phrase does
/// not run from one value into the next.
pub(super) fn append(out: &mut String, text: &str, lang: Lang) {
    // Before the first term stands position −1, so that its step is its position plus one.
    let mut last = -1i64;
    let mut gap = i64::from(!out.is_empty());
    text::with_analyser(|analyser| {
        analyser.analyse(text, Some(lang), Mode::Index, |token| {
            if token.term.is_empty() || token.term.contains(END) {
                return;
            }
            let position = i64::from(token.position);
            let step = (position - last).max(0) + std::mem::take(&mut gap);
            last = last.max(position);
            let step = u32::try_from(step).unwrap_or(MAX_STEP).min(MAX_STEP);
            out.push(char::from_u32(step + 1).unwrap_or('\u{2}'));
            out.push_str(token.term);
            out.push(END);
        });
    });
}

/// Reads what [`feed`] wrote.
#[derive(Clone, Default)]
pub(super) struct Fed {
    token: Out,
}

pub(super) struct FedStream<'a> {
    rest: &'a str,
    token: &'a mut Out,
}

impl Tokenizer for Fed {
    type TokenStream<'a> = FedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> FedStream<'a> {
        self.token.reset();
        FedStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for FedStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((record, rest)) = self.rest.split_once(END) else { return false };
        let mut chars = record.chars();
        let step = chars.next().map_or(1, |c| (c as usize).saturating_sub(1));
        self.token.position = self.token.position.wrapping_add(step);
        self.token.text.clear();
        self.token.text.push_str(chars.as_str());
        self.rest = rest;
        true
    }

    fn token(&self) -> &Out {
        self.token
    }

    fn token_mut(&mut self) -> &mut Out {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fed: &str) -> Vec<(usize, String)> {
        let mut tokenizer = Fed::default();
        let mut stream = tokenizer.token_stream(fed);
        let mut out = Vec::new();
        while stream.advance() {
            out.push((stream.token().position, stream.token().text.clone()));
        }
        out
    }

    #[test]
    fn what_is_fed_is_read_back_with_its_positions() {
        for text in ["One two, three", "Привет мир", "東京都に行く", "", "…"] {
            let terms = text::Analyser::new().terms(text, Some(Lang::English), Mode::Index);
            let expected: Vec<_> =
                terms.into_iter().map(|term| (term.position as usize, term.term)).collect();
            assert_eq!(read(&feed(text, Lang::English)), expected, "{text}");
        }
    }

    #[test]
    fn a_word_shares_its_weight_with_its_keys() {
        let weights = |text: &str| -> Vec<(String, f32)> {
            let terms = question(text).into_iter();
            let words = terms.filter(|asked| matches!(asked.term.kind, Kind::Word | Kind::Key));
            words.map(|asked| (asked.term.term, asked.weight)).collect()
        };
        assert_eq!(weights("mouse"), [("mous".into(), 1.0)]);
        assert_eq!(weights("mice"), [("mice".into(), 0.5), ("mous".into(), 0.5)]);
        assert_eq!(weights("дня"), [("дня".into(), 0.5), ("ден".into(), 0.5)]);
        let left = weights("left");
        assert_eq!(left.iter().map(|(_, weight)| weight).sum::<f32>(), 1.0, "{left:?}");
        assert_eq!(weights("東京"), []);
    }

    #[test]
    fn two_values_do_not_touch() {
        let mut fed = feed("alpha", Lang::English);
        append(&mut fed, "beta", Lang::English);
        let positions: Vec<_> = read(&fed).into_iter().map(|(position, _)| position).collect();
        assert!(positions[1] > positions[0] + 1, "{positions:?}");
    }
}
