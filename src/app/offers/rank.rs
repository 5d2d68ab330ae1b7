//! Which offers answer a question, by their words and by their meaning. Offers are few and short, so
//! all of them are compared, in memory; the text that is sold is no part of it.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use crate::text::{self, Kind, Lang, Mode};

/// What buyers read of an offer, by how much a word in it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Described {
    pub title: String,
    pub name: String,
    pub labels: Vec<String>,
    pub description: String,
    pub example: String,
    pub author: String,
    pub lang: Option<String>,
}

impl Described {
    /// What is embedded.
    pub(super) fn passage(&self) -> String {
        let parts = [&self.title, &self.description, &self.labels.join(", "), &self.example];
        let parts: Vec<&str> =
            parts.into_iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// The texts with what a word in each counts. A name such as `code-review` is words, too.
    fn fields(&self) -> [(&str, f32); 5] {
        [
            (&self.title, 1.0),
            (&self.name, 1.0),
            (&self.author, 1.0),
            (&self.description, 0.8),
            (&self.example, 0.5),
        ]
    }

    /// The terms of the offer, each with the weight of the best field that has it.
    fn terms(&self) -> HashMap<String, f32> {
        let stated = self.lang.as_deref().and_then(Lang::from_code);
        let lang = stated.unwrap_or_else(|| text::lang::detect(&self.passage()));
        let labels = self.labels.join("\n");
        let mut terms: HashMap<String, f32> = HashMap::new();
        for (field, weight) in self.fields().into_iter().chain([(labels.as_str(), 1.0)]) {
            text::with_analyser(|analyser| {
                analyser.analyse(field, Some(lang), Mode::Index, |token| {
                    let known = terms.entry(token.term.to_owned()).or_default();
                    *known = known.max(weight);
                });
            });
        }
        terms
    }
}

/// A word of a question, with the terms that stand for it.
struct Word {
    alternatives: Vec<(String, f32)>,
}

/// The words of a question. Words that only hold a sentence together are left out, unless there are
/// no others.
fn words(question: &str) -> Vec<Word> {
    let terms = text::with_analyser(|analyser| analyser.terms(question, None, Mode::Query));
    let is_filler = |range: &Range<usize>| {
        let typed = question.get(range.clone()).unwrap_or_default();
        [Lang::English, Lang::Russian].iter().any(|lang| text::is_stop_word(typed, Some(*lang)))
    };
    let only_filler = terms.iter().all(|term| is_filler(&term.range));
    let mut found: Vec<(Range<usize>, Word)> = Vec::new();
    for term in terms {
        if !only_filler && is_filler(&term.range) {
            continue;
        }
        let weight = match term.kind {
            Kind::Word | Kind::Key | Kind::Gram | Kind::Emoji | Kind::Form(_) | Kind::Variant => {
                1.0
            }
            Kind::Whole => 0.8,
            Kind::Single | Kind::Part => 0.3,
        };
        match found.last_mut().filter(|(range, _)| *range == term.range) {
            Some((_, word)) => word.alternatives.push((term.term, weight)),
            None => {
                let word = Word { alternatives: vec![(term.term, weight)] };
                found.push((term.range, word));
            }
        }
    }
    found.into_iter().map(|(_, word)| word).collect()
}

/// The share of a question that each offer's words answer, 0 to 1. A rare word is a larger share.
pub(super) fn shares(question: &str, offers: &[&Described]) -> Vec<f32> {
    let offers: Vec<HashMap<String, f32>> = offers.iter().map(|offer| offer.terms()).collect();
    let words = words(question);
    let rarity: Vec<f32> = words
        .iter()
        .map(|word| {
            let terms: HashSet<&str> =
                word.alternatives.iter().map(|(term, _)| term.as_str()).collect();
            let having = offers
                .iter()
                .filter(|offer| terms.iter().any(|term| offer.contains_key(*term)))
                .count() as f32;
            1.0 + ((offers.len() as f32 + 1.0) / (having + 1.0)).ln()
        })
        .collect();
    let whole: f32 = rarity.iter().sum();
    let share = |offer: &HashMap<String, f32>| {
        let matched = words.iter().zip(&rarity).map(|(word, rarity)| {
            let best = word
                .alternatives
                .iter()
                .filter_map(|(term, weight)| Some(weight * offer.get(term)?))
                .fold(0.0, f32::max);
            best * rarity
        });
        if whole > 0.0 { matched.sum::<f32>() / whole } else { 0.0 }
    };
    offers.iter().map(share).collect()
}

/// The share of the words from which an offer is a result, whatever it means.
const ENOUGH_WORDS: f32 = 0.3;
/// The cosine from which an offer is a result, whatever its words. Offers that have nothing to do
/// with a question stay below 0.23 with the embedded model.
const ENOUGH_MEANING: f32 = 0.24;
/// What is enough of both, and of words where there is no meaning to go by.
const SOME_WORDS: f32 = 0.15;
const SOME_MEANING: f32 = 0.15;

/// How well an offer answers, 0 to 1; `None` where it does not.
pub(super) fn relevance(share: f32, cosine: Option<f32>) -> Option<f32> {
    let share = share.clamp(0.0, 1.0);
    let Some(near) = cosine.map(|cosine| cosine.clamp(0.0, 1.0)) else {
        return (share >= SOME_WORDS).then_some(share);
    };
    let answers = share >= ENOUGH_WORDS
        || near >= ENOUGH_MEANING
        || (share >= SOME_WORDS && near >= SOME_MEANING);
    answers.then_some(0.5 * share + 0.5 * near)
}

/// The cosine of two vectors of length one.
pub(super) fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::{Embedder, Role, embedded::Embedded};

