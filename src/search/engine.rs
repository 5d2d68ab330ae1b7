//! One search: words and meaning side by side, fused passage by passage, grouped by item.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    answer::{Answer, SearchResult},
    filters::combine,
    fuse::{Aim, Evidence, Mode},
    group::{Candidate, Group, group},
    kinds::{Preference, remove_weak_prompts},
    query::Query,
    relevance::level,
    weigh::{Question, in_language_of, weigh, whole_items},
};
use crate::{
    domain::{Error, Filters, Kind, Patience, Pid, Result, property::Sort},
    index::{Asked, Freshness, Hit, Index, Narrowing, Sums, Total, View, Words, beside},
    text::words::count_words,
};

/// Results a caller may ask for at once, and how deep the pages go.
pub const MAX_RESULTS: usize = 100;
/// Results that pages can reach.
pub const DEEPEST: usize = 1_000;
/// Passages each side is asked for, at least.
pub(super) const POOL: usize = 100;
/// Passages each side is asked for where the best are then sorted by a property.
const SORTED_POOL: usize = 1_000;
/// Questions whose vectors are remembered, for the next page and for the agent that asks again.
const CACHED_ANSWERS: usize = 64;
/// Results from which a second thread that reads them pays for itself.
const MIN_RESULTS_FOR_THREADS: usize = 6;

/// What a text is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question in a person's words.
    Question,
    /// A text that others are compared with.
    Passage,
}

/// Turns a text into a vector.
pub type Vectorise = Arc<dyn Fn(&str, Role) -> Result<Vec<f32>> + Send + Sync>;

/// Whether the model knows a question well enough to compare its meaning.
pub type Knows = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How a search is asked, beside the question.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// What results must satisfy.
    pub filters: &'a Filters,
    /// Two letters: only items in this language.
    pub lang: Option<&'a str>,
    /// Results wanted.
    pub limit: usize,
    /// Results to leave out, as `Answer::next` gave it.
    pub offset: usize,
    /// Words, meaning or both.
    pub mode: Mode,
    /// By a property instead of relevance.
    pub sort: Option<&'a Sort>,
}

impl<'a> Options<'a> {
    /// Ten results by words and meaning.
    pub fn new(filters: &'a Filters) -> Self {
        Self { filters, lang: None, limit: 10, offset: 0, mode: Mode::Hybrid, sort: None }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.limit == 0 || self.limit > MAX_RESULTS {
            return Err(Error::invalid_params(format!(
                "limit `{}` is not between 1 and {MAX_RESULTS}",
                self.limit
            )));
        }
        if self.offset.saturating_add(self.limit) > DEEPEST {
            return Err(Error::invalid_params(format!(
                "only the first {DEEPEST} results can be paged through; narrow the query"
            )));
        }
        Ok(())
    }
}

type Remembered = HashMap<(Role, String), Vec<f32>>;

/// Searches one index.
pub struct Engine {
    pub(super) index: Arc<Index>,
    pub(super) vectorise: Option<Vectorise>,
    knows: Option<Knows>,
    preference: Preference,
    /// How long a search waits for the index to catch up.
    patience: Duration,
    remembered: Mutex<Remembered>,
}

impl Engine {
    /// An engine over `index`. `patience` bounds the wait for fresh changes.
    pub fn new(index: Arc<Index>, vectorise: Option<Vectorise>, patience: Duration) -> Self {
        let preference = Preference::default();
        Self { index, vectorise, knows: None, preference, patience, remembered: Mutex::default() }
    }

    /// Sets the kinds that come first among items that answer equally well.
    pub fn preferring(self, kinds: &[Kind]) -> Self {
        Self { preference: Preference::new(kinds), ..self }
    }

    /// Sets the test for questions whose vector would say nothing; those are searched by words only.
    pub fn knowing(self, knows: Knows) -> Self {
        Self { knows: Some(knows), ..self }
    }

    /// The index that is searched.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The index as the caller may see it, and how far it is behind.
    pub(super) fn look(&self, filters: &Filters) -> Result<(View, Freshness)> {
        let request = Patience::current();
        let wait = request.remaining().map_or(self.patience, |left| left.min(self.patience));
        let (view, freshness) = self.index.fresh_view_for(filters, wait)?;
        request.check()?;
        let freshness = if view.is_part() { freshness.without_counts() } else { freshness };
        Ok((view, freshness))
    }

    /// The index as of now, as the caller with these filters sees it.
    pub(super) fn current_view(&self, rights: &Filters) -> Result<View> {
        Ok(self.look(rights)?.0)
    }

    /// Answers a question. A damaged index is repaired and asked again.
    pub fn search(&self, query: &Query, options: &Options<'_>) -> Result<Answer> {
        self.index.guarded(|| self.search_once(query, options))
    }

