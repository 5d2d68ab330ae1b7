//! Questions that ask what a thing is, and sentences that say so.

use crate::text::script::{self, Script};

/// Words that come before the thing; lower case.
const BEFORE: &[&str] = &[
    "what is the definition of",
    "what is the meaning of",
    "what is meant by",
    "the definition of",
    "definition of",
    "define",
    "what is a",
    "what is an",
    "what is",
    "what's a",
    "what's an",
    "what's",
    "what are",
    "what does",
    "who is",
    "что такое",
    "что есть",
    "что значит",
    "что означает",
    "что означают",
    "кто такой",
    "кто такая",
    "кто такие",
    "определение",
];

/// Words that come after the thing.
const AFTER: &[&str] = &[
    "とは何のことですか",
    "とはどういう意味ですか",
    "とは何でしょうか",
    "とは何ですか",
    "とはなんですか",
    "とは何か",
    "とは何",
    "とは",
    "って何ですか",
    "って何",
    "ってなに",
    "の意味は何ですか",
    "の意味は",
    "の定義は何ですか",
    "の定義は",
];

/// Words that make what follows more than the name of a thing.
const RELATIONS: &[&str] = &[
    "of", "in", "for", "to", "by", "with", "on", "from", "that", "which", "at", "the", "my",
    "your", "our", "his", "her", "their", "its", "this", "these", "and", "or", "called", "used",
    "about", "than", "is", "are", "was", "most", "first", "another", "в", "на", "для", "от", "из",
    "с", "при", "мой", "моя", "мои", "это",
];
/// Words and characters of the name of a thing.
const MAX_TERM_WORDS: usize = 3;
const MAX_TERM_CHARS: usize = 40;
const MAX_TERM_CHARS_JA: usize = 16;
/// Letters by which another form of a name may be longer.
const MAX_ENDING_CHARS: usize = 2;

/// The thing that a question asks a definition of; lower case.
pub(super) fn term(question: &str) -> Option<String> {
    let lower = question.to_lowercase();
    let lower = lower.trim().trim_end_matches(['?', '？', '!', '.', '。', ' ']);
    if let Some(term) = AFTER.iter().find_map(|after| lower.strip_suffix(after)) {
        let term = term.trim().trim_matches(['「', '」', '『', '』', '"', '“', '”']);
        let joined = ['の', 'を', 'が', 'は', '、'].iter().any(|particle| term.contains(*particle));
        let long = term.chars().nth(MAX_TERM_CHARS_JA).is_some();
        return (!term.is_empty() && !joined && !long).then(|| term.to_owned());
    }
    let rest = BEFORE.iter().find_map(|before| {
        lower.strip_prefix(before).filter(|rest| rest.starts_with(char::is_whitespace))
    })?;
    let rest = rest.trim();
    let rest = match lower.starts_with("what does") {
        true => rest.strip_suffix(" mean").or_else(|| rest.strip_suffix(" stand for"))?,
        false => rest,
    };
    let term = ["a ", "an "].iter().find_map(|article| rest.strip_prefix(article)).unwrap_or(rest);
    let term = term.trim_matches(['"', '“', '”', '«', '»', '`', '\'']);
    let words: Vec<&str> = term.split_whitespace().collect();
    let named = words
        .iter()
        .all(|word| !RELATIONS.contains(word) && !word.ends_with("'s") && !word.ends_with("’s"));
    let short =
        (1..=MAX_TERM_WORDS).contains(&words.len()) && term.chars().nth(MAX_TERM_CHARS).is_none();
    (named && short).then(|| term.to_owned())
}

/// What joins a thing to what it is, right after its name.
const COPULAS: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "means",
    "mean",
    "refers to",
    "stands for",
    "denotes",
    "—",
    "–",
    "-",
    ":",
    "：",
    "=",
    "это",
    "является",
    "являются",
    "называют",
    "называется",
    "означает",
    "обозначает",
    "есть",
];
/// Words after a copula with which the sentence says something else of the thing.
const OTHERWISE: &[&str] =
    &["not", "also", "done", "here", "there", "now", "still", "often", "sometimes", "не"];

