//! How probable it is that the library answers a question.

use super::{passages::Found, sentence::Sentence};

/// From here on there is an answer; below, the library does not say.
pub const ENOUGH: f32 = 0.5;

/// The probability, from what speaks for the best sentence and the best passage.
pub(super) fn of(found: &Found, sentences: &[Sentence]) -> f32 {
    let Some(best) = sentences.iter().max_by(|a, b| a.score().total_cmp(&b.score())) else {
        return 0.0;
    };
    let _ = found;
    (best.own + best.around) / 2.0
}
