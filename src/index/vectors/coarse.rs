//! One bit a value, for the first look at many rows: an eighth of the memory of the eight-bit codes,
//! and memory is what a scan waits for. The rows that look near are then compared by their codes, so
//! that a row is only ever missed here when hundreds of others look nearer than it.
//!
//! A sign says most when every value matters alike, which a model's values do not. So a vector is
//! turned first: signs flipped by a fixed pattern, sums and differences over blocks (Hadamard), the
//! blocks shuffled into each other, and the same again. That keeps every angle and spreads what was
//! in a few values over all of them. The question keeps four bits a value, of which each is compared
//! with the rows' bits by counting where they differ.

/// Bits that a question keeps of each value.
const PLANES: usize = 4;
/// The largest distance is this many times the dimensions.
const MOST: usize = (1 << PLANES) - 1;

/// Rows that are compared by their codes after the first look: at least so many, or so large a part.
const LEAST: usize = 4_000;
const PART: usize = 100;

/// How vectors of some dimensions are turned.
pub(super) struct Turn {
    dims: usize,
    block: usize,
}

impl Turn {
    /// `None` for dimensions that do not fill whole words, or whose distances would not be counted.
    pub(super) fn of(dims: usize) -> Option<Self> {
        (dims > 0 && dims.is_multiple_of(64) && dims * MOST <= usize::from(u16::MAX))
            .then(|| Self { dims, block: 1 << dims.trailing_zeros().min(10) })
    }

    /// Bytes of a row's bits.
    pub(super) fn width(&self) -> usize {
        self.dims / 8
    }

    fn run<T>(&self, mut values: Vec<T>) -> Vec<T>
    where
        T: Copy + std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Neg<Output = T>,
    {
        for round in 0..2u64 {
            for (at, word) in values.chunks_mut(64).enumerate() {
                let flips = pattern(round << 32 | at as u64);
                for (bit, value) in word.iter_mut().enumerate() {
                    if flips >> bit & 1 == 1 {
                        *value = -*value;
                    }
                }
            }
            values.chunks_mut(self.block).for_each(hadamard);
            let blocks = self.dims / self.block;
            if round == 0 && blocks > 1 {
                let from = |at: usize| values[at % blocks * self.block + at / blocks];
                values = (0..self.dims).map(from).collect();
            }
        }
        values
    }

    /// The bits of a row, given its eight-bit codes as they are stored.
    pub(super) fn bits(&self, codes: &[u8]) -> Vec<u8> {
        let turned = self.run(codes.iter().map(|code| i32::from(*code) - 128).collect());
        pack(turned.iter().map(|value| *value >= 0))
    }
}

/// The sums and differences of every pair, of pairs of pairs, and so on.
fn hadamard<T>(values: &mut [T])
where
    T: Copy + std::ops::Add<Output = T> + std::ops::Sub<Output = T>,
{
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                (*left, *right) = (*left + *right, *left - *right);
            }
        }
        half *= 2;
    }
}

/// Sixty-four bits that look random and are the same on every machine (SplitMix64).
fn pattern(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn pack(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            out.push(0);
        }
        if let Some(last) = out.last_mut() {
            *last |= u8::from(bit) << (at % 8);
        }
    }
    out
}

/// A question, ready to be compared with rows of bits.
pub(super) struct Sketch {
    words: usize,
    /// The lowest bit of every value, then the next.
    planes: [Vec<u64>; PLANES],
}

impl Sketch {
    /// `None` for dimensions that have no bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn of(vector: &[f32]) -> Option<Self> {
        let turned = Turn::of(vector.len())?.run(vector.to_vec());
        let largest = turned.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let level = |value: &f32| ((value / largest + 1.0) / 2.0 * MOST as f32).round() as u8;
        let levels: Vec<u8> = turned.iter().map(level).collect();
        let plane = |plane: usize| -> Vec<u64> {
            let bits = pack(levels.iter().map(|level| level >> plane & 1 == 1));
            bits.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        Some(Self { words: vector.len() / 64, planes: std::array::from_fn(plane) })
    }

