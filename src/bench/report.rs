//! Figures with their goals, as a table for people or as JSON.

use std::{fmt::Write, time::Duration};

use serde_json::{Value, json};

use super::process;
use crate::domain::Result;

/// The goal of a figure. It is printed, never asserted.
#[derive(Clone, Copy)]
pub enum Goal {
    /// No goal: the figure is information.
    None,
    /// The figure should be below this.
    Below(f64),
    /// The figure should be at least this.
    AtLeast(f64),
}

struct Row {
    what: String,
    value: Option<f64>,
    unit: &'static str,
    goal: Goal,
}

/// The figures of one bench.
pub struct Report {
    title: String,
    rows: Vec<Row>,
    errors: u64,
}

impl Report {
    /// A report without rows.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new(), errors: 0 }
    }

    /// Adds a figure with its unit and goal.
    pub fn add(&mut self, what: impl Into<String>, value: f64, unit: &'static str, goal: Goal) {
        self.rows.push(Row { what: what.into(), value: Some(value), unit, goal });
    }

    /// Adds errors of one kind, which make the bench fail.
    pub fn error(&mut self, kind: impl Into<String>, count: u64) {
        self.errors += count;
        self.add(format!("error: {}", kind.into()), count as f64, "calls", Goal::Below(1.0));
    }

    /// How many errors there were.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// A figure that this system may not report.
    pub fn megabytes(&mut self, what: impl Into<String>, bytes: Option<u64>, goal: Goal) {
        let value = bytes.map(|bytes| bytes as f64 / 1e6);
        self.rows.push(Row { what: what.into(), value, unit: "MB", goal });
    }

    /// The middle and the tail of repeated measurements.
    pub fn times(&mut self, what: &str, times: &Times, p50: Goal, p99: Goal) {
        self.add(format!("{what}, p50 of {}", times.sorted.len()), times.at(0.5), "ms", p50);
        self.add(format!("{what}, p99"), times.at(0.99), "ms", p99);
        if let Some(mean) = times.processor {
            self.add(format!("{what}, processor time each"), mean, "ms", Goal::None);
        }
    }
}

/// Milliseconds.
pub struct Times {
    sorted: Vec<f64>,
    /// Processor time of one, in the mean, on all threads.
    processor: Option<f64>,
}

impl Times {
    /// Sorts the durations, for percentiles.
    pub fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut times: Vec<f64> =
            times.into_iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
        times.sort_by(f64::total_cmp);
        Self { sorted: times, processor: None }
    }

    /// Calls `one` a number of times after some that do not count; `process` does the work.
    pub fn of(
        process: u32,
        warm: u64,
        count: u64,
        mut one: impl FnMut(u64) -> Result<Duration>,
    ) -> Result<Self> {
        for number in 0..warm {
            one(number)?;
        }
        let before = process::processor(process);
        let times: Vec<Duration> = (warm..warm + count).map(&mut one).collect::<Result<_>>()?;
        let used = process::processor(process).zip(before).map(|(after, before)| after - before);
        let mut times = Self::new(times);
        // Ticks are of ten milliseconds: too coarse for less.
        times.processor = used
            .filter(|used| used.as_millis() >= 200)
            .map(|used| used.as_secs_f64() * 1_000.0 / count.max(1) as f64);
        Ok(times)
    }

    /// The time that this share of the measurements kept within.
    pub fn at(&self, share: f64) -> f64 {
        let rank = (share * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.saturating_sub(1)).or(self.sorted.last()).copied().unwrap_or(0.0)
    }
}

fn figure(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}

/// The reports as aligned text.
pub fn text(reports: &[Report]) -> String {
    let mut text = process::machine();
    if cfg!(debug_assertions) {
        text += "\nThis is a debug build: its figures mean nothing.";
    }
    for report in reports {
        let _ = write!(text, "\n\n{}", report.title);
        let width = report.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
        for row in &report.rows {
            let value = row.value.map_or_else(|| "not available".to_owned(), figure);
            let goal = match row.goal {
                Goal::None => String::new(),
                Goal::Below(goal) => format!("  goal: below {goal}"),
                Goal::AtLeast(goal) => format!("  goal: at least {goal}"),
            };
            let gap = " ".repeat(width - row.what.chars().count());
            let _ = write!(text, "\n  {}{gap}  {value:>10} {:<9}{goal}", row.what, row.unit);
            text.truncate(text.trim_end().len());
        }
    }
    text
}

/// The reports as JSON.
pub fn json(reports: &[Report]) -> Value {
    let rows = |report: &Report| -> Vec<Value> {
        let row = |row: &Row| {
            let (below, least) = match row.goal {
                Goal::None => (None, None),
                Goal::Below(goal) => (Some(goal), None),
                Goal::AtLeast(goal) => (None, Some(goal)),
            };
            json!({ "what": row.what, "value": row.value, "unit": row.unit, "below": below, "atLeast": least })
        };
        report.rows.iter().map(row).collect()
    };
    let benches: Vec<Value> = reports
        .iter()
        .map(|report| json!({ "bench": report.title, "figures": rows(report) }))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": process::machine(),
        "debug": cfg!(debug_assertions),
        "benches": benches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_measurements() {
        let times = Times::new((1..=200).rev().map(Duration::from_millis));
        assert_eq!((times.at(0.5), times.at(0.99), times.at(1.0)), (100.0, 198.0, 200.0));
        assert_eq!(Times::new([Duration::from_millis(3)]).at(0.99), 3.0);
        assert_eq!(Times::new([]).at(0.5), 0.0);
    }

    #[test]
    fn a_figure_stands_beside_its_goal() {
        let mut report = Report::new("Test");
        report.add("fast", 0.5, "ms", Goal::Below(5.0));
        report.megabytes("memory", None, Goal::None);
        let text = text(std::slice::from_ref(&report));
        assert!(text.contains("0.500 ms") && text.contains("goal: below 5"), "{text}");
        assert!(text.contains("not available"), "{text}");
        let json = json(&[report]);
        assert_eq!(json["benches"][0]["figures"][0]["below"], 5.0);
        assert_eq!(json["benches"][0]["figures"][1]["value"], Value::Null);
    }
}
