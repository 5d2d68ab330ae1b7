//! Attention on AMX bf16 tiles.
//!
//! A tile of 16 queries times a tile of 16 keys is one instruction, because a head has 32 values.
//! A bf16 number has 8 significant bits, too few for scores that go through an exponential, so
//! queries and keys are split into a high and a low part and three of the four products are added.
//! Probabilities and values stay single bf16 numbers: their rounding errors average out.

use std::arch::{
    asm,
    x86_64::{
        __m512, __m512i, _mm256_storeu_si256, _mm512_add_epi32, _mm512_and_si512,
        _mm512_castps_si512, _mm512_castsi256_si512, _mm512_castsi512_ps, _mm512_cvtepi32_epi16,
        _mm512_i32scatter_epi32, _mm512_inserti64x4, _mm512_loadu_ps, _mm512_mul_ps,
        _mm512_or_si512, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setr_epi32, _mm512_slli_epi32,
        _mm512_srli_epi32, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_sub_ps,
    },
};

use super::{Ops, amx::TileConfig};
use crate::math::{HEAD, Heads, softmax};

/// Rows of a tile, and columns of a tile of 32-bit sums.
const TILE: usize = 16;
/// Bytes of one tile.
const TILE_BYTES: usize = 1024;
/// Keys of one tile of probabilities. Sequences are padded to a multiple.
const STEP: usize = 32;

const _: () = assert!(HEAD == 32);

/// Buffers that attention reuses for every head.
#[derive(Default)]
pub struct TileHeads {
    /// High and low parts of the queries, row by row.
    queries: [Vec<u16>; 2],
    /// High and low parts of the keys, one tile for every 16 keys: pairs of values by key.
    keys: [Vec<u32>; 2],
    /// Values, two tiles for every 32 keys: pairs of keys by value.
    values: Vec<u32>,
    /// Scores of 16 queries, then their exponentials as bf16.
    scores: Vec<f32>,
    shares: Vec<u16>,
}

/// Attention within one sequence, as [`attend`](crate::math::attend) computes it.
///
/// # Safety
/// The process may use AMX with bf16. `qkv` has `3 * hidden` values and `out` `hidden` values for
/// each token, and `hidden` is a multiple of [`HEAD`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub unsafe fn attend<O: Ops<F = __m512>>(
    ops: O,
    qkv: &[f32],
    out: &mut [f32],
    hidden: usize,
    heads: &mut Heads,
) {
    let count = out.len() / hidden;
    assert!(qkv.len() == 3 * out.len() && hidden.is_multiple_of(HEAD));
    let padded = count.next_multiple_of(STEP);
    let tiles = &mut heads.tiles;
    tiles.resize(padded);
    let config = TileConfig::full();
    // SAFETY: `config` is 64 bytes that the instruction reads.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) };
    for at in (0..hidden).step_by(HEAD) {
        // SAFETY: the lengths were checked above; `resize` made room for `padded` tokens.
        unsafe {
            tiles.pack(qkv, count, hidden, at);
            for first in (0..count).step_by(TILE) {
                tiles.score(first, padded);
                let mut factors = [0.0; TILE];
                for (row, factor) in factors.iter_mut().enumerate().take(count - first) {
                    let scores = &mut tiles.scores[row * padded..][..padded];
                    scores[count..].fill(f32::NEG_INFINITY);
                    *factor = softmax(ops, scores);
                    let shares = &mut tiles.shares[row * padded..][..padded];
                    for (to, from) in shares.chunks_exact_mut(TILE).zip(scores.chunks_exact(TILE)) {
                        let rounded = nearest(_mm512_loadu_ps(from.as_ptr()));
                        _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(rounded));
                    }
                }
                let mut sums = [0.0_f32; TILE * HEAD];
                tiles.weigh(padded, &mut sums);
                for (row, factor) in factors.into_iter().enumerate().take(count - first) {
                    let factor = _mm512_set1_ps(factor);
                    let to = out[(first + row) * hidden + at..][..HEAD].as_mut_ptr();
                    let from = sums[row * HEAD..][..HEAD].as_ptr();
                    for half in [0, TILE] {
                        let value = _mm512_mul_ps(_mm512_loadu_ps(from.add(half)), factor);
                        _mm512_storeu_ps(to.add(half), value);
                    }
                }
            }
        }
    }
    // SAFETY: it only gives the tile registers back.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

