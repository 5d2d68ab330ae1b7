//! Sentences of the best passages, and what speaks for each.

use std::{cell::RefCell, collections::HashSet, ops::Range};

use super::{
    passages::{Candidate, Found, READ},
    question::Question,
};
use crate::{
    domain::Result,
    index::{Embed, Passage, Words},
    text::{self, Analyser, Lang, Mode, sentences::sentences},
};

/// Sentences that are looked at, over all passages.
const MOST: usize = 60;

thread_local! {
    static ANALYSER: RefCell<Analyser> = RefCell::new(Analyser::new());
}

/// A sentence and what speaks for it.
#[derive(Debug, Clone)]
pub struct Sentence {
    /// Its passage, counted from the best.
    pub passage: usize,
    /// Its place in the passage.
    pub place: usize,
    pub range: Range<usize>,
    /// The share of the question's words that it has itself, 0 to 1.
    pub own: f32,
    /// The share that it has together with its neighbours, its headings and its title.
    pub around: f32,
    /// How near it is to the question in meaning.
    pub cosine: Option<f32>,
    /// The same with title and headings.
    pub cosine_titled: Option<f32>,
    /// Whether it has the number, date or name that is asked for; `None` when none is.
    pub fits: Option<bool>,
}

/// The terms of a text as the index has them.
pub(super) fn terms(text: &str, lang: Option<Lang>) -> HashSet<String> {
    let mut found = HashSet::new();
    ANALYSER.with_borrow_mut(|analyser| {
        analyser.analyse(text, lang, Mode::Index, |token| {
            if !found.contains(token.term) {
                found.insert(token.term.to_owned());
            }
        });
    });
    found
}

/// The part of a long sentence that matches, on one line.
pub(super) fn cut(
    text: &str,
    lang: Option<Lang>,
    longest: usize,
    matches: impl Fn(&str) -> bool,
) -> String {
    ANALYSER.with_borrow_mut(|analyser| text::snippet(analyser, text, lang, longest, matches).text)
}

impl Sentence {
    /// What sentences are ordered by.
    pub(super) fn score(&self) -> f32 {
        let fits = if self.fits == Some(true) { 0.1 } else { 0.0 };
        0.5 * self.own + 0.3 * self.around + 0.5 * self.cosine_titled.unwrap_or(0.0) + fits
    }
}

/// The share of the words that some set has.
fn share(words: &Words, has: impl Fn(&str) -> bool) -> f32 {
    if words.ideal <= 0.0 {
        return 0.0;
    }
    let sum: f32 = words
        .terms
        .iter()
        .zip(&words.weights)
        .filter(|(term, _)| has(term))
        .map(|(_, weight)| weight)
        .sum();
    sum / words.ideal
}

/// Every sentence of the best passages.
pub(super) fn gather(
    question: &Question<'_>,
    found: &Found,
    embed: Option<&Embed>,
) -> Result<Vec<Sentence>> {
    let mut out = Vec::new();
    for (at, candidate) in found.passages.iter().take(READ).enumerate() {
        let room = MOST.saturating_sub(out.len());
        out.extend(read(question, &found.words, at, candidate).into_iter().take(room));
    }
    if let (Some(vector), Some(embed)) = (&found.vector, embed) {
        let text = |sentence: &Sentence| {
            &found.passages[sentence.passage].passage.text[sentence.range.clone()]
        };
        let texts: Vec<&str> = out.iter().map(text).collect();
        let plain = embed(&texts)?;
        let titled: Vec<String> = out
            .iter()
            .map(|sentence| {
                let Passage { title, toc_path, .. } = &found.passages[sentence.passage].passage;
                crate::index::embedded_text(title, toc_path, text(sentence))
            })
            .collect();
        let titled: Vec<&str> = titled.iter().map(String::as_str).collect();
        let titled = embed(&titled)?;
        for ((sentence, plain), titled) in out.iter_mut().zip(plain).zip(titled) {
            sentence.cosine = Some(cosine(vector, &plain));
            sentence.cosine_titled = Some(cosine(vector, &titled));
        }
    }
    Ok(out)
}

/// Vectors are one long, so that their product is the cosine.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn read(question: &Question<'_>, words: &Words, at: usize, candidate: &Candidate) -> Vec<Sentence> {
    let Passage { title, toc_path, text, lang, .. } = &candidate.passage;
    let lang = Lang::from_code(lang);
    let head = terms(&format!("{title}\n{}", toc_path.join("\n")), lang);
    let ranges = sentences(text);
    let sets: Vec<HashSet<String>> =
        ranges.iter().map(|range| terms(&text[range.clone()], lang)).collect();
    ranges
        .into_iter()
        .enumerate()
        .map(|(place, range)| {
            let near = &sets[place.saturating_sub(1)..(place + 2).min(sets.len())];
            let sentence = &text[range.clone()];
            Sentence {
                passage: at,
                place,
                own: share(words, |term| sets[place].contains(term)),
                around: share(words, |term| {
                    head.contains(term) || near.iter().any(|set| set.contains(term))
                }),
                cosine: None,
                cosine_titled: None,
                fits: question.wanted.map(|wanted| wanted.is_in(sentence, question.text)),
                range,
            }
        })
        .collect()
}
