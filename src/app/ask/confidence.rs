//! How probable it is that the library answers a question: a logistic curve over three things that
//! speak for the best sentence.
//!
//! It was fitted on the judged notes in English, Russian and Japanese, on questions that they answer
//! and on questions that they do not: the same ones with the note that answers left out, and others
//! about things that are in no note. Three numbers for three languages leave little room to learn the
//! sets by heart. Without vectors there are two, and the curve is flatter.

use super::sentence::Sentence;

/// From here on there is an answer; below, the library does not say.
pub const ENOUGH: f32 = 0.5;

/// A weight for each thing, and where the curve starts.
struct Curve {
    start: f32,
    own: f32,
    around: f32,
    cosine: f32,
}

const WITH_MEANING: Curve = Curve { start: -8.98, own: 2.19, around: 4.37, cosine: 13.23 };
const WORDS_ONLY: Curve = Curve { start: -5.12, own: 4.52, around: 5.68, cosine: 0.0 };

/// The probability, 0 to 1; 0 when there is nothing to say.
pub(super) fn of(sentences: &[Sentence]) -> f32 {
    let best = sentences.iter().max_by(|a, b| a.score().total_cmp(&b.score()));
    let Some(Sentence { own, around, cosine, .. }) = best else { return 0.0 };
    let curve = if cosine.is_some() { WITH_MEANING } else { WORDS_ONLY };
    let sum = curve.start
        + curve.own * own
        + curve.around * around
        + curve.cosine * cosine.unwrap_or(0.0);
    1.0 / (1.0 + (-sum).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(own: f32, around: f32, cosine: Option<f32>) -> Sentence {
        Sentence { passage: 0, place: 0, range: 0..1, own, around, cosine, fits: None }
    }

    #[test]
    fn it_is_a_probability_that_grows_with_what_speaks_for_it() {
        assert_eq!(of(&[]), 0.0);
        for cosine in [None, Some(-1.0), Some(0.3), Some(1.0)] {
            for own in [0.0, 0.5, 1.0] {
                let less = of(&[sentence(own, own, cosine)]);
                let more = of(&[sentence(own + 0.1, own + 0.1, cosine)]);
                assert!((0.0..=1.0).contains(&less) && more >= less, "{own} {cosine:?}");
            }
        }
    }

    #[test]
    fn all_of_the_words_are_enough_and_none_is_not() {
        assert!(of(&[sentence(1.0, 1.0, None)]) > ENOUGH);
        assert!(of(&[sentence(0.9, 0.9, Some(0.6))]) > ENOUGH);
        assert!(of(&[sentence(0.1, 0.1, None)]) < ENOUGH);
        assert!(of(&[sentence(0.1, 0.1, Some(0.2))]) < ENOUGH);
    }
}
