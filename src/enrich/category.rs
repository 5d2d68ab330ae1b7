//! Which category: by words and sites, and by what is near in meaning.

use std::collections::HashSet;

use serde::Deserialize;

use super::{
    head::{Calibration, most_probable},
    links::{Link, Target},
    reading::{Reading, keys},
    taxonomy::Taxonomy,
};
use crate::{
    domain::{Bookmark, bookmark::Judged},
    text::script::{self, Script},
};

/// A word of the title says more than one of the text.
const IN_TITLE: f32 = 1.5;
/// A phrase of several words is no accident.
const PHRASE: f32 = 1.25;
/// So many of a category's words must be near: one may be near by accident.
const NEAREST: usize = 3;
/// Labels of a bookmark that count.
const MAX_LABELS: usize = 16;

/// What words and sites say for every category.
#[derive(Debug, Clone)]
pub(super) struct Points {
    pub(super) words: Vec<f32>,
    /// 1 for the category of a site that it leads to.
    pub(super) sites: Vec<f32>,
}

impl Points {
    pub(super) fn of(
        taxonomy: &Taxonomy,
        bookmark: &Bookmark,
        reading: &Reading,
        links: &[Link],
    ) -> Self {
        let none = vec![0.0; taxonomy.names().len()];
        let mut points = Self { words: none.clone(), sites: none };
        for link in links.iter().filter(|link| link.target != Target::Media) {
            if let Some(category) = taxonomy.of_host(&link.host) {
                points.sites[category] = 1.0;
            }
        }
        points.count_phrases(taxonomy, reading);
        if !reading.folded.is_empty() {
            points.count_japanese(taxonomy, reading);
        }
        for label in bookmark.labels.iter().take(MAX_LABELS) {
            for key in keys(label) {
                points.count_word(taxonomy, &key, 1.0);
            }
        }
        points
    }

    fn count_phrases(&mut self, taxonomy: &Taxonomy, reading: &Reading) {
        // A word that is repeated counts once.
        let mut seen: HashSet<(&str, usize)> = HashSet::new();
        for (at, word) in reading.words.iter().enumerate().filter(|(_, word)| !word.mention) {
            let factor = if reading.in_title(word) || word.hashtag { IN_TITLE } else { 1.0 };
            for phrase in taxonomy.phrases.get(&word.key).into_iter().flatten() {
                let rest = reading.words[at + 1..].iter().map(|word| &word.key);
                if phrase.rest.len() < reading.words.len() - at
                    && phrase.rest.iter().zip(rest).all(|(wanted, key)| wanted == key)
                    && seen.insert((&word.key, phrase.rest.len() * 1000 + phrase.category))
                {
                    let several = if phrase.rest.is_empty() { 1.0 } else { PHRASE };
                    self.words[phrase.category] += phrase.weight * factor * several;
                }
            }
        }
    }

    fn count_japanese(&mut self, taxonomy: &Taxonomy, reading: &Reading) {
        for (word, category, weight) in &taxonomy.japanese {
            if reading.folded.contains(word.as_str()) {
                self.words[*category] += weight * IN_TITLE;
            }
        }
        // `RAG実装`: a foreign word without a space around it.
        let mut seen = HashSet::new();
        for word in reading.words.iter().filter(|word| word.run) {
            let foreign = word.key.split(|c: char| script::of(c) != Script::Latin);
            for part in foreign.filter(|part| part.len() > 1 && seen.insert(*part)) {
                self.count_word(taxonomy, part, IN_TITLE);
            }
        }
    }

    fn count_word(&mut self, taxonomy: &Taxonomy, key: &str, factor: f32) {
        for phrase in taxonomy.phrases.get(key).into_iter().flatten() {
            if phrase.rest.is_empty() {
                self.words[phrase.category] += phrase.weight * factor;
            }
        }
    }

    /// What the head sees of one category: points, their share, and the site.
    pub(super) fn evidence(&self, category: usize) -> [f32; 3] {
        let all: f32 = self.words.iter().sum();
        let own = self.words[category];
        [own.ln_1p(), own / (all + 1.0), self.sites[category]]
    }
}

/// The vectors of each category's description and strong words.
pub(super) struct Centres(pub(super) Vec<Vec<Vec<f32>>>);

impl Centres {
    /// How near a vector is to each category, in standard deviations from the mean of all; 0 for a
    /// category without words.
    pub(super) fn nearness(&self, vector: &[f32]) -> Vec<f32> {
        let near = |words: &Vec<Vec<f32>>| {
            let mut near: Vec<f32> = words.iter().map(|word| dot(word, vector)).collect();
            near.sort_by(|a, b| b.total_cmp(a));
            near.truncate(NEAREST);
            (!near.is_empty()).then(|| near.iter().sum::<f32>() / near.len() as f32)
        };
        let near: Vec<Option<f32>> = self.0.iter().map(near).collect();
        let known: Vec<f32> = near.iter().copied().flatten().collect();
        let count = known.len().max(1) as f32;
        let mean = known.iter().sum::<f32>() / count;
        let deviation = (known.iter().map(|n| (n - mean).powi(2)).sum::<f32>() / count).sqrt();
        near.iter()
            .map(|near| near.map_or(0.0, |near| (near - mean) / deviation.max(1e-6)))
            .collect()
    }
}

/// How much each kind of evidence counts for a category. It is the same for all categories, so that
/// it serves a person's own taxonomy too.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shared {
    words: f32,
    share: f32,
    site: f32,
    near: f32,
    /// The score of the category where the rest goes.
    other: f32,
    confidence: Calibration,
}

