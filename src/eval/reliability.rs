//! Whether a probability keeps its promise: of the results with 0.7, seven in ten are right.

/// Bins of the table.
const BINS: usize = 10;

/// Results of about the same probability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// How many results there are.
    pub count: usize,
    /// The sum of their weights.
    pub weight: f64,
    /// The mean of their probabilities.
    pub probability: f64,
    /// The share that is right.
    pub right: f64,
}

/// The reliability table of some results.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reliability([Bin; BINS]);

impl Reliability {
    /// The table of results, each with its probability and whether it is right.
    pub fn of(results: impl Iterator<Item = (f32, bool)>) -> Self {
        Self::weighted(results.map(|(probability, right)| (probability, right, 1.0)))
    }

    /// As [`Reliability::of`], each result with a weight of its own.
    pub fn weighted(results: impl Iterator<Item = (f32, bool, f64)>) -> Self {
        let mut bins = [Bin::default(); BINS];
        for (probability, right, weight) in results {
            let probability = f64::from(probability);
            let bin = &mut bins[((probability * BINS as f64) as usize).min(BINS - 1)];
            bin.count += 1;
            bin.weight += weight;
            bin.probability += weight * probability;
            bin.right += weight * f64::from(u8::from(right));
        }
        for bin in bins.iter_mut().filter(|bin| bin.count > 0) {
            bin.probability /= bin.weight;
            bin.right /= bin.weight;
        }
        Self(bins)
    }

    /// The bins that have results.
    pub fn bins(&self) -> impl Iterator<Item = &Bin> {
        self.0.iter().filter(|bin| bin.count > 0)
    }

    /// The expected calibration error: the mean distance between probability and share.
    pub fn error(&self) -> f64 {
        let weight: f64 = self.bins().map(|bin| bin.weight).sum();
        let distance = |bin: &Bin| bin.weight * (bin.probability - bin.right).abs();
        let sum: f64 = self.bins().map(distance).sum();
        if weight > 0.0 { sum / weight } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_distance() {
        let results = [(0.9, true), (0.9, false), (0.1, false), (0.1, false)];
        let table = Reliability::of(results.into_iter());
        assert_eq!(table.bins().count(), 2);
        assert!((table.error() - (0.4 + 0.1) / 2.0).abs() < 1e-6);
        assert_eq!(Reliability::of(std::iter::empty()).error(), 0.0);
    }
}