    /// How far each row is: where its bits differ from the question's, the higher ones counting
    /// more. `rows` holds whole rows.
    pub(super) fn distances(&self, rows: &[u8]) -> Vec<u16> {
        #[cfg(target_arch = "x86_64")]
        {
            #[allow(unsafe_code)]
            if is_x86_feature_detected!("avx512vpopcntdq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
            {
                // SAFETY: the processor has what the function is compiled for.
                return unsafe { self.distances_wide(rows) };
            }
            #[allow(unsafe_code)]
            if is_x86_feature_detected!("popcnt") {
                // SAFETY: as above.
                return unsafe { self.distances_popcnt(rows) };
            }
        }
        self.distances_plain(rows)
    }

    /// # Safety
    /// The processor counts bits in vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
    #[allow(unsafe_code)]
    unsafe fn distances_wide(&self, rows: &[u8]) -> Vec<u16> {
        self.distances_plain(rows)
    }

    /// # Safety
    /// The processor counts bits in words.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    #[allow(unsafe_code)]
    unsafe fn distances_popcnt(&self, rows: &[u8]) -> Vec<u16> {
        self.distances_plain(rows)
    }

    /// Compiled once for each kind of processor above; a known width lets the loop be unrolled.
    #[inline(always)]
    fn distances_plain(&self, rows: &[u8]) -> Vec<u16> {
        match self.words {
            6 => self.distances_of::<6>(rows),
            _ => {
                let rows = rows.chunks_exact(self.words * 8);
                rows.map(|row| self.distance(row.as_chunks::<8>().0)).collect()
            }
        }
    }

    #[inline(always)]
    fn distances_of<const WORDS: usize>(&self, rows: &[u8]) -> Vec<u16> {
        let planes: [[u64; WORDS]; PLANES] =
            std::array::from_fn(|plane| std::array::from_fn(|at| self.planes[plane][at]));
        let (words, _) = rows.as_chunks::<8>();
        let (rows, _) = words.as_chunks::<WORDS>();
        let distance = |row: &[[u8; 8]; WORDS]| {
            let mut sum = 0;
            for at in 0..WORDS {
                let word = u64::from_le_bytes(row[at]);
                for (plane, bits) in planes.iter().enumerate() {
                    sum += (word ^ bits[at]).count_ones() << plane;
                }
            }
            #[allow(clippy::cast_possible_truncation)]
            let sum = sum as u16;
            sum
        };
        rows.iter().map(distance).collect()
    }

    #[inline(always)]
    fn distance(&self, row: &[[u8; 8]]) -> u16 {
        let mut sum = 0;
        for (plane, bits) in self.planes.iter().enumerate() {
            let differ =
                row.iter().zip(bits).map(|(a, b)| (u64::from_le_bytes(*a) ^ b).count_ones());
            sum += differ.sum::<u32>() << plane;
        }
        u16::try_from(sum).unwrap_or(u16::MAX)
    }
}

/// The rows that look near, in order: as many as are worth comparing for `limit` results, and all
/// that look just as near as the last of them.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn nearest(distances: &[u16], limit: usize) -> Vec<u32> {
    let wanted = LEAST.max(limit * 10).max(distances.len() / PART);
    if wanted >= distances.len() {
        return (0..distances.len() as u32).collect();
    }
    let mut counts = vec![0u32; usize::from(u16::MAX) + 1];
    distances.iter().for_each(|distance| counts[usize::from(*distance)] += 1);
    let mut found = 0;
    let last = counts.iter().position(|count| {
        found += *count as usize;
        found >= wanted
    });
    let last = last.unwrap_or(usize::from(u16::MAX)) as u16;
    (0u32..).zip(distances).filter(|(_, distance)| **distance <= last).map(|(row, _)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_keeps_angles() {
        for dims in [64, 384, 768, 1536] {
            let turn = Turn::of(dims).unwrap();
            let vector = |seed: u64| -> Vec<f32> {
                (0..dims).map(|at| (pattern(seed << 20 | at as u64) % 101) as f32 - 50.0).collect()
            };
            let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let (a, b) = (vector(1), vector(2));
            let (ta, tb) = (turn.run(a.clone()), turn.run(b.clone()));
            let scale = (turn.block * turn.block) as f32;
            for (before, after) in
                [(product(&a, &b), product(&ta, &tb)), (product(&a, &a), product(&ta, &ta))]
            {
                assert!((after / scale - before).abs() < 1e-3 * product(&a, &a), "{dims}");
            }
        }
        assert!(Turn::of(100).is_none() && Turn::of(0).is_none() && Turn::of(65_536).is_none());
    }

    #[test]
    fn every_processor_counts_the_same() {
        for dims in [64, 384, 768] {
            let rows: Vec<u8> = (0..dims / 8 * 40).map(|at| pattern(at as u64) as u8).collect();
            let question: Vec<f32> = (0..dims).map(|at| (at as f32 * 0.7).sin()).collect();
            let sketch = Sketch::of(&question).unwrap();
            let distances = sketch.distances(&rows);
            assert_eq!(distances, sketch.distances_plain(&rows));
            let one_by_one: Vec<u16> = rows
                .chunks_exact(dims / 8)
                .map(|row| sketch.distance(row.as_chunks::<8>().0))
                .collect();
            assert_eq!(distances, one_by_one);
        }
    }

    #[test]
    fn all_that_look_as_near_as_the_last_are_looked_at() {
        let distances: Vec<u16> = (0..50_000u32).map(|row| (row % 10) as u16).collect();
        let near = nearest(&distances, 10);
        assert_eq!(near.len(), 5_000);
        assert!(near.iter().all(|row| row % 10 == 0));
        assert_eq!(nearest(&distances[..3_000], 10).len(), 3_000);
    }
}