/// The trained scores of categories.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoryHead {
    /// The built-in taxonomy's.
    classes: Vec<String>,
    vector: Vec<Vec<f32>>,
    bias: Vec<f32>,
    /// Beside `vector` and `bias`.
    beside_vector: Shared,
    /// For another taxonomy or another model.
    with_nearness: Shared,
    /// Without any model.
    words_only: Shared,
}

/// Confidence from which a category is named that no word and no site speaks for.
const MIN_GUESS: f32 = 0.4;

impl CategoryHead {
    /// Decides on a category. `near` is the nearness to each category, where there is a model;
    /// `vector` is one of the model that the head was trained on.
    pub(super) fn judge(
        &self,
        taxonomy: &Taxonomy,
        points: &Points,
        near: Option<&[f32]>,
        vector: Option<&[f32]>,
    ) -> Judged<String> {
        let vector = vector.filter(|_| self.classes == taxonomy.names());
        let shared = match (vector, near) {
            (Some(_), _) => &self.beside_vector,
            (None, Some(_)) => &self.with_nearness,
            (None, None) => &self.words_only,
        };
        let scores: Vec<f32> = (0..taxonomy.names().len())
            .map(|category| {
                let [words, share, site] = points.evidence(category);
                let near = near.and_then(|near| near.get(category)).copied().unwrap_or_default();
                let mut score = shared.words * words
                    + shared.share * share
                    + shared.site * site
                    + shared.near * near;
                if category == taxonomy.other() {
                    score += shared.other;
                }
                if let Some(vector) = vector {
                    score += dot(&self.vector[category], vector) + self.bias[category];
                }
                score
            })
            .collect();
        let (best, probability) = most_probable(&scores);
        let confidence = shared.confidence.apply(probability);
        // A guess from the vector alone names a category only where it is more than a guess.
        let guessed = points.evidence(best).iter().all(|evidence| *evidence == 0.0);
        let category = match guessed && confidence < MIN_GUESS {
            true => taxonomy.other(),
            false => best,
        };
        Judged::by_rule(taxonomy.names()[category].clone(), confidence)
    }

    #[cfg(test)]
    pub(super) fn fits(&self, names: &[String], dimensions: usize) -> bool {
        self.classes == names
            && self.vector.len() == names.len()
            && self.bias.len() == names.len()
            && self.vector.iter().all(|row| row.len() == dimensions)
    }
}

/// The product of two vectors, in eight sums that the compiler adds side by side.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::Timestamp,
        enrich::{head::Weights, links::links},
    };

    fn judge(title: &str, url: &str) -> Judged<String> {
        let taxonomy = Taxonomy::built_in().unwrap();
        let mut bookmark = Bookmark::new(Some("1"), url, "", Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        let points = Points::of(&taxonomy, &bookmark, &Reading::of(&bookmark), &links(&bookmark));
        Weights::built_in().unwrap().category.judge(&taxonomy, &points, None, None)
    }

    #[test]
    fn words_and_sites_in_three_languages() {
        for (title, url, category) in [
            ("RAG patterns for large language models", "", "AI-Tools"),
            ("Как дообучить языковую модель", "", "AI-Tools"),
            ("RAGの実装パターンをまとめた", "", "AI-Tools"),
            ("大規模言語モデルの評価", "", "AI-Tools"),
            ("Announcing something", "https://openai.com/blog/x", "AI-Tools"),
            ("Writing a compiler in Rust", "", "Programming"),
            ("Пишем компилятор на выходных", "", "Programming"),
            ("コンパイラを作る", "", "Programming"),
            ("A zero-day vulnerability in the VPN", "", "Security"),
            ("Нашли уязвимость в шифровании", "", "Security"),
            ("脆弱性の報告", "", "Security"),
            ("The Senate passed the bill", "", "Politics"),
            ("Выборы президента и новые законы", "", "Politics"),
            ("選挙と国会", "", "Politics"),
            ("Cancer vaccine in a clinical trial", "", "Health"),
            ("База данных на SQLite", "", "Data"),
            ("データベースの設計", "", "Data"),
            ("Вакцина против рака", "https://habr.com/ru/articles/1/", "Health"),
        ] {
            let judged = judge(title, url);
            assert_eq!(judged.value, category, "{title}");
            assert!((0.4..1.0).contains(&judged.confidence), "{title}: {}", judged.confidence);
        }
    }

    #[test]
    fn a_short_word_is_not_its_stem() {
        for title in ["Хлеб и молоко, и ещё яйца", "и"] {
            assert_ne!(judge(title, "").value, "AI-Tools", "{title}");
        }
        assert_eq!(judge("ИИ и хлеб", "").value, "AI-Tools");
    }

    #[test]
    fn what_nothing_is_known_of_goes_to_the_rest_and_is_unsure() {
        for title in ["Hm", "Как дела?", "そうですね", ""] {
            let judged = judge(title, "https://example.org/");
            assert_eq!(judged.value, "Other", "{title}");
            assert!(judged.confidence < 0.6, "{title}: {}", judged.confidence);
        }
    }

    #[test]
    fn the_nearest_description_helps_where_words_do_not() {
        let taxonomy = Taxonomy::built_in().unwrap();
        let none = vec![0.0; taxonomy.names().len()];
        let points = Points { words: none.clone(), sites: none.clone() };
        let mut near = none;
        near[3] = 2.5;
        let head = &Weights::built_in().unwrap().category;
        let judged = head.judge(&taxonomy, &points, Some(&near), None);
        assert_eq!(judged.value, taxonomy.names()[3]);
        assert!(judged.confidence <= 0.75, "{}", judged.confidence);
    }
}
