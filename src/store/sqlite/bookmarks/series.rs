//! Counts over time, for plots.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use crate::{domain::Timestamp, store::bookmarks::Series};

/// Topics that are given; what is beyond them is rare.
const MAX_TOPICS: usize = 50;

#[derive(Default)]
struct Topic {
    counts: Vec<u64>,
    /// How often each form was written, lately and at all.
    forms: HashMap<String, (u64, u64)>,
}

/// Counts the bookmarks between bounds.
pub fn count(
    db: &Connection,
    bounds: &[Timestamp],
    category: Option<&str>,
) -> rusqlite::Result<Series> {
    let [first, .., last] = bounds else { return Ok(Series::default()) };
    let stretches = bounds.len() - 1;
    let stretch = |date: i64| bounds.partition_point(|bound| bound.0 <= date) - 1;
    let mut series = Series { totals: vec![0; stretches], ..Series::default() };
    let mut categories: HashMap<String, Vec<u64>> = HashMap::new();
    let mut statement = db.prepare_cached(
        "SELECT date, category FROM bookmarks
         WHERE date >= ?1 AND date < ?2 AND (?3 IS NULL OR category = ?3)",
    )?;
    let mut rows = statement.query(params![first.0, last.0, category])?;
    while let Some(row) = rows.next()? {
        let at = stretch(row.get(0)?);
        series.totals[at] += 1;
        if let Some(name) = row.get::<_, Option<String>>(1)? {
            categories.entry(name).or_insert_with(|| vec![0; stretches])[at] += 1;
        }
    }
    let mut topics: HashMap<String, Topic> = HashMap::new();
    let mut statement = db.prepare_cached(
        "SELECT date, topic, form FROM bookmarks JOIN topics USING (pid)
         WHERE date >= ?1 AND date < ?2 AND (?3 IS NULL OR category = ?3)",
    )?;
    let mut rows = statement.query(params![first.0, last.0, category])?;
    while let Some(row) = rows.next()? {
        let at = stretch(row.get(0)?);
        let topic = topics.entry(row.get(1)?).or_default();
        topic.counts.resize(stretches, 0);
        topic.counts[at] += 1;
        let (lately, ever) = topic.forms.entry(row.get(2)?).or_default();
        *lately += u64::from(at + 2 >= stretches);
        *ever += 1;
    }
    series.topics =
        sorted(topics.into_iter().map(|(key, topic)| (named(key, &topic), topic.counts)));
    series.topics.truncate(MAX_TOPICS);
    series.categories = sorted(categories.into_iter());
    Ok(series)
}

/// The form most often written; the first in order among equals.
fn named(key: String, topic: &Topic) -> String {
    let forms = topic.forms.iter();
    let best = forms.max_by_key(|(form, counts)| (**counts, std::cmp::Reverse((*form).clone())));
    best.map_or(key, |(form, _)| form.clone())
}

fn sorted(all: impl Iterator<Item = (String, Vec<u64>)>) -> Vec<(String, Vec<u64>)> {
    let mut all: Vec<(String, Vec<u64>)> = all.collect();
    let weight = |counts: &[u64]| (counts.last().copied(), counts.iter().sum::<u64>());
    all.sort_by(|a, b| weight(&b.1).cmp(&weight(&a.1)).then_with(|| a.0.cmp(&b.0)));
    all
}
