//! The passages that may hold the answer, over all kinds of item.

use crate::{
    domain::{Filters, MatchId, Pid, Result},
    index::{Passage, Words},
    search::{Answer, Engine, Evidence, Mode, Options, Query},
};

use super::question::Question;

/// Items whose best passages are candidates.
const MAX_ITEMS: usize = 8;
/// Passages that are read statement by statement.
pub(super) const MAX_READ: usize = 5;
/// The weight of the item's score beside the passage's own.
const ITEM_WEIGHT: f32 = 0.3;
/// The most of one passage that is read, in bytes.
const MAX_BYTES: usize = 20_000;

/// A passage that may hold the answer.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The passage.
    pub id: MatchId,
    /// Its text and headings.
    pub passage: Passage,
    /// What words and meaning contribute.
    pub evidence: Evidence,
    /// What passages are ordered by.
    pub score: f32,
}

/// The passages retrieved for a question.
pub(super) struct Retrieved {
    /// Best first.
    pub passages: Vec<Candidate>,
    /// The words of the question's core, with their weights.
    pub words: Words,
    pub vector: Option<Vec<f32>>,
    /// Notices of the search, for the reader.
    pub notes: Vec<String>,
}

impl Retrieved {
    /// The score of a passage as a share of the best passage's: independent of the ranking's scale.
    pub(super) fn standing(&self, at: usize) -> f32 {
        let score = |at: usize| self.passages.get(at).map_or(0.0, |candidate| candidate.score);
        if score(0) > 0.0 { (score(at) / score(0)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Finds passages as `search` does, then orders them by their own evidence.
pub(super) fn find(
    engine: &Engine,
    question: &Question<'_>,
    filters: &Filters,
    without: Option<Pid>,
) -> Result<Retrieved> {
    engine.index().guarded(|| find_once(engine, question, filters, without))
}

fn find_once(
    engine: &Engine,
    question: &Question<'_>,
    filters: &Filters,
    without: Option<Pid>,
) -> Result<Retrieved> {
    // A question is asked as it is: no `-word` or `kind:` in it means anything.
    let query = Query { text: question.text.to_owned(), ..Query::default() };
    let mut options = Options::new(filters);
    options.limit = MAX_ITEMS + usize::from(without.is_some());
    let answer = engine.search(&query, &options)?;
    let notes = notes(&answer);
    let view = engine.index().view_for(filters)?;
    let words = view.words(&question.core)?;
    let vector = match answer.words_only {
        Some(_) => None,
        None => engine.question(question.text)?,
    };
    let (mut hits, mut items) = (Vec::new(), Vec::new());
    for found in answer.results.iter().filter(|found| Some(found.pid) != without).take(MAX_ITEMS) {
        for hit in view.passages_of(found.pid)? {
            if found.matches.iter().any(|matched| matched.id == hit.id) {
                hits.push(hit);
                items.push(found.score);
            }
        }
    }
    let scores = view.scores(&words, &view.sums(&words)?, &hits)?;
    let cosines = match &vector {
        Some(vector) => view.cosines(vector, &hits)?,
        None => vec![None; hits.len()],
    };
    let mut passages = Vec::with_capacity(hits.len());
    for (((hit, item), score), cosine) in hits.iter().zip(items).zip(scores).zip(cosines) {
        let own = if words.ideal > 0.0 { (score / words.ideal).min(1.0) } else { 0.0 };
        let evidence = Evidence {
            words: score,
            whole: item,
            share: own,
            own,
            cosine,
            place: hit.id.chunk,
            kind: hit.kind,
            ..Evidence::default()
        };
        let mut passage = view.passage(hit)?;
        let end = (0..=MAX_BYTES.min(passage.text.len())).rev();
        let end = end.into_iter().find(|end| passage.text.is_char_boundary(*end)).unwrap_or(0);
        passage.text.truncate(end);
        let score = evidence.inside(Mode::Hybrid) + ITEM_WEIGHT * item;
        passages.push(Candidate { id: hit.id, passage, evidence, score });
    }
    passages.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    Ok(Retrieved { passages, words, vector, notes })
}

/// The notices of a search that matter for an answer: how far the index is behind, not which word
/// was replaced.
pub(super) fn notes(answer: &Answer) -> Vec<String> {
    Answer {
        results: Vec::new(),
        expansions: Vec::new(),
        unknown: Vec::new(),
        mentioned: Vec::new(),
        ..answer.clone()
    }
    .notes()
}
