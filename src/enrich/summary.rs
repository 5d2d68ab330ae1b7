//! A summary: the one or two sentences with the weightiest words, verbatim.

use std::collections::{HashMap, HashSet};

use super::reading::{Reading, first};
use crate::{
    domain::{Bookmark, bookmark::Judged},
    text::sentences::sentences,
};

/// Characters of a summary.
pub(super) const MAX_CHARACTERS: usize = 200;
/// Sentences that are weighed; the rest of a long text seldom says better what it is about.
const MAX_SENTENCES: usize = 60;

pub(super) fn judge(bookmark: &Bookmark, reading: &Reading) -> Option<Judged<String>> {
    let text = &reading.body[reading.title..];
    let mut all: Vec<Sentence> = sentences(text)
        .into_iter()
        .take(MAX_SENTENCES)
        .map(|range| Sentence::of(range.start + reading.title..range.end + reading.title, reading))
        .filter(|sentence| sentence.words > 0)
        .collect();
    let title = clean(&bookmark.title);
    if all.is_empty() {
        let (text, sure) = if title.is_empty() { (clean(text), 0.3) } else { (title, 0.5) };
        return (!text.is_empty()).then(|| Judged::by_rule(cut(&text), sure));
    }
    weigh(&mut all, reading);
    let best = (0..all.len())
        .fold(0, |best, at| if all[at].weight > all[best].weight { at } else { best });
    // Numbers and names of accounts only: the title says more.
    if all[best].words < 3 && !title.is_empty() && !reading.words.iter().any(|word| word.run) {
        return Some(Judged::by_rule(cut(&title), 0.5));
    }
    let whole = all.len() == 1;
    let mut text = clean(&reading.body[all[best].range.clone()]);
    for next in &all[best + 1..] {
        let more = clean(&reading.body[next.range.clone()]);
        if text.chars().count() + more.chars().count() + 1 > MAX_CHARACTERS {
            break;
        }
        if !text.ends_with(['。', '！', '？']) {
            text.push(' ');
        }
        text.push_str(&more);
    }
    let sure = if whole && text.chars().count() <= MAX_CHARACTERS { 0.8 } else { 0.55 };
    Some(Judged::by_rule(cut(&text), sure))
}

struct Sentence {
    range: std::ops::Range<usize>,
    /// Words that say something.
    words: usize,
    weight: f32,
}

impl Sentence {
    fn of(range: std::ops::Range<usize>, reading: &Reading) -> Self {
        let words = inside(reading, &range).count();
        Self { range, words, weight: 0.0 }
    }
}

fn inside<'a>(
    reading: &'a Reading,
    range: &'a std::ops::Range<usize>,
) -> impl Iterator<Item = &'a super::reading::Word> {
    let from = reading.words.partition_point(|word| word.range.start < range.start);
    reading.words[from..]
        .iter()
        .take_while(|word| word.range.start < range.end)
        .filter(|word| word.counts())
}

/// A sentence weighs what its words weigh: how often the text says them, and whether the title does.
fn weigh(all: &mut [Sentence], reading: &Reading) {
    let mut often: HashMap<&str, f32> = HashMap::new();
    for word in reading.words.iter().filter(|word| word.counts()) {
        let weight = if reading.in_title(word) { 1.5 } else { 1.0 };
        *often.entry(&word.key).or_default() += weight;
    }
    for (at, sentence) in all.iter_mut().enumerate() {
        let mut seen = HashSet::new();
        let sum: f32 = inside(reading, &sentence.range)
            .filter(|word| seen.insert(&word.key))
            .map(|word| often.get(word.key.as_str()).copied().unwrap_or_default().ln_1p())
            .sum();
        // Long sentences have more words without saying more.
        let early = 1.0 + 0.5 / (at as f32 + 1.0);
        sentence.weight = sum / (sentence.words.max(4) as f32).sqrt() * early;
    }
}

/// One line, without what is not text.
fn clean(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let start = first(text, MAX_CHARACTERS - 1);
    let end = start.rfind(' ').filter(|end| *end > start.len() / 2).unwrap_or(start.len());
    format!("{}…", start[..end].trim_end_matches([',', ';', ':', '、', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn of(title: &str, text: &str) -> Judged<String> {
        let mut bookmark =
            Bookmark::new(Some("1"), "https://example.org", text, Timestamp(0)).unwrap();
        bookmark.title = title.to_owned();
        judge(&bookmark, &Reading::of(&bookmark)).unwrap()
    }

    #[test]
    fn the_sentence_that_says_most() {
        for (title, text, expected) in [
            (
                "Vector search",
                "Hello there. A vector search engine finds passages by vectors. Bye now, and see you.",
                "A vector search engine finds",
            ),
            (
                "Векторный поиск",
                "Всем привет. Векторный поиск находит похожие тексты по векторам. Пока.",
                "Векторный поиск находит",
            ),
            (
                "ベクトル検索",
                "こんにちは。ベクトル検索は意味の近い文章を検索する技術です。さようなら。",
                "ベクトル検索は意味の近い文章",
            ),
        ] {
            let summary = of(title, text);
            assert!(summary.value.starts_with(expected), "{}", summary.value);
            assert!(summary.value.chars().count() <= MAX_CHARACTERS);
        }
    }

    #[test]
    fn the_title_where_there_is_no_text() {
        for title in ["Only a title", "Только заголовок", "題名だけ"] {
            assert_eq!(of(title, "").value, title);
            assert_eq!(of(title, "https://example.org/x").value, title);
        }
        assert_eq!(of("English ↔ Claudish", "22 points, 16 comments").value, "English ↔ Claudish");
    }

    #[test]
    fn never_too_long_and_never_markup_of_lines() {
        for text in [
            "слово ".repeat(500),
            "漢字".repeat(500),
            "x".repeat(100_000),
            "a\u{1}b\nc\n\n\nd ".repeat(100),
        ] {
            let summary = of("", &text).value;
            assert!(summary.chars().count() <= MAX_CHARACTERS, "{}", summary.chars().count());
            assert!(!summary.contains('\n') && !summary.contains('\u{1}'));
        }
    }
}
