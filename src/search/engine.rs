//! One search: words and meaning side by side, fused passage by passage, grouped by item.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    answer::{Answer, Found},
    filters::combine,
    fuse::{Aim, Evidence, Floor, Mode},
    group::{Candidate, Group, group},
    query::Query,
};
use crate::{
    domain::{Error, Filters, Patience, Pid, Result},
    index::{Asked, Freshness, Hit, Index, Narrowing, Sums, Total, View, Words, beside},
    text::{Lang, lang, words::count_words},
};

/// Results a caller may ask for at once, and how deep the pages go.
pub const MOST_RESULTS: usize = 100;
pub const DEEPEST: usize = 1_000;
/// Passages each side is asked for, at least.
const POOL: usize = 100;
/// Questions whose vectors are remembered, for the next page and for the agent that asks again.
const REMEMBERED: usize = 64;
/// Results from which a second thread that reads them pays for itself.
const WORTH_THREADS: usize = 6;
/// Passages of an item that `similar` compares.
const COMPARED: usize = 16;

/// What a text is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Question,
    Passage,
}

/// Turns a text into a vector.
pub type Vectorise = Arc<dyn Fn(&str, Role) -> Result<Vec<f32>> + Send + Sync>;

/// Whether the model knows a question well enough to compare its meaning.
pub type Knows = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How a search is asked, beside the question.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    pub filters: &'a Filters,
    /// Two letters: only items in this language.
    pub lang: Option<&'a str>,
    pub limit: usize,
    /// Results to leave out, as `Answer::next` gave it.
    pub offset: usize,
    pub mode: Mode,
}

impl<'a> Options<'a> {
    pub fn new(filters: &'a Filters) -> Self {
        Self { filters, lang: None, limit: 10, offset: 0, mode: Mode::Hybrid }
    }

