//! The trained part: linear scores over a bookmark's vector and features, as probabilities.
//!
//! `training/bookmarks.py` makes the weights from labelled bookmarks and calibrates the confidence
//! on bookmarks that it left out.

use std::{
    str::FromStr,
    sync::{Arc, OnceLock},
};

use serde::Deserialize;

use super::{
    category::{CategoryHead, dot},
    features::Features,
};
use crate::domain::{Error, Result, bookmark::Judged};

const BUILT_IN: &str = include_str!("../../assets/bookmarks.weights.json");

/// Everything that was trained.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weights {
    /// The id of the embedder whose vectors they are for.
    pub(super) model: String,
    pub(super) dimensions: usize,
    /// The names of the features, in their order.
    pub(super) features: Vec<String>,
    pub(super) sentiment: Head,
    pub(super) action: Head,
    pub(super) category: CategoryHead,
}

impl Weights {
    /// The weights in the binary, read once.
    pub(super) fn built_in() -> Result<Arc<Self>> {
        static WEIGHTS: OnceLock<Arc<Weights>> = OnceLock::new();
        if let Some(weights) = WEIGHTS.get() {
            return Ok(weights.clone());
        }
        let weights: Self = serde_json::from_str(BUILT_IN)
            .map_err(|error| Error::internal(format!("the weights for bookmarks: {error}")))?;
        Ok(WEIGHTS.get_or_init(|| Arc::new(weights)).clone())
    }
}

/// One linear score for each class.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    classes: Vec<String>,
    /// For each class, a weight for each dimension of the vector.
    vector: Vec<Vec<f32>>,
    /// For each class, a weight for each feature.
    features: Vec<Vec<f32>>,
    bias: Vec<f32>,
    confidence: Calibration,
}

/// From the probability of the best class to the share of such verdicts that are right.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calibration {
    slope: f32,
    offset: f32,
}

impl Head {
    /// The most probable class.
    pub(super) fn judge<T: FromStr>(
        &self,
        vector: &[f32],
        features: &Features,
    ) -> Result<Judged<T>> {
        let features: Vec<f32> = features.values().collect();
        let rows = self.vector.iter().zip(&self.features).zip(&self.bias);
        let scores: Vec<f32> =
            rows.map(|((v, f), bias)| dot(v, vector) + dot(f, &features) + bias).collect();
        let (best, probability) = most_probable(&scores);
        let class = self.classes.get(best).map_or("", String::as_str);
        let value = class.parse().map_err(|_| {
            Error::internal(format!("the weights for bookmarks name an unknown class `{class}`"))
        })?;
        Ok(Judged::by_rule(value, self.confidence.apply(probability)))
    }
}

impl Calibration {
    pub(super) fn apply(self, probability: f32) -> f32 {
        let p = probability.clamp(1e-4, 1.0 - 1e-4);
        let log_odds = (p / (1.0 - p)).ln();
        1.0 / (1.0 + (-(self.slope * log_odds + self.offset)).exp())
    }
}

/// The best of some scores, and its probability among them.
pub(super) fn most_probable(scores: &[f32]) -> (usize, f32) {
    let best =
        (0..scores.len()).fold(0, |best, at| if scores[at] > scores[best] { at } else { best });
    let top = scores.get(best).copied().unwrap_or_default();
    let sum: f32 = scores.iter().map(|score| (score - top).exp()).sum();
    (best, 1.0 / sum.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::query::{Action, Sentiment},
        embed::{Embedder, embedded::Embedded},
        enrich::{Enricher, Taxonomy, training},
    };

    #[test]
    fn weights_fit_the_code() {
        let weights = Weights::built_in().unwrap();
        let embedder = Embedded::new();
        assert_eq!((weights.model.as_str(), weights.dimensions), (embedder.id(), embedder.dims()));
        let enricher = Enricher::new(Taxonomy::built_in().unwrap(), None).unwrap();
        assert_eq!(weights.features, training::feature_names(&enricher).unwrap());
        let size = |head: &Head| {
            assert!(head.vector.iter().all(|row| row.len() == weights.dimensions));
            assert!(head.features.iter().all(|row| row.len() == weights.features.len()));
            (head.classes.len(), head.vector.len(), head.features.len(), head.bias.len())
        };
        assert_eq!(size(&weights.sentiment), (3, 3, 3, 3));
        assert_eq!(size(&weights.action), (5, 5, 5, 5));
        assert!(weights.sentiment.classes.iter().all(|name| name.parse::<Sentiment>().is_ok()));
        assert!(weights.action.classes.iter().all(|name| name.parse::<Action>().is_ok()));
        assert!(weights.category.fits(Taxonomy::built_in().unwrap().names(), weights.dimensions));
    }

    #[test]
    fn probabilities_and_confidence() {
        let (best, probability) = most_probable(&[0.0, 2.0, 1.0]);
        assert_eq!(best, 1);
        assert!((probability - 0.665).abs() < 0.01);
        let same = Calibration { slope: 1.0, offset: 0.0 };
        assert!((same.apply(0.7) - 0.7).abs() < 1e-3);
        assert!(same.apply(1.0) < 1.0 && same.apply(0.0) > 0.0);
        assert_eq!(most_probable(&[]), (0, 1.0));
    }
}