/// Whether the sentence says what the thing is: it begins with its name and a copula.
pub(super) fn defines(sentence: &str, term: &str) -> bool {
    let lower = sentence.to_lowercase();
    let lower = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let Some(at) = starts_with_term(lower, term) else { return false };
    let rest =
        after_brackets(lower[at..].trim_start_matches(['"', '»', '“', '”', '」', '`', '*', '_']));
    if let Some(told) = rest.strip_prefix("とは").or_else(|| rest.strip_prefix('は')) {
        let end = told.trim_end_matches(['。', '.', ' ', '）', ')']);
        let says = [
            "である",
            "です",
            "のこと",
            "のことである",
            "のことです",
            "を指す",
            "をいう",
            "という",
            "の一種",
            "の一つ",
            "だ",
        ];
        return rest.starts_with("とは")
            || says.iter().any(|says| end.ends_with(says))
            || told.contains("である")
            || is_nominal(end);
    }
    let rest = rest.trim_start_matches([',', ' ']);
    COPULAS.iter().any(|copula| {
        rest.strip_prefix(copula).is_some_and(|told| {
            let word = copula.chars().all(char::is_alphabetic);
            let apart = !word || told.starts_with(|c: char| !c.is_alphanumeric());
            let next = told.split_whitespace().next().unwrap_or_default();
            apart && !next.is_empty() && !OTHERWISE.contains(&next)
        })
    })
}

/// Japanese sentences that end in a noun: `梅雨は雨の多い期間`.
fn is_nominal(text: &str) -> bool {
    let last = text.chars().next_back();
    last.is_some_and(|c| matches!(script::of(c), Script::Han | Script::Katakana))
}

/// Where the name ends, after an article; in a plural or another case too.
fn starts_with_term(sentence: &str, term: &str) -> Option<usize> {
    for article in ["a ", "an ", "the ", ""] {
        let Some(rest) = sentence.strip_prefix(article) else { continue };
        let spaced = term.chars().next_back().is_some_and(|c| script::of(c).is_spaced());
        let end = match (rest.starts_with(term), spaced) {
            (true, false) => Some(term.len()),
            (true, true) => Some(term.len() + ending(&rest[term.len()..])),
            // Another case: all but the last two letters.
            (false, true) if term.chars().nth(4).is_some() => {
                let stem = term.char_indices().rev().nth(1).map_or(term, |(at, _)| &term[..at]);
                rest.strip_prefix(stem).map(|more| stem.len() + ending(more))
            }
            _ => None,
        };
        let Some(end) = end else { continue };
        let most = term.chars().count() + MAX_ENDING_CHARS;
        if rest[..end].chars().count() <= most {
            return Some(article.len() + end);
        }
    }
    None
}

/// The rest of a word.
fn ending(text: &str) -> usize {
    text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len())
}

/// Leaves out `(つゆ)` or `(also …)` after a name.
fn after_brackets(text: &str) -> &str {
    let text = text.trim_start();
    for (open, close) in [('(', ')'), ('（', '）')] {
        if let Some(inner) = text.strip_prefix(open)
            && let Some(end) = inner.find(close)
        {
            return inner[end + close.len_utf8()..].trim_start();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_of_questions_in_three_languages() {
        for (question, expected) in [
            ("What is a pod?", Some("pod")),
            ("What is Kubernetes?", Some("kubernetes")),
            ("What does CRDT mean?", Some("crdt")),
            ("What is the population of Warsaw?", None),
            ("What is the largest city?", None),
            ("What does the kettle cost?", None),
            ("Что такое энтропия?", Some("энтропия")),
            ("Кто такой Лисицын?", Some("лисицын")),
            ("Что купить?", None),
            ("梅雨とは何ですか？", Some("梅雨")),
            ("エントロピーって何？", Some("エントロピー")),
            ("沖縄の梅雨入りはいつですか", None),
        ] {
            assert_eq!(term(question).as_deref(), expected, "{question}");
        }
    }

    #[test]
    fn sentences_that_define_and_that_mention() {
        for (sentence, term, expected) in [
            ("A pod is the smallest unit of work.", "pod", true),
            ("Pods are groups of containers.", "pod", true),
            ("Podcasts are fun.", "pod", false),
            ("Today I read about pods.", "pod", false),
            ("Kubernetes (K8s) is a scheduler.", "kubernetes", true),
            ("Kubernetes is not easy.", "kubernetes", false),
            ("**Entropy** — a measure of disorder.", "entropy", true),
            ("Энтропия — это мера беспорядка.", "энтропия", true),
            ("Сегодня читал про энтропию.", "энтропия", false),
            ("梅雨（つゆ）は、雨の多い期間のこと。", "梅雨", true),
            ("梅雨とは雨の季節をいう。", "梅雨", true),
            ("梅雨が嫌いだ。", "梅雨", false),
            ("今日は梅雨について読んだ。", "梅雨", false),
        ] {
            assert_eq!(defines(sentence, term), expected, "{sentence}");
        }
    }
}
