//! Which category: by site and words, and where they do not decide, by what is nearest in meaning.

use std::collections::HashSet;

use super::{
    reading::{Reading, keys},
    taxonomy::Taxonomy,
};
use crate::{
    domain::{
        Bookmark,
        bookmark::{Judged, domain},
    },
    text::script::{self, Script},
};

const SITE: f32 = 2.5;
/// A word of the title says more than one of the text.
const IN_TITLE: f32 = 1.5;
/// Enough points, and enough more than the next.
const ENOUGH: f32 = 1.5;
const AHEAD: f32 = 0.75;
/// What one hundredth of a cosine above the average is worth in points.
const NEARNESS: f32 = 0.25;
/// Less than this altogether is no category's.
const ANYTHING: f32 = 1.0;
const CLOSE: f32 = 0.1;

/// The points of every category.
pub(super) fn points(taxonomy: &Taxonomy, bookmark: &Bookmark, reading: &Reading) -> Vec<f32> {
    let mut points = vec![0.0; taxonomy.names().len()];
    let links = std::iter::once(&bookmark.url).chain(&bookmark.links);
    let sites: HashSet<usize> =
        links.take(8).filter_map(|address| taxonomy.of_host(&domain(address)?)).collect();
    for category in sites {
        points[category] += SITE;
    }
    // One word said often is still one word.
    let mut said: HashSet<(&str, usize)> = HashSet::new();
    for (at, word) in reading.words.iter().enumerate().filter(|(_, word)| !word.mention) {
        let factor = if reading.in_title(word) || word.hashtag { IN_TITLE } else { 1.0 };
        for phrase in taxonomy.phrases.get(&word.key).into_iter().flatten() {
            let rest = reading.words[at + 1..].iter().map(|word| &word.key);
            if phrase.rest.len() < reading.words.len() - at
                && phrase.rest.iter().zip(rest).all(|(wanted, key)| wanted == key)
                && said.insert((&word.key, phrase.rest.len() * 1000 + phrase.category))
            {
                // A phrase of several words is no accident.
                let several = if phrase.rest.is_empty() { 1.0 } else { 1.25 };
                points[phrase.category] += phrase.weight * factor * several;
            }
        }
    }
    if !reading.folded.is_empty() {
        japanese(taxonomy, reading, &mut points);
    }
    for label in bookmark.labels.iter().take(16) {
        for key in keys(label) {
            for phrase in taxonomy.phrases.get(&key).into_iter().flatten() {
                if phrase.rest.is_empty() {
                    points[phrase.category] += phrase.weight;
                }
            }
        }
    }
    points
}

fn japanese(taxonomy: &Taxonomy, reading: &Reading, points: &mut [f32]) {
    for (word, category, weight) in &taxonomy.japanese {
        if reading.folded.contains(word.as_str()) {
            points[*category] += weight * IN_TITLE;
        }
    }
    // `RAG実装`: a foreign word without a space around it.
    let mut said = HashSet::new();
    for word in reading.words.iter().filter(|word| word.run) {
        let foreign = word.key.split(|c: char| script::of(c) != Script::Latin);
        for part in foreign.filter(|part| part.len() > 1 && said.insert(*part)) {
            for phrase in taxonomy.phrases.get(part).into_iter().flatten() {
                if phrase.rest.is_empty() {
                    points[phrase.category] += phrase.weight;
                }
            }
        }
    }
}

/// The best category, its points and those of the next.
fn best(points: &[f32]) -> (usize, f32, f32) {
    let (mut at, mut first, mut second) = (0, f32::MIN, f32::MIN);
    for (category, points) in points.iter().enumerate() {
        if *points > first {
            (second, first, at) = (first, *points, category);
        } else if *points > second {
            second = *points;
        }
    }
    (at, first, second.max(0.0))
}

/// What words and sites say, if they say it clearly.
pub(super) fn decided(taxonomy: &Taxonomy, points: &[f32]) -> Option<Judged<String>> {
    let (at, first, second) = best(points);
    (first >= ENOUGH && first - second >= AHEAD)
        .then(|| Judged::by_rule(taxonomy.names()[at].clone(), certainty(first, second)))
}

/// The best guess: words and sites with, where there is a model, the nearest description.
pub(super) fn guessed(
    taxonomy: &Taxonomy,
    points: &[f32],
    nearness: Option<&[f32]>,
) -> Judged<String> {
    let other = taxonomy.other();
    let mut all = points.to_vec();
    if let Some(nearness) = nearness {
        let known = nearness.iter().enumerate().filter(|(at, _)| *at != other);
        let (sum, count) =
            known.fold((0.0, 0.0), |(sum, count), (_, near)| (sum + near, count + 1.0));
        let average: f32 = if count > 0.0 { sum / count } else { 0.0 };
        for (points, near) in all.iter_mut().zip(nearness) {
            *points += (near - average) * 100.0 * NEARNESS;
        }
    }
    all[other] = 0.0;
    let (at, first, second) = best(&all);
    let said = points.get(at).copied().unwrap_or_default();
    // Two that are equally near, and no word for either: a coin would say as much.
    let tossed = said == 0.0 && first - second < CLOSE;
    if at == other || first < ANYTHING || tossed {
        return Judged::by_rule(taxonomy.names()[other].clone(), 0.3);
    }
    // Nearness alone is often wrong.
    let most = if said > 0.0 { 0.6 } else { 0.5 };
    Judged::by_rule(taxonomy.names()[at].clone(), certainty(first, second).min(most))
}

fn certainty(first: f32, second: f32) -> f32 {
    let ahead = (first - second) / (first + second).max(0.01);
    let much = 1.0 - (-first / 4.0).exp();
    0.35 + 0.55 * ahead.clamp(0.0, 1.0) * much
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn judge(title: &str, url: &str) -> Judged<String> {
        let taxonomy = Taxonomy::built_in().unwrap();
        let mut bookmark = Bookmark::new(Some("1"), url, "", Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        let points = points(&taxonomy, &bookmark, &Reading::of(&bookmark));
        decided(&taxonomy, &points).unwrap_or_else(|| guessed(&taxonomy, &points, None))
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
        ] {
            let judged = judge(title, url);
            assert_eq!(judged.value, category, "{title}");
            assert!((0.4..0.95).contains(&judged.confidence), "{title}: {}", judged.confidence);
        }
    }

    #[test]
    fn what_nothing_is_known_of_goes_to_the_rest_and_says_so() {
        for title in ["Hm", "Как дела?", "そうですね", ""] {
            let judged = judge(title, "https://example.org/");
            assert_eq!((judged.value.as_str(), judged.confidence), ("Other", 0.3), "{title}");
        }
    }

    #[test]
    fn the_nearest_description_helps_where_words_do_not() {
        let taxonomy = Taxonomy::built_in().unwrap();
        let points = vec![0.0; taxonomy.names().len()];
        let mut nearness = vec![0.80; taxonomy.names().len()];
        nearness[3] = 0.86;
        let judged = guessed(&taxonomy, &points, Some(&nearness));
        assert_eq!(judged.value, taxonomy.names()[3]);
        assert!(judged.confidence <= 0.5);
        let flat = guessed(&taxonomy, &points, Some(&vec![0.8; nearness.len()]));
        assert_eq!(flat.value, "Other");
    }
}
