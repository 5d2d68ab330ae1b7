//! The arithmetic of the encoder for the processor at hand: an int8 matrix product and a handful of
//! float operations, written once for each instruction set and chosen when the program runs.
//!
//! `unsafe` is allowed here and nowhere else in this room, for two reasons: processor intrinsics
//! that load and store, and calls into functions compiled for features that were detected first.
#![allow(unsafe_code, reason = "intrinsics, and calls compiled for detected features")]

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vnni;

#[cfg(target_arch = "x86_64")]
pub use attention::TileHeads;
pub use portable::Portable;

use crate::math::{self, Heads};

/// Output columns and input values of one block of packed weights.
const COLUMNS: usize = 16;
const DEPTH: usize = 4;

/// Four weights of each of sixteen outputs, in the order that every instruction set here likes:
/// output by output, four neighbouring inputs each.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Block([i8; COLUMNS * DEPTH]);

/// A linear layer: int8 weights with a scale for each output, and a bias.
pub struct Linear {
    /// As they came: one row for each output.
    weights: &'static [u8],
    /// The same, packed for the kernels that want it so.
    blocks: Vec<Block>,
    inputs: usize,
    outputs: usize,
    scale: Vec<f32>,
    /// What an output gains when every input grows by one. Pays for the inputs' offset.
    sum: Vec<f32>,
    bias: Vec<f32>,
    /// Inputs that are kept out of the eight bits, and their weights: for each such input one for
    /// every output.
    loud: &'static [usize],
    columns: Vec<f32>,
}

impl Linear {
    /// Packs the row-major weights of `scale.len()` outputs. The `loud` inputs are those that now
    /// and then are far larger than the others: they would leave the rest of their row only a few
    /// of the 255 steps, so they are multiplied as floats.
    pub fn pack(
        weights: &'static [u8],
        scale: Vec<f32>,
        bias: Vec<f32>,
        loud: &'static [usize],
    ) -> Self {
        let outputs = scale.len();
        let inputs = weights.len() / outputs;
        assert!(outputs.is_multiple_of(COLUMNS) && inputs.is_multiple_of(DEPTH));
        assert!(weights.len() == inputs * outputs && bias.len() == outputs);
        let mut blocks = vec![Block([0; COLUMNS * DEPTH]); weights.len() / (COLUMNS * DEPTH)];
        let deep = inputs / DEPTH;
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            let (group, column) = (output / COLUMNS, output % COLUMNS);
            for (block, four) in
                blocks[group * deep..][..deep].iter_mut().zip(row.as_chunks::<DEPTH>().0)
            {
                block.0[column * DEPTH..][..DEPTH].copy_from_slice(&four.map(|w| w as i8));
            }
        }
        let sum = weights
            .chunks_exact(inputs)
            .zip(&scale)
            .map(|(row, scale)| row.iter().map(|w| i32::from(*w as i8)).sum::<i32>() as f32 * scale)
            .collect();
        let columns = loud.iter().flat_map(|input| {
            let column = weights.iter().skip(*input).step_by(inputs);
            column.zip(&scale).map(|(w, scale)| f32::from(*w as i8) * scale)
        });
        let columns = columns.collect();
        Self { weights, blocks, inputs, outputs, scale, sum, bias, loud, columns }
    }
}

/// Rows of activations in eight bits: value = low + scale × byte, both for each row.
#[derive(Default)]
pub struct Rows {
    bytes: Vec<u8>,
    scale: Vec<f32>,
    low: Vec<f32>,
    /// The values that stay floats, row by row.
    loud: Vec<f32>,
}

impl Rows {
    fn count(&self) -> usize {
        self.scale.len()
    }

    /// Quantises the rows for a linear layer, each over its own range. The values are the same
    /// again afterwards.
    #[inline(always)]
    pub fn fill<O: Ops>(&mut self, ops: O, values: &mut [f32], linear: &Linear) {
        let width = linear.inputs;
        self.bytes.resize(values.len(), 0);
        self.scale.clear();
        self.low.clear();
        self.loud.clear();
        for (row, bytes) in values.chunks_exact_mut(width).zip(self.bytes.chunks_exact_mut(width)) {
            let first = self.loud.len();
            for input in linear.loud {
                self.loud.push(std::mem::take(&mut row[*input]));
            }
            let (mut low, mut high) = (ops.splat(0.0), ops.splat(0.0));
            for lane in row.chunks_exact(O::LANES) {
                let lane = ops.load(lane);
                (low, high) = (ops.min(low, lane), ops.max(high, lane));
            }
            let (low, high) = (ops.lowest(low), ops.highest(high));
            let scale = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
            let (shift, factor) = (ops.splat(low), ops.splat(1.0 / scale));
            for (lane, bytes) in row.chunks_exact(O::LANES).zip(bytes.chunks_exact_mut(O::LANES)) {
                ops.bytes(ops.mul(ops.sub(ops.load(lane), shift), factor), bytes);
            }
            self.scale.push(scale);
            self.low.push(low);
            for (input, value) in linear.loud.iter().zip(&self.loud[first..]) {
                row[*input] = *value;
            }
        }
    }
}

