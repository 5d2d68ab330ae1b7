//! Int8 inner products of one query with many rows, with a kernel per instruction set.
//!
//! Row codes are stored as unsigned bytes with an offset of 128, because `vpdpbusd` takes an
//! unsigned and a signed operand; each kernel subtracts the constant `128 · Σ query` per row. All
//! kernels return the same integer.
#![allow(unsafe_code, reason = "intrinsics and loads through pointers, each bounded by `check`")]

/// The int8 query in the forms that the kernels need.
pub struct QueryCodes {
    pub codes: Vec<i8>,
    /// The codes widened to int16, for kernels that multiply at that width.
    wide: Vec<i16>,
    /// What the offset of the rows adds to every product.
    offset: i32,
    kernel: Kernel,
}

/// An implementation of the inner product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Scalar,
}

impl Kernel {
    /// Every kernel that this processor supports for rows of `dims`, fastest first.
    pub fn available(dims: usize) -> Vec<Self> {
        let mut out = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let vnni =
                is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512bw");
            if vnni && dims.is_multiple_of(64) {
                out.push(Self::Vnni);
            }
            if is_x86_feature_detected!("avx2") && dims.is_multiple_of(16) {
                out.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") && dims.is_multiple_of(16) {
            out.push(Self::Neon);
        }
        let _ = dims;
        out.push(Self::Scalar);
        out
    }
}

impl QueryCodes {
    pub fn new(codes: Vec<i8>) -> Self {
        let kernel = Kernel::available(codes.len()).into_iter().next().unwrap_or(Kernel::Scalar);
        Self::with(codes, kernel)
    }

    pub fn with(codes: Vec<i8>, kernel: Kernel) -> Self {
        let wide: Vec<i16> = codes.iter().map(|code| i16::from(*code)).collect();
        let offset = 128 * codes.iter().map(|code| i32::from(*code)).sum::<i32>();
        Self { codes, wide, offset, kernel }
    }

    /// Calls `visit` with the index and product of each row of `matrix`, which holds whole rows.
    pub fn products(&self, matrix: &[u8], visit: &mut dyn FnMut(usize, i32)) {
        let dims = self.codes.len();
        if dims == 0 {
            return;
        }
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Vnni => {
                for (row, codes) in matrix.chunks_exact(dims).enumerate() {
                    // SAFETY: `available` saw the features and that dims is a multiple of 64;
                    // `codes` and the question are both `dims` long.
                    visit(row, unsafe { vnni(&self.codes, codes) } - self.offset);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => {
                for (row, codes) in matrix.chunks_exact(dims).enumerate() {
                    // SAFETY: as above, with AVX2 and a multiple of 16.
                    visit(row, unsafe { avx2(&self.wide, codes) } - self.offset);
                }
            }
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => {
                for (row, codes) in matrix.chunks_exact(dims).enumerate() {
                    // SAFETY: as above, with NEON and a multiple of 16. It takes the offset off itself.
                    visit(row, unsafe { neon(&self.codes, codes) });
                }
            }
            Kernel::Scalar => {
                for (row, codes) in matrix.chunks_exact(dims).enumerate() {
                    let sum: i32 = self
                        .wide
                        .iter()
                        .zip(codes)
                        .map(|(a, b)| i32::from(*a) * i32::from(*b))
                        .sum();
                    visit(row, sum - self.offset);
                }
            }
        }
    }
}

/// # Safety
/// The processor has AVX-512 BW and VNNI; both slices have the same length, a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn vnni(question: &[i8], row: &[u8]) -> i32 {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_dpbusd_epi32, _mm512_loadu_si512,
        _mm512_reduce_add_epi32, _mm512_setzero_si512,
    };
    debug_assert!(question.len() == row.len() && row.len().is_multiple_of(64));
    // Two sums, so that one multiplication does not wait for the last.
    let mut sums = [_mm512_setzero_si512(); 2];
    for (turn, at) in (0..row.len()).step_by(64).enumerate() {
        // SAFETY: at + 64 <= len of both slices; the loads need no alignment.
        let (r, q) = unsafe {
            (
                _mm512_loadu_si512(row.as_ptr().add(at).cast::<__m512i>()),
                _mm512_loadu_si512(question.as_ptr().add(at).cast::<__m512i>()),
            )
        };
        sums[turn % 2] = _mm512_dpbusd_epi32(sums[turn % 2], r, q);
    }
    _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
}