    fn check(&self) -> Result<()> {
        if self.limit == 0 || self.limit > MOST_RESULTS {
            return Err(Error::invalid_params(format!(
                "limit `{}` is not between 1 and {MOST_RESULTS}",
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

/// What `similar` starts from.
#[derive(Debug, Clone, Copy)]
pub enum Like<'a> {
    Text(&'a str),
    Item(Pid),
}

type Remembered = HashMap<(Role, String), Vec<f32>>;

/// Searches one index.
pub struct Engine {
    index: Arc<Index>,
    vectorise: Option<Vectorise>,
    knows: Option<Knows>,
    /// How long a search waits for the index to catch up.
    patience: Duration,
    remembered: Mutex<Remembered>,
}

impl Engine {
    pub fn new(index: Arc<Index>, vectorise: Option<Vectorise>, patience: Duration) -> Self {
        Self { index, vectorise, knows: None, patience, remembered: Mutex::default() }
    }

    /// Sets the test for questions whose vector would say nothing; those are searched by words only.
    pub fn knowing(self, knows: Knows) -> Self {
        Self { knows: Some(knows), ..self }
    }

    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The index as the caller may see it, and how far it is behind.
    fn look(&self, filters: &Filters) -> Result<(View, Freshness)> {
        let request = Patience::current();
        let wait = request.remaining().map_or(self.patience, |left| left.min(self.patience));
        let freshness = self.index.ensure_fresh(wait)?;
        request.check()?;
        let view = self.index.view_for(filters)?;
        let freshness = if view.is_part() { freshness.without_counts() } else { freshness };
        Ok((view, freshness))
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
        let pool = wanted.max(POOL);
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
        let asked = count_words(&query.text);
        let said = Said { asked, words: &words, sums: &sums, item_sums: &item_sums };
        let home = in_language_of(&view, &query.text)?;
        let hits = (by_words, by_meaning);
        let candidates = weigh(&view, &said, aim.as_ref(), hits, &home, mode)?;
        request.check()?;
        let groups = group(candidates, mode);
        if groups.is_empty() && query.quotes_a_sentence() {
            return self.search_once(&query.clone().loosened(), options);
        }
        let none_near = groups.is_empty() && (aim.is_some() || spelled);
        let total = Total { items: total.items.max(groups.len()), exact: total.exact };
        let page = self.show(&view, &groups, options, &words.terms)?;
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
                let asked = count_words(&query.text);
                let said = Said { asked, words: &words, sums: &sums, item_sums: &item_sums };
                hits.extend(whole_items(view, &said, narrowing, &hits, pool)?);
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

    fn vector(&self, vectorise: &Vectorise, text: &str, role: Role) -> Result<Vec<f32>> {
        let lock = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (role, text.to_owned());
        if let Some(vector) = lock().get(&key) {
            return Ok(vector.clone());
        }
        let vector = vectorise(text, role)?;
        let mut remembered = lock();
        if remembered.len() >= REMEMBERED {
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
        let (hits, total) = view.listing(narrowing, options.offset + options.limit + 1)?;
        let candidates = hits
            .into_iter()
            .map(|hit| Candidate { hit, evidence: Evidence::default(), score: 0.0 })
            .map(|best| Group { best, duplicates: Vec::new(), candidates: vec![best] })
            .collect::<Vec<_>>();
        Ok(Answer {
            next: next(options, candidates.len()),
            results: self.show(view, &candidates, options, &[])?,
            total,
            expansions: Vec::new(),
            unknown: Vec::new(),
            unknown_filters: Vec::new(),
            none_near: false,
            mentioned: Vec::new(),
            freshness,
            vectors: None,
            words_only: None,
            repairs: self.index.recent_repairs(),
        })
    }

    /// The items nearest to a text or to another item.
    pub fn similar(&self, like: Like<'_>, options: &Options<'_>) -> Result<Answer> {
        self.index.guarded(|| self.similar_once(like, options))
    }

    fn similar_once(&self, like: Like<'_>, options: &Options<'_>) -> Result<Answer> {
        options.check()?;
        let Some(vectorise) = &self.vectorise else {
            return Err(Error::invalid_params(
                "similar needs vectors and there is no embedder; set `[embed] provider`",
            ));
        };
        let (view, freshness) = self.look(options.filters)?;
        let own = match like {
            Like::Item(pid) => Some(pid),
            Like::Text(_) => None,
        };
        let vectors = self.vectors_like(&view, vectorise, like)?;
        let narrowing = view.narrow(&Asked { lang: options.lang, ..Asked::by(options.filters) })?;
        let wanted = (options.offset + options.limit) * 4;
        let mut best: HashMap<crate::domain::MatchId, Candidate> = HashMap::new();
        for vector in &vectors {
            Patience::current().check()?;
            for hit in view.nearest(vector, &narrowing, wanted.max(POOL))? {
                if Some(hit.id.pid) == own {
                    continue;
                }
                let evidence = Evidence { cosine: Some(hit.score), ..Evidence::default() };
                let candidate = Candidate { hit, evidence, score: hit.score };
                let kept = best.entry(hit.id).or_insert(Candidate { score: f32::MIN, ..candidate });
                if hit.score > kept.score {
                    *kept = Candidate { hit, evidence, score: hit.score };
                }
            }
        }
        let groups = group(best.into_values().collect(), Mode::Vector);
        Ok(Answer {
            next: next(options, groups.len()),
            results: self.show(&view, &groups, options, &[])?,
            total: Total { items: groups.len(), exact: false },
            expansions: Vec::new(),
            unknown: Vec::new(),
            unknown_filters: Vec::new(),
            none_near: groups.is_empty(),
            mentioned: Vec::new(),
            freshness,
            vectors: self.index.vector_progress(&view)?,
            words_only: None,
            repairs: self.index.recent_repairs(),
        })
    }

    fn vectors_like(
        &self,
        view: &View,
        vectorise: &Vectorise,
        like: Like<'_>,
    ) -> Result<Vec<Vec<f32>>> {
        match like {
            Like::Text(text) if text.chars().any(char::is_alphanumeric) => {
                Ok(vec![self.vector(vectorise, text, Role::Passage)?])
            }
            Like::Text(_) => {
                Err(Error::invalid_params("text has no words; give a sentence or more"))
            }
            Like::Item(pid) => {
                let mut vectors = view.vectors_of(pid)?;
                vectors.truncate(COMPARED);
                if vectors.is_empty() {
                    // Its vectors are still to come: the first passage speaks for it.
                    let Some(hit) = view.passages_of(pid)?.into_iter().next() else {
                        return Err(Error::invalid_params(format!(
                            "no item has pid `{pid}`; take it from a search result"
                        )));
                    };
                    let passage = view.passage(&hit)?;
                    let text = crate::index::embedded_text(
                        &passage.title,
                        &passage.toc_path,
                        &passage.text,
                    );
                    vectors.push(self.vector(vectorise, &text, Role::Passage)?);
                }
                Ok(vectors)
            }
        }
    }

    fn show(
        &self,
        view: &View,
        groups: &[Group],
        options: &Options<'_>,
        terms: &[String],
    ) -> Result<Vec<Found>> {
        let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
        let start = options.offset.min(groups.len());
        let page = &groups[start..groups.len().min(start + options.limit)];
        let show = |part: &[Group]| -> Result<Vec<Found>> {
            part.iter().map(|group| group.show(view, &terms)).collect()
        };
        let mut found = if page.len() < WORTH_THREADS {
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
        // By words alone, the order weighs the evidence a little differently than relevance does.
        let before = groups[..start].iter().map(|group| group.best.evidence.relevance());
        let mut least = before.fold(1.0, f32::min);
        for found in &mut found {
            least = least.min(found.relevance);
            found.relevance = least;
        }
        Ok(found)
    }
}

fn next(options: &Options<'_>, found: usize) -> Option<usize> {
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

/// The words of a question and what they add up to.
struct Said<'a> {
    /// How many words the question has.
    asked: usize,
    words: &'a Words,
    sums: &'a Sums,
    item_sums: &'a Sums,
}

/// The best passages of items that say what was asked only as a whole: none of their passages is
/// among the best, and one of each has to be shown.
fn whole_items(
    view: &View,
    said: &Said<'_>,
    narrowing: &Narrowing,
    found: &[Hit],
    pool: usize,
) -> Result<Vec<Hit>> {
    let found: HashSet<Pid> = found.iter().map(|hit| hit.id.pid).collect();
    let mut passages = Vec::new();
    for item in view.items(said.words, said.item_sums, narrowing, pool / 2)? {
        if !found.contains(&item.id.pid) {
            passages.extend(view.beside(&item)?);
        }
    }
    let scores = view.scores(said.words, said.sums, &passages)?;
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
fn in_language_of(view: &View, text: &str) -> Result<Vec<Narrowing>> {
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

/// Every passage that either side found, with what both sides say of it.
fn weigh(
    view: &View,
    Said { asked, words, sums, item_sums }: &Said<'_>,
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
    let floor = Floor::of(*asked, !words.is_empty());
    let evidence = |hit: &Hit, passage: f32, cosine: Option<f32>| {
        let whole = whole.get(&hit.id.pid).copied().unwrap_or(0.0);
        let part =
            |score: f32| if words.ideal > 0.0 { (score / words.ideal).min(1.0) } else { 0.0 };
        let (share, own, place) = (part(whole), part(passage), hit.id.chunk);
        let abroad = !home.iter().any(|language| view.is_among(language, hit));
        Evidence { words: passage, whole, share, own, cosine, place, abroad }
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
