//! Tags: the names and phrases of a bookmark, a few, in small letters with hyphens (`vector-db`).
//!
//! Labels that came with it weigh most, then names (of repositories, of things with capitals of
//! their own, of several words with capitals), then words of the taxonomy, then words that are
//! frequent or in the title. A Russian word keeps the shortest form that the text has.

use std::collections::HashMap;

use super::{
    links::linked_projects,
    reading::{Case, Reading, Word},
    russian,
    taxonomy::Taxonomy,
};
use crate::domain::{Bookmark, bookmark::Judged};

pub(super) const MAX_TAGS: usize = 6;
/// Words of one phrase.
const MAX_PHRASE: usize = 3;
/// Words that are weighed.
const MAX_WORDS: usize = 600;
/// Characters of a tag.
const MAX_TAG: usize = 40;
/// The weight of a tag, at least. A Russian post has its subject in plain words, without capitals.
const MIN_WEIGHT: f32 = 1.0;
const MIN_WEIGHT_RUSSIAN: f32 = 0.75;
/// Weight of a word in the title. All of a post without a title is title.
const IN_TITLE: f32 = 1.5;
/// An adjective with the word it belongs to.
const QUALIFIED: f32 = 1.2;

struct Candidate {
    tag: String,
    weight: f32,
    keys: Vec<String>,
    at: usize,
}

pub(super) fn judge(
    taxonomy: &Taxonomy,
    bookmark: &Bookmark,
    reading: &Reading,
) -> Option<Judged<Vec<String>>> {
    let mut candidates: HashMap<String, Candidate> = HashMap::new();
    let mut add = |keys: Vec<String>, tag: String, weight: f32, at: usize| {
        if tag.is_empty() || tag.chars().count() > MAX_TAG {
            return;
        }
        let known = candidates.entry(keys.join(" ")).or_insert_with(|| Candidate {
            tag: tag.clone(),
            weight: 0.0,
            keys,
            at,
        });
        known.weight += weight;
        if tag.chars().count() < known.tag.chars().count() {
            known.tag = tag;
        }
    };
    for project in linked_projects(bookmark).take(2) {
        let tag = hyphened(&project.name);
        add(super::reading::keys(&project.name), tag, 6.0, 0);
    }
    for label in bookmark.labels.iter().take(12).filter(|label| !label.contains('.')) {
        add(super::reading::keys(label), hyphened(label), 4.0, 0);
    }
    let title_case = is_title_case(reading);
    let russian = bookmark.lang.as_deref() == Some("ru");
    let words = &reading.words[..reading.words.len().min(MAX_WORDS)];
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.counts()) {
        let place = match reading.in_title(word) || (russian && reading.title == 0) {
            true => IN_TITLE,
            false => 1.0,
        };
        let value = weight(taxonomy, word) * russian::subject(&word.form) * place;
        add(vec![word.key.clone()], hyphened(&word.form), value, at);
        if word.run {
            continue;
        }
        for length in 2..=MAX_PHRASE {
            let Some(phrase) = phrase(&words[at..], length) else { break };
            let value = phrase_weight(taxonomy, phrase, title_case);
            if value > 0.0 {
                let keys = phrase.iter().map(|word| word.key.clone()).collect();
                let tag: Vec<String> = phrase.iter().map(|word| hyphened(&word.form)).collect();
                add(keys, tag.join("-"), value * place, at);
            }
        }
    }
    let min_weight = if russian { MIN_WEIGHT_RUSSIAN } else { MIN_WEIGHT };
    let tags = choose(candidates.into_values().collect(), min_weight);
    let sure = match tags.len() {
        0 => return None,
        1 => 0.4,
        2 => 0.5,
        _ => 0.6,
    };
    Some(Judged::by_rule(tags, sure))
}

/// The words from here on, if nothing but spaces is between them and each says something.
fn phrase(words: &[Word], length: usize) -> Option<&[Word]> {
    let phrase = words.get(..length)?;
    let together = phrase[1..].iter().all(|word| !word.apart && !word.run);
    (together && phrase.iter().all(|word| word.counts() && !word.hashtag)).then_some(phrase)
}

fn weight(taxonomy: &Taxonomy, word: &Word) -> f32 {
    let known = taxonomy.phrases.get(&word.key).into_iter().flatten();
    let known = known.filter(|phrase| phrase.rest.is_empty()).map(|phrase| phrase.weight);
    let known = known.fold(0.0, f32::max);
    let name = match word.case {
        _ if word.hashtag => 3.0,
        Case::Mixed => 2.5,
        Case::Upper if word.form.chars().count() < 8 => 2.0,
        Case::Capital if !word.first => 0.8,
        Case::None if word.run => 0.8,
        _ => 0.0,
    };
    // A long word is seldom a small one.
    let long = (word.form.chars().count().min(12) as f32) / 24.0;
    let long = if word.run { (word.form.chars().count().min(8) as f32) / 8.0 } else { long };
    0.4 + known + name + long
}

