//! How much words and meaning count: one small rule on absolute scales.
//!
//! A BM25 score is strong or weak whatever the best one was, and a cosine is what it is, so a plain
//! sum keeps how sure each side is; reciprocal ranks throw that away. Beside its absolute size, a
//! BM25 score counts by its share of what was asked: one name that a Russian note has in common with
//! an English question is a weak sign, however rare the name. The figures were tuned on the judged
//! sets of `notewell eval --explain`.

/// What meaning counts in the sum.
pub(super) const MEANING: f32 = 0.5;
/// What a BM25 score counts.
pub(super) const WORDS: f32 = 0.25;
/// What the share of the question counts that an item's words answer.
pub(super) const SHARE: f32 = 0.3;
/// Of a BM25 score, the part of the whole item; the passage itself has the rest. A long note may say
/// each half of what was asked in another place.
pub(super) const WHOLE: f32 = 0.8;
/// The BM25 score that counts as a full match.
pub(super) const STRONG: f32 = 40.0;
/// The cosine that is assumed for a passage without a vector that has every word that was asked.
const PROBABLY: f32 = 0.7;
/// A passage that has none of the words must be at least this near to be shown at all.
pub(super) const NEAR: f32 = 0.08;

/// How fast relevance grows with the score: at 0.5 (a strong match of words and meaning) it is two
/// thirds.
const STEEP: f32 = 2.2;

/// Which sides are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    Lexical,
    Vector,
    #[default]
    Hybrid,
}

/// What each side says of one passage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// BM25; 0 when it has none of the words.
    pub words: f32,
    /// BM25 of the whole item that it is a passage of.
    pub whole: f32,
    /// How much of what was asked the item's words answer, 0 to 1.
    pub share: f32,
    /// How much of it the passage's own words answer.
    pub own: f32,
    /// The cosine; `None` while the passage has no vector.
    pub cosine: Option<f32>,
}

impl Evidence {
    /// What passages are ordered by.
    pub fn score(&self, mode: Mode) -> f32 {
        let words = (WHOLE * self.whole + (1.0 - WHOLE) * self.words) / STRONG;
        match mode {
            Mode::Lexical => words,
            Mode::Vector => self.cosine.unwrap_or(0.0),
            Mode::Hybrid => MEANING * self.meaning() + WORDS * words + SHARE * self.share,
        }
    }

    /// What the passages of one item are ordered by: their own words count in full, so that the one
    /// that is shown has what was asked.
    pub fn inside(&self, mode: Mode) -> f32 {
        match mode {
            Mode::Lexical => self.words,
            Mode::Vector => self.cosine.unwrap_or(0.0),
            Mode::Hybrid => {
                MEANING * self.meaning() + WORDS * self.words / STRONG + SHARE * self.own
            }
        }
    }

    /// The cosine. A passage that was written a moment ago has none yet: as far as its words answer
    /// what was asked, its meaning probably does.
    fn meaning(&self) -> f32 {
        self.cosine.unwrap_or(PROBABLY * self.own)
    }

    /// Whether there is anything to show it for.
    pub fn counts(&self, mode: Mode) -> bool {
        match mode {
            Mode::Lexical => self.words > 0.0 || self.whole > 0.0,
            Mode::Vector => self.cosine.is_some(),
            Mode::Hybrid => self.words > 0.0 || self.cosine.is_some_and(|cosine| cosine >= NEAR),
        }
    }

    /// 0 to 1, comparable between questions, and in the order of the score: it saturates, because
    /// twice as many rare words do not make a passage twice as relevant.
    pub fn relevance(&self, mode: Mode) -> f32 {
        let score = self.score(mode).max(0.0);
        match mode {
            // A cosine is on that scale already.
            Mode::Vector => score.min(1.0),
            Mode::Lexical | Mode::Hybrid => 1.0 - (-STEEP * score).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_stays_in_bounds_and_grows_with_either_side() {
        let evidence = |words: f32, cosine| Evidence {
            words,
            whole: words,
            share: words / (words + 1.0),
            own: words / (words + 1.0),
            cosine: Some(cosine),
        };
        for words in [0.0, 1.0, 10.0, 1_000.0] {
            for cosine in [-1.0, 0.0, 0.5, 1.0] {
                for mode in [Mode::Lexical, Mode::Vector, Mode::Hybrid] {
                    let relevance = evidence(words, cosine).relevance(mode);
                    assert!((0.0..=1.0).contains(&relevance), "{words} {cosine} {relevance}");
                }
            }
        }
        let hybrid = |words, cosine| evidence(words, cosine).relevance(Mode::Hybrid);
        assert!(hybrid(10.0, 0.5) > hybrid(5.0, 0.5));
        assert!(hybrid(10.0, 0.6) > hybrid(10.0, 0.5));
    }
}
