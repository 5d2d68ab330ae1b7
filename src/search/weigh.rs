//! From hits to candidates: the evidence of words and of meaning for every passage that either found.

use std::collections::{HashMap, HashSet};

use super::{
    fuse::{Aim, Evidence, Floor, Mode},
    group::Candidate,
};
use crate::{
    domain::{Filters, Pid, Result},
    index::{Asked, Hit, Narrowing, Sums, View, Words},
    text::{Lang, lang},
};

/// The words of a question and their scores.
pub(super) struct Question<'a> {
    /// How many words the question has.
    pub(super) length: usize,
    pub(super) words: &'a Words,
    /// The score of every passage.
    pub(super) sums: &'a Sums,
    /// The score of every item.
    pub(super) item_sums: &'a Sums,
}

/// The best passages of items that answer a question only as a whole: none of their passages is
/// among the best, and one of each has to be shown.
pub(super) fn whole_items(
    view: &View,
    question: &Question<'_>,
    narrowing: &Narrowing,
    found: &[Hit],
    pool: usize,
) -> Result<Vec<Hit>> {
    let found: HashSet<Pid> = found.iter().map(|hit| hit.id.pid).collect();
    let mut passages = Vec::new();
    for item in view.items(question.words, question.item_sums, narrowing, pool / 2)? {
        if !found.contains(&item.id.pid) {
            passages.extend(view.beside(&item)?);
        }
    }
    let scores = view.scores(question.words, question.sums, &passages)?;
    let mut best: Vec<Hit> = Vec::new();
    for (mut hit, score) in passages.into_iter().zip(scores) {
        hit.score = score;
        match best.last_mut().filter(|last| last.id.pid == hit.id.pid) {
            // Of equal ones the last, as long as there is no better reason to choose.
            Some(last) if score >= last.score => *last = hit,
            Some(_) => {}
            None => best.push(hit),
        }
    }
    Ok(best)
}

/// The passages in the language of a question. Japanese without kana may as well be Chinese.
pub(super) fn in_language_of(view: &View, text: &str) -> Result<Vec<Narrowing>> {
    let languages = match lang::detect(text) {
        Lang::Japanese | Lang::Chinese => vec![Lang::Japanese, Lang::Chinese],
        language => vec![language],
    };
    let everything = Filters { archived: true, ..Filters::default() };
    let narrow = |language: Lang| {
        view.narrow(&Asked { lang: Some(language.code()), ..Asked::by(&everything) })
    };
    languages.into_iter().map(narrow).collect()
}

/// Every passage that either side found, with the evidence of both.
pub(super) fn weigh(
    view: &View,
    Question { length, words, sums, item_sums }: &Question<'_>,
    aim: Option<&Aim>,
    (by_words, by_meaning): (Vec<Hit>, Vec<Hit>),
    home: &[Narrowing],
    mode: Mode,
) -> Result<Vec<Candidate>> {
    let seen: HashSet<_> = by_words.iter().map(|hit| hit.id).collect();
    let only_near: Vec<Hit> =
        by_meaning.into_iter().filter(|hit| !seen.contains(&hit.id)).collect();
    let cosines = match aim {
        Some(aim) => view
            .cosines(&aim.vector, &by_words)?
            .into_iter()
            .map(|cosine| cosine.map(|cosine| aim.cosine(cosine)))
            .collect(),
        None => vec![None; by_words.len()],
    };
    let scores = match mode {
        Mode::Hybrid => view.scores(words, sums, &only_near)?,
        _ => vec![0.0; only_near.len()],
    };
    let whole = match mode {
        Mode::Vector => HashMap::new(),
        _ => view.item_scores(words, item_sums, by_words.iter().chain(&only_near))?,
    };
    let floor = Floor::of(*length, !words.is_empty());
    let evidence = |hit: &Hit, passage: f32, cosine: Option<f32>| {
        let whole = whole.get(&hit.id.pid).copied().unwrap_or(0.0);
        let part =
            |score: f32| if words.ideal > 0.0 { (score / words.ideal).min(1.0) } else { 0.0 };
        let (share, own, place) = (part(whole), part(passage), hit.id.chunk);
        let abroad = !home.iter().any(|language| view.is_among(language, hit));
        Evidence { words: passage, whole, share, own, cosine, place, abroad, kind: hit.kind }
    };
    let first = by_words
        .into_iter()
        .zip(cosines)
        .map(|(hit, cosine)| (hit, evidence(&hit, hit.score, cosine)));
    let second = only_near
        .into_iter()
        .zip(scores)
        .map(|(hit, words)| (hit, evidence(&hit, words, Some(hit.score))));
    Ok(first
        .chain(second)
        .filter(|(_, evidence)| evidence.counts(mode, floor))
        .map(|(hit, evidence)| Candidate { hit, evidence, score: evidence.score(mode) })
        .collect())
}
