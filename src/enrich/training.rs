//! What the weights are trained on: `examples/bookmark_features.rs` writes it, `training/bookmarks.py`
//! reads it.

use serde::Serialize;

use super::{Enricher, Input};
use crate::{
    domain::{Bookmark, Error, Result, Timestamp},
    embed::Role,
};

/// One bookmark as the head sees it.
#[derive(Debug, Serialize)]
pub struct Example {
    /// The bookmark.
    pub id: String,
    /// Its embedding.
    pub vector: Vec<f32>,
    /// Its structural features.
    pub features: Vec<f32>,
    /// For each category: points of words, their share, the site, the nearness in meaning.
    pub categories: Vec<[f32; 4]>,
}

/// The names of the features, in their order.
pub fn feature_names(enricher: &Enricher) -> Result<Vec<String>> {
    let mut bookmark = Bookmark::new(Some("names"), "", "", Timestamp(0))?;
    let features = enricher.evidence(&mut bookmark).input.features;
    Ok(features.0.into_iter().map(|(name, _)| name).collect())
}

/// What the head sees of a bookmark. The enricher must have an embedder.
pub fn example(enricher: &Enricher, bookmark: &mut Bookmark) -> Result<Example> {
    let embedder = enricher.embedder.as_ref();
    let embedder = embedder.ok_or_else(|| Error::internal("training needs an embedder"))?;
    let Input { text, points, features } = enricher.evidence(bookmark).input;
    let vector = embedder.embed(&[text.as_str()], Role::Passage)?.pop();
    let vector = vector.ok_or_else(|| Error::internal("the embedder gave no vector"))?;
    let near = enricher.centres(embedder)?.nearness(&vector);
    let categories = near.iter().enumerate().map(|(category, near)| {
        let [words, share, site] = points.evidence(category);
        [words, share, site, *near]
    });
    Ok(Example {
        id: bookmark.id.clone(),
        features: features.values().collect(),
        categories: categories.collect(),
        vector,
    })
}
