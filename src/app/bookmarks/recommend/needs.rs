//! Which items meet a need: near to it in meaning, beyond what everything here is, or by its words.
//!
//! A short need is a little near to everything, and nearer to everything in its own language, so an
//! absolute cosine says little. What counts is how far an item stands out from the other items of its
//! language: the need's background there. The figures were chosen on labelled project descriptions;
//! BENCHMARKS has what they give.

use std::collections::HashMap;

use crate::{
    app::{App, rights::Rights},
    domain::{Bookmark, Filters, Kind, Pid, Result, query::Action},
    enrich::covered,
    search::{self, Mode, Options, SearchResult},
    text::{Lang, lang},
};

/// What may be recommended.
const KINDS: [Kind; 3] = [Kind::Bookmark, Kind::Page, Kind::Card];
/// Items looked at for each need, in each language.
const MAX_NEAR: usize = 100;
/// Items by words and meaning together.
const MAX_HYBRID: usize = 50;
/// The nearest items are no background.
const BACKGROUND_FROM: usize = 5;
/// In a library of more items than this the background begins deeper, after a fifth of them: of many
/// items many are near. The search pages no deeper than the limit.
const LARGE_LIBRARY: u64 = 1_000;
const BACKGROUND_SHARE: u64 = 5;
const MAX_BACKGROUND_FROM: usize = 900;
/// Items of the background that are looked at there.
const BACKGROUND_SAMPLE: usize = 20;
/// Fewer items are no background either; then the usual one is taken, by whether their language is
/// that of the need.
const MIN_BACKGROUND: usize = 10;
const USUAL_BACKGROUND: f32 = 0.12;
const USUAL_BACKGROUND_ABROAD: f32 = 0.0;
/// Weight of the share of the need's words that the item has.
const SHARE: f32 = 0.3;
/// Weight of a bookmark's usefulness.
const USE: f32 = 0.1;
/// Weight of the fit to the whole description.
const CONTEXT: f32 = 0.5;
/// The fit from which an item meets a need.
const MIN_FIT: f32 = 0.3;
/// Less than this part of the best fit for a need is left out.
const NEAR_BEST: f32 = 0.7;
/// Enough by itself, whatever the background is: a share of the words and the cosine beside it.
/// Where a library has many items that fit, none stands out.
const ENOUGH: [(f32, f32); 3] = [(0.6, 0.25), (0.3, 0.42), (0.0, 0.5)];
/// The share of the words that is enough where there is no vector.
const ENOUGH_WORDS: f32 = 0.6;

/// An item that may meet a need.
pub(super) struct Candidate {
    pub(super) found: SearchResult,
    pub(super) bookmark: Option<Bookmark>,
    /// How well it meets the need; 0.3 and more does.
    pub(super) fit: f32,
}

/// Candidates for a need.
pub(super) struct Candidates {
    pub(super) list: Vec<Candidate>,
    /// Why meaning was left out, if it was.
    pub(super) words_only: Option<String>,
}

impl App {
    /// The items that meet a need. `context` has how far each item stands out for the whole
    /// description.
    pub(super) fn meeting(
        &self,
        need: &str,
        context: &HashMap<Pid, f32>,
        rights: &Rights,
    ) -> Result<Candidates> {
        let Candidates { mut list, words_only } = self.weighed(need, rights)?;
        for candidate in &mut list {
            let suits = context.get(&candidate.found.pid).copied().unwrap_or_default();
            candidate.fit += CONTEXT * suits.max(0.0);
        }
        list.sort_by(|a, b| b.fit.total_cmp(&a.fit).then(a.found.pid.cmp(&b.found.pid)));
        let best = list.first().map_or(0.0, |candidate| candidate.fit);
        list.retain(|candidate| candidate.fit >= MIN_FIT && candidate.fit >= NEAR_BEST * best);
        Ok(Candidates { list, words_only })
    }

    /// How far each item stands out for a description.
    pub(super) fn margins(&self, text: &str, rights: &Rights) -> Result<HashMap<Pid, f32>> {
        let filters = filters(rights);
        let margins = self.near(text, &filters)?.into_iter();
        Ok(margins.map(|(pid, (_, margin))| (pid, margin)).collect())
    }

    fn weighed(&self, need: &str, rights: &Rights) -> Result<Candidates> {
        let filters = filters(rights);
        let mut options = Options::new(&filters);
        options.limit = MAX_HYBRID;
        let answer = self.engine.search(&query(need), &options)?;
        let mut near = self.near(need, &filters)?;
        let mut list = Vec::new();
        for found in answer.results {
            let margin = near.remove(&found.pid).map(|(_, margin)| margin);
            list.push(self.candidate(need, found, margin)?);
        }
        for (found, margin) in near.into_values() {
            list.push(self.candidate(need, found, Some(margin))?);
        }
        Ok(Candidates { list, words_only: answer.words_only })
    }

