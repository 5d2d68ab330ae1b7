//! What the vectors of a collection have in common: its language, its subject, its kind of text.

use std::sync::{Arc, Mutex, PoisonError};

use super::vectors::Vectors;
use crate::domain::Result;

/// Fewer vectors say nothing about a collection.
const FEWEST: usize = 64;
/// Vectors that are looked at: their mean differs from that of all by a few hundredths.
const SAMPLE: usize = 1_024;

/// The mean of the vectors, kept until their number has changed by a quarter.
#[derive(Default)]
pub(super) struct Centre(Mutex<Option<(usize, Arc<[f32]>)>>);

impl Centre {
    /// The mean of the vectors, of which there are `count`; `None` where that is too few.
    pub(super) fn of(&self, vectors: &Vectors, count: usize) -> Result<Option<Arc<[f32]>>> {
        if count < FEWEST {
            return Ok(None);
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, mean)) = &*kept
            && count.abs_diff(*then) * 4 <= *then
        {
            return Ok(Some(Arc::clone(mean)));
        }
        let rows = vectors.rows()?;
        // Keys are hashes, so the smallest are a fair sample, and the same one in every process.
        let mut keys: Vec<u64> = rows.keys().into_iter().collect();
        if keys.len() > SAMPLE {
            keys.select_nth_unstable(SAMPLE);
            keys.truncate(SAMPLE);
        }
        keys.sort_unstable();
        let mut mean = vec![0.0; rows.dims()];
        let found = rows.find(&keys);
        for (_, vector) in &found {
            mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        }
        mean.iter_mut().for_each(|sum| *sum /= found.len().max(1) as f32);
        let mean: Arc<[f32]> = mean.into();
        *kept = Some((count, Arc::clone(&mean)));
        Ok(Some(mean))
    }
}