/// What an instruction set can do. A value of a type that implements this is the proof that the
/// processor has it. `F` is a vector of `LANES` floats; slices hold at least that many.
pub trait Ops: Copy {
    const LANES: usize;
    type F: Copy;

    fn splat(self, value: f32) -> Self::F;
    fn load(self, from: &[f32]) -> Self::F;
    fn store(self, value: Self::F, to: &mut [f32]);
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// a × b + c
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Two to the power of each value, which must be whole and within ±126.
    fn power(self, whole: Self::F) -> Self::F;
    /// The nearest whole number.
    fn round(self, value: Self::F) -> Self::F;
    fn sum(self, value: Self::F) -> f32;
    fn lowest(self, value: Self::F) -> f32;
    fn highest(self, value: Self::F) -> f32;
    /// Rounds values between 0 and 255 to bytes.
    fn bytes(self, value: Self::F, to: &mut [u8]);
    /// The linear layer for every row: `out` has a row of outputs for each.
    fn linear(self, rows: &Rows, linear: &Linear, out: &mut [f32]);
    /// Attention within one sequence. `qkv` has a row of queries, keys and values for each token,
    /// all heads of each side by side; `out` gets a row of all heads for each token.
    #[inline(always)]
    fn attend(self, qkv: &[f32], out: &mut [f32], hidden: usize, heads: &mut Heads) {
        math::attend(self, qkv, out, hidden, heads);
    }
}

/// The operations of [`Ops`] that are one intrinsic each.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes {
    ($float:ty, $lanes:literal, $($name:ident = $intrinsic:ident($($arg:ident),*);)*) => {
        const LANES: usize = $lanes;
        type F = $float;
        $(
            #[inline(always)]
            fn $name(self, $($arg: $float),*) -> $float {
                // SAFETY: `self` is the proof that the processor has the instruction.
                unsafe { $intrinsic($($arg),*) }
            }
        )*
    };
}
#[cfg(target_arch = "x86_64")]
use lanes;

/// Work that is compiled once for each instruction set. `run` must be `#[inline(always)]`.
pub trait Pass {
    type Output;
    fn run<O: Ops>(self, ops: O) -> Self::Output;
}

/// An instruction set that this processor has.
#[derive(Clone, Copy)]
pub enum Kernel {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Vnni(vnni::Vnni),
    #[cfg(target_arch = "x86_64")]
    Amx(amx::Amx),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
}

impl Kernel {
    /// The fastest one here.
    pub fn best() -> Self {
        Self::available().swap_remove(0)
    }

    /// All that work here, the fastest first.
    pub fn available() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(amx::Amx::detect().map(Self::Amx));
            all.extend(vnni::Vnni::detect().map(Self::Vnni));
            all.extend(avx2::Avx2::detect().map(Self::Avx2));
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(neon) = neon::Neon::detect() {
            all.push(Self::Neon(neon));
            all.extend(neon.has_dot_product().then(|| Self::Neon(neon.baseline())));
        }
        all.push(Self::Portable(Portable));
        all
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(_) => "avx512vnni",
            #[cfg(target_arch = "x86_64")]
            Self::Amx(_) => "amx",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(neon) if neon.has_dot_product() => "neon-dotprod",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }

    /// Runs the pass with this instruction set.
    pub fn run<P: Pass>(self, pass: P) -> P::Output {
        match self {
            Self::Portable(ops) => pass.run(ops),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(ops) => ops.run(pass),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(ops) => ops.run(pass),
            #[cfg(target_arch = "x86_64")]
            Self::Amx(ops) => ops.run(pass),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(ops) => ops.run(pass),
        }
    }
}

/// Stops on lengths that would send a kernel out of bounds; the kernels rely on it.
fn check(rows: &Rows, linear: &Linear, out: &[f32]) {
    assert_eq!(rows.bytes.len(), rows.count() * linear.inputs);
    assert_eq!(rows.low.len(), rows.count());
    assert_eq!(out.len(), rows.count() * linear.outputs);
    assert_eq!(linear.weights.len(), linear.inputs * linear.outputs);
    assert_eq!(linear.blocks.len() * COLUMNS * DEPTH, linear.inputs * linear.outputs);
    assert!(linear.inputs.is_multiple_of(DEPTH) && linear.outputs.is_multiple_of(COLUMNS));
    assert_eq!(rows.loud.len(), rows.count() * linear.loud.len());
    assert_eq!(linear.columns.len(), linear.outputs * linear.loud.len());
    for column in [&linear.scale, &linear.sum, &linear.bias] {
        assert_eq!(column.len(), linear.outputs);
    }
}