    /// The items nearest to a text in each language, with how far they stand out from the others.
    fn near(&self, text: &str, filters: &Filters) -> Result<HashMap<Pid, (SearchResult, f32)>> {
        let mut near = HashMap::new();
        let own = lang::detect(text);
        // What the caller may not see makes no library large.
        let listed = self
            .engine
            .search(&search::Query::default(), &Options { limit: 1, ..Options::new(filters) })?;
        let items = listed.total.items as u64;
        for language in [Lang::English, Lang::Russian, Lang::Japanese] {
            let mut options = Options::new(filters);
            options.limit = MAX_NEAR;
            options.lang = Some(language.code());
            options.mode = Mode::Vector;
            let found = self.engine.search(&query(text), &options)?.results;
            let mut others = cosines(&found).into_iter().skip(BACKGROUND_FROM).collect();
            if items > LARGE_LIBRARY {
                let from = usize::try_from(items / BACKGROUND_SHARE).unwrap_or(usize::MAX);
                options.offset = from.min(MAX_BACKGROUND_FROM);
                options.limit = BACKGROUND_SAMPLE;
                let deeper = cosines(&self.engine.search(&query(text), &options)?.results);
                others = if deeper.is_empty() { others } else { deeper };
            }
            let background = background(&others, language == own);
            for one in found {
                if let Some(cosine) = one.evidence.cosine {
                    near.insert(one.pid, (one, cosine - background));
                }
            }
        }
        Ok(near)
    }

    fn candidate(&self, need: &str, found: SearchResult, margin: Option<f32>) -> Result<Candidate> {
        let bookmark = match found.kind {
            Kind::Bookmark => self.store.bookmarks.get(found.pid)?,
            _ => None,
        };
        let words = covered(need, &text(&found, bookmark.as_ref()));
        let enough = match found.evidence.cosine {
            Some(cosine) => ENOUGH.iter().any(|(least, near)| words >= *least && cosine >= *near),
            None => words >= ENOUGH_WORDS,
        };
        let action = bookmark.as_ref().and_then(|one| one.action.as_ref()).map(|one| one.value);
        let mut fit = margin.unwrap_or_default()
            + SHARE * found.evidence.share.powf(1.5)
            + USE * usefulness(action);
        if enough {
            fit = fit.max(MIN_FIT);
        }
        Ok(Candidate { found, bookmark, fit })
    }
}

/// The text of an item, as far as it was found by it.
pub(super) fn text(found: &SearchResult, bookmark: Option<&Bookmark>) -> String {
    match bookmark {
        Some(bookmark) => bookmark.words(),
        None => {
            let snippets = found.matches.iter().map(|found| found.snippet.as_str());
            std::iter::once(found.title.as_str()).chain(snippets).collect::<Vec<_>>().join("\n")
        }
    }
}

fn filters(rights: &Rights) -> Filters {
    let mut filters = Filters { kinds: KINDS.to_vec(), ..Filters::default() };
    rights.narrow(&mut filters);
    filters
}

/// The words are somebody's description: nothing in them is query syntax.
fn query(text: &str) -> search::Query {
    search::Query { text: text.to_owned(), ..search::Query::default() }
}

fn cosines(found: &[SearchResult]) -> Vec<f32> {
    found.iter().filter_map(|one| one.evidence.cosine).collect()
}

/// The cosine of an item that has nothing to do with the need, given those of others.
fn background(others: &[f32], own_language: bool) -> f32 {
    match (others.len() >= MIN_BACKGROUND, own_language) {
        (true, _) => others.iter().sum::<f32>() / others.len() as f32,
        (false, true) => USUAL_BACKGROUND,
        (false, false) => USUAL_BACKGROUND_ABROAD,
    }
}

/// A tool helps a project more than a joke does.
fn usefulness(action: Option<Action>) -> f32 {
    match action {
        Some(Action::TryTool) => 1.0,
        Some(Action::Reference) => 0.6,
        Some(Action::ReadLater) | None => 0.3,
        Some(Action::Share | Action::Archive) => -0.5,
    }
}

/// The parts of a description that say what is needed: its sentences and clauses, and the whole.
pub(super) fn clauses(description: &str) -> Vec<&str> {
    const MIN_CHARACTERS: usize = 4;
    let ends = |c: char| ".;:!?\n。！？、：；".contains(c);
    let mut clauses = vec![description.trim()];
    for sentence in description.split(ends).flat_map(|part| part.split(", ")) {
        for clause in sentence.split(" and ").flat_map(|part| part.split(" и ")).map(str::trim) {
            if clause.chars().count() >= MIN_CHARACTERS && !clauses.contains(&clause) {
                clauses.push(clause);
            }
        }
    }
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_of_a_description_in_three_languages() {
        assert_eq!(
            clauses("A CLI in Rust: good errors and fast search."),
            [
                "A CLI in Rust: good errors and fast search.",
                "A CLI in Rust",
                "good errors",
                "fast search"
            ]
        );
        assert_eq!(
            clauses("Утилита на Rust: хорошие ошибки и быстрый поиск")[1..],
            ["Утилита на Rust", "хорошие ошибки", "быстрый поиск"]
        );
        assert_eq!(
            clauses("家計簿を作る。サーバーで管理したい")[1..],
            ["家計簿を作る", "サーバーで管理したい"]
        );
        assert_eq!(clauses("ok"), ["ok"]);
    }

    #[test]
    fn few_items_are_no_background() {
        assert_eq!(background(&[0.9], true), USUAL_BACKGROUND);
        assert_eq!(background(&[], false), USUAL_BACKGROUND_ABROAD);
        assert!((background(&[0.1; MIN_BACKGROUND], true) - 0.1).abs() < 1e-6);
    }
}