/// # Safety
/// The processor has AVX2; both slices have the same length, a multiple of 16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(question: &[i16], row: &[u8]) -> i32 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepu8_epi16, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    };
    debug_assert!(question.len() == row.len() && row.len().is_multiple_of(16));
    let mut sums = [_mm256_setzero_si256(); 2];
    for (turn, at) in (0..row.len()).step_by(16).enumerate() {
        // SAFETY: at + 16 <= len of both slices; the loads need no alignment.
        let (r, q) = unsafe {
            (
                _mm_loadu_si128(row.as_ptr().add(at).cast::<__m128i>()),
                _mm256_loadu_si256(question.as_ptr().add(at).cast::<__m256i>()),
            )
        };
        let product = _mm256_madd_epi16(_mm256_cvtepu8_epi16(r), q);
        sums[turn % 2] = _mm256_add_epi32(sums[turn % 2], product);
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b00_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b00_00_00_01>(sum));
    _mm_cvtsi128_si32(sum)
}

/// # Safety
/// The processor has NEON; both slices have the same length, a multiple of 16.
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn neon(question: &[i8], row: &[u8]) -> i32 {
    use std::arch::aarch64::{
        vaddvq_s32, vdupq_n_s32, vdupq_n_u8, veorq_u8, vget_low_s8, vld1q_s8, vld1q_u8,
        vmull_high_s8, vmull_s8, vpadalq_s16, vreinterpretq_s8_u8,
    };
    debug_assert!(question.len() == row.len() && row.len().is_multiple_of(16));
    let flip = vdupq_n_u8(0x80);
    let mut sum = vdupq_n_s32(0);
    for at in (0..row.len()).step_by(16) {
        // SAFETY: at + 16 <= len of both slices.
        let (r, q) =
            unsafe { (vld1q_u8(row.as_ptr().add(at)), vld1q_s8(question.as_ptr().add(at))) };
        let r = vreinterpretq_s8_u8(veorq_u8(r, flip));
        sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(r), vget_low_s8(q)));
        sum = vpadalq_s16(sum, vmull_high_s8(r, q));
    }
    vaddvq_s32(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn products(question: &[i8], matrix: &[u8], kernel: Kernel) -> Vec<i32> {
        let mut out = Vec::new();
        QueryCodes::with(question.to_vec(), kernel).products(matrix, &mut |row, product| {
            assert_eq!(row, out.len());
            out.push(product);
        });
        out
    }

    fn plain(question: &[i8], matrix: &[u8]) -> Vec<i32> {
        matrix
            .chunks_exact(question.len())
            .map(|row| {
                row.iter()
                    .zip(question)
                    .map(|(code, q)| (i32::from(*code) - 128) * i32::from(*q))
                    .sum()
            })
            .collect()
    }

    #[test]
    fn all_kernels_agree_at_the_extremes() {
        for dims in [64, 256, 384] {
            for question in [-127i8, 127] {
                for code in [0u8, 1, 128, 255] {
                    let (question, matrix) = (vec![question; dims], vec![code; dims * 3]);
                    for kernel in Kernel::available(dims) {
                        let found = products(&question, &matrix, kernel);
                        assert_eq!(found, plain(&question, &matrix), "{kernel:?} {dims}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_kernels_agree(
            question in proptest::collection::vec(-127i8..=127, 384),
            matrix in proptest::collection::vec(any::<u8>(), 384 * 3),
        ) {
            for kernel in Kernel::available(384) {
                prop_assert_eq!(products(&question, &matrix, kernel), plain(&question, &matrix));
            }
        }
    }
}
