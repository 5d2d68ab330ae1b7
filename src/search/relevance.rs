//! How probable it is that a result answers the question, given its evidence.
//!
//! A logistic model for each case: words and meaning, meaning alone, or words alone, and whether the
//! result is in the language of the question, because texts of one language are alike anyway. The
//! weights come from `scripts/calibrate_relevance.py`, fitted on judged questions and on questions
//! that the documents do not answer; BENCHMARKS has the reliability table.

use super::fuse::{Evidence, Mode};

/// The weights of one case, in the order of [`Weights::probability`].
struct Weights {
    constant: f32,
    cosine: f32,
    share: f32,
    own: f32,
    whole: f32,
}

const BOTH: Weights =
    Weights { constant: -9.131, cosine: 6.419, share: 15.619, own: -4.105, whole: 0.33 };
const BOTH_ABROAD: Weights =
    Weights { constant: -7.041, cosine: 18.068, share: 12.533, own: -12.508, whole: 0.213 };
const MEANING: Weights =
    Weights { constant: -14.903, cosine: 23.066, share: 0.0, own: 0.0, whole: 0.0 };
const MEANING_ABROAD: Weights =
    Weights { constant: -9.725, cosine: 23.066, share: 0.0, own: 0.0, whole: 0.0 };
const WORDS: Weights =
    Weights { constant: -9.058, cosine: 0.0, share: 12.532, own: -1.497, whole: 1.244 };

impl Weights {
    fn probability(&self, evidence: &Evidence) -> f32 {
        let sum = self.constant
            + self.cosine * evidence.cosine.unwrap_or(0.0)
            + self.share * evidence.share
            + self.own * evidence.own
            + self.whole * evidence.whole.max(0.0).ln_1p();
        1.0 / (1.0 + (-sum).exp())
    }
}

impl Evidence {
    /// The probability that the result answers the question, 0 to 1. By meaning alone (`similar`)
    /// there is no question, and it is the cosine.
    pub fn relevance(&self, mode: Mode) -> f32 {
        if mode == Mode::Vector {
            return self.cosine.unwrap_or(0.0).clamp(0.0, 1.0);
        }
        let weights = match (self.cosine, self.whole > 0.0, self.abroad) {
            (None, ..) => &WORDS,
            (Some(_), true, false) => &BOTH,
            (Some(_), true, true) => &BOTH_ABROAD,
            (Some(_), false, false) => &MEANING,
            (Some(_), false, true) => &MEANING_ABROAD,
        };
        weights.probability(self)
    }
}

/// Makes values, best result first, never rise: those that do share their mean with the ones before
/// them, which keeps the probabilities right on average.
pub(super) fn level(values: &mut [f32]) {
    // The mean and the length of each stretch.
    let mut stretches: Vec<(f32, usize)> = Vec::with_capacity(values.len());
    for value in values.iter() {
        let mut last = (*value, 1);
        while let Some((mean, count)) = stretches.pop_if(|(mean, _)| *mean < last.0) {
            let total = count + last.1;
            last = ((mean * count as f32 + last.0 * last.1 as f32) / total as f32, total);
        }
        stretches.push(last);
    }
    let means = stretches.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count));
    values.iter_mut().zip(means).for_each(|(value, mean)| *value = mean);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_stays_in_bounds_and_grows_with_either_side() {
        let relevance = |whole: f32, cosine: f32, abroad: bool| {
            let share = whole / (whole + 20.0);
            let evidence = Evidence {
                words: whole,
                whole,
                share,
                own: share / 2.0,
                cosine: Some(cosine),
                abroad,
                ..Evidence::default()
            };
            evidence.relevance(Mode::Hybrid)
        };
        for abroad in [false, true] {
            for whole in [0.0, 1.0, 10.0, 1_000.0] {
                for cosine in [-1.0, 0.0, 0.5, 1.0] {
                    let relevance = relevance(whole, cosine, abroad);
                    assert!((0.0..=1.0).contains(&relevance), "{whole} {cosine} {relevance}");
                }
            }
            assert!(relevance(20.0, 0.5, abroad) > relevance(10.0, 0.5, abroad));
            assert!(relevance(10.0, 0.6, abroad) > relevance(10.0, 0.5, abroad));
            assert!(relevance(0.0, 0.6, abroad) > relevance(0.0, 0.5, abroad));
        }
    }

    #[test]
    fn levelled_values_never_rise_and_keep_their_sum() {
        let mut values = [0.5, 0.9, 0.2, 0.1, 0.3, 0.0];
        let sum: f32 = values.iter().sum();
        level(&mut values);
        assert!(values.windows(2).all(|pair| pair[0] >= pair[1]), "{values:?}");
        assert!((values.iter().sum::<f32>() - sum).abs() < 1e-5);
        level(&mut []);
    }

    #[test]
    fn without_a_question_it_is_the_cosine() {
        let evidence = Evidence { cosine: Some(0.6), ..Evidence::default() };
        assert_eq!(evidence.relevance(Mode::Vector), 0.6);
        assert_eq!(Evidence::default().relevance(Mode::Vector), 0.0);
    }
}
