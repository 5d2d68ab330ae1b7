//! What a bookmark is about and for: language, tags, category, sentiment, action and summary,
//! decided offline, the same every time.
//!
//! Rules read the words and links of a bookmark. Where the embedded model is in use, a linear head
//! over its vector and the rules' evidence decides on category, sentiment and action (`head`);
//! without it the rules alone do. Each judgement carries a calibrated confidence. What a person or
//! a language model decided is never touched. A bookmark's text is data: nothing in it is obeyed,
//! and only its beginning is read, so that the work is bounded.

mod action;
mod category;
mod coverage;
mod features;
mod head;
mod language;
mod links;
pub mod model;
mod project;
mod purpose;
mod reading;
mod russian;
mod sentiment;
mod summary;
mod tags;
mod taxonomy;
mod tool;
mod topics;
pub mod training;
mod word_lists;

pub use coverage::covered;
pub use links::linked_projects;
pub use project::{Project, project};
pub use taxonomy::Taxonomy;
pub use tool::tool_name;
pub use topics::topics;

use std::sync::{Arc, Mutex, PoisonError};

use self::{
    action::Reason,
    category::{Centres, Points},
    features::{Features, Signals},
    head::Weights,
    links::links,
    purpose::Purposes,
    reading::{Reading, first},
    sentiment::Tone,
};
use crate::{
    domain::{
        Bookmark, Result,
        bookmark::{By, Judged},
    },
    embed::{Embedder, Role},
};

/// Characters that the model sees: the beginning says what it is about, and each token costs.
const MAX_EMBEDDED: usize = 300;
/// Texts that the model is given at once.
const EMBED_BATCH: usize = 64;

/// Judges bookmarks. Threads may share one.
pub struct Enricher {
    taxonomy: Taxonomy,
    embedder: Option<Arc<dyn Embedder>>,
    weights: Arc<Weights>,
    /// The vectors of the categories, once they are asked for.
    centres: Mutex<Option<Arc<Centres>>>,
}

/// What the rules see in a bookmark.
struct Evidence {
    reading: Reading,
    reason: Reason,
    tone: Tone,
    input: Input,
}

/// What the head decides by.
struct Input {
    /// For the model.
    text: String,
    points: Points,
    features: Features,
}

impl Enricher {
    /// Rules and categories, and the model where there is one.
    pub fn new(taxonomy: Taxonomy, embedder: Option<Arc<dyn Embedder>>) -> Result<Self> {
        let weights = Weights::built_in()?;
        Ok(Self { taxonomy, embedder, weights, centres: Mutex::new(None) })
    }

    /// The categories.
    pub fn taxonomy(&self) -> &Taxonomy {
        &self.taxonomy
    }

    /// Fills in what nobody has decided; what a rule decided before is decided again. A few hundred
    /// at a time use the model best.
    pub fn enrich(&self, batch: &mut [Bookmark]) -> Result<()> {
        let mut undecided: Vec<(usize, Input)> = Vec::new();
        for (at, bookmark) in batch.iter_mut().enumerate() {
            undecided.extend(self.apply_rules(bookmark).map(|input| (at, input)));
        }
        let vectors = self.vectors(undecided.iter().map(|(_, input)| input.text.as_str()))?;
        for (number, (at, input)) in undecided.iter().enumerate() {
            let vector = vectors.as_ref().and_then(|all| all.get(number)).map(Vec::as_slice);
            self.apply_head(&mut batch[*at], input, vector)?;
        }
        Ok(())
    }

