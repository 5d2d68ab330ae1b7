//! Fuses the scores of words and meaning with one weighted sum.
//!
//! BM25 scores and cosines are used at their absolute size, because the size says how sure each side
//! is; reciprocal rank fusion discards it. Three corrections apply. A BM25 score is weighted by the
//! share of the question's words that the item has, with an exponent: a single rare name shared with
//! a question in another language is weak evidence. A cosine is reduced by a part of what all
//! passages have in common. The first passages of a page get a bonus, because they say what it is
//! about, and one of many passages is always near by chance. The constants were tuned on the judged
//! sets of `notewell eval --explain`; BENCHMARKS.md has the gain on questions outside the tuning.

use crate::domain::Kind;

/// Weight of the cosine in the sum.
pub(super) const MEANING: f32 = 0.5;
/// Weight of the BM25 score.
pub(super) const WORDS: f32 = 0.25;
/// Weight of the share of the question's words that the item has.
pub(super) const SHARE: f32 = 0.35;
/// Exponent of that share: half of the words give about a third of the weight.
const SHARE_POWER: f32 = 1.5;
/// Weight of the share that the passage itself has, when the passages of one item are ordered.
const OWN: f32 = 0.3;
/// Bonus of a page's first passage. The second has half of it, the third a third; by words alone a
/// quarter and a ninth.
const OPENING: f32 = 0.05;
/// The part of it for a bookmark, a card or a prompt: about what a passage of a page has on average.
const ONLY_PASSAGE: f32 = 1.0 / 3.0;
/// How much of what all passages have in common is left out of a question.
const COMMON: f32 = 0.24;
/// Of a BM25 score, the part of the whole item; the passage itself has the rest. A long note may say
/// each half of what was asked in another place.
pub(super) const ITEM_WEIGHT: f32 = 0.8;
/// The same where words are all there is.
const WHOLE_BY_WORDS: f32 = 0.85;
/// The BM25 score that counts as a full match.
pub(super) const STRONG: f32 = 40.0;
/// The cosine that is assumed for a passage without a vector that has every word that was asked.
const PROBABLY: f32 = 0.7;
/// The cosine from which a passage is a result that has none of the words. BENCHMARKS says how the
/// figures were chosen, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Floor {
    /// In the language of the question, which alone makes texts alike.
    home: f32,
    abroad: f32,
}

impl Floor {
    const SENTENCE: Self = Self { home: 0.20, abroad: 0.15 };
    /// A word or two that occur nowhere: the model has only their letters to go by.
    const UNKNOWN_WORDS: Self = Self { home: 0.25, abroad: 0.25 };

    /// The floor for a question of so many words, of which some are known or none.
    pub(super) fn of(words: usize, known: bool) -> Self {
        if known || words > 2 { Self::SENTENCE } else { Self::UNKNOWN_WORDS }
    }
}

/// The share of the question, and the cosine, from which a prompt fits very well.
const FITTING_SHARE: f32 = 0.6;
const FITTING_COSINE: f32 = 0.5;

/// Which sides are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// By words only.
    Lexical,
    /// By meaning only.
    Vector,
    /// By both.
    #[default]
    Hybrid,
}

/// What each side says of one passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// BM25; 0 when it has none of the words.
    pub words: f32,
    /// BM25 of the whole item that it is a passage of.
    pub whole: f32,
    /// How much of what was asked the item's words answer, 0 to 1.
    pub share: f32,
    /// How much of it the passage's own words answer.
    pub own: f32,
    /// The cosine, less what the passage has in common with all others; `None` while it has no
    /// vector.
    pub cosine: Option<f32>,
    /// Which passage of its item it is, from 0.
    pub place: u32,
    /// Whether it is in another language than the question.
    pub abroad: bool,
    /// The item's kind.
    pub kind: Kind,
}

/// A question's vector as the passages are asked for it.
pub(super) struct Aim {
    pub(super) vector: Vec<f32>,
    length: f32,
    shift: f32,
}

impl Aim {
    /// By meaning alone: as it is.
    pub(super) fn straight(vector: Vec<f32>) -> Self {
        Self { vector, length: 1.0, shift: 0.0 }
    }

    /// Less a part of `centre`, the mean of all passages.
    pub(super) fn past(centre: &[f32], mut vector: Vec<f32>) -> Self {
        let full = length(&vector);
        for (value, common) in vector.iter_mut().zip(centre) {
            *value = *value / full - COMMON * common;
        }
        // An average passage keeps its cosine, so that the scale stays.
        Self { length: length(&vector), shift: COMMON * length(centre).powi(2), vector }
    }

