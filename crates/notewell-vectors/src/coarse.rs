//! The 1-bit prefilter. It keeps one sign bit per value: an eighth of the memory of the int8 codes,
//! and a scan is bound by memory bandwidth. The candidates it picks are then compared by their
//! codes, so a true neighbour is lost only when hundreds of other rows have a smaller distance.
//!
//! Sign bits approximate an angle well only when every dimension carries the same variance, which
//! is not true of an encoder's output. A randomised Hadamard rotation evens the variance out first:
//! fixed random sign flips, a Hadamard transform over blocks, an interleaving of the blocks, and the
//! same again. The rotation preserves every angle. The query keeps four bits per value; its distance
//! to a row is the weighted Hamming distance over the four bit planes.

/// Bits per value of the rotated query.
const PLANES: usize = 4;
/// The largest quantised level of a query value; the largest distance is this times the dimensions.
const MAX_LEVEL: usize = (1 << PLANES) - 1;

/// The prefilter keeps at least this many candidates,
const MIN_CANDIDATES: usize = 4_000;
/// or one row in this many, whichever is more.
const CANDIDATE_DIVISOR: usize = 100;

/// The randomised Hadamard rotation for vectors of one length.
pub struct Rotation {
    dims: usize,
    block: usize,
}

impl Rotation {
    /// Returns `None` for lengths that are not a multiple of 64, or whose distances overflow 16 bits.
    pub fn of(dims: usize) -> Option<Self> {
        (dims > 0 && dims.is_multiple_of(64) && dims * MAX_LEVEL <= usize::from(u16::MAX))
            .then(|| Self { dims, block: 1 << dims.trailing_zeros().min(10) })
    }

    /// Bytes of one row of sign bits.
    pub fn width(&self) -> usize {
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

    /// Computes the sign bits of a row from its stored int8 codes.
    pub fn bits(&self, codes: &[u8]) -> Vec<u8> {
        let rotated = self.run(codes.iter().map(|code| i32::from(*code) - 128).collect());
        pack(rotated.iter().map(|value| *value >= 0))
    }
}

/// The fast Walsh–Hadamard transform, in place. The length is a power of two.
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

/// SplitMix64: 64 pseudo-random bits, the same on every machine.
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

/// The rotated query as bit planes.
pub struct Sketch {
    words: usize,
    /// Plane 0 holds the lowest bit of every value.
    planes: [Vec<u64>; PLANES],
}

impl Sketch {
    /// Returns `None` for lengths that the rotation does not support.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a level lies between 0 and MAX_LEVEL"
    )]
    pub fn of(vector: &[f32]) -> Option<Self> {
        let rotated = Rotation::of(vector.len())?.run(vector.to_vec());
        let largest = rotated.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let level = |value: &f32| ((value / largest + 1.0) / 2.0 * MAX_LEVEL as f32).round() as u8;
        let levels: Vec<u8> = rotated.iter().map(level).collect();
        let plane = |plane: usize| -> Vec<u64> {
            let bits = pack(levels.iter().map(|level| level >> plane & 1 == 1));
            bits.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        Some(Self { words: vector.len() / 64, planes: std::array::from_fn(plane) })
    }

    /// The weighted Hamming distance of each row. `rows` holds whole rows.
    pub fn distances(&self, rows: &[u8]) -> Vec<u16> {
        #[cfg(target_arch = "x86_64")]
        {
            #[allow(
                unsafe_code,
                reason = "calls a function compiled for a detected instruction set"
            )]
            if is_x86_feature_detected!("avx512vpopcntdq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
            {
                // SAFETY: the processor has what the function is compiled for.
                return unsafe { self.distances_wide(rows) };
            }
            #[allow(
                unsafe_code,
                reason = "calls a function compiled for a detected instruction set"
            )]
            if is_x86_feature_detected!("popcnt") {
                // SAFETY: as above.
                return unsafe { self.distances_popcnt(rows) };
            }
        }
        self.distances_plain(rows)
    }

    /// # Safety
    /// The processor has AVX-512 VPOPCNTDQ, VL and BW.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
    #[allow(unsafe_code, reason = "calls a function compiled for a detected instruction set")]
    unsafe fn distances_wide(&self, rows: &[u8]) -> Vec<u16> {
        self.distances_plain(rows)
    }

    /// # Safety
    /// The processor has POPCNT.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    #[allow(unsafe_code, reason = "calls a function compiled for a detected instruction set")]
    unsafe fn distances_popcnt(&self, rows: &[u8]) -> Vec<u16> {
        self.distances_plain(rows)
    }

    /// Compiled once per instruction set above. A constant width lets the compiler unroll the loop.
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
            #[allow(
                clippy::cast_possible_truncation,
                reason = "distances fit 16 bits, row numbers 32"
            )]
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

/// Candidates of the prefilter in row order: the nearest rows, with every tie of the last one.
#[allow(clippy::cast_possible_truncation, reason = "distances fit 16 bits, row numbers 32")]
pub fn nearest(distances: &[u16], limit: usize) -> Vec<u32> {
    let wanted = MIN_CANDIDATES.max(limit * 10).max(distances.len() / CANDIDATE_DIVISOR);
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
    fn rotation_keeps_angles() {
        for dims in [64, 384, 768, 1536] {
            let rotation = Rotation::of(dims).unwrap();
            let vector = |seed: u64| -> Vec<f32> {
                (0..dims).map(|at| (pattern(seed << 20 | at as u64) % 101) as f32 - 50.0).collect()
            };
            let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let (a, b) = (vector(1), vector(2));
            let (ta, tb) = (rotation.run(a.clone()), rotation.run(b.clone()));
            let scale = (rotation.block * rotation.block) as f32;
            for (before, after) in
                [(product(&a, &b), product(&ta, &tb)), (product(&a, &a), product(&ta, &ta))]
            {
                assert!((after / scale - before).abs() < 1e-3 * product(&a, &a), "{dims}");
            }
        }
        assert!(
            Rotation::of(100).is_none()
                && Rotation::of(0).is_none()
                && Rotation::of(65_536).is_none()
        );
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
    fn ties_of_the_last_candidate_are_kept() {
        let distances: Vec<u16> = (0..50_000u32).map(|row| (row % 10) as u16).collect();
        let near = nearest(&distances, 10);
        assert_eq!(near.len(), 5_000);
        assert!(near.iter().all(|row| row % 10 == 0));
        assert_eq!(nearest(&distances[..3_000], 10).len(), 3_000);
    }
}