fn phrase_weight(taxonomy: &Taxonomy, phrase: &[Word], title_case: bool) -> f32 {
    let (first, rest) = (&phrase[0], &phrase[1..]);
    let known = taxonomy.phrases.get(&first.key).into_iter().flatten().any(|known| {
        known.rest.len() == rest.len()
            && known.rest.iter().zip(rest).all(|(key, word)| *key == word.key)
    });
    if known {
        return 5.0;
    }
    let capital = |word: &Word| matches!(word.case, Case::Capital | Case::Mixed | Case::Upper);
    if !title_case && phrase.iter().all(capital) {
        return 2.6 + 0.4 * phrase.len() as f32;
    }
    if phrase.len() == 2 && russian::qualifies(&first.form, &rest[0].form) {
        return QUALIFIED;
    }
    // A phrase that occurs twice begins to weigh something.
    if phrase.len() == 2 { 0.6 } else { 0.5 }
}

/// Where every word has a capital, a capital says nothing.
fn is_title_case(reading: &Reading) -> bool {
    let words = reading.words.iter().filter(|word| word.counts() && !word.run && !word.first);
    let (all, capital) = words.fold((0, 0), |(all, capital), word| {
        (all + 1, capital + usize::from(word.case != Case::Lower))
    });
    all > 0 && capital * 10 >= all * 9
}

/// The best, none of them a part of a better one.
fn choose(mut candidates: Vec<Candidate>, min_weight: f32) -> Vec<String> {
    candidates.retain(|candidate| candidate.weight >= min_weight);
    candidates.sort_by(|a, b| {
        b.weight.total_cmp(&a.weight).then(a.at.cmp(&b.at)).then_with(|| a.tag.cmp(&b.tag))
    });
    let mut chosen: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let covers = |one: &Candidate, other: &Candidate| {
            other.keys.iter().all(|key| one.keys.contains(key))
        };
        let same = |known: &Candidate| {
            known.tag == candidate.tag || covers(known, &candidate) || covers(&candidate, known)
        };
        if !chosen.iter().any(same) {
            chosen.push(candidate);
        }
        if chosen.len() == MAX_TAGS {
            break;
        }
    }
    chosen.into_iter().map(|candidate| candidate.tag).collect()
}

/// `ActOnClimate` is `act-on-climate`, `vector_db` is `vector-db`, `CrewAI` is `crewai`.
fn hyphened(form: &str) -> String {
    let mut tag = String::with_capacity(form.len() + 4);
    let characters: Vec<char> = form.chars().take(60).collect();
    for (at, c) in characters.iter().enumerate() {
        let next = characters.get(at + 1);
        let starts = c.is_uppercase()
            && at > 0
            && characters[at - 1].is_lowercase()
            && next.is_some_and(|next| next.is_lowercase())
            // `JavaScript` and `GitHub` are one word; a hashtag of three or more is a sentence.
            && characters.iter().filter(|c| c.is_uppercase()).count() > 2;
        if starts {
            tag.push('-');
        }
        match c {
            c if c.is_alphanumeric() => tag.extend(c.to_lowercase()),
            '+' | '#' if !tag.is_empty() => tag.push(*c),
            '.' if next.is_some_and(|next| next.is_alphanumeric()) => tag.push('.'),
            '\'' | '’' => {}
            _ if !tag.is_empty() && !tag.ends_with('-') => tag.push('-'),
            _ => {}
        }
    }
    tag.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn of(title: &str, text: &str, url: &str, labels: &[&str]) -> Vec<String> {
        let taxonomy = Taxonomy::built_in().unwrap();
        let mut bookmark = Bookmark::new(Some("1"), url, text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        bookmark.labels = labels.iter().map(|label| (*label).to_owned()).collect();
        judge(&taxonomy, &bookmark, &Reading::of(&bookmark))
            .map(|tags| tags.value)
            .unwrap_or_default()
    }

    fn has(found: &[String], wanted: &[&str]) {
        for tag in wanted {
            assert!(found.iter().any(|known| known == tag), "{tag} in {found:?}");
        }
        assert!(found.len() <= MAX_TAGS, "{found:?}");
    }

    #[test]
    fn phrases_names_and_hashtags() {
        has(
            &of(
                "",
                "Building RAG with a vector database and CrewAI on large language models #ActOnClimate",
                "",
                &[],
            ),
            &["rag", "vector-database", "crewai", "act-on-climate"],
        );
        has(
            &of("", "We met President Barack Obama in the White House", "", &[]),
            &["president-barack-obama", "white-house"],
        );
        has(
            &of(
                "4ian/GDevelop",
                "2D game engine",
                "https://github.com/4ian/GDevelop",
                &["javascript"],
            ),
            &["gdevelop", "game-engine", "javascript"],
        );
    }

    #[test]
    fn russian_words_as_the_text_has_them() {
        has(
            &of(
                "",
                "Как устроены векторные базы данных и языковая модель GPT в Яндекс Облаке",
                "",
                &[],
            ),
            &["языковая-модель", "gpt", "яндекс-облаке"],
        );
        let found = of("", "Агентов много. Агент пишет код. Агенты спорят.", "", &[]);
        has(&found, &["агент"]);
    }

    #[test]
    fn japanese_runs() {
        has(
            &of("", "RAGの実装パターンと機械学習のエージェント", "", &[]),
            &["rag", "実装パターン", "機械学習", "エージェント"],
        );
    }

    #[test]
    fn nothing_where_there_is_nothing() {
        assert_eq!(of("", "the 1 of 2", "", &[]), [""; 0]);
        assert_eq!(hyphened("vector_db"), "vector-db");
        assert_eq!(hyphened("C++"), "c++");
        assert_eq!(hyphened("Node.js"), "node.js");
        assert_eq!(hyphened("GitHub"), "github");
    }
}