impl TileHeads {
    /// Makes room for `padded` tokens. Padding must be zero or finite: it is multiplied by zero.
    fn resize(&mut self, padded: usize) {
        for part in 0..2 {
            self.queries[part].clear();
            self.queries[part].resize(padded * HEAD, 0);
            self.keys[part].clear();
            self.keys[part].resize(padded * HEAD / 2, 0);
        }
        self.values.clear();
        self.values.resize(padded * HEAD / 2, 0);
        self.scores.resize(TILE * padded, 0.0);
        self.shares.clear();
        self.shares.resize(TILE * padded, 0);
    }

    /// Splits and packs one head of `count` tokens.
    ///
    /// # Safety
    /// `qkv` has `count` rows of `3 * hidden` values, `at + HEAD <= hidden`, and `resize` made room.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn pack(&mut self, qkv: &[f32], count: usize, hidden: usize, at: usize) {
        let scale = _mm512_set1_ps(1.0 / (HEAD as f32).sqrt());
        // Rows of a tile of keys are 16 numbers apart.
        let apart = _mm512_setr_epi32(
            0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240,
        );
        // SAFETY: every row has the three heads, and the buffers hold `count` tokens.
        unsafe {
            for token in 0..count {
                let row = qkv.as_ptr().add(token * 3 * hidden + at);
                let [even, odd] =
                    [0, TILE].map(|half| _mm512_mul_ps(_mm512_loadu_ps(row.add(half)), scale));
                for (part, (a, b)) in
                    [(high(even), high(odd)), (low(even), low(odd))].into_iter().enumerate()
                {
                    let to = self.queries[part].as_mut_ptr().add(token * HEAD);
                    _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(a));
                    _mm256_storeu_si256(to.add(TILE).cast(), _mm512_cvtepi32_epi16(b));
                }
                // A tile of keys has a row for each pair of neighbouring values and a column for
                // each key.
                let row = row.add(hidden);
                let first = _mm512_loadu_ps(row);
                let second = _mm512_loadu_ps(row.add(TILE));
                let column = token / TILE * (TILE_BYTES / 4) + token % TILE;
                for (part, [first, second]) in
                    [[high(first), high(second)], [low(first), low(second)]].into_iter().enumerate()
                {
                    let pairs = _mm512_inserti64x4::<1>(
                        _mm512_castsi256_si512(_mm512_cvtepi32_epi16(first)),
                        _mm512_cvtepi32_epi16(second),
                    );
                    let to = self.keys[part].as_mut_ptr().add(column);
                    _mm512_i32scatter_epi32::<4>(to.cast(), apart, pairs);
                }
            }
            // A tile of values has a row for each pair of keys and a column for each value.
            for token in (0..count).step_by(2) {
                let row = qkv.as_ptr().add(token * 3 * hidden + 2 * hidden + at);
                let next = (token + 1 < count).then(|| row.add(3 * hidden));
                let tile = token / STEP * (2 * TILE_BYTES / 4) + token % STEP / 2 * TILE;
                for half in 0..2 {
                    let first = nearest(_mm512_loadu_ps(row.add(half * TILE)));
                    let second = match next {
                        Some(next) => nearest(_mm512_loadu_ps(next.add(half * TILE))),
                        None => _mm512_set1_epi32(0),
                    };
                    let pair = _mm512_or_si512(first, _mm512_slli_epi32::<16>(second));
                    let to = self.values.as_mut_ptr().add(tile + half * TILE_BYTES / 4);
                    _mm512_storeu_si512(to.cast(), pair);
                }
            }
        }
    }

    /// Scores of 16 queries from `first` on with every key.
    ///
    /// # Safety
    /// The tiles are configured, and the buffers hold `padded` tokens.
    #[inline]
    unsafe fn score(&mut self, first: usize, padded: usize) {
        // SAFETY: each load reads 1,024 bytes of a tile that exists, each store writes 16 rows of
        // 64 bytes, `padded` floats apart, into the scores.
        unsafe {
            asm!(
                "tileloadd tmm4, [{qh} + {line}]",
                "tileloadd tmm5, [{ql} + {line}]",
                "2:",
                "tilezero tmm0",
                "tileloadd tmm6, [{kh} + {line}]",
                "tileloadd tmm7, [{kl} + {line}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm0, tmm4, tmm7",
                "tdpbf16ps tmm0, tmm5, tmm6",
                "tilestored [{to} + {pitch}], tmm0",
                "tilezero tmm1",
                "tileloadd tmm2, [{kh} + {line} + 1024]",
                "tileloadd tmm3, [{kl} + {line} + 1024]",
                "tdpbf16ps tmm1, tmm4, tmm2",
                "tdpbf16ps tmm1, tmm4, tmm3",
                "tdpbf16ps tmm1, tmm5, tmm2",
                "tilestored [{to} + {pitch} + 64], tmm1",
                "add {kh}, 2048", "add {kl}, 2048", "add {to}, 128",
                "dec {steps}", "jnz 2b",
                qh = in(reg) self.queries[0].as_ptr().add(first * HEAD),
                ql = in(reg) self.queries[1].as_ptr().add(first * HEAD),
                kh = inout(reg) self.keys[0].as_ptr() => _,
                kl = inout(reg) self.keys[1].as_ptr() => _,
                to = inout(reg) self.scores.as_mut_ptr() => _,
                line = in(reg) 64_usize,
                pitch = in(reg) padded * 4,
                steps = inout(reg) padded / STEP => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }

    /// The shares of 16 queries times the values: 16 rows of [`HEAD`] floats.
    ///
    /// # Safety
    /// The tiles are configured, and the buffers hold `padded` tokens.
    #[inline]
    unsafe fn weigh(&self, padded: usize, sums: &mut [f32; TILE * HEAD]) {
        // SAFETY: as for `score`; a tile of shares is 16 rows of 64 bytes, `padded` numbers apart.
        unsafe {
            asm!(
                "tilezero tmm0", "tilezero tmm1",
                "2:",
                "tileloadd tmm4, [{p} + {pitch}]",
                "tileloadd tmm6, [{v} + {line}]",
                "tileloadd tmm7, [{v} + {line} + 1024]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "add {p}, 64", "add {v}, 2048",
                "dec {steps}", "jnz 2b",
                "tilestored [{to} + {row}], tmm0",
                "tilestored [{to} + {row} + 64], tmm1",
                p = inout(reg) self.shares.as_ptr() => _,
                v = inout(reg) self.values.as_ptr() => _,
                to = in(reg) sums.as_mut_ptr(),
                line = in(reg) 64_usize,
                row = in(reg) HEAD * 4,
                pitch = in(reg) padded * 2,
                steps = inout(reg) padded / STEP => _,
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

/// The upper 16 bits of each float, in the lower half of its lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn high(value: __m512) -> __m512i {
    _mm512_srli_epi32::<16>(_mm512_castps_si512(value))
}

/// The rest after [`high`], as bf16 again.
#[inline]
#[target_feature(enable = "avx512f")]
fn low(value: __m512) -> __m512i {
    let mask = _mm512_set1_epi32(0xffff_0000_u32 as i32);
    let upper = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(value), mask));
    high(_mm512_sub_ps(value, upper))
}

/// The nearest bf16 number, in the lower half of its lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn nearest(value: __m512) -> __m512i {
    let bits = _mm512_castps_si512(value);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let carried = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    _mm512_srli_epi32::<16>(carried)
}