    fn offer(title: &str, description: &str) -> Described {
        Described { title: title.into(), description: description.into(), ..Described::default() }
    }

    fn shop() -> [Described; 6] {
        [
            offer("Code review", "A strict review of Rust code with a checklist"),
            offer("Interview questions", "Prepares questions for hiring a backend developer"),
            offer("Разбор договора", "Находит в договоре аренды риски для арендатора"),
            offer("Рецепты супов", "Предлагает суп из того, что есть в холодильнике"),
            offer("旅行計画", "京都の三日間の旅程を作ります"),
            offer("議事録の要約", "会議の議事録を短くまとめます"),
        ]
    }

    fn best(question: &str, embedder: Option<&Embedded>) -> Option<usize> {
        let offers = shop();
        let shares = shares(question, &offers.iter().collect::<Vec<_>>());
        let cosines: Vec<Option<f32>> = match embedder {
            None => vec![None; offers.len()],
            Some(embedder) => {
                let question = embedder.embed(&[question], Role::Query).unwrap().remove(0);
                let passages: Vec<String> = offers.iter().map(Described::passage).collect();
                let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
                let vectors = embedder.embed(&passages, Role::Passage).unwrap();
                vectors.iter().map(|vector| Some(cosine(vector, &question))).collect()
            }
        };
        let relevant = shares.into_iter().zip(cosines).map(|(share, near)| relevance(share, near));
        let relevant = relevant.enumerate().filter_map(|(at, value)| Some((at, value?)));
        relevant.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    #[test]
    fn other_forms_of_a_word_find_an_offer() {
        for (question, expected) in [
            ("reviewing", Some(0)),
            ("hired developers", Some(1)),
            ("договоры", Some(2)),
            ("супа", Some(3)),
            ("京都旅行", Some(4)),
            ("会議のまとめ", Some(5)),
            ("zeppelin", None),
            ("дирижабль", None),
            ("飛行船", None),
        ] {
            assert_eq!(best(question, None), expected, "{question}");
        }
    }

    #[test]
    fn a_meaning_finds_an_offer_without_its_words() {
        let embedder = Embedded::new();
        for (question, expected) in [
            ("check my program for mistakes", Some(0)),
            ("what to ask an applicant", Some(1)),
            ("contract risks", Some(2)),
            ("что приготовить на ужин", Some(3)),
            ("休暇の予定", Some(4)),
            ("summarise a meeting", Some(5)),
            ("tax return", None),
            ("ремонт велосипеда", None),
        ] {
            assert_eq!(best(question, Some(&embedder)), expected, "{question}");
        }
    }
}
