//! The answer in the notes' own words: the few sentences that speak most to the question, in order.

use super::{
    passages::Found,
    sentence::{self, Sentence},
};
use crate::text::Lang;

/// Sentences of an answer.
const MOST: usize = 3;
/// A further sentence must be worth this share of the best one.
const NEAR_BEST: f32 = 0.75;
/// Longer sentences are cut to the part that matches, in characters.
const LONGEST: usize = 600;

/// A sentence as it is told, and the passage that it is from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quote {
    pub text: String,
    pub passage: usize,
}

/// The sentences of the answer: those of the best one's passage first, in the order of the text.
pub(super) fn pick(found: &Found, sentences: &[Sentence]) -> Vec<Quote> {
    let mut ranked: Vec<&Sentence> = sentences.iter().collect();
    ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let Some(best) = ranked.first().copied() else { return Vec::new() };
    let mut picked: Vec<(&Sentence, String)> = Vec::new();
    for sentence in ranked {
        if picked.len() == MOST || sentence.score() < NEAR_BEST * best.score() {
            break;
        }
        let text = told(found, sentence);
        // Two notes may say the same.
        if !picked.iter().any(|(_, other)| *other == text) {
            picked.push((sentence, text));
        }
    }
    picked.sort_by_key(|(sentence, _)| {
        (sentence.passage != best.passage, sentence.passage, sentence.place)
    });
    picked.into_iter().map(|(sentence, text)| Quote { text, passage: sentence.passage }).collect()
}

/// The sentence on one line, and not longer than a person wants to read.
fn told(found: &Found, sentence: &Sentence) -> String {
    let passage = &found.passages[sentence.passage].passage;
    let text = &passage.text[sentence.range.clone()];
    if text.chars().nth(LONGEST).is_none() {
        return text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let lang = Lang::from_code(&passage.lang);
    let asked = |term: &str| found.words.terms.iter().any(|asked| asked == term);
    sentence::cut(text, lang, LONGEST, asked)
}
