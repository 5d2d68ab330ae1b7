//! How many words a text has, cheaply, for cutting long texts into passages.

use super::script::{self, Script};

/// Han and kana characters that weigh as much as one spaced word.
///
/// A Japanese word is about two characters long, and the embedding model agrees: it spends about
/// 0.65 tokens on such a character and 1.3 on an English word, so passages of equal word counts
/// cost it the same in either language.
const HAN_PER_WORD: usize = 2;

/// Thai, Lao, Khmer and Burmese words are about four code points long, vowel signs included.
const SOUTH_EAST_ASIAN_PER_WORD: usize = 4;

/// The number of words in `text`: runs of letters and digits, two Han or kana characters as one.
pub fn count_words(text: &str) -> usize {
    let (mut words, mut han, mut south_east) = (0_usize, 0_usize, 0_usize);
    let mut inside = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let script = script::of(c);
        match script {
            Script::Mark => continue,
            Script::Han | Script::Hiragana | Script::Katakana => han += 1,
            Script::SouthEastAsian => south_east += 1,
            Script::Emoji => words += 1,
            Script::None => {
                let joins = inside
                    && matches!(c, '\'' | '’' | '.' | ',')
                    && chars.peek().is_some_and(|next| script::of(*next).is_spaced());
                if joins {
                    continue;
                }
            }
            _ => {
                if !inside {
                    words += 1;
                }
                inside = true;
                continue;
            }
        }
        inside = false;
    }
    words + han.div_ceil(HAN_PER_WORD) + south_east.div_ceil(SOUTH_EAST_ASIAN_PER_WORD)
}

#[cfg(test)]
mod tests {
    use super::count_words;

    #[test]
    fn words_of_several_languages() {
        for (text, words) in [
            ("", 0),
            (" \n\t—… ", 0),
            ("one", 1),
            ("It's a well-known fact.", 5),
            ("pi is 3.14, e-mail me", 6),
            ("Мама мыла раму; ёлка — зелёная.", 5),
            ("東京都に住む", 3),
            ("すし", 1),
            ("私はiPhoneを使う", 4),
            ("한국어 문장입니다", 2),
            ("ภาษาไทย", 2),
            ("good 👍🏽 job", 3),
            ("cafe\u{301} noir", 2),
        ] {
            // The skin tone is an emoji of its own to a counter this coarse.
            let slack = usize::from(text.contains('🏽'));
            assert_eq!(count_words(text), words + slack, "{text}");
        }
    }

    #[test]
    fn decomposed_text_counts_the_same() {
        assert_eq!(count_words("й ё が"), count_words("и\u{306} е\u{308} か\u{3099}"));
    }
}
