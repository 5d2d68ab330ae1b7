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

/// Titles about this and that. A description that is near to all of them is near to nothing in
/// particular, so how near it is to these is taken off.
const ANYTHING: [&str; 18] = [
    "Why I moved back to my old town",
    "The numbers are in, and they are not what we expected",
    "A short guide to getting started",
    "How we rebuilt our product from scratch",
    "What nobody tells you about the first ten years",
    "The rise and fall of a small company",
    "Measuring what matters (2019)",
    "Making a simple thing faster",
    "Почему всё опять сломалось",
    "Что мы узнали за последний год",
    "Как я провёл выходные",
    "Краткая история одной идеи",
    "Новый способ делать старые вещи",
    "今年学んだことのまとめ",
    "なぜうまくいかなかったのか",
    "小さな工夫で速くする方法",
    "ある町の昔の話",
    "初めての人のための簡単な説明",
];

/// What the model knows of the categories.
struct Described {
    vectors: Vec<Vec<f32>>,
    /// How near each is to anything at all.
    usual: Vec<f32>,
}

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
        let vectors = embed(&self.taxonomy.descriptions())?;
        let anything = embed(&ANYTHING)?;
        let usual = |about: &Vec<f32>| {
            anything.iter().map(|text| dot(about, text)).sum::<f32>() / anything.len() as f32
        };
        let usual = vectors.iter().map(usual).collect();
        let made = Arc::new(Described { vectors, usual });
        *described = Some(made.clone());
        Ok(made)
    }
}

impl Described {
    fn nearness(&self, vector: &[f32]) -> Vec<f32> {
        let all = self.vectors.iter().zip(&self.usual);
        all.map(|(about, usual)| dot(about, vector) - usual).collect()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether a rule may decide.
fn free<T>(judged: &Option<Judged<T>>) -> bool {
    judged.as_ref().is_none_or(|judged| judged.source == By::Rule)
}

#[cfg(test)]
mod tests;
