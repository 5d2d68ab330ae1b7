//! The tone of a post: word lists in three languages, turned round by a negation.
//!
//! Most of what people save is a plain statement, so neutral is the answer unless words say
//! otherwise.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::{
    reading::{Reading, fold, is_japanese, keys},
    word_lists::{NEGATION, NEGATIVE, POSITIVE, words},
};
use crate::domain::{bookmark::Judged, query::Sentiment};

/// What turns a Japanese word round stands behind it.
const JAPANESE_NEGATION: [&str; 7] = ["ない", "なく", "ません", "なかった", "ず、", "じゃ", "では"];
/// Adjectives whose own ending changes: 良くない.
const JAPANESE_ENDINGS: [(&str, f32); 5] =
    [("良くな", -1.0), ("よくな", -0.7), ("楽しくな", -1.0), ("悪くな", 0.7), ("面白くな", -1.0)];

const POSITIVE_EMOJI: &str = "😀😃😄😁😊😍🥰😎👍👏🎉🎊❤💕💖🔥✨🙌🥳🏆😂🤩💯🙏";
const NEGATIVE_EMOJI: &str = "😡😠😢😭😞😔👎💔😱🤬😨😰🤮💀😤";

/// Words before a word that may turn it round.
const NEGATION_REACH: usize = 3;
/// Weight of a negated word: `not bad` is no praise.
const NEGATED: f32 = 0.7;
const EMOJI: f32 = 0.8;

/// Share of the posts with such a verdict that people judge the same: measured on the labelled set.
const NEUTRAL_CONFIDENCE: f32 = 0.7;
const MIXED_CONFIDENCE: f32 = 0.6;

struct Lexicon {
    words: HashMap<String, f32>,
    /// Found anywhere in a text.
    japanese: Vec<(String, f32)>,
    negations: HashSet<&'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon {
        words: HashMap::new(),
        japanese: Vec::new(),
        negations: words(NEGATION).collect(),
    };
    for (list, sign) in [(POSITIVE, 1.0), (NEGATIVE, -1.0)] {
        for word in words(list) {
            match is_japanese(word) {
                true => lexicon.japanese.push((fold(word), sign)),
                false => lexicon.words.extend(keys(word).into_iter().map(|key| (key, sign))),
            }
        }
    }
    lexicon
});

/// How much of a text is praise and how much blame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tone {
    pub(super) good: f32,
    pub(super) bad: f32,
    /// Words of the text.
    words: usize,
}

impl Tone {
    pub(super) fn of(reading: &Reading) -> Self {
        let mut tone = Self { words: reading.words.len(), ..Self::default() };
        tone.count_words(reading);
        if !reading.folded.is_empty() {
            tone.count_japanese(&reading.folded);
        }
        for c in reading.body.chars().filter(|c| !c.is_ascii()) {
            if POSITIVE_EMOJI.contains(c) {
                tone.add(EMOJI);
            } else if NEGATIVE_EMOJI.contains(c) {
                tone.add(-EMOJI);
            }
        }
        tone
    }

    fn add(&mut self, sign: f32) {
        if sign > 0.0 {
            self.good += sign;
        } else {
            self.bad -= sign;
        }
    }

    fn count_words(&mut self, reading: &Reading) {
        let lexicon = &*LEXICON;
        for (at, word) in reading.words.iter().enumerate().filter(|(_, word)| !word.mention) {
            let Some(sign) = lexicon.words.get(&word.key) else { continue };
            let before = &reading.words[at.saturating_sub(NEGATION_REACH)..at];
            let negated = before.iter().any(|word| {
                let bare: String =
                    word.form.to_lowercase().chars().filter(|c| !matches!(c, '\'' | '’')).collect();
                lexicon.negations.contains(bare.as_str())
            });
            self.add(if negated { -sign * NEGATED } else { *sign });
        }
    }

    fn count_japanese(&mut self, folded: &str) {
        for (word, sign) in &LEXICON.japanese {
            if let Some(at) = folded.find(word.as_str()) {
                let after: String = folded[at + word.len()..].chars().take(5).collect();
                let sign = if is_negated(word, &after) { -sign * NEGATED } else { *sign };
                self.add(sign);
            }
        }
        for (word, sign) in JAPANESE_ENDINGS {
            if folded.contains(word) {
                self.add(sign);
            }
        }
    }

    /// The verdict of the words alone.
    pub(super) fn verdict(&self) -> Judged<Sentiment> {
        let (all, lean) = (self.good + self.bad, self.good - self.bad);
        if all < 0.7 {
            let sure = if self.words < 3 { MIXED_CONFIDENCE } else { NEUTRAL_CONFIDENCE };
            return Judged::by_rule(Sentiment::Neutral, sure);
        }
        let clear = lean.abs() / all;
        if clear < 0.34 {
            return Judged::by_rule(Sentiment::Neutral, MIXED_CONFIDENCE);
        }
        let sentiment = if lean > 0.0 { Sentiment::Positive } else { Sentiment::Negative };
        Judged::by_rule(sentiment, (0.5 + 0.1 * lean.abs().min(4.0) * clear).min(0.9))
    }
}

fn is_negated(word: &str, after: &str) -> bool {
    let ends_itself = word.ends_with('い') || word.starts_with("ありがとう");
    !ends_itself
        && JAPANESE_NEGATION.iter().any(|not| after.contains(not))
        && after.contains(['な', 'せ', 'ず'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bookmark, Timestamp};

    fn of(text: &str) -> Judged<Sentiment> {
        let bookmark = Bookmark::new(Some("1"), "", text, Timestamp(0)).unwrap();
        Tone::of(&Reading::of(&bookmark)).verdict()
    }

    #[test]
    fn tone_in_three_languages() {
        use Sentiment::{Negative, Neutral, Positive};
        for (text, expected) in [
            ("What a wonderful, elegant library. I love it!", Positive),
            ("This is not good at all", Negative),
            ("A terrible disaster, people were killed", Negative),
            ("It isn't bad", Positive),
            ("Version 2 of the protocol is out", Neutral),
            ("Отличная библиотека, всем рекомендую", Positive),
            ("Мне это не нравится", Negative),
            ("Ужасная ошибка и утечка данных", Negative),
            ("Вышла вторая версия протокола", Neutral),
            ("素晴らしいライブラリです。ありがとう", Positive),
            ("これは便利ではない", Negative),
            ("最悪の障害で残念", Negative),
            ("プロトコルの第二版が出た", Neutral),
            ("👍🎉", Positive),
            ("", Neutral),
        ] {
            assert_eq!(of(text).value, expected, "{text}");
        }
    }

    #[test]
    fn more_words_are_surer() {
        assert!(of("great").confidence < of("great, wonderful, amazing").confidence);
        assert!(of("great").confidence < 0.65);
        assert!(of("good and bad").value == Sentiment::Neutral);
    }
}
