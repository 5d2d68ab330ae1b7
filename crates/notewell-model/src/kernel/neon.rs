//! NEON, which every 64-bit Arm processor has, and the dot product extension where it is there
//! (Apple silicon, and Arm servers since about 2019).
//!
//! The byte products are signed, so activations are shifted from 0…255 to −128…127; the shift is
//! added back through [`Linear::sum`](super::Linear). Rust has no stable intrinsic for `sdot`, so
//! that instruction is inline assembly.

use std::arch::{aarch64::*, asm};

use super::{COLUMNS, DEPTH, Linear, Ops, Pass, Rows, check};

/// Proof that the processor has NEON, and whether it has the dot product extension.
#[derive(Clone, Copy)]
pub struct Neon {
    dot_product: bool,
}

impl Neon {
    /// The kernel with every extension that this processor has.
    pub fn detect() -> Option<Self> {
        let dot_product = std::arch::is_aarch64_feature_detected!("dotprod");
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self { dot_product })
    }

    /// The same kernel without extensions, for tests and measurements.
    pub fn baseline(self) -> Self {
        Self { dot_product: false }
    }

    /// Whether [`Ops::linear`] uses the dot product extension.
    pub fn has_dot_product(self) -> bool {
        self.dot_product
    }

    /// Runs the pass. NEON is part of the target, so nothing has to be switched on.
    pub fn run<P: Pass>(self, pass: P) -> P::Output {
        pass.run(self)
    }
}

/// Two registers: enough independent sums to hide the latency of a multiply-add.
type Pair = [float32x4_t; 2];

/// The operations of [`Ops`] that are one intrinsic for each half of a pair.
macro_rules! halves {
    ($($name:ident = $intrinsic:ident;)*) => {
        $(
            #[inline(always)]
            fn $name(self, a: Pair, b: Pair) -> Pair {
                // SAFETY: NEON is part of the target.
                unsafe { [$intrinsic(a[0], b[0]), $intrinsic(a[1], b[1])] }
            }
        )*
    };
}

impl Ops for Neon {
    const LANES: usize = 8;
    type F = Pair;

    halves! {
        add = vaddq_f32;
        sub = vsubq_f32;
        mul = vmulq_f32;
        div = vdivq_f32;
        min = vminq_f32;
        max = vmaxq_f32;
    }

    #[inline(always)]
    fn fma(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { [vfmaq_f32(c[0], a[0], b[0]), vfmaq_f32(c[1], a[1], b[1])] }
    }
    #[inline(always)]
    fn splat(self, value: f32) -> Pair {
        // SAFETY: as above.
        unsafe { [vdupq_n_f32(value); 2] }
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> Pair {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough.
        unsafe { [vld1q_f32(from.as_ptr()), vld1q_f32(from.as_ptr().add(4))] }
    }
    #[inline(always)]
    fn store(self, value: Pair, to: &mut [f32]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough.
        unsafe {
            vst1q_f32(to.as_mut_ptr(), value[0]);
            vst1q_f32(to.as_mut_ptr().add(4), value[1]);
        }
    }
    #[inline(always)]
    fn power(self, whole: Pair) -> Pair {
        // SAFETY: as above.
        whole.map(|whole| unsafe {
            let biased = vaddq_s32(vcvtnq_s32_f32(whole), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased))
        })
    }
    #[inline(always)]
    fn round(self, value: Pair) -> Pair {
        // SAFETY: as above.
        value.map(|value| unsafe { vrndnq_f32(value) })
    }
    #[inline(always)]
    fn sum(self, value: Pair) -> f32 {
        // SAFETY: as above.
        unsafe { vaddvq_f32(vaddq_f32(value[0], value[1])) }
    }
    #[inline(always)]
    fn lowest(self, value: Pair) -> f32 {
        // SAFETY: as above.
        unsafe { vminvq_f32(vminq_f32(value[0], value[1])) }
    }
    #[inline(always)]
    fn highest(self, value: Pair) -> f32 {
        // SAFETY: as above.
        unsafe { vmaxvq_f32(vmaxq_f32(value[0], value[1])) }
    }
    #[inline(always)]
    fn bytes(self, value: Pair, to: &mut [u8]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough.
        unsafe {
            let words = vcombine_u16(
                vqmovn_u32(vcvtnq_u32_f32(value[0])),
                vqmovn_u32(vcvtnq_u32_f32(value[1])),
            );
            vst1_u8(to.as_mut_ptr(), vqmovn_u16(words));
        }
    }

    fn linear(self, rows: &Rows, linear: &Linear, out: &mut [f32]) {
        check(rows, linear, out);
        let dot = self.dot_product && linear.inputs.is_multiple_of(4 * DEPTH);
        for group in 0..linear.outputs / COLUMNS {
            let mut row = 0;
            while row < rows.count() {
                let tall = (rows.count() - row).min(TALL);
                // SAFETY: the group and `tall` rows exist, `check` holds, and the extension is used
                // only where it was detected.
                unsafe {
                    match (dot, tall) {
                        (true, 4) => dot_tile::<4>(rows, linear, row, group, out),
                        (true, 3) => dot_tile::<3>(rows, linear, row, group, out),
                        (true, 2) => dot_tile::<2>(rows, linear, row, group, out),
                        (true, _) => dot_tile::<1>(rows, linear, row, group, out),
                        (false, 4) => wide_tile::<4>(rows, linear, row, group, out),
                        (false, 3) => wide_tile::<3>(rows, linear, row, group, out),
                        (false, 2) => wide_tile::<2>(rows, linear, row, group, out),
                        (false, _) => wide_tile::<1>(rows, linear, row, group, out),
                    }
                }
                row += tall;
            }
        }
    }
}

