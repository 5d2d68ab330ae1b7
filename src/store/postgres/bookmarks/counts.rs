//! Counting bookmarks, in a window and over time.

use super::{
    super::{connection::Connection, fault::Fault},
    key,
};
use crate::{
    domain::Timestamp,
    store::bookmarks::{Counted, Series, SeriesOfTopics, Tallies, Window},
};

/// One statement, so that every count is of the same moment.
pub(super) fn count(db: &mut Connection, window: &Window) -> Result<Counted, Fault> {
    let rows = db.query(
        "WITH seen AS MATERIALIZED (
           SELECT pid, author, domain, date >= $2 AS now FROM bookmarks
           WHERE date >= $1 AND date < $3 AND ($4::text IS NULL OR category_key = $4)
         )
         SELECT 0, '', '', count(*) FILTER (WHERE now), count(*) FILTER (WHERE NOT now) FROM seen
         UNION ALL
         SELECT 1, author, author, count(*) FILTER (WHERE now), count(*) FILTER (WHERE NOT now)
         FROM seen WHERE author IS NOT NULL GROUP BY author HAVING bool_or(now)
         UNION ALL
         SELECT 2, domain, domain, count(*) FILTER (WHERE now), count(*) FILTER (WHERE NOT now)
         FROM seen WHERE domain IS NOT NULL GROUP BY domain HAVING bool_or(now)
         UNION ALL
         SELECT 3, topic, form, count(*) FILTER (WHERE now), count(*) FILTER (WHERE NOT now)
         FROM seen JOIN topics USING (pid) GROUP BY topic, form",
        &[&window.before.0, &window.from.0, &window.until.0, &key(window.category.as_deref())],
    )?;
    let mut tallies = Tallies::default();
    for row in rows {
        let count = |column| Ok::<_, Fault>(row.try_get::<_, i64>(column)?.unsigned_abs());
        let (now, before) = (count(3)?, count(4)?);
        tallies.add(
            row.try_get::<_, i32>(0)?.into(),
            row.try_get(1)?,
            row.try_get(2)?,
            now,
            before,
        );
    }
    Ok(tallies.finish())
}

/// Counts the bookmarks between bounds.
pub(super) fn series(
    db: &mut Connection,
    bounds: &[Timestamp],
    category: Option<&str>,
) -> Result<Series, Fault> {
    let [first, .., last] = bounds else { return Ok(Series::default()) };
    let category = key(category);
    let mut series = SeriesOfTopics::new(bounds);
    let rows = db.query(
        "SELECT date, category FROM bookmarks
         WHERE date >= $1 AND date < $2 AND ($3::text IS NULL OR category_key = $3)",
        &[&first.0, &last.0, &category],
    )?;
    for row in rows {
        series.add_bookmark(row.try_get(0)?, row.try_get(1)?);
    }
    let rows = db.query(
        "SELECT date, topic, form FROM bookmarks JOIN topics USING (pid)
         WHERE date >= $1 AND date < $2 AND ($3::text IS NULL OR category_key = $3)",
        &[&first.0, &last.0, &category],
    )?;
    for row in rows {
        series.add_topic(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    }
    Ok(series.finish())
}