    fn search_once(&self, query: &Query, options: &Options<'_>) -> Result<Answer> {
        options.check()?;
        let filters = combine(options.filters, &query.filters)?;
        let nothing = query.is_listing() && query.excluded.is_empty() && filters.is_open();
        if nothing && options.lang.is_none() {
            return Err(Error::invalid_params(
                "query is required; it may be left out only with filters",
            ));
        }
        let (view, freshness) = self.look(&filters)?;
        let narrowing = view.narrow(&Asked {
            filters: &filters,
            phrases: &query.phrases,
            excluded: &query.excluded,
            lang: options.lang,
        })?;
        if query.is_listing() {
            return self.list(&view, &narrowing, options, freshness);
        }
        let wanted = (options.offset + options.limit) * 4;
        let pool = match options.sort {
            // Every page of a sorted answer sorts the same candidates.
            Some(_) => SORTED_POOL,
            None => wanted.max(POOL),
        };
        let spelled = self.knows.as_ref().is_some_and(|knows| !knows(&query.text));
        let meaning = options.mode != Mode::Lexical
            && query.text.chars().any(char::is_alphanumeric)
            && !spelled;
        let request = Patience::current();
        request.check()?;
        // The question's vector takes longest: it is computed beside the words, on another thread.
        let by_words =
            || request.during(|| self.by_words(&view, query, &narrowing, options.mode, pool));
        let (words, near) = match meaning.then_some(self.vectorise.as_ref()).flatten() {
            Some(vectorise) => {
                let near =
                    || self.near(&view, vectorise, &query.text, &narrowing, options.mode, pool);
                let (words, near) = beside(by_words, near);
                let stopped = |_| Err(Error::internal("the search by words stopped"));
                (words.unwrap_or_else(stopped), Some(near))
            }
            None => (by_words(), None),
        };
        let ByWords { words, sums, item_sums, hits: by_words, total } = words?;
        request.check()?;
        let (aim, by_meaning, words_only) = match near {
            Some(Ok((aim, hits))) => (Some(aim), hits, None),
            Some(Err(error)) => {
                tracing::warn!(?error, "searched by words only");
                let reason = format!("searched by words only: {error}");
                (None, Vec::new(), Some(reason))
            }
            None => (None, Vec::new(), None),
        };
        let mode = if aim.is_none() && options.mode == Mode::Hybrid {
            Mode::Lexical
        } else {
            options.mode
        };
        let length = count_words(&query.text);
        let question = Question { length, words: &words, sums: &sums, item_sums: &item_sums };
        let home = in_language_of(&view, &query.text)?;
        let hits = (by_words, by_meaning);
        let mut candidates = weigh(&view, &question, aim.as_ref(), hits, &home, mode)?;
        let mut prompts_left_out = 0;
        if !filters.kinds.contains(&Kind::Prompt) && !self.preference.names(Kind::Prompt) {
            prompts_left_out = remove_weak_prompts(&mut candidates);
        }
        self.preference.apply(&mut candidates);
        request.check()?;
        let mut groups = group(candidates, mode);
        if let Some(sort) = options.sort {
            groups = in_order(&view, sort, groups, |group| group.best.hit.id.pid)?;
        }
        if groups.is_empty() && query.quotes_a_sentence() {
            return self.search_once(&query.clone().without_phrases(), options);
        }
        let none_near = groups.is_empty() && (aim.is_some() || spelled);
        let total = Total { items: total.items.max(groups.len()), exact: total.exact };
        let page = self.show(&view, &groups, options, mode, &words.terms)?;
        let vectors = match options.mode {
            Mode::Lexical => None,
            _ => self.index.vector_progress(&view)?,
        };
        Ok(Answer {
            next: next(options, groups.len()),
            results: page,
            total,
            expansions: words.expansions,
            unknown: words.unknown,
            unknown_filters: query.unknown_filters.clone(),
            none_near,
            prompts_left_out,
            mentioned: query.mentioned.clone(),
            freshness,
            vectors,
            words_only,
            repairs: self.index.recent_repairs(),
        })
    }

    /// What the words of a question find.
    fn by_words(
        &self,
        view: &View,
        query: &Query,
        narrowing: &Narrowing,
        mode: Mode,
        pool: usize,
    ) -> Result<ByWords> {
        let words = view.words(&query.text)?;
        let item_sums = view.item_sums(&words)?;
        let sums = view.sums(&words)?;
        let mut hits = Vec::new();
        if mode != Mode::Vector {
            hits = view.lexical(&words, &sums, narrowing, pool)?;
            Patience::current().check()?;
            // A phrase must stand in the passage itself.
            if query.phrases.is_empty() && query.excluded.is_empty() {
                let length = count_words(&query.text);
                let question =
                    Question { length, words: &words, sums: &sums, item_sums: &item_sums };
                hits.extend(whole_items(view, &question, narrowing, &hits, pool)?);
            }
        }
        let total = view.count(&words, &item_sums, narrowing)?;
        Ok(ByWords { words, sums, item_sums, hits, total })
    }