/// Rows that share one reading of the weights: sixteen registers of sums.
const TALL: usize = 4;

/// Adds four products of `w` with one 32-bit lane of `x` to each lane of `sum`.
macro_rules! sdot {
    ($sum:expr, $w:expr, $x:expr, $lane:literal) => {
        asm!(
            concat!("sdot {0:v}.4s, {1:v}.16b, {2:v}.4b[", $lane, "]"),
            inout(vreg) $sum, in(vreg) $w, in(vreg) $x,
            options(pure, nomem, nostack, preserves_flags)
        )
    };
}

/// # Safety
/// The processor has the dot product extension, `check` holds, `inputs` is a multiple of 16, and
/// rows `row..row + T` and the group exist.
#[inline]
#[target_feature(enable = "neon,dotprod")]
unsafe fn dot_tile<const T: usize>(
    rows: &Rows,
    linear: &Linear,
    row: usize,
    group: usize,
    out: &mut [f32],
) {
    let deep = linear.inputs / DEPTH;
    let mut sums = [[vdupq_n_s32(0); 4]; T];
    // SAFETY: by `check` a group has `deep` blocks and a row `inputs` bytes; a step reads four
    // blocks and 16 bytes of each row.
    unsafe {
        let weights = linear.blocks.as_ptr().add(group * deep).cast::<i8>();
        let bytes = rows.bytes.as_ptr().add(row * linear.inputs);
        let shift = vdupq_n_u8(0x80);
        for step in (0..deep).step_by(4) {
            let mut x = [vdupq_n_s8(0); T];
            for (t, x) in x.iter_mut().enumerate() {
                let unsigned = vld1q_u8(bytes.add(t * linear.inputs + step * DEPTH));
                *x = vreinterpretq_s8_u8(veorq_u8(unsigned, shift));
            }
            let at = weights.add(step * COLUMNS * DEPTH);
            for quarter in 0..4 {
                let w: [int8x16_t; 4] =
                    std::array::from_fn(|k| vld1q_s8(at.add(k * COLUMNS * DEPTH + quarter * 16)));
                for (sums, x) in sums.iter_mut().zip(x) {
                    sdot!(sums[quarter], w[0], x, "0");
                    sdot!(sums[quarter], w[1], x, "1");
                    sdot!(sums[quarter], w[2], x, "2");
                    sdot!(sums[quarter], w[3], x, "3");
                }
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            finish(rows, linear, row + t, group, sums, out);
        }
    }
}

/// Widens to sixteen bits, as processors without the dot product extension must.
///
/// # Safety
/// `check` holds, and rows `row..row + T` and the group exist.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn wide_tile<const T: usize>(
    rows: &Rows,
    linear: &Linear,
    row: usize,
    group: usize,
    out: &mut [f32],
) {
    let deep = linear.inputs / DEPTH;
    // Two outputs a register, two partial sums each.
    let mut sums = [[vdupq_n_s32(0); 8]; T];
    // SAFETY: by `check` a group has `deep` blocks and a row `inputs` bytes.
    unsafe {
        let weights = linear.blocks.as_ptr().add(group * deep).cast::<i8>();
        let bytes = rows.bytes.as_ptr().add(row * linear.inputs);
        for step in 0..deep {
            let at = weights.add(step * COLUMNS * DEPTH);
            for (t, sums) in sums.iter_mut().enumerate() {
                let four = bytes.add(t * linear.inputs + step * DEPTH).cast::<u32>();
                let four = vdup_n_u32(four.read_unaligned() ^ 0x8080_8080);
                let x = vreinterpret_s8_u32(four);
                for (eighth, sum) in sums.iter_mut().enumerate() {
                    *sum = vpadalq_s16(*sum, vmull_s8(vld1_s8(at.add(eighth * 8)), x));
                }
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            let sums = std::array::from_fn(|i| vpaddq_s32(sums[2 * i], sums[2 * i + 1]));
            finish(rows, linear, row + t, group, sums, out);
        }
    }
}

/// Turns the integer sums of one row and group into outputs: scale, offset, bias, and the inputs
/// that stay floats.
///
/// # Safety
/// `check` holds, and the row and the group exist.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn finish(
    rows: &Rows,
    linear: &Linear,
    row: usize,
    group: usize,
    sums: [int32x4_t; 4],
    out: &mut [f32],
) {
    let loud = linear.loud.len();
    // SAFETY: the caller vouches for the row and the group, `check` for the lengths.
    unsafe {
        let scale = *rows.scale.get_unchecked(row);
        // The activations were shifted by 128 steps.
        let low = *rows.low.get_unchecked(row) + 128.0 * scale;
        for (quarter, total) in sums.into_iter().enumerate() {
            let at = group * COLUMNS + quarter * 4;
            let column = |of: &[f32]| vld1q_f32(of.as_ptr().add(at));
            let shift = vfmaq_n_f32(column(&linear.bias), column(&linear.sum), low);
            let factor = vmulq_n_f32(column(&linear.scale), scale);
            let mut value = vfmaq_f32(shift, vcvtq_f32_s32(total), factor);
            for l in 0..loud {
                let weights = vld1q_f32(linear.columns.as_ptr().add(l * linear.outputs + at));
                value = vfmaq_n_f32(value, weights, *rows.loud.get_unchecked(row * loud + l));
            }
            vst1q_f32(out.as_mut_ptr().add(row * linear.outputs + at), value);
        }
    }
}