    fn evidence(&self, bookmark: &mut Bookmark) -> Evidence {
        if bookmark.lang.is_none() {
            let title = first(&bookmark.title, MAX_EMBEDDED);
            let text = first(&bookmark.text, MAX_EMBEDDED);
            bookmark.lang = language::of(&format!("{title}\n{text}"));
        }
        let reading = Reading::of(bookmark);
        let links = links(bookmark);
        let purposes = Purposes::of(&reading);
        let reason = Reason::of(bookmark, &reading, &links, &purposes);
        let tone = Tone::of(&reading);
        let points = Points::of(&self.taxonomy, bookmark, &reading, &links);
        let features = Features::of(&Signals {
            bookmark,
            reading: &reading,
            links: &links,
            purposes: &purposes,
            tone,
            reason,
        });
        let text = reading.opening(MAX_EMBEDDED);
        Evidence { reading, reason, tone, input: Input { text, points, features } }
    }

    /// Sets what words decide. Returns what the head needs where it has something left to decide.
    fn apply_rules(&self, bookmark: &mut Bookmark) -> Option<Input> {
        let Evidence { reading, reason, tone, input } = self.evidence(bookmark);
        if is_free(&bookmark.tags) {
            bookmark.tags = tags::judge(&self.taxonomy, bookmark, &reading);
        }
        if is_free(&bookmark.summary) {
            bookmark.summary = summary::judge(bookmark, &reading);
        }
        let mut open = is_free(&bookmark.category);
        if is_free(&bookmark.sentiment) {
            bookmark.sentiment = Some(tone.verdict());
            open = true;
        }
        if is_free(&bookmark.action) {
            bookmark.action = Some(reason.verdict());
            open = true;
        }
        open.then_some(input)
    }

    /// Sets what the head decides: everything with a vector of the model that it was trained on,
    /// the category in any case.
    fn apply_head(
        &self,
        bookmark: &mut Bookmark,
        input: &Input,
        vector: Option<&[f32]>,
    ) -> Result<()> {
        let trained = vector.filter(|_| self.is_trained(&input.features));
        if let Some(vector) = trained {
            if is_free(&bookmark.sentiment) {
                bookmark.sentiment = Some(self.weights.sentiment.judge(vector, &input.features)?);
            }
            if is_free(&bookmark.action) {
                bookmark.action = Some(self.weights.action.judge(vector, &input.features)?);
            }
        }
        if is_free(&bookmark.category) {
            let near = match (vector, &self.embedder) {
                (Some(vector), Some(embedder)) => Some(self.centres(embedder)?.nearness(vector)),
                _ => None,
            };
            let head = &self.weights.category;
            bookmark.category =
                Some(head.judge(&self.taxonomy, &input.points, near.as_deref(), trained));
        }
        Ok(())
    }

    /// Whether the weights were trained on vectors of this embedder and on these features.
    fn is_trained(&self, features: &Features) -> bool {
        let Weights { model, dimensions, features: names, .. } = &*self.weights;
        names.len() == features.0.len()
            && self
                .embedder
                .as_ref()
                .is_some_and(|embedder| embedder.id() == model && embedder.dims() == *dimensions)
    }

    /// One vector for each text; `None` without a model.
    fn vectors<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(embedder) = &self.embedder else { return Ok(None) };
        let texts: Vec<&str> = texts.collect();
        match texts.is_empty() {
            true => Ok(None),
            false => embedder.embed(&texts, Role::Passage).map(Some),
        }
    }

    fn centres(&self, embedder: &Arc<dyn Embedder>) -> Result<Arc<Centres>> {
        let mut known = self.centres.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(centres) = &*known {
            return Ok(centres.clone());
        }
        let mut vectors = vec![Vec::new(); self.taxonomy.names().len()];
        for texts in self.taxonomy.described().chunks(EMBED_BATCH) {
            let plain: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
            for ((category, _), vector) in texts.iter().zip(embedder.embed(&plain, Role::Passage)?)
            {
                vectors[*category].push(vector);
            }
        }
        let centres = Arc::new(Centres(vectors));
        *known = Some(centres.clone());
        Ok(centres)
    }
}

/// Whether a rule may decide.
fn is_free<T>(judged: &Option<Judged<T>>) -> bool {
    judged.as_ref().is_none_or(|judged| judged.source == By::Rule)
}

#[cfg(test)]
mod tests;
