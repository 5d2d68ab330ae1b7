//! The instruction set of nobody in particular: plain Rust, which the compiler turns into whatever
//! vectors the target always has. Slower, and the measure for the others.

use super::{COLUMNS, DEPTH, Linear, Ops, Rows, check};

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
        let deep = linear.inputs / DEPTH;
        for (group, blocks) in linear.blocks.chunks_exact(deep).enumerate() {
            let at = group * COLUMNS;
            for (row, bytes) in rows.bytes.chunks_exact(linear.inputs).enumerate() {
                let mut total = [0_i32; COLUMNS];
                for (block, x) in blocks.iter().zip(bytes.as_chunks::<DEPTH>().0) {
                    let x = x.map(i16::from);
                    for (total, w) in total.iter_mut().zip(block.0.as_chunks::<DEPTH>().0) {
                        // Two products of u8 and i8 fit in i32 only; each alone fits in i16.
                        *total += i32::from(x[0] * i16::from(w[0]))
                            + i32::from(x[1] * i16::from(w[1]))
                            + i32::from(x[2] * i16::from(w[2]))
                            + i32::from(x[3] * i16::from(w[3]));
                    }
                }
                let out = &mut out[row * linear.outputs + at..][..COLUMNS];
                for (i, out) in out.iter_mut().enumerate() {
                    *out = total[i] as f32 * (rows.scale[row] * linear.scale[at + i])
                        + (rows.low[row] * linear.sum[at + i] + linear.bias[at + i]);
                }
                let loud = &rows.loud[row * linear.loud.len()..][..linear.loud.len()];
                for (x, column) in loud.iter().zip(linear.columns.chunks_exact(linear.outputs)) {
                    for (out, w) in out.iter_mut().zip(&column[at..]) {
                        *out += x * w;
                    }
                }
            }
        }
    }
}

/// Adding this puts a small number's whole part in the lowest bits of the sum.
const MAGIC: f32 = 12_582_912.0;
