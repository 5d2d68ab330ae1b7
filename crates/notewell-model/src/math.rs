//! What a transformer layer does between its matrix products, in single precision and for any
//! instruction set: normalisation, GELU, attention.

use super::kernel::Ops;

/// Floats of one attention head.
pub const HEAD: usize = 32;

/// Adds `extra` to each row of `x`, then normalises the row to mean 0 and variance 1, scales and
/// shifts it.
#[inline(always)]
pub fn add_norm<O: Ops>(ops: O, x: &mut [f32], extra: &[f32], weight: &[f32], bias: &[f32]) {
    const EPSILON: f32 = 1e-12;
    let width = weight.len();
    for (row, extra) in x.chunks_exact_mut(width).zip(extra.chunks_exact(width)) {
        let mut total = ops.splat(0.0);
        for (x, extra) in row.chunks_exact_mut(O::LANES).zip(extra.chunks_exact(O::LANES)) {
            let sum = ops.add(ops.load(x), ops.load(extra));
            ops.store(sum, x);
            total = ops.add(total, sum);
        }
        let mean = ops.splat(ops.sum(total) / width as f32);
        let mut total = ops.splat(0.0);
        for x in row.chunks_exact(O::LANES) {
            let off = ops.sub(ops.load(x), mean);
            total = ops.fma(off, off, total);
        }
        let variance = ops.sum(total) / width as f32;
        let factor = ops.splat(1.0 / (variance + EPSILON).sqrt());
        for ((x, weight), bias) in row
            .chunks_exact_mut(O::LANES)
            .zip(weight.chunks_exact(O::LANES))
            .zip(bias.chunks_exact(O::LANES))
        {
            let unit = ops.mul(ops.sub(ops.load(x), mean), factor);
            ops.store(ops.fma(unit, ops.load(weight), ops.load(bias)), x);
        }
    }
}

/// The exact GELU, x/2 · (1 + erf(x/√2)), with erf as a ratio of polynomials (error below 1e-6).
#[inline(always)]
pub fn gelu<O: Ops>(ops: O, values: &mut [f32]) {
    for lane in values.chunks_exact_mut(O::LANES) {
        let x = ops.load(lane);
        let erf = erf(ops, ops.mul(x, ops.splat(std::f32::consts::FRAC_1_SQRT_2)));
        let half = ops.mul(x, ops.splat(0.5));
        ops.store(ops.fma(half, erf, half), lane);
    }
}

#[inline(always)]
fn erf<O: Ops>(ops: O, x: O::F) -> O::F {
    const OVER: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    const UNDER: [f32; 5] =
        [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329_2e-3, -1.426_473_9e-2];
    let x = ops.max(ops.min(x, ops.splat(4.0)), ops.splat(-4.0));
    let square = ops.mul(x, x);
    let over = polynomial(ops, square, &OVER);
    let under = polynomial(ops, square, &UNDER);
    ops.div(ops.mul(x, over), under)
}

/// e to the power of each value; values below −87 count as −87, which is as good as nothing.
#[inline(always)]
fn exp<O: Ops>(ops: O, x: O::F) -> O::F {
    const TERMS: [f32; 7] =
        [1.388_889e-3, 8.333_334e-3, 4.166_666_6e-2, 1.666_666_7e-1, 0.5, 1.0, 1.0];
    let x = ops.max(x, ops.splat(-87.0));
    let whole = ops.round(ops.mul(x, ops.splat(std::f32::consts::LOG2_E)));
    // ln 2 in two parts, so that the difference keeps its last bits.
    let rest = ops.fma(whole, ops.splat(-0.693_359_4), x);
    let rest = ops.fma(whole, ops.splat(2.121_944_4e-4), rest);
    ops.mul(polynomial(ops, rest, &TERMS), ops.power(whole))
}

/// The highest power's coefficient first.
#[inline(always)]
fn polynomial<O: Ops, const N: usize>(ops: O, x: O::F, terms: &[f32; N]) -> O::F {
    let mut value = ops.splat(terms[0]);
    for term in &terms[1..] {
        value = ops.fma(value, x, ops.splat(*term));
    }
    value
}

/// Memory that attention uses again for every head.
#[derive(Default)]
pub struct Heads {
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    queries: Vec<f32>,
    /// For attention on tiles.
    #[cfg(target_arch = "x86_64")]
    pub(crate) tiles: super::kernel::TileHeads,
}

/// Queries that are worked on together, so that keys and values are read once for all of them.
const TOGETHER: usize = 4;