    /// The question's vector and the passages nearest to it.
    fn near(
        &self,
        view: &View,
        vectorise: &Vectorise,
        text: &str,
        narrowing: &Narrowing,
        mode: Mode,
        limit: usize,
    ) -> Result<(Aim, Vec<Hit>)> {
        let vector = self.vector(vectorise, text, Role::Question)?;
        let aim = match mode {
            Mode::Hybrid => self.index.centre(view)?,
            Mode::Lexical | Mode::Vector => None,
        };
        let aim = match aim {
            Some(centre) if centre.len() == vector.len() => Aim::past(&centre, vector),
            _ => Aim::straight(vector),
        };
        let mut hits = view.nearest(&aim.vector, narrowing, limit)?;
        hits.iter_mut().for_each(|hit| hit.score = aim.cosine(hit.score));
        Ok((aim, hits))
    }

    pub(super) fn vector(&self, vectorise: &Vectorise, text: &str, role: Role) -> Result<Vec<f32>> {
        let lock = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (role, text.to_owned());
        if let Some(vector) = lock().get(&key) {
            return Ok(vector.clone());
        }
        let vector = vectorise(text, role)?;
        let mut remembered = lock();
        if remembered.len() >= CACHED_ANSWERS {
            remembered.clear();
        }
        remembered.insert(key, vector.clone());
        Ok(vector)
    }

    /// The vector of a question as a search sees it; `None` without an embedder.
    pub fn question(&self, text: &str) -> Result<Option<Vec<f32>>> {
        let vectorise = self.vectorise.as_ref();
        vectorise.map(|vectorise| self.vector(vectorise, text, Role::Question)).transpose()
    }

    /// What passes the filters, newest first.
    fn list(
        &self,
        view: &View,
        narrowing: &Narrowing,
        options: &Options<'_>,
        freshness: Freshness,
    ) -> Result<Answer> {
        let (hits, total) = match options.sort {
            Some(sort) => {
                let (hits, total) = view.listing(narrowing, usize::MAX)?;
                (in_order(view, sort, hits, |hit| hit.id.pid)?, total)
            }
            None => view.listing(narrowing, options.offset + options.limit + 1)?,
        };
        let candidates = hits
            .into_iter()
            .map(|hit| Candidate { hit, evidence: Evidence::default(), score: 0.0 })
            .map(|best| Group { best, duplicates: Vec::new(), candidates: vec![best] })
            .collect::<Vec<_>>();
        Ok(Answer {
            next: next(options, candidates.len()),
            results: self.show(view, &candidates, options, options.mode, &[])?,
            total,
            expansions: Vec::new(),
            unknown: Vec::new(),
            unknown_filters: Vec::new(),
            none_near: false,
            prompts_left_out: 0,
            mentioned: Vec::new(),
            freshness,
            vectors: None,
            words_only: None,
            repairs: self.index.recent_repairs(),
        })
    }

    pub(super) fn show(
        &self,
        view: &View,
        groups: &[Group],
        options: &Options<'_>,
        mode: Mode,
        terms: &[String],
    ) -> Result<Vec<SearchResult>> {
        let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
        let start = options.offset.min(groups.len());
        let page = &groups[start..groups.len().min(start + options.limit)];
        let show = |part: &[Group]| -> Result<Vec<SearchResult>> {
            part.iter().map(|group| group.show(view, &terms, mode)).collect()
        };
        let mut found = if page.len() < MIN_RESULTS_FOR_THREADS {
            show(page)?
        } else {
            // Reading and cutting the texts is most of what is left to wait for.
            let (first, second) = page.split_at(page.len() / 2);
            let (second, found) = beside(|| show(second), || show(first));
            let lost = |_| Err(Error::internal("a result could not be shown"));
            let mut found = found?;
            found.extend(second.unwrap_or_else(lost)?);
            found
        };
        // The order weighs the evidence a little differently than the probability does.
        let mut relevance: Vec<f32> =
            groups.iter().map(|group| group.best.evidence.relevance(mode)).collect();
        if options.sort.is_none() {
            level(&mut relevance);
        }
        for (found, relevance) in found.iter_mut().zip(&relevance[start..]) {
            found.relevance = *relevance;
        }
        Ok(found)
    }
}

/// Sorts by a property. What has equal values, or none, keeps its order.
fn in_order<T>(
    view: &View,
    sort: &Sort,
    mut entries: Vec<T>,
    pid: impl Fn(&T) -> Pid,
) -> Result<Vec<T>> {
    let places = view.places(sort)?;
    entries.sort_by_key(|entry| places.get(&pid(entry)).copied().unwrap_or(usize::MAX));
    Ok(entries)
}

pub(super) fn next(options: &Options<'_>, found: usize) -> Option<usize> {
    let next = options.offset + options.limit;
    (next < found && next < DEEPEST).then_some(next)
}

/// What the words of a question found.
struct ByWords {
    words: Words,
    sums: Sums,
    item_sums: Sums,
    hits: Vec<Hit>,
    total: Total,
}
