//! The nearest rows to a question: a scan over eight-bit codes, then the last word in sixteen.

use std::{collections::HashSet, hash::BuildHasherDefault, thread};

use super::{codes::Asked, rows::Rows};

/// Rows from which a second thread pays for itself.
const WORTH_THREADS: usize = 40_000;

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

/// The `limit` nearest rows with their cosines, best first.
pub(super) fn nearest(rows: &Rows, asked: &Asked, limit: usize) -> Vec<(f32, u32)> {
    if rows.count == 0 || limit == 0 {
        return Vec::new();
    }
    let cores = thread::available_parallelism().map_or(1, |count| count.get().min(4));
    let parts = (rows.count / WORTH_THREADS + 1).min(cores);
    let length = rows.count.div_ceil(parts);
    let mut bounds: Vec<_> =
        (0..parts).map(|part| (part * length, ((part + 1) * length).min(rows.count))).collect();
    let own = bounds.pop().unwrap_or((0, rows.count));
    let coarse = thread::scope(|scope| {
        let others: Vec<_> = bounds
            .into_iter()
            .map(|(from, to)| scope.spawn(move || scan(rows, asked, from, to, limit)))
            .collect();
        let mut found = scan(rows, asked, own.0, own.1, limit);
        for other in others {
            found.extend(other.join().unwrap_or_default());
        }
        found
    });
    exactly(rows, asked, coarse, limit)
}

/// The `limit` nearest of the rows `among`, with their cosines, best first.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
pub(super) fn among(
    rows: &Rows,
    asked: &Asked,
    limit: usize,
    among: impl Iterator<Item = usize>,
) -> Vec<(f32, u32)> {
    let mut best = Best::new(limit);
    for row in among {
        asked.question.products(rows.short(row), |_, product| {
            best.push(product as f32 * rows.short_scale(row), row as u32);
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
