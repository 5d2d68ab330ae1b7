//! Nearest-neighbour scan: a 1-bit prefilter for large sets, int8 codes, then int16 rescoring.

use std::{collections::HashSet, hash::BuildHasherDefault, ops::Range};

use crate::pool;
use crate::{
    coarse::{self, Rotation, Sketch},
    codes::QueryVector,
    rows::Rows,
};

/// Rows above which another scan thread pays for itself.
const ROWS_PER_SCAN_THREAD: usize = 40_000;
/// The same for the prefilter, which reads less per row.
const ROWS_PER_PREFILTER_THREAD: usize = 80_000;
/// Threads of one scan. More only compete for memory bandwidth.
const MAX_PARTS: usize = 4;
/// Rows below which the prefilter costs more than it saves.
const PREFILTER_MIN_ROWS: usize = 20_000;
/// How many rows ahead the scan of candidates prefetches.
const PREFETCH_DISTANCE: usize = 6;

/// A hasher that returns the key itself: keys are hashes already.
#[derive(Default)]
pub struct KeyHasher(u64);

impl std::hash::Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// A set of row keys.
pub type Keys = HashSet<u64, BuildHasherDefault<KeyHasher>>;

/// Keeps the best `limit` of a stream, unordered.
struct Best {
    limit: usize,
    floor: f32,
    kept: Vec<(f32, u32)>,
}

impl Best {
    fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        Self { limit, floor: f32::MIN, kept: Vec::with_capacity(limit * 2) }
    }

    #[inline]
    fn push(&mut self, score: f32, row: u32) {
        if score > self.floor {
            self.kept.push((score, row));
            if self.kept.len() == self.limit * 2 {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.limit {
            self.kept.select_nth_unstable_by(self.limit - 1, |a, b| {
                b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
            });
            self.kept.truncate(self.limit);
            self.floor = self.kept[self.limit - 1].0;
        }
    }

    fn finish(mut self) -> Vec<(f32, u32)> {
        self.cut();
        self.kept
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a product is rounded to a cosine; a row number fits 32 bits"
)]
fn scan(rows: &Rows, asked: &QueryVector, from: usize, to: usize, limit: usize) -> Vec<(f32, u32)> {
    let mut best = Best::new(limit);
    let codes = &rows.codes()[from * rows.dims..to * rows.dims];
    asked.question.products(codes, &mut |at, product| {
        let row = from + at;
        best.push(product as f32 * rows.short_scale(row), row as u32);
    });
    best.finish()
}

/// Splits `0..count` into parts of at least `worth` rows and runs `work` on each in parallel.
/// Results are in the order of the parts.
fn in_parts<T: Send>(
    count: usize,
    worth: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = (count / worth + 1).min(pool::cores()).min(MAX_PARTS);
    let length = count.div_ceil(parts);
    let part = |part: usize| part * length..((part + 1) * length).min(count);
    pool::each((0..parts).map(part).collect(), work)
}

/// The `limit` nearest rows with their cosines, best first.
pub fn nearest(rows: &Rows, asked: &QueryVector, limit: usize) -> Vec<(f32, u32)> {
    if rows.count == 0 || limit == 0 {
        return Vec::new();
    }
    if let Some((near, covered)) = prefilter(rows, asked, limit) {
        let uncovered = u32::try_from(covered).unwrap_or(u32::MAX)..;
        let near: Vec<u32> = near.into_iter().chain(uncovered.take(rows.count - covered)).collect();
        return among(rows, asked, limit, &near);
    }
    let found = in_parts(rows.count, ROWS_PER_SCAN_THREAD, |part| {
        scan(rows, asked, part.start, part.end, limit)
    });
    rescore(rows, asked, found.into_iter().flatten().collect(), limit)
}

/// Candidates of the 1-bit prefilter and the number of rows it covered. Returns `None` when the set
/// is too small to be worth it.
pub fn prefilter(rows: &Rows, asked: &QueryVector, limit: usize) -> Option<(Vec<u32>, usize)> {
    let width = Rotation::of(rows.dims)?.width();
    let bits = rows.bits();
    let covered = bits.len() / width;
    if covered < PREFILTER_MIN_ROWS {
        return None;
    }
    let sketch = Sketch::of(&asked.exact)?;
    let distances = in_parts(covered, ROWS_PER_PREFILTER_THREAD, |part| {
        sketch.distances(&bits[part.start * width..part.end * width])
    });
    Some((coarse::nearest(&distances.concat(), limit), covered))
}

/// The `limit` nearest of the rows `among`, with their cosines, best first.
#[allow(clippy::cast_precision_loss, reason = "a product is rounded to a cosine")]
pub fn among(rows: &Rows, asked: &QueryVector, limit: usize, among: &[u32]) -> Vec<(f32, u32)> {
    let mut best = Best::new(limit);
    for (at, row) in among.iter().enumerate() {
        if let Some(later) = among.get(at + PREFETCH_DISTANCE) {
            rows.prefetch(*later as usize);
        }
        let place = *row as usize;
        asked.question.products(rows.short(place), &mut |_, product| {
            best.push(product as f32 * rows.short_scale(place), *row);
        });
    }
    rescore(rows, asked, best.finish(), limit)
}

fn rescore(
    rows: &Rows,
    asked: &QueryVector,
    coarse: Vec<(f32, u32)>,
    limit: usize,
) -> Vec<(f32, u32)> {
    let mut exact: Vec<(f32, u32)> = coarse
        .into_iter()
        .map(|(_, row)| {
            let scale = rows.record(row as usize).long_scale;
            (asked.cosine(rows.long(row as usize), scale), row)
        })
        .collect();
    exact.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    exact.truncate(limit);
    exact
}
