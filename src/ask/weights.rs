//! Weights that `models/ask/fit.py` wrote, in the order of [`super::features::NAMES`]. Do not edit: fit
//! again.

use super::features::Weights;

/// Ranks statements with meaning.
pub(super) const RANK: Weights = Weights {
    bias: 0.000,
    features: [
        3.242, 2.191, 1.347, 3.480, 2.832, 2.531, 7.238, 0.467, -0.802, 7.184, -0.825, 4.175,
        2.981, -1.473, -1.000, 0.000, 1.500, 0.088, 0.671, 0.026, 0.065,
    ],
};

/// The log-odds that an answer with meaning is right.
pub(super) const CONFIDENCE: Weights = Weights {
    bias: -16.058,
    features: [
        0.000, 1.642, 0.000, 7.368, 8.846, 4.046, 2.188, 0.031, 0.264, 1.000, -0.196, 0.000,
        -2.000, -5.000, -2.344, 1.444, 0.000, 0.792, -0.665, -1.580, -0.199,
    ],
};

/// Ranks statements by words only.
pub(super) const RANK_WORDS: Weights = Weights {
    bias: 0.000,
    features: [
        4.227, 2.375, 1.669, 0.000, 6.896, 1.685, 0.000, 0.494, -0.849, 6.992, -0.727, 4.756,
        3.000, -1.698, -1.000, 0.000, 1.500, 0.164, 0.541, 0.031, 0.066,
    ],
};

/// The log-odds that an answer by words only is right.
pub(super) const CONFIDENCE_WORDS: Weights = Weights {
    bias: -18.509,
    features: [
        1.484, 1.852, 0.000, 0.000, 14.041, 5.020, 0.000, 0.258, -0.042, 1.000, -0.012, 0.000,
        -2.000, -5.000, -2.548, -1.618, 0.000, 0.953, -0.771, -0.443, 0.529,
    ],
};
