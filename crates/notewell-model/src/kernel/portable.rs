//! The instruction set of nobody in particular: plain Rust, which the compiler turns into whatever
//! vectors the target always has. Slower, and the measure for the others.

use super::{COLUMNS, Linear, Ops, Rows, check};

const LANES: usize = 8;

#[derive(Clone, Copy)]
pub struct Portable;

#[inline(always)]
fn each(a: [f32; LANES], b: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl Ops for Portable {
    const LANES: usize = LANES;
    type F = [f32; LANES];

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        [value; LANES]
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::F {
        std::array::from_fn(|i| from[i])
    }
    #[inline(always)]
    fn store(self, value: Self::F, to: &mut [f32]) {
        to[..LANES].copy_from_slice(&value);
    }
    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| a / b)
    }
    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        each(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // Not `mul_add`: without the instruction that is a slow library call.
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    fn power(self, whole: Self::F) -> Self::F {
        whole.map(|n| f32::from_bits(((n + (MAGIC + 127.0)).to_bits() & 0xff) << 23))
    }
    #[inline(always)]
    fn round(self, value: Self::F) -> Self::F {
        value.map(|x| (x + MAGIC) - MAGIC)
    }
    #[inline(always)]
    fn sum(self, value: Self::F) -> f32 {
        value.iter().sum()
    }
    #[inline(always)]
    fn lowest(self, value: Self::F) -> f32 {
        value.into_iter().fold(f32::INFINITY, f32::min)
    }
    #[inline(always)]
    fn highest(self, value: Self::F) -> f32 {
        value.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
    #[inline(always)]
    fn bytes(self, value: Self::F, to: &mut [u8]) {
        for (to, x) in to.iter_mut().zip(value) {
            *to = (x + MAGIC).to_bits() as u8;
        }
    }

    fn linear(self, rows: &Rows, linear: &Linear, out: &mut [f32]) {
        check(rows, linear, out);
        // Products of u8 and i8 fit in sixteen bits, sums of two of them do not.
        let x: Vec<i16> = rows.bytes.iter().map(|byte| i16::from(*byte)).collect();
        let loud = linear.loud.len();
        for (first, group) in linear.weights.chunks(COLUMNS * linear.inputs).enumerate() {
            for (tile, x) in x.chunks(TILE * linear.inputs).enumerate() {
                for (column, weights) in group.chunks_exact(linear.inputs).enumerate() {
                    let column = first * COLUMNS + column;
                    for (row, total) in dots(x, weights).enumerate() {
                        let row = tile * TILE + row;
                        let mut value = total as f32 * (rows.scale[row] * linear.scale[column])
                            + (rows.low[row] * linear.sum[column] + linear.bias[column]);
                        for (i, x) in rows.loud[row * loud..][..loud].iter().enumerate() {
                            value += x * linear.columns[i * linear.outputs + column];
                        }
                        out[row * linear.outputs + column] = value;
                    }
                }
            }
        }
    }
}

/// Rows that share one reading of the weights.
const TILE: usize = 4;

/// The product of each of up to `TILE` rows with one output's weights.
#[inline(always)]
fn dots(rows: &[i16], weights: &[u8]) -> impl Iterator<Item = i32> {
    let mut totals = [0_i32; TILE];
    let count = rows.len() / weights.len();
    if let [a, b, c, d] = rows.chunks_exact(weights.len()).collect::<Vec<_>>()[..] {
        for (i, w) in weights.iter().enumerate() {
            let w = i32::from(*w as i8);
            totals[0] += i32::from(a[i]) * w;
            totals[1] += i32::from(b[i]) * w;
            totals[2] += i32::from(c[i]) * w;
            totals[3] += i32::from(d[i]) * w;
        }
    } else {
        for (row, total) in rows.chunks_exact(weights.len()).zip(&mut totals) {
            *total =
                row.iter().zip(weights).map(|(x, w)| i32::from(*x) * i32::from(*w as i8)).sum();
        }
    }
    totals.into_iter().take(count)
}

/// Adding this puts a small number's whole part in the lowest bits of the sum.
const MAGIC: f32 = 12_582_912.0;
