//! What is made of a bookmark when it comes in: language, tags, category, sentiment, action and
//! summary, by rules, offline, the same every time.
//!
//! Each judgement carries how sure it is and that a rule made it. What a person or a model decided
//! is never touched. A bookmark's text is data: nothing in it is obeyed, and only its beginning is
//! looked at, so that no text costs more than another.

mod action;
mod category;
mod language;
mod reading;
mod sentiment;
mod summary;
mod tags;
mod taxonomy;
mod topics;

pub use taxonomy::Taxonomy;
pub use topics::topics;

use std::sync::{Arc, Mutex};

use self::reading::{Reading, first};
use crate::{
    domain::{
        Bookmark, Result,
        bookmark::{By, Judged},
    },
    index::Embed,
};

/// Characters that the model sees: the beginning says what it is about, and each token costs.
const EMBEDDED: usize = 300;

/// Texts that the model is given at once.
const TOGETHER: usize = 64;
/// So many of a category's words must be near: one may be near by accident.
const NEAR: usize = 3;

/// What the model makes of each category's description and strong words.
struct Described(Vec<Vec<Vec<f32>>>);

/// Judges bookmarks. Threads may share one.
pub struct Enricher {
    taxonomy: Taxonomy,
    embed: Option<Embed>,
    /// The descriptions of the categories, once they are asked for.
    described: Mutex<Option<Arc<Described>>>,
}

impl Enricher {
    pub fn new(taxonomy: Taxonomy, embed: Option<Embed>) -> Self {
        Self { taxonomy, embed, described: Mutex::new(None) }
    }

    pub fn taxonomy(&self) -> &Taxonomy {
        &self.taxonomy
    }

    /// Fills in what nobody has decided; what a rule decided before is decided again. A few hundred
    /// at a time use the model best.
    pub fn enrich(&self, batch: &mut [Bookmark]) -> Result<()> {
        let mut undecided = Vec::new();
        for (at, bookmark) in batch.iter_mut().enumerate() {
            let points = self.by_words(bookmark);
            if let Some(points) = points {
                undecided.push((at, points));
            }
        }
        let nearness = self.nearness(batch, &undecided)?;
        for (number, (at, points)) in undecided.iter().enumerate() {
            let near = nearness.as_ref().and_then(|all| all.get(number)).map(Vec::as_slice);
            batch[*at].category = Some(category::guessed(&self.taxonomy, points, near));
        }
        Ok(())
    }

    /// Everything that words decide; the points of the categories where they do not.
    fn by_words(&self, bookmark: &mut Bookmark) -> Option<Vec<f32>> {
        if bookmark.lang.is_none() {
            let title = first(&bookmark.title, EMBEDDED);
            bookmark.lang = language::of(&format!("{title}\n{}", first(&bookmark.text, EMBEDDED)));
        }
        let reading = Reading::of(bookmark);
        if free(&bookmark.tags) {
            bookmark.tags = tags::judge(&self.taxonomy, bookmark, &reading);
        }
        if free(&bookmark.sentiment) {
            bookmark.sentiment = Some(sentiment::judge(&reading));
        }
        if free(&bookmark.action) {
            bookmark.action = Some(action::judge(bookmark, &reading));
        }
        if free(&bookmark.summary) {
            bookmark.summary = summary::judge(bookmark, &reading);
        }
        if !free(&bookmark.category) {
            return None;
        }
        let points = category::points(&self.taxonomy, bookmark, &reading);
        bookmark.category = category::decided(&self.taxonomy, &points);
        bookmark.category.is_none().then_some(points)
    }

    /// How near each undecided bookmark is to each description; `None` without a model.
    fn nearness(
        &self,
        batch: &[Bookmark],
        undecided: &[(usize, Vec<f32>)],
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(embed) = self.embed.as_ref().filter(|_| !undecided.is_empty()) else {
            return Ok(None);
        };
        let described = self.described(embed)?;
        let texts: Vec<String> = undecided
            .iter()
            .map(|(at, _)| first(&batch[*at].words(), EMBEDDED).to_owned())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embed(&texts)?;
        Ok(Some(vectors.iter().map(|vector| described.nearness(vector)).collect()))
    }

    fn described(&self, embed: &Embed) -> Result<Arc<Described>> {
        let mut described = self.described.lock().unwrap_or_else(|lock| lock.into_inner());
        if let Some(described) = &*described {
            return Ok(described.clone());
        }
        let mut made = vec![Vec::new(); self.taxonomy.names().len()];
        for texts in self.taxonomy.described().chunks(TOGETHER) {
            let said: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
            for ((category, _), vector) in texts.iter().zip(embed(&said)?) {
                made[*category].push(vector);
            }
        }
        let made = Arc::new(Described(made));
        *described = Some(made.clone());
        Ok(made)
    }
}

impl Described {
    /// How near each category is: its nearest words, averaged.
    fn nearness(&self, vector: &[f32]) -> Vec<f32> {
        let near = |words: &Vec<Vec<f32>>| {
            let mut near: Vec<f32> = words.iter().map(|word| dot(word, vector)).collect();
            near.sort_by(|a, b| b.total_cmp(a));
            near.truncate(NEAR);
            near.iter().sum::<f32>() / near.len().max(1) as f32
        };
        self.0.iter().map(near).collect()
    }
}

/// In eight sums, which the compiler adds side by side.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let whole = a.len().min(b.len()) / 8 * 8;
    let rest: f32 = a[whole..].iter().zip(&b[whole..]).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Whether a rule may decide.
fn free<T>(judged: &Option<Judged<T>>) -> bool {
    judged.as_ref().is_none_or(|judged| judged.source == By::Rule)
}

#[cfg(test)]
mod tests;
