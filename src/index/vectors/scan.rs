//! The nearest rows to a question: where they are many, a first look at one bit a value; then the
//! codes in eight bits, and the last word in sixteen.

use std::{collections::HashSet, hash::BuildHasherDefault, ops::Range};

use super::{
    coarse::{self, Sketch, Turn},
    codes::Asked,
    rows::Rows,
};
use crate::index::pool;

/// Rows from which a second thread pays for itself.
const WORTH_THREADS: usize = 40_000;
const WORTH_LOOKING_THREADS: usize = 80_000;
/// More would only wait for the same memory.
const MOST_PARTS: usize = 4;
/// Rows from which a first look at their bits pays for itself.
const WORTH_A_LOOK: usize = 20_000;
/// Rows between the one that is compared and the one that is fetched meanwhile.
const AHEAD: usize = 6;

/// Keys are hashes already.
#[derive(Default)]
pub(in crate::index) struct AsIs(u64);

impl std::hash::Hasher for AsIs {
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

pub(in crate::index) type Keys = HashSet<u64, BuildHasherDefault<AsIs>>;

/// The best `limit` of a stream, in any order until the end.
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

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn scan(rows: &Rows, asked: &Asked, from: usize, to: usize, limit: usize) -> Vec<(f32, u32)> {
    let mut best = Best::new(limit);
    let codes = &rows.codes()[from * rows.dims..to * rows.dims];
    asked.question.products(codes, |at, product| {
        let row = from + at;
        best.push(product as f32 * rows.short_scale(row), row as u32);
    });
    best.finish()
}

/// Runs `work` over the rows up to `count`, in as many parts as are worth a thread each. The results
/// are in the order of the parts.
fn in_parts<T: Send>(
    count: usize,
    worth: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = (count / worth + 1).min(pool::cores()).min(MOST_PARTS);
    let length = count.div_ceil(parts);
    let part = |part: usize| part * length..((part + 1) * length).min(count);
    pool::each((0..parts).map(part).collect(), work)
}

/// The `limit` nearest rows with their cosines, best first.
pub(super) fn nearest(rows: &Rows, asked: &Asked, limit: usize) -> Vec<(f32, u32)> {
    if rows.count == 0 || limit == 0 {
        return Vec::new();
    }
    if let Some((near, looked)) = first_look(rows, asked, limit) {
        let rest = u32::try_from(looked).unwrap_or(u32::MAX)..;
        let near: Vec<u32> = near.into_iter().chain(rest.take(rows.count - looked)).collect();
        return among(rows, asked, limit, &near);
    }
    let found =
        in_parts(rows.count, WORTH_THREADS, |part| scan(rows, asked, part.start, part.end, limit));
    exactly(rows, asked, found.into_iter().flatten().collect(), limit)
}

/// The rows that look near by their bits, and how many were looked at; `None` when these are too few
/// to be worth it.
pub(super) fn first_look(rows: &Rows, asked: &Asked, limit: usize) -> Option<(Vec<u32>, usize)> {
    let width = Turn::of(rows.dims)?.width();
    let bits = rows.bits();
    let looked = bits.len() / width;
    if looked < WORTH_A_LOOK {
        return None;
    }
    let sketch = Sketch::of(&asked.exact)?;
    let distances = in_parts(looked, WORTH_LOOKING_THREADS, |part| {
        sketch.distances(&bits[part.start * width..part.end * width])
    });
    Some((coarse::nearest(&distances.concat(), limit), looked))
}

/// The `limit` nearest of the rows `among`, with their cosines, best first.
#[allow(clippy::cast_precision_loss)]
pub(super) fn among(rows: &Rows, asked: &Asked, limit: usize, among: &[u32]) -> Vec<(f32, u32)> {
    let mut best = Best::new(limit);
    for (at, row) in among.iter().enumerate() {
        if let Some(later) = among.get(at + AHEAD) {
            rows.prefetch(*later as usize);
        }
        let place = *row as usize;
        asked.question.products(rows.short(place), |_, product| {
            best.push(product as f32 * rows.short_scale(place), *row);
        });
    }
    exactly(rows, asked, best.finish(), limit)
}

fn exactly(rows: &Rows, asked: &Asked, coarse: Vec<(f32, u32)>, limit: usize) -> Vec<(f32, u32)> {
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
