//! The weights as they lie in the binary: a safetensors file, read in place.

use serde_json::Value;

use crate::{Damaged, Result};

/// The named tensors of a safetensors file.
pub struct Tensors {
    header: Value,
    data: &'static [u8],
}

impl Tensors {
    pub fn parse(file: &'static [u8]) -> Result<Self> {
        let broken = || Damaged("the embedded model is damaged: build again".to_owned());
        let (length, rest) = file.split_first_chunk::<8>().ok_or_else(broken)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
        let (header, data) = rest.split_at_checked(length).ok_or_else(broken)?;
        let header = serde_json::from_slice(header).map_err(|_| broken())?;
        Ok(Self { header, data })
    }

    /// The bytes of a tensor, which must have this type and shape.
    pub fn bytes(&self, name: &str, kind: &str, shape: &[usize]) -> Result<&'static [u8]> {
        let wrong = || {
            Damaged(format!(
                "the embedded model has no tensor `{name}` of type {kind} and shape {shape:?}"
            ))
        };
        let tensor = &self.header[name];
        let numbers = |key: &str| -> Option<Vec<usize>> {
            tensor[key].as_array()?.iter().map(|n| usize::try_from(n.as_u64()?).ok()).collect()
        };
        if tensor["dtype"] != kind || numbers("shape").as_deref() != Some(shape) {
            return Err(wrong());
        }
        let width = match kind {
            "F32" => 4,
            "F16" => 2,
            _ => 1,
        };
        match numbers("data_offsets").as_deref() {
            Some([from, to]) => self
                .data
                .get(*from..*to)
                .filter(|bytes| bytes.len() == shape.iter().product::<usize>() * width)
                .ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    /// A small tensor, copied out as floats.
    pub fn floats(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        let bytes = self.bytes(name, "F32", &[length])?;
        Ok(bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
    }
}

/// Half precision to single.
pub fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 0x1f, bits & 0x3ff);
    let value = match exponent {
        0 => f32::from(fraction) * f32::from_bits(0x3380_0000), // 2^-24
        0x1f if fraction == 0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => f32::from_bits((u32::from(exponent) + 112) << 23 | u32::from(fraction) << 13),
    };
    if sign == 1 { -value } else { value }
}
