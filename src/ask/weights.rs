//! Weights that `models/ask/fit.py` wrote. Do not edit: fit again.

use super::features::Weights;

/// Ranks statements that were compared by meaning.
pub(super) const RANK: Weights = Weights {
    bias: 0.0,
    features: [
        1.0, 0.2, 0.0, 0.6, 0.3, 0.1, 0.0, 0.5, 0.0, 0.5, 0.2, 0.0, 0.0, 0.0, -0.2, 0.0, 0.0, 0.0,
        0.0,
    ],
};

/// Ranks statements by words only.
pub(super) const RANK_WORDS: Weights = Weights {
    bias: 0.0,
    features: [
        1.0, 0.2, 0.0, 0.0, 0.3, 0.1, 0.0, 0.5, 0.0, 0.5, 0.2, 0.0, 0.0, 0.0, -0.2, 0.0, 0.0, 0.0,
        0.0,
    ],
};

/// How sure an answer is whose statements were compared by meaning.
pub(super) const CONFIDENCE: Weights = Weights {
    bias: -10.0,
    features: [
        3.4, 5.1, 0.0, 13.3, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -5.5, 0.0, 0.0, 0.0, 0.0, 0.0,
        -0.8, 0.0,
    ],
};

/// How sure an answer by words only is.
pub(super) const CONFIDENCE_WORDS: Weights = Weights {
    bias: -5.4,
    features: [
        4.8, 6.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -5.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        0.0,
    ],
};
