//! Sentences of the best passages, and what speaks for each.

use std::{cell::RefCell, collections::HashSet, ops::Range};

use super::{
    passages::{Candidate, Found, READ},
    question::Question,
};
use crate::{
    domain::Result,
    index::{Embed, Passage, Words, embedded_text},
    text::{self, Analyser, Lang, Mode, sentences::sentences},
};

/// Sentences that are looked at, over all passages.
const MOST: usize = 60;
/// What the words around a sentence count, beside its own.
const AROUND: f32 = 0.2;
/// What its meaning counts.
const MEANING: f32 = 0.6;
/// What its passage counts, as far as it speaks to the question.
const PASSAGE: f32 = 0.3;
/// What it counts to have the kind of thing that is asked for.
const FITS: f32 = 0.1;

thread_local! {
    static ANALYSER: RefCell<Analyser> = RefCell::new(Analyser::new());
}

/// A sentence and what speaks for it.
#[derive(Debug, Clone)]
pub struct Sentence {
    /// Its passage, counted from the best.
    pub passage: usize,
    /// What speaks for the whole passage.
    pub standing: f32,
    /// Its place in the passage.
    pub place: usize,
    pub range: Range<usize>,
    /// The share of the question's words that it has itself, 0 to 1.
    pub own: f32,
    /// The share that it has together with its neighbours, its headings and its title.
    pub around: f32,
    /// How near it is to the question in meaning, read under its title and headings.
    pub cosine: Option<f32>,
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
    /// What sentences are ordered by: the words of the question first of all.
    pub(super) fn score(&self) -> f32 {
        let fits = if self.fits == Some(true) { FITS } else { 0.0 };
        self.own
            + AROUND * self.around
            + MEANING * self.cosine.unwrap_or(0.0)
            + PASSAGE * self.standing
            + fits
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

/// A heading names what is told, and a question asks it.
fn may_answer(passage: &Passage, sentence: &str) -> bool {
    let heading = |text: &String| text == sentence;
    !sentence.ends_with(['?', '？'])
        && sentence.chars().any(char::is_alphanumeric)
        && !heading(&passage.title)
        && !passage.toc_path.iter().any(heading)
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
        let texts: Vec<String> = out
            .iter()
            .map(|sentence| {
                let Passage { title, toc_path, text, .. } =
                    &found.passages[sentence.passage].passage;
                embedded_text(title, toc_path, &text[sentence.range.clone()])
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (sentence, embedded) in out.iter_mut().zip(embed(&texts)?) {
            sentence.cosine = Some(cosine(vector, &embedded));
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
        .filter(|(_, range)| may_answer(&candidate.passage, &text[range.clone()]))
        .map(|(place, range)| {
            let near = &sets[place.saturating_sub(1)..(place + 2).min(sets.len())];
            let sentence = &text[range.clone()];
            Sentence {
                passage: at,
                standing: candidate.score,
                place,
                own: share(words, |term| sets[place].contains(term)),
                around: share(words, |term| {
                    head.contains(term) || near.iter().any(|set| set.contains(term))
                }),
                cosine: None,
                fits: question.wanted.map(|wanted| wanted.is_in(sentence, question.text)),
                range,
            }
        })
        .collect()
}
