//! What the vectors of a collection have in common: its language, its subject, its kind of text.

use std::sync::{Arc, Mutex, PoisonError};

use super::{vectors::Vectors, view::View};
use crate::domain::Result;

/// Fewer vectors say nothing about a collection.
const FEWEST: usize = 64;
/// Vectors that are looked at: their mean differs from that of all by a few hundredths.
const SAMPLE: usize = 1_024;

/// A mean, and how many vectors there were when it was taken.
type Kept = Mutex<Option<(usize, Arc<[f32]>)>>;

/// The mean of the vectors, kept until their number has changed by a quarter.
#[derive(Default)]
pub(super) struct Centre {
    all: Kept,
    /// Of parts of the library by their names, the one made last at the end.
    parts: Mutex<Vec<(Arc<str>, Kept)>>,
}

/// Parts of the library whose mean is kept, about 1 kB each.
const KEPT_PARTS: usize = 64;

fn kept(mean: &Kept, count: usize) -> Option<Arc<[f32]>> {
    let mean = mean.lock().unwrap_or_else(PoisonError::into_inner);
    let (then, mean) = mean.as_ref()?;
    (count.abs_diff(*then) * 4 <= *then).then(|| Arc::clone(mean))
}

fn keep(place: &Kept, count: usize, mean: &Arc<[f32]>) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some((count, Arc::clone(mean)));
}

fn mean(vectors: &[Vec<f32>]) -> Arc<[f32]> {
    let mut mean = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for vector in vectors {
        mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
    }
    mean.iter_mut().for_each(|sum| *sum /= vectors.len().max(1) as f32);
    mean.into()
}

impl Centre {
    /// The mean of the vectors, of which there are `count`; `None` where that is too few.
    pub(super) fn of(&self, vectors: &Vectors, count: usize) -> Result<Option<Arc<[f32]>>> {
        if count < FEWEST {
            return Ok(None);
        }
        if let Some(mean) = kept(&self.all, count) {
            return Ok(Some(mean));
        }
        let rows = vectors.rows()?;
        // Keys are hashes, so the smallest are a fair sample, and the same one in every process.
        let mut keys: Vec<u64> = rows.keys().into_iter().collect();
        if keys.len() > SAMPLE {
            keys.select_nth_unstable(SAMPLE);
            keys.truncate(SAMPLE);
        }
        keys.sort_unstable();
        let found: Vec<Vec<f32>> = rows.find(&keys).into_iter().map(|(_, vector)| vector).collect();
        let mean = mean(&found);
        keep(&self.all, count, &mean);
        Ok(Some(mean))
    }

    /// The same over what the caller of `view` may see.
    pub(super) fn of_visible(&self, view: &View) -> Result<Option<Arc<[f32]>>> {
        let count = usize::try_from(view.visible_passages()?).unwrap_or(usize::MAX);
        if count < FEWEST {
            return Ok(None);
        }
        let Some(part) = view.part() else { return Ok(None) };
        if let Some(mean) = self.of_part(part, |place| kept(place, count)).flatten() {
            return Ok(Some(mean));
        }
        let Some(found) = view.visible_sample(SAMPLE)? else { return Ok(None) };
        if found.len() < FEWEST {
            return Ok(None);
        }
        let mean = mean(&found);
        // While vectors are still being made, the sample is not the one that will stay.
        if found.len() >= count.min(SAMPLE) {
            self.add_part(part);
            self.of_part(part, |place| keep(place, count, &mean));
        }
        Ok(Some(mean))
    }

    /// What is kept of a part; `None` when nothing is.
    fn of_part<T>(&self, part: &Arc<str>, look: impl FnOnce(&Kept) -> T) -> Option<T> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().find(|(name, _)| name == part).map(|(_, place)| look(place))
    }

    /// Makes a place for the mean of a part, if there is none.
    fn add_part(&self, part: &Arc<str>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.iter().any(|(name, _)| name == part) {
            return;
        }
        if parts.len() >= KEPT_PARTS {
            parts.remove(0);
        }
        parts.push((Arc::clone(part), Kept::default()));
    }
}
