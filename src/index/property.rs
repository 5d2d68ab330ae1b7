//! Properties in the index: each value of each property is a term, so that a filter is a walk over
//! the values that there are, and an order is the values sorted.

use std::collections::{BTreeSet, HashMap};

use tantivy::{DocId, DocSet, SegmentReader, TERMINATED, schema::IndexRecordOption};

use super::{
    Asked, View,
    bits::Bits,
    schema::{Fields, fact},
};
use crate::domain::{
    Filters, Pid, Result,
    error::Doing,
    property::{PropertyFilter, PropertyTest, Sort, compare},
};

/// What the term of a property's value begins with, and that of its existence.
const VALUE: &str = "property";
const EXISTS: &str = "has";

/// Names that an error lists.
const LISTED_NAMES: usize = 20;

/// The facts of an item's properties.
pub(super) fn facts(properties: &[(String, String)]) -> impl Iterator<Item = String> + '_ {
    let names: BTreeSet<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
    let values = properties.iter().map(|(name, value)| format!("{}{value}", values_of(name)));
    names.into_iter().map(|name| fact(EXISTS, name)).chain(values)
}

fn values_of(name: &str) -> String {
    format!("{VALUE}\0{name}\0")
}

/// Walks over the terms that begin with `prefix`, by what follows it: calls `visit` with each
/// passage of those that `wants` picks.
fn walk(
    segment: &SegmentReader,
    fields: &Fields,
    prefix: &str,
    mut wants: impl FnMut(&str) -> bool,
    mut visit: impl FnMut(&str, DocId),
) -> Result<()> {
    let what = "look up a property";
    let index = segment.inverted_index(fields.facts).doing(what)?;
    let mut terms = index.terms().range().ge(prefix).into_stream().doing(what)?;
    while terms.advance() {
        let Some(rest) = terms.key().strip_prefix(prefix.as_bytes()) else { break };
        let Ok(rest) = std::str::from_utf8(rest) else { continue };
        if !wants(rest) {
            continue;
        }
        let mut postings = index
            .read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)
            .doing(what)?;
        while postings.doc() != TERMINATED {
            visit(rest, postings.doc());
            postings.advance();
        }
    }
    Ok(())
}

/// The passages of a segment whose item passes the test of a filter.
pub(super) fn matching(
    segment: &SegmentReader,
    fields: &Fields,
    filter: &PropertyFilter,
) -> Result<Bits> {
    let mut bits = Bits::none(segment.max_doc());
    let add = |_: &str, doc: DocId| bits.add(doc);
    match &filter.test {
        PropertyTest::Exists => {
            walk(segment, fields, &fact(EXISTS, &filter.name), str::is_empty, add)?;
        }
        test => {
            walk(segment, fields, &values_of(&filter.name), |value| test.passes(value), add)?;
        }
    }
    Ok(bits)
}

impl View {
    /// Whether an item that the filters of the caller's rights let through has this property.
    pub fn has_property(&self, name: &str, rights: &Filters) -> Result<bool> {
        let exists =
            PropertyFilter { name: name.to_owned(), test: PropertyTest::Exists, excluded: false };
        let filters = Filters { properties: vec![exists], ..rights.of_rights() };
        let narrowing = self.narrow(&Asked::by(&filters))?;
        Ok(!narrowing.is_empty() && self.listing(&narrowing, 1)?.1.items > 0)
    }

    /// The names of properties that the caller may know of, some of them where there are many.
    pub fn property_names(&self, rights: &Filters) -> Result<Vec<String>> {
        let mut all = BTreeSet::new();
        for segment in self.searcher.segment_readers() {
            let collect = |name: &str| {
                all.insert(name.to_owned());
                false
            };
            walk(segment, &self.fields, &fact(EXISTS, ""), collect, |_, _| {})?;
        }
        let mut visible = Vec::new();
        for name in all {
            if visible.len() == LISTED_NAMES {
                break;
            }
            if self.has_property(&name, rights)? {
                visible.push(name);
            }
        }
        Ok(visible)
    }

    /// The place of each item in the order of a property. Items without it are not in it.
    pub fn places(&self, sort: &Sort) -> Result<HashMap<Pid, usize>> {
        let prefix = values_of(&sort.property);
        let mut by_value: HashMap<String, Vec<Pid>> = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let columns = self.cache.columns(segment)?;
            let add = |value: &str, doc: DocId| {
                if segment.is_deleted(doc) {
                    return;
                }
                let Some(pid) = columns.pid.first(doc) else { return };
                match by_value.get_mut(value) {
                    Some(pids) => pids.push(Pid(pid)),
                    None => drop(by_value.insert(value.to_owned(), vec![Pid(pid)])),
                }
            };
            walk(segment, &self.fields, &prefix, |_| true, add)?;
        }
        let mut values: Vec<(String, Vec<Pid>)> = by_value.into_iter().collect();
        values.sort_by(|(one, _), (other, _)| match sort.descending {
            true => compare(other, one),
            false => compare(one, other),
        });
        let mut places = HashMap::new();
        let mut place = 0;
        for (at, (value, pids)) in values.iter().enumerate() {
            // Values that compare equal, such as `1` and `1.0`, share a place.
            if at > 0 && compare(&values[at - 1].0, value).is_ne() {
                place += 1;
            }
            for pid in pids {
                places.entry(*pid).or_insert(place);
            }
        }
        Ok(places)
    }
}
