//! Writes what the trained weights for bookmarks see of each record of a JSONL file, for
//! `training/bookmarks.py`: a line with the names of features and categories, then one for each record.
//!
//! ```sh
//! cargo run --example bookmark_features -- RECORDS.jsonl > features.jsonl
//! ```

use std::{io::Write, path::PathBuf, sync::Arc};

use notewell::{
    domain::{Error, Result, Timestamp, error::Doing},
    embed::{Embedder, embedded::Embedded},
    enrich::{Enricher, Taxonomy, training},
    import::bookmarks,
};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).map(PathBuf::from);
    let path = path.ok_or_else(|| Error::invalid_params("name a JSONL file of bookmarks"))?;
    let embedder: Arc<dyn Embedder> = Arc::new(Embedded::new());
    let enricher = Enricher::new(Taxonomy::built_in()?, Some(embedder.clone()))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut line = |value: &serde_json::Value| -> Result<()> {
        writeln!(out, "{value}").doing("write the features")
    };
    line(&serde_json::json!({
        "model": embedder.id(),
        "dimensions": embedder.dims(),
        "features": training::feature_names(&enricher)?,
        "categories": enricher.taxonomy().names(),
    }))?;
    bookmarks::read(&path, Timestamp(0), &mut |record| {
        let mut bookmark = match record.bookmark {
            Ok(bookmark) => bookmark,
            Err(skipped) => return Err(Error::invalid_params(skipped.reason)),
        };
        let example = training::example(&enricher, &mut bookmark)?;
        line(&serde_json::to_value(example).doing("write the features")?)
    })?;
    Ok(())
}
