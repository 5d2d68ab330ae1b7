//! Counters and histograms, in the text form of Prometheus.
//!
//! A sample is counted when it is recorded, so nothing piles up until somebody reads `/metrics`.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// The upper bounds of the buckets, in seconds: all histograms are durations.
const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Every counter and histogram that was used so far.
#[derive(Default)]
pub struct Registry {
    counters: Series<AtomicU64>,
    histograms: Series<Durations>,
}

/// The values of one kind by name and labels.
struct Series<T>(RwLock<HashMap<Key, Arc<T>>>);

/// How many durations fell into each bucket, the last of which has no bound, and their sum.
#[derive(Default)]
struct Durations {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    /// The bits of a float.
    sum: AtomicU64,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T: Default> Series<T> {
    fn get(&self, key: &Key) -> Arc<T> {
        if let Some(value) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return value.clone();
        }
        let mut values = self.0.write().unwrap_or_else(PoisonError::into_inner);
        values.entry(key.clone()).or_default().clone()
    }

    /// The values by name, then by the text of their labels.
    fn sorted(&self) -> BTreeMap<String, BTreeMap<String, Arc<T>>> {
        let mut names: BTreeMap<String, BTreeMap<String, Arc<T>>> = BTreeMap::new();
        for (key, value) in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            names.entry(key.name().to_owned()).or_default().insert(labels(key), value.clone());
        }
        names
    }
}

impl HistogramFn for Durations {
    fn record(&self, seconds: f64) {
        if !seconds.is_finite() {
            return;
        }
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let add = |bits| Some((f64::from_bits(bits) + seconds).to_bits());
        // The closure never refuses.
        let _ = self.sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

impl Recorder for Registry {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.counters.get(key))
    }

    /// There are none: what can go up and down is in `notewell status`.
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.histograms.get(key))
    }
}

impl Registry {
    /// The text of `/metrics`.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for (name, series) in self.counters.sorted() {
            line(&mut text, format_args!("# TYPE {name} counter"));
            for (labels, value) in series {
                line(
                    &mut text,
                    format_args!("{} {}", set(&name, &labels), value.load(Ordering::Relaxed)),
                );
            }
        }
        for (name, series) in self.histograms.sorted() {
            line(&mut text, format_args!("# TYPE {name} histogram"));
            for (labels, value) in series {
                let mut count = 0;
                let bucket = format!("{name}_bucket");
                let comma = if labels.is_empty() { "" } else { "," };
                for (number, samples) in value.buckets.iter().enumerate() {
                    count += samples.load(Ordering::Relaxed);
                    let bound = BOUNDS.get(number).map_or("+Inf".into(), f64::to_string);
                    let labels = format!("{labels}{comma}le=\"{bound}\"");
                    line(&mut text, format_args!("{} {count}", set(&bucket, &labels)));
                }
                let sum = f64::from_bits(value.sum.load(Ordering::Relaxed));
                line(&mut text, format_args!("{} {sum}", set(&format!("{name}_sum"), &labels)));
                line(&mut text, format_args!("{} {count}", set(&format!("{name}_count"), &labels)));
            }
        }
        text
    }
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    // A string takes whatever is written.
    let _ = writeln!(text, "{words}");
}

/// A name with its labels.
fn set(name: &str, labels: &str) -> String {
    if labels.is_empty() { name.to_owned() } else { format!("{name}{{{labels}}}") }
}

/// The labels in the order in which they were given.
fn labels(key: &Key) -> String {
    let label = |label: &metrics::Label| {
        let value = label.value().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{}=\"{value}\"", label.key())
    };
    key.labels().map(label).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Metadata<'_> = Metadata::new("test", metrics::Level::INFO, None);

    fn key(name: &'static str, labels: &[(&'static str, &'static str)]) -> Key {
        let labels: Vec<_> =
            labels.iter().map(|(key, value)| metrics::Label::new(*key, *value)).collect();
        Key::from_parts(name, labels)
    }

    #[test]
    fn counters_are_added_up_by_their_labels() {
        let registry = Registry::default();
        for (tool, number) in [("search", 2), ("read \"it\"\\\n", 1), ("search", 3)] {
            let key = key("calls_total", &[("tool", tool), ("outcome", "ok")]);
            registry.register_counter(&key, &PLACE).increment(number);
        }
        registry.register_counter(&key("built_total", &[]), &PLACE).increment(7);
        assert_eq!(
            registry.render(),
            "# TYPE built_total counter\nbuilt_total 7\n\
             # TYPE calls_total counter\n\
             calls_total{tool=\"read \\\"it\\\"\\\\\\n\",outcome=\"ok\"} 1\n\
             calls_total{tool=\"search\",outcome=\"ok\"} 5\n"
        );
    }

    #[test]
    fn durations_fall_into_cumulative_buckets() {
        let registry = Registry::default();
        let histogram =
            registry.register_histogram(&key("call_seconds", &[("tool", "ask")]), &PLACE);
        for seconds in [0.001, 0.002, 0.25, 60.0, f64::NAN] {
            histogram.record(seconds);
        }
        let text = registry.render();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 13 + 2);
        for line in [
            "# TYPE call_seconds histogram",
            "call_seconds_bucket{tool=\"ask\",le=\"0.001\"} 1",
            "call_seconds_bucket{tool=\"ask\",le=\"0.0025\"} 2",
            "call_seconds_bucket{tool=\"ask\",le=\"0.1\"} 2",
            "call_seconds_bucket{tool=\"ask\",le=\"10\"} 3",
            "call_seconds_bucket{tool=\"ask\",le=\"+Inf\"} 4",
            "call_seconds_sum{tool=\"ask\"} 60.253",
            "call_seconds_count{tool=\"ask\"} 4",
        ] {
            assert!(lines.contains(&line), "{line} is not in\n{text}");
        }
    }

    /// Memory does not grow with samples.
    #[test]
    fn threads_lose_no_sample() {
        let registry = Registry::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        registry.register_histogram(&key("s_seconds", &[]), &PLACE).record(0.5);
                        registry.register_counter(&key("n_total", &[]), &PLACE).increment(1);
                    }
                });
            }
        });
        let text = registry.render();
        assert!(
            text.contains("n_total 4000\n") && text.contains("s_seconds_count 4000\n"),
            "{text}"
        );
        assert!(text.contains("s_seconds_sum 2000\n"), "{text}");
    }
}
