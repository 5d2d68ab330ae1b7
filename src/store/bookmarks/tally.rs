//! Counts over bookmarks, made of the rows that a database gives.

use std::{cmp::Reverse, collections::HashMap};

use super::{Counted, Series, Tally};
use crate::domain::Timestamp;

/// Topics of a series that are given; what is beyond them is rare.
const MAX_TOPICS: usize = 50;

/// Collects the counts of a window.
#[derive(Default)]
pub(in crate::store) struct Tallies {
    counted: Counted,
    /// With how often its name was written.
    topics: HashMap<String, (Tally, u64)>,
}

impl Tallies {
    /// Adds a row: 0 is the whole, 1 an author, 2 a domain, 3 a form of a topic.
    pub(in crate::store) fn add(
        &mut self,
        kind: i64,
        key: String,
        form: String,
        now: u64,
        before: u64,
    ) {
        match kind {
            0 => (self.counted.now, self.counted.before) = (now, before),
            1 => self.counted.authors.push(Tally { name: form, now, before }),
            2 => self.counted.domains.push(Tally { name: form, now, before }),
            _ => {
                let (tally, most) = self
                    .topics
                    .entry(key)
                    .or_insert((Tally { name: form.clone(), now: 0, before: 0 }, 0));
                tally.now += now;
                tally.before += before;
                // The form most often written, the first in order among equals.
                if (now + before, Reverse(&form)) > (*most, Reverse(&tally.name)) {
                    *most = now + before;
                    tally.name = form;
                }
            }
        }
    }

    /// The counts, most frequent first.
    pub(in crate::store) fn finish(self) -> Counted {
        let mut counted = self.counted;
        let topics = self.topics.into_values().map(|(tally, _)| tally);
        counted.topics = topics.filter(|tally| tally.now > 0).collect();
        for tallies in [&mut counted.topics, &mut counted.authors, &mut counted.domains] {
            tallies.sort_by(|a, b| {
                b.now.cmp(&a.now).then(a.before.cmp(&b.before)).then(a.name.cmp(&b.name))
            });
        }
        counted
    }
}

/// Collects counts over time.
pub(in crate::store) struct SeriesOfTopics<'a> {
    bounds: &'a [Timestamp],
    stretches: usize,
    totals: Vec<u64>,
    categories: HashMap<String, Vec<u64>>,
    topics: HashMap<String, Topic>,
}

#[derive(Default)]
struct Topic {
    counts: Vec<u64>,
    /// How often each form was written, lately and at all.
    forms: HashMap<String, (u64, u64)>,
}

impl<'a> SeriesOfTopics<'a> {
    /// Between these bounds, of which there are at least two.
    pub(in crate::store) fn new(bounds: &'a [Timestamp]) -> Self {
        let stretches = bounds.len().saturating_sub(1);
        Self {
            bounds,
            stretches,
            totals: vec![0; stretches],
            categories: HashMap::new(),
            topics: HashMap::new(),
        }
    }

    fn stretch(&self, date: i64) -> usize {
        self.bounds.partition_point(|bound| bound.0 <= date) - 1
    }

    /// Adds a bookmark of this date and category.
    pub(in crate::store) fn add_bookmark(&mut self, date: i64, category: Option<String>) {
        let (at, stretches) = (self.stretch(date), self.stretches);
        self.totals[at] += 1;
        if let Some(name) = category {
            self.categories.entry(name).or_insert_with(|| vec![0; stretches])[at] += 1;
        }
    }

    /// Adds a topic of a bookmark of this date.
    pub(in crate::store) fn add_topic(&mut self, date: i64, topic: String, form: String) {
        let at = self.stretch(date);
        let topic = self.topics.entry(topic).or_default();
        topic.counts.resize(self.stretches, 0);
        topic.counts[at] += 1;
        let (lately, ever) = topic.forms.entry(form).or_default();
        *lately += u64::from(at + 2 >= self.stretches);
        *ever += 1;
    }

    /// The counts, the most frequent of the last stretch first.
    pub(in crate::store) fn finish(self) -> Series {
        let named = self.topics.into_iter().map(|(key, topic)| (named(key, &topic), topic.counts));
        let mut topics = sorted(named);
        topics.truncate(MAX_TOPICS);
        let categories = sorted(self.categories.into_iter());
        Series { totals: self.totals, topics, categories }
    }
}

/// The form most often written; the first in order among equals.
fn named(key: String, topic: &Topic) -> String {
    let forms = topic.forms.iter();
    let best = forms.max_by_key(|(form, counts)| (**counts, Reverse((*form).clone())));
    best.map_or(key, |(form, _)| form.clone())
}

fn sorted(all: impl Iterator<Item = (String, Vec<u64>)>) -> Vec<(String, Vec<u64>)> {
    let mut all: Vec<(String, Vec<u64>)> = all.collect();
    let weight = |counts: &[u64]| (counts.last().copied(), counts.iter().sum::<u64>());
    all.sort_by(|a, b| weight(&b.1).cmp(&weight(&a.1)).then_with(|| a.0.cmp(&b.0)));
    all
}
