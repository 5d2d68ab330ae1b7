//! Quantised vectors: int8 codes for the scan, int16 values for the final rescoring.
//!
//! Int8 with one scale per vector keeps a cosine within about 0.003. Int16 keeps it within 0.00001
//! of `f32` (a test asserts that), which is less than a different order of additions changes in the
//! encoder, at half the space.

use crate::kernel::QueryCodes;

/// A vector as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedVector {
    /// Codes with an offset of 128: see `kernel`.
    pub short: Vec<u8>,
    /// Scale of the int8 codes.
    pub short_scale: f32,
    /// Codes for rescoring.
    pub long: Vec<i16>,
    /// Scale of the int16 codes.
    pub long_scale: f32,
}

fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()))
}

/// Scales a vector to length 1. A zero or non-finite vector becomes zeros.
pub fn normalise(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        vector.iter().map(|value| value / length).collect()
    } else {
        vec![0.0; vector.len()]
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the scale bounds every code")]
fn quantise_i8(vector: &[f32]) -> (Vec<i8>, f32) {
    let scale = largest(vector) / 127.0;
    if scale == 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    (vector.iter().map(|value| (value / scale).round() as i8).collect(), scale)
}

/// Normalises and quantises a vector.
#[allow(clippy::cast_possible_truncation, reason = "the scale bounds every code")]
pub fn encode(vector: &[f32]) -> EncodedVector {
    let vector = normalise(vector);
    let (short, short_scale) = quantise_i8(&vector);
    let short = short.into_iter().map(|code| (code as u8) ^ 0x80).collect();
    let long_scale = largest(&vector) / 32_767.0;
    let long = vector
        .iter()
        .map(|value| if long_scale == 0.0 { 0 } else { (value / long_scale).round() as i16 })
        .collect();
    EncodedVector { short, short_scale, long, long_scale }
}

/// A query vector, quantised for the scan and exact for the rescoring.
pub struct QueryVector {
    /// Codes for the scan.
    pub question: QueryCodes,
    /// Values for rescoring.
    pub exact: Vec<f32>,
}

impl QueryVector {
    /// Normalises and encodes a question's vector.
    pub fn new(vector: &[f32]) -> Self {
        let exact = normalise(vector);
        // The query's scale is the same for every row, so it does not affect the order.
        let (codes, _) = quantise_i8(&exact);
        Self { question: QueryCodes::new(codes), exact }
    }

    /// The cosine with a row of int16 values, given as little-endian bytes.
    pub fn cosine(&self, long: &[u8], long_scale: f32) -> f32 {
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
