//! Word lists of `assets/words`: one file for each list, words apart by spaces, `#` for comments.

use std::{collections::HashSet, sync::LazyLock};

const STOP: &str = include_str!("../../assets/words/stop.txt");
pub(super) const POSITIVE: &str = include_str!("../../assets/words/positive.txt");
pub(super) const NEGATIVE: &str = include_str!("../../assets/words/negative.txt");
pub(super) const NEGATION: &str = include_str!("../../assets/words/negation.txt");

/// The words of a list, comments left out.
pub(super) fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// Whether a word, in small letters, is about no subject.
pub(super) fn is_stop(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| words(STOP).collect());
    WORDS.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_words() {
        assert!(words(POSITIVE).all(|word| word != "#" && word != "English"));
        for word in ["comments", "points", "шести", "миллионов", "今日", "毎回"] {
            assert!(is_stop(word), "{word}");
        }
        for word in ["rust", "агент", "機械学習"] {
            assert!(!is_stop(word), "{word}");
        }
    }

    #[test]
    fn no_word_is_both_good_and_bad() {
        let bad: HashSet<&str> = words(NEGATIVE).collect();
        let both: Vec<&str> = words(POSITIVE).filter(|word| bad.contains(word)).collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
