//! A vector in eight bits for the scan, and in sixteen for the last word.
//!
//! Eight bits with one scale a vector keep a cosine within about 0.003. Sixteen bits with one scale
//! keep it within 0.00001 of `f32` (a test holds it to that), below what another order of additions
//! changes in the encoder itself, in half the space: two passages closer than that may change places,
//! nothing else can.

use super::kernel::Question;

/// A vector as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Coded {
    /// Values 128 above zero: see `kernel`.
    pub(super) short: Vec<u8>,
    pub(super) short_scale: f32,
    pub(super) long: Vec<i16>,
    pub(super) long_scale: f32,
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()))
}

/// Brings a vector to length 1; one that has no direction stays as it is.
pub(super) fn normalise(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        vector.iter().map(|value| value / length).collect()
    } else {
        vec![0.0; vector.len()]
    }
}

#[allow(clippy::cast_possible_truncation)]
fn eight(vector: &[f32]) -> (Vec<i8>, f32) {
    let scale = largest(vector) / 127.0;
    if scale == 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    (vector.iter().map(|value| (value / scale).round() as i8).collect(), scale)
}

/// Stores a vector; it is brought to length 1 first.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn encode(vector: &[f32]) -> Coded {
    let vector = normalise(vector);
    let (short, short_scale) = eight(&vector);
    let short = short.into_iter().map(|code| (code as u8) ^ 0x80).collect();
    let long_scale = largest(&vector) / 32_767.0;
    let long = vector
        .iter()
        .map(|value| if long_scale == 0.0 { 0 } else { (value / long_scale).round() as i16 })
        .collect();
    Coded { short, short_scale, long, long_scale }
}

/// A question, ready for the scan and for the last word.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) exact: Vec<f32>,
}

impl Asked {
    pub(super) fn new(vector: &[f32]) -> Self {
        let exact = normalise(vector);
        // Its scale is the same for every row, so the order does not need it.
        let (codes, _) = eight(&exact);
        Self { question: Question::new(codes), exact }
    }

    /// The cosine with a row in sixteen bits, given as the bytes of the file.
    pub(super) fn cosine(&self, long: &[u8], long_scale: f32) -> f32 {
        let sum: f32 = long
            .as_chunks::<2>()
            .0
            .iter()
            .zip(&self.exact)
            .map(|(bytes, value)| f32::from(i16::from_le_bytes(*bytes)) * value)
            .sum();
        sum * long_scale
    }
}