    /// The cosine with the question, given that with the vector: less what the passage has in common
    /// with the others beyond what they all do.
    pub(super) fn cosine(&self, found: f32) -> f32 {
        found * self.length + self.shift
    }
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE)
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            words: 0.0,
            whole: 0.0,
            share: 0.0,
            own: 0.0,
            cosine: None,
            place: 0,
            abroad: false,
            kind: Kind::Page,
        }
    }
}

impl Evidence {
    /// What passages are ordered by.
    pub fn score(&self, mode: Mode) -> f32 {
        let whole = if mode == Mode::Lexical { WHOLE_BY_WORDS } else { ITEM_WEIGHT };
        let words = (whole * self.whole + (1.0 - whole) * self.passage_words()) / STRONG;
        match mode {
            Mode::Lexical => words + self.opening(2),
            Mode::Vector => self.cosine.unwrap_or(0.0),
            Mode::Hybrid => {
                MEANING * self.meaning()
                    + WORDS * words
                    + SHARE * self.share.powf(SHARE_POWER)
                    + self.opening(1)
            }
        }
    }

    /// The BM25 score of the passage. A page has many passages, and its title and headings say which
    /// it is about; a bookmark says the same one line as title, heading and text.
    fn passage_words(&self) -> f32 {
        if self.kind == Kind::Page { self.words } else { self.words.min(self.whole) }
    }

    /// What the place of the passage counts, less with each place and faster with a higher `power`.
    /// Other kinds than pages mostly have one passage, whose place says nothing.
    fn opening(&self, power: i32) -> f32 {
        if self.kind == Kind::Page {
            OPENING / (self.place as f32 + 1.0).powi(power)
        } else {
            OPENING * ONLY_PASSAGE
        }
    }

    /// What the passages of one item are ordered by: their own words count in full, so that the one
    /// that is shown has what was asked.
    pub fn inside(&self, mode: Mode) -> f32 {
        match mode {
            Mode::Lexical => self.words,
            Mode::Vector => self.cosine.unwrap_or(0.0),
            Mode::Hybrid => MEANING * self.meaning() + WORDS * self.words / STRONG + OWN * self.own,
        }
    }

    /// The cosine. A passage that was written a moment ago has none yet: as far as its words answer
    /// what was asked, its meaning probably does.
    fn meaning(&self) -> f32 {
        self.cosine.unwrap_or(PROBABLY * self.own)
    }

    /// Whether there is anything to show it for.
    pub(super) fn counts(&self, mode: Mode, floor: Floor) -> bool {
        match mode {
            Mode::Lexical => self.words > 0.0 || self.whole > 0.0,
            Mode::Vector => self.cosine.is_some(),
            Mode::Hybrid => {
                let floor = if self.abroad { floor.abroad } else { floor.home };
                self.words > 0.0 || self.cosine.is_some_and(|cosine| cosine >= floor)
            }
        }
    }

    /// Whether an item nobody asked for by its kind is worth showing: it has most of the words of the
    /// question and is close to it in meaning.
    pub(super) fn fits_very_well(&self) -> bool {
        self.share >= FITTING_SHARE && self.cosine.is_none_or(|cosine| cosine >= FITTING_COSINE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_equal_passages_the_earlier_is_better() {
        let at = |place| Evidence { cosine: Some(0.5), place, ..Evidence::default() };
        assert!(at(0).score(Mode::Hybrid) > at(1).score(Mode::Hybrid));
        assert!(at(1).score(Mode::Hybrid) > at(7).score(Mode::Hybrid));
        assert_eq!(at(0).inside(Mode::Hybrid), at(7).inside(Mode::Hybrid));
    }

    #[test]
    fn what_all_passages_have_in_common_counts_less() {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let centre = [0.6, 0.0, 0.0];
        let aim = Aim::past(&centre, vec![1.2, 1.6, 0.0]);
        let told = |passage: &[f32]| aim.cosine(dot(&aim.vector, passage) / length(&aim.vector));
        // As near to the question as each other, but one is like all the others.
        let (common, special) = ([1.0, 0.0, 0.0], [0.0, 0.75, 0.661_437_8]);
        assert!(told(&common) < 0.6 && told(&special) > 0.6);
        // An average passage has the cosine that it has.
        let average = [0.6, 0.8, 0.0];
        assert!((told(&average) - 1.0).abs() < 1e-5);
        let straight = Aim::straight(vec![1.0, 0.0]);
        assert_eq!(straight.cosine(0.3), 0.3);
    }
}
