//! How probable it is that the library answers a question: a logistic curve over three things that
//! speak for the best sentence.
//!
//! It was fitted on the judged notes in English, Russian and Japanese: on questions that they answer,
//! and on as many that they do not: the same questions with the note that answers left out, and
//! questions about things that are in no note. So few numbers leave little room to learn the sets by
//! heart.

use super::{question::Question, sentence::Sentence};
use crate::text::Lang;

/// From here on there is an answer; below, the library does not say.
pub const ENOUGH: f32 = 0.5;

/// Where the curve starts, and what each thing adds.
struct Curve {
    start: f32,
    own: f32,
    around: f32,
    cosine: f32,
    /// Texts of pairs of Han characters share more by chance.
    japanese: f32,
}

const WITH_MEANING: Curve =
    Curve { start: -10.0, own: 3.4, around: 5.1, cosine: 13.3, japanese: -0.8 };
const WORDS_ONLY: Curve = Curve { start: -5.4, own: 4.8, around: 6.9, cosine: 0.0, japanese: 0.0 };

/// The probability, 0 to 1; 0 when there is nothing to say.
pub(super) fn of(question: &Question<'_>, sentences: &[Sentence]) -> f32 {
    let best = sentences.iter().max_by(|a, b| a.score().total_cmp(&b.score()));
    let Some(Sentence { own, around, cosine, .. }) = best else { return 0.0 };
    let curve = if cosine.is_some() { WITH_MEANING } else { WORDS_ONLY };
    let japanese = matches!(question.lang, Lang::Japanese | Lang::Chinese);
    let sum = curve.start
        + curve.own * own
        + curve.around * around
        + curve.cosine * cosine.unwrap_or(0.0)
        + if japanese { curve.japanese } else { 0.0 };
    1.0 / (1.0 + (-sum).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(sentences: &[Sentence]) -> f32 {
        of(&Question::read("What is it?"), sentences)
    }

    fn sentence(own: f32, around: f32, cosine: Option<f32>) -> Sentence {
        Sentence {
            passage: 0,
            standing: 0.5,
            place: 0,
            range: 0..1,
            own,
            around,
            cosine,
            fits: None,
        }
    }

    #[test]
    fn it_is_a_probability_that_grows_with_what_speaks_for_it() {
        assert_eq!(sure(&[]), 0.0);
        for cosine in [None, Some(-1.0), Some(0.3), Some(1.0)] {
            for own in [0.0, 0.5, 1.0] {
                let less = sure(&[sentence(own, own, cosine)]);
                let more = sure(&[sentence(own + 0.1, own + 0.1, cosine)]);
                assert!((0.0..=1.0).contains(&less) && more >= less, "{own} {cosine:?}");
            }
        }
    }

    #[test]
    fn all_of_the_words_are_enough_and_none_is_not() {
        assert!(sure(&[sentence(1.0, 1.0, None)]) > ENOUGH);
        assert!(sure(&[sentence(0.9, 0.9, Some(0.6))]) > ENOUGH);
        assert!(sure(&[sentence(0.1, 0.1, None)]) < ENOUGH);
        assert!(sure(&[sentence(0.1, 0.1, Some(0.2))]) < ENOUGH);
    }
}
