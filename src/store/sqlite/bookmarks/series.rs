//! Counts over time, for plots.

use rusqlite::{Connection, params};

use crate::{
    domain::Timestamp,
    store::bookmarks::{Series, SeriesOfTopics},
};

/// Counts the bookmarks between bounds.
pub fn count(
    db: &Connection,
    bounds: &[Timestamp],
    category: Option<&str>,
) -> rusqlite::Result<Series> {
    let [first, .., last] = bounds else { return Ok(Series::default()) };
    let mut series = SeriesOfTopics::new(bounds);
    let mut statement = db.prepare_cached(
        "SELECT date, category FROM bookmarks
         WHERE date >= ?1 AND date < ?2 AND (?3 IS NULL OR category = ?3)",
    )?;
    let mut rows = statement.query(params![first.0, last.0, category])?;
    while let Some(row) = rows.next()? {
        series.add_bookmark(row.get(0)?, row.get(1)?);
    }
    let mut statement = db.prepare_cached(
        "SELECT date, topic, form FROM bookmarks JOIN topics USING (pid)
         WHERE date >= ?1 AND date < ?2 AND (?3 IS NULL OR category = ?3)",
    )?;
    let mut rows = statement.query(params![first.0, last.0, category])?;
    while let Some(row) = rows.next()? {
        series.add_topic(row.get(0)?, row.get(1)?, row.get(2)?);
    }
    Ok(series.finish())
}