/// Attention within one sequence. `qkv` has a row of queries, keys and values for each token, all
/// heads of each side by side; `out` gets a row of all heads for each token.
#[inline(always)]
pub fn attend<O: Ops>(ops: O, qkv: &[f32], out: &mut [f32], hidden: usize, heads: &mut Heads) {
    let count = out.len() / hidden;
    let step = 2 * O::LANES;
    let padded = count.next_multiple_of(step);
    let rows = count.next_multiple_of(TOGETHER);
    heads.keys.clear();
    heads.keys.resize(HEAD * padded, 0.0);
    heads.values.resize(count * HEAD, 0.0);
    heads.queries.clear();
    heads.queries.resize(rows * HEAD, 0.0);
    heads.scores.resize(TOGETHER * padded, 0.0);
    let scale = ops.splat(1.0 / (HEAD as f32).sqrt());
    for at in (0..hidden).step_by(HEAD) {
        for ((row, queries), values) in qkv
            .chunks_exact(3 * hidden)
            .zip(heads.queries.chunks_exact_mut(HEAD))
            .zip(heads.values.chunks_exact_mut(HEAD))
        {
            for (query, x) in
                queries.chunks_exact_mut(O::LANES).zip(row[at..at + HEAD].chunks_exact(O::LANES))
            {
                ops.store(ops.mul(ops.load(x), scale), query);
            }
            values.copy_from_slice(&row[2 * hidden + at..][..HEAD]);
        }
        for (d, keys) in heads.keys.chunks_exact_mut(padded).enumerate() {
            for (key, row) in keys.iter_mut().zip(qkv.chunks_exact(3 * hidden)) {
                *key = row[hidden + at + d];
            }
        }
        for first in (0..count).step_by(TOGETHER) {
            let queries = &heads.queries[first * HEAD..][..TOGETHER * HEAD];
            for j in (0..padded).step_by(step) {
                let sums = products(ops, queries, HEAD, HEAD, &heads.keys, padded, j);
                for (scores, sums) in heads.scores.chunks_exact_mut(padded).zip(sums) {
                    ops.store(sums[0], &mut scores[j..]);
                    ops.store(sums[1], &mut scores[j + O::LANES..]);
                }
            }
            let mut factors = [0.0; TOGETHER];
            for (scores, factor) in heads.scores.chunks_exact_mut(padded).zip(&mut factors) {
                scores[count..].fill(f32::NEG_INFINITY);
                *factor = softmax(ops, scores);
            }
            for d in (0..HEAD).step_by(step) {
                let sums = products(ops, &heads.scores, padded, count, &heads.values, HEAD, d);
                for (i, sums) in sums.into_iter().enumerate().take(count - first) {
                    let factor = ops.splat(factors[i]);
                    let out = &mut out[(first + i) * hidden + at + d..];
                    ops.store(ops.mul(sums[0], factor), out);
                    ops.store(ops.mul(sums[1], factor), &mut out[O::LANES..]);
                }
            }
        }
    }
}

/// Raises e to the scores, less the highest, and gives what to multiply by to make them sum to one.
#[inline(always)]
pub(crate) fn softmax<O: Ops>(ops: O, scores: &mut [f32]) -> f32 {
    let mut highest = ops.splat(f32::NEG_INFINITY);
    for lane in scores.chunks_exact(O::LANES) {
        highest = ops.max(highest, ops.load(lane));
    }
    let highest = ops.splat(ops.highest(highest));
    let mut total = ops.splat(0.0);
    for lane in scores.chunks_exact_mut(O::LANES) {
        let power = exp(ops, ops.sub(ops.load(lane), highest));
        ops.store(power, lane);
        total = ops.add(total, power);
    }
    1.0 / ops.sum(total)
}

/// Rows of `left` (`depth` values used of each, `width` apart) times two lanes of the columns of
/// `right` (rows `stride` apart) from `at` on.
#[inline(always)]
fn products<O: Ops>(
    ops: O,
    left: &[f32],
    width: usize,
    depth: usize,
    right: &[f32],
    stride: usize,
    at: usize,
) -> [[O::F; 2]; TOGETHER] {
    let mut sums = [[ops.splat(0.0); 2]; TOGETHER];
    let [a, b, c, d]: [&[f32]; TOGETHER] = std::array::from_fn(|row| &left[row * width..][..depth]);
    for ((((right, a), b), c), d) in right.chunks_exact(stride).zip(a).zip(b).zip(c).zip(d) {
        let right = &right[at..at + 2 * O::LANES];
        let (one, two) = (ops.load(right), ops.load(&right[O::LANES..]));
        for (sums, x) in sums.iter_mut().zip([a, b, c, d]) {
            let x = ops.splat(*x);
            *sums = [ops.fma(x, one, sums[0]), ops.fma(x, two, sums[1])];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Kernel, Pass};
    use super::*;

    /// Runs a function on lanes over many values between the bounds; gives (x, f(x)).
    struct Sweep {
        exponent: bool,
        from: f64,
        to: f64,
    }

    impl Pass for Sweep {
        type Output = Vec<(f64, f64)>;
        #[inline(always)]
        fn run<O: Ops>(self, ops: O) -> Self::Output {
            const COUNT: usize = 16 * 1024;
            let step = (self.to - self.from) / COUNT as f64;
            let xs: Vec<f32> = (0..COUNT).map(|i| (self.from + step * i as f64) as f32).collect();
            let mut ys = xs.clone();
            if self.exponent {
                for lane in ys.chunks_exact_mut(O::LANES) {
                    ops.store(exp(ops, ops.load(lane)), lane);
                }
            } else {
                gelu(ops, &mut ys);
            }
            xs.into_iter().map(f64::from).zip(ys.into_iter().map(f64::from)).collect()
        }
    }

    /// erf by its series, which is exact enough in double precision for |x| < 5.
    fn erf_series(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    #[test]
    fn gelu_is_exact_to_a_millionth() {
        for kernel in Kernel::available() {
            for (x, y) in kernel.run(Sweep { exponent: false, from: -6.0, to: 6.0 }) {
                let exact = 0.5 * x * (1.0 + erf_series(x / 2f64.sqrt()));
                let bound = 1e-6 * x.abs().max(1.0);
                assert!((y - exact).abs() < bound, "{}: {x} {y} {exact}", kernel.name());
            }
        }
    }

    #[test]
    fn exp_is_exact_to_a_millionth() {
        for kernel in Kernel::available() {
            for (x, y) in kernel.run(Sweep { exponent: true, from: -80.0, to: 1.0 }) {
                assert!((y / x.exp() - 1.0).abs() < 1e-6, "{}: {x} {y}", kernel.name());
            }
            for (_, y) in kernel.run(Sweep { exponent: true, from: -1e30, to: -88.0 }) {
                assert!((0.0..1e-37).contains(&y));
            }
        }
    }
}
