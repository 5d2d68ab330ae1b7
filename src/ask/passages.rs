//! The passages that may hold the answer, over all kinds of item.

use crate::{
    domain::{Filters, MatchId, Pid, Result},
    index::{Passage, Words},
    search::{Answer, Engine, Evidence, Mode, Options, Query},
};

use super::question::Question;

/// Items whose best passages are looked at.
const ITEMS: usize = 8;
/// Passages that are read sentence by sentence.
pub(super) const READ: usize = 5;
/// What the item counts beside the passage itself.
const ITEM: f32 = 0.3;
/// The most of one passage that is read, in bytes.
const LONGEST: usize = 20_000;

/// A passage in the running.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub id: MatchId,
    pub passage: Passage,
    pub evidence: Evidence,
    /// What passages are ordered by.
    pub score: f32,
}

/// What was found for a question.
pub(super) struct Found {
    /// Best first.
    pub passages: Vec<Candidate>,
    /// The words of the question's core, with what each counts.
    pub words: Words,
    pub vector: Option<Vec<f32>>,
    /// What the search has to say.
    pub notes: Vec<String>,
}

/// Finds passages as `search` does, then orders them by what they themselves say.
pub(super) fn find(
    engine: &Engine,
    question: &Question<'_>,
    filters: &Filters,
    without: Option<Pid>,
) -> Result<Found> {
    engine.index().guarded(|| find_once(engine, question, filters, without))
}

fn find_once(
    engine: &Engine,
    question: &Question<'_>,
    filters: &Filters,
    without: Option<Pid>,
) -> Result<Found> {
    // A question is asked as it is: no `-word` or `kind:` in it means anything.
    let query = Query { text: question.text.to_owned(), ..Query::default() };
    let mut options = Options::new(filters);
    options.limit = ITEMS + usize::from(without.is_some());
    let answer = engine.search(&query, &options)?;
    let notes = notes(&answer);
    let view = engine.index().view_for(filters)?;
    let words = view.words(&question.core)?;
    let vector = match answer.words_only {
        Some(_) => None,
        None => engine.question(question.text)?,
    };
    let (mut hits, mut items) = (Vec::new(), Vec::new());
    for found in answer.results.iter().filter(|found| Some(found.pid) != without).take(ITEMS) {
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
            abroad: false,
        };
        let mut passage = view.passage(hit)?;
        let end = (0..=LONGEST.min(passage.text.len())).rev();
        let end = end.into_iter().find(|end| passage.text.is_char_boundary(*end)).unwrap_or(0);
        passage.text.truncate(end);
        let score = evidence.inside(Mode::Hybrid) + ITEM * item;
        passages.push(Candidate { id: hit.id, passage, evidence, score });
    }
    passages.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    Ok(Found { passages, words, vector, notes })
}

/// What a search says that matters for an answer: how far the index is, not which word was
/// replaced.
fn notes(answer: &Answer) -> Vec<String> {
    Answer {
        results: Vec::new(),
        expansions: Vec::new(),
        unknown: Vec::new(),
        mentioned: Vec::new(),
        ..answer.clone()
    }
    .notes()
}
