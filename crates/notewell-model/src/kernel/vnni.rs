//! AVX-512 with VNNI: one instruction multiplies 64 pairs of bytes and adds them up by fours.

// A tile is an array of registers: the index is which one, and that is what matters here.
#![allow(clippy::needless_range_loop, reason = "the indices count registers and rows alike")]

use std::arch::x86_64::*;

use super::{COLUMNS, DEPTH, Linear, Ops, Pass, Rows, check, lanes};

/// Proof that the processor has AVX-512 F, BW, VL and VNNI.
#[derive(Clone, Copy)]
pub struct Vnni(());

impl Vnni {
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni"))
        .then_some(Self(()))
    }

    pub fn run<P: Pass>(self, pass: P) -> P::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
        fn inside<P: Pass>(ops: Vnni, pass: P) -> P::Output {
            pass.run(ops)
        }
        // SAFETY: `self` exists, so `detect` found these features.
        unsafe { inside(self, pass) }
    }
}

impl Ops for Vnni {
    lanes! { __m512, 16,
        add = _mm512_add_ps(a, b);
        sub = _mm512_sub_ps(a, b);
        mul = _mm512_mul_ps(a, b);
        min = _mm512_min_ps(a, b);
        max = _mm512_max_ps(a, b);
        fma = _mm512_fmadd_ps(a, b, c);
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough; the load needs no alignment.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, value: __m512, to: &mut [f32]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough; the store needs no alignment.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), value) }
    }
    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // An estimate of 14 bits and one Newton step: half the time of a division, and the error
        // is below one in ten million.
        // SAFETY: as above.
        unsafe {
            let estimate = _mm512_rcp14_ps(b);
            let rest = _mm512_fnmadd_ps(b, estimate, _mm512_set1_ps(2.0));
            _mm512_mul_ps(a, _mm512_mul_ps(estimate, rest))
        }
    }
    #[inline(always)]
    fn power(self, whole: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_scalef_ps(_mm512_set1_ps(1.0), whole) }
    }
    #[inline(always)]
    fn round(self, value: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(value) }
    }
    #[inline(always)]
    fn sum(self, value: __m512) -> f32 {
        // SAFETY: as above.
        unsafe { _mm512_reduce_add_ps(value) }
    }
    #[inline(always)]
    fn lowest(self, value: __m512) -> f32 {
        // SAFETY: as above.
        unsafe { _mm512_reduce_min_ps(value) }
    }
    #[inline(always)]
    fn highest(self, value: __m512) -> f32 {
        // SAFETY: as above.
        unsafe { _mm512_reduce_max_ps(value) }
    }
    #[inline(always)]
    fn bytes(self, value: __m512, to: &mut [u8]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough; the store needs no alignment.
        unsafe {
            let bytes = _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(value));
            _mm_storeu_si128(to.as_mut_ptr().cast(), bytes);
        }
    }

    fn linear(self, rows: &Rows, linear: &Linear, out: &mut [f32]) {
        check(rows, linear, out);
        // SAFETY: `self` proves the features and `check` the lengths.
        unsafe { vnni(rows, linear, out) }
    }
}

/// Rows of one tile. With three groups of columns the sums fill 24 of the 32 registers.
const TILE: usize = 8;
const GROUPS: usize = 3;

/// # Safety
/// `check` holds.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn vnni(rows: &Rows, linear: &Linear, out: &mut [f32]) {
    let groups = linear.outputs / COLUMNS;
    let mut group = 0;
    while group < groups {
        let wide = (groups - group).min(GROUPS);
        let mut row = 0;
        while row < rows.count() {
            let tall = (rows.count() - row).min(TILE);
            // SAFETY: `wide` groups and `tall` rows are within bounds.
            unsafe {
                match (tall, wide) {
                    (8, 3) => vnni_tile::<8, 3>(rows, linear, row, group, out),
                    (7, 3) => vnni_tile::<7, 3>(rows, linear, row, group, out),
                    (6, 3) => vnni_tile::<6, 3>(rows, linear, row, group, out),
                    (5, 3) => vnni_tile::<5, 3>(rows, linear, row, group, out),
                    (4, 3) => vnni_tile::<4, 3>(rows, linear, row, group, out),
                    (3, 3) => vnni_tile::<3, 3>(rows, linear, row, group, out),
                    (2, 3) => vnni_tile::<2, 3>(rows, linear, row, group, out),
                    (1, 3) => vnni_tile::<1, 3>(rows, linear, row, group, out),
                    _ => {
                        for row in row..row + tall {
                            for group in group..group + wide {
                                vnni_tile::<1, 1>(rows, linear, row, group, out);
                            }
                        }
                    }
                }
            }
            row += tall;
        }
        group += wide;
    }
}

/// # Safety
/// `check` holds, and rows `row..row + T` and groups `group..group + G` exist.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn vnni_tile<const T: usize, const G: usize>(
    rows: &Rows,
    linear: &Linear,
    row: usize,
    group: usize,
    out: &mut [f32],
) {
    let deep = linear.inputs / DEPTH;
    let mut total = [[_mm512_setzero_si512(); G]; T];
    // SAFETY: by `check` there are `deep` blocks for each group and `inputs` bytes for each row, and
    // the caller vouches for the rows and groups.
    unsafe {
        let weights = linear.blocks.as_ptr().add(group * deep);
        let bytes = rows.bytes.as_ptr().add(row * linear.inputs);
        for k in 0..deep {
            let mut w = [_mm512_setzero_si512(); G];
            for g in 0..G {
                let block = weights.add(g * deep + k);
                w[g] = _mm512_load_si512(block.cast());
                // A short question uses each weight a few times only, so it would wait for memory:
                // the first rows fetch what the next groups need. Beyond the end nothing is read.
                if row == 0 {
                    _mm_prefetch::<_MM_HINT_T1>(block.wrapping_add(G * deep).cast());
                }
            }
            for t in 0..T {
                let four = bytes.add(t * linear.inputs + k * DEPTH).cast::<i32>();
                let x = _mm512_set1_epi32(four.read_unaligned());
                for g in 0..G {
                    total[t][g] = _mm512_dpbusd_epi32(total[t][g], x, w[g]);
                }
            }
        }
        for g in 0..G {
            let at = (group + g) * COLUMNS;
            let scale = _mm512_loadu_ps(linear.scale.as_ptr().add(at));
            let sum = _mm512_loadu_ps(linear.sum.as_ptr().add(at));
            let bias = _mm512_loadu_ps(linear.bias.as_ptr().add(at));
            for t in 0..T {
                let shift =
                    _mm512_fmadd_ps(_mm512_set1_ps(*rows.low.get_unchecked(row + t)), sum, bias);
                let scale =
                    _mm512_mul_ps(_mm512_set1_ps(*rows.scale.get_unchecked(row + t)), scale);
                let mut value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(total[t][g]), scale, shift);
                for l in 0..linear.loud.len() {
                    let x = *rows.loud.get_unchecked((row + t) * linear.loud.len() + l);
                    let w = _mm512_loadu_ps(linear.columns.as_ptr().add(l * linear.outputs + at));
                    value = _mm512_fmadd_ps(_mm512_set1_ps(x), w, value);
                }
                _mm512_storeu_ps(out.as_mut_ptr().add((row + t) * linear.outputs + at), value);
            }
        }
    }
}
