//! AVX2 with FMA, which every x86-64 processor since about 2015 has.

// A tile is an array of registers: the index is which one, and that is what matters here.
#![allow(clippy::needless_range_loop, reason = "the indices count registers and rows alike")]

use std::arch::x86_64::*;

use super::{COLUMNS, DEPTH, Linear, Ops, Pass, Rows, check, lanes};

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }

    pub fn run<P: Pass>(self, pass: P) -> P::Output {
        #[target_feature(enable = "avx2,fma")]
        fn inside<P: Pass>(ops: Avx2, pass: P) -> P::Output {
            pass.run(ops)
        }
        // SAFETY: `self` exists, so `detect` found these features.
        unsafe { inside(self, pass) }
    }
}

impl Ops for Avx2 {
    lanes! { __m256, 8,
        add = _mm256_add_ps(a, b);
        sub = _mm256_sub_ps(a, b);
        mul = _mm256_mul_ps(a, b);
        div = _mm256_div_ps(a, b);
        min = _mm256_min_ps(a, b);
        max = _mm256_max_ps(a, b);
        fma = _mm256_fmadd_ps(a, b, c);
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        // SAFETY: as above.
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough; the load needs no alignment.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, value: __m256, to: &mut [f32]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough; the store needs no alignment.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), value) }
    }
    #[inline(always)]
    fn power(self, whole: __m256) -> __m256 {
        // SAFETY: as above.
        unsafe {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    fn round(self, value: __m256) -> __m256 {
        // SAFETY: as above.
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(value) }
    }
    #[inline(always)]
    fn sum(self, value: __m256) -> f32 {
        let mut lanes = [0.0; 8];
        self.store(value, &mut lanes);
        lanes.iter().sum()
    }
    #[inline(always)]
    fn lowest(self, value: __m256) -> f32 {
        let mut lanes = [0.0; 8];
        self.store(value, &mut lanes);
        lanes.into_iter().fold(f32::INFINITY, f32::min)
    }
    #[inline(always)]
    fn highest(self, value: __m256) -> f32 {
        let mut lanes = [0.0; 8];
        self.store(value, &mut lanes);
        lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
    #[inline(always)]
    fn bytes(self, value: __m256, to: &mut [u8]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice was just found long enough; the store needs no alignment.
        unsafe {
            let whole = _mm256_cvtps_epi32(value);
            let (low, high) = (_mm256_castsi256_si128(whole), _mm256_extracti128_si256::<1>(whole));
            let words = _mm_packus_epi32(low, high);
            _mm_storel_epi64(to.as_mut_ptr().cast(), _mm_packus_epi16(words, words));
        }
    }

    fn linear(self, rows: &Rows, linear: &Linear, out: &mut [f32]) {
        check(rows, linear, out);
        // SAFETY: `self` proves the features and `check` the lengths.
        unsafe { avx2(rows, linear, out) }
    }
}

/// # Safety
/// `check` holds.
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(rows: &Rows, linear: &Linear, out: &mut [f32]) {
    for group in 0..linear.outputs / COLUMNS {
        let mut row = 0;
        // SAFETY: the groups and rows are within bounds.
        unsafe {
            while row + 3 <= rows.count() {
                avx2_tile::<3>(rows, linear, row, group, out);
                row += 3;
            }
            match rows.count() - row {
                2 => avx2_tile::<2>(rows, linear, row, group, out),
                1 => avx2_tile::<1>(rows, linear, row, group, out),
                _ => {}
            }
        }
    }
}

/// Widens to sixteen bits: the byte instruction of AVX2 saturates on a pair of large products.
///
/// # Safety
/// `check` holds, and rows `row..row + T` and the group exist.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_tile<const T: usize>(
    rows: &Rows,
    linear: &Linear,
    row: usize,
    group: usize,
    out: &mut [f32],
) {
    let deep = linear.inputs / DEPTH;
    // Four outputs a register, two partial sums each.
    let mut total = [[_mm256_setzero_si256(); 4]; T];
    // SAFETY: by `check` there are `deep` blocks for each group and `inputs` bytes for each row, and
    // the caller vouches for the rows and the group.
    unsafe {
        let weights = linear.blocks.as_ptr().add(group * deep);
        let bytes = rows.bytes.as_ptr().add(row * linear.inputs);
        for k in 0..deep {
            let block = weights.add(k).cast::<__m128i>();
            let mut x = [_mm256_setzero_si256(); T];
            for t in 0..T {
                let four = bytes.add(t * linear.inputs + k * DEPTH).cast::<i32>();
                x[t] = _mm256_cvtepu8_epi16(_mm_set1_epi32(four.read_unaligned()));
            }
            for quarter in 0..4 {
                let w = _mm256_cvtepi8_epi16(_mm_load_si128(block.add(quarter)));
                for t in 0..T {
                    total[t][quarter] =
                        _mm256_add_epi32(total[t][quarter], _mm256_madd_epi16(x[t], w));
                }
            }
        }
        for t in 0..T {
            for half in 0..2 {
                // Adds the partial sums; the halves of the registers come out interleaved.
                let pairs = _mm256_hadd_epi32(total[t][half * 2], total[t][half * 2 + 1]);
                let sums = _mm256_permute4x64_epi64::<0b11_01_10_00>(pairs);
                let at = group * COLUMNS + half * 8;
                let scale = _mm256_loadu_ps(linear.scale.as_ptr().add(at));
                let sum = _mm256_loadu_ps(linear.sum.as_ptr().add(at));
                let bias = _mm256_loadu_ps(linear.bias.as_ptr().add(at));
                let shift =
                    _mm256_fmadd_ps(_mm256_set1_ps(*rows.low.get_unchecked(row + t)), sum, bias);
                let scale =
                    _mm256_mul_ps(_mm256_set1_ps(*rows.scale.get_unchecked(row + t)), scale);
                let mut value = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), scale, shift);
                for l in 0..linear.loud.len() {
                    let x = *rows.loud.get_unchecked((row + t) * linear.loud.len() + l);
                    let w = _mm256_loadu_ps(linear.columns.as_ptr().add(l * linear.outputs + at));
                    value = _mm256_fmadd_ps(_mm256_set1_ps(x), w, value);
                }
                _mm256_storeu_ps(out.as_mut_ptr().add((row + t) * linear.outputs + at), value);
            }
        }
    }
}
