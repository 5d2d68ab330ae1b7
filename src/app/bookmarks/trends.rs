//! What was saved in a stretch of time, against the one before.

use crate::{
    app::App,
    app::rights::Rights,
    domain::{Bookmark, Pid, Result, Timestamp, count, query::words},
    store::bookmarks::{Counted, Series, Tally, Window},
};

words!(
    /// The lengths of time that are summed up.
    Period, "period", { Day = "1d", Week = "1w", TwoWeeks = "2w", Month = "1m", Quarter = "3m" }
);

impl Period {
    /// Length of the period.
    pub fn days(self) -> i64 {
        match self {
            Period::Day => 1,
            Period::Week => 7,
            Period::TwoWeeks => 14,
            Period::Month => 30,
            Period::Quarter => 90,
        }
    }
}

words!(
    /// Where a topic goes, against the period before.
    Trend, "trend", { Up = "up", Down = "down", Stable = "stable", New = "new" }
);

/// Topics, bookmarks and tools that an answer names at most.
const TOPICS: usize = 10;
const SITES: usize = 10;
const NOTABLE: usize = 5;
const TOOLS: usize = 10;

/// A topic moves when its count does by a quarter and by two at least: fewer is chance.
const MOVES: f64 = 1.25;
const AT_LEAST: u64 = 2;

/// Compares a count with the period before.
pub fn trend(tally: &Tally) -> Trend {
    let moves =
        |more: u64, less: u64| more >= less + AT_LEAST && more as f64 >= less as f64 * MOVES;
    match (tally.now, tally.before) {
        (_, 0) => Trend::New,
        (now, before) if moves(now, before) => Trend::Up,
        (now, before) if moves(before, now) => Trend::Down,
        _ => Trend::Stable,
    }
}

/// Counts of a period against the period before.
pub struct Trends {
    /// The length.
    pub period: Period,
    /// The two periods.
    pub window: Window,
    /// The counts.
    pub counted: Counted,
    /// With the reason why each is named.
    pub notable: Vec<(Pid, Bookmark, String)>,
    /// Tools that were first saved in the period.
    pub new_tools: Vec<(String, u64)>,
    /// One or two sentences over the counts.
    pub summary: String,
    /// What the reader should know about the counts.
    pub notes: Vec<String>,
}

impl App {
    /// Sums up the period that ends at `as_of`.
    pub fn trends(
        &self,
        period: Period,
        category: Option<String>,
        as_of: Timestamp,
        rights: &Rights,
    ) -> Result<Trends> {
        let from = as_of.plus_days(-period.days());
        let window =
            Window { before: from.plus_days(-period.days()), from, until: as_of, category };
        let bookmarks = &self.store.bookmarks;
        let mut counted = bookmarks.count(&window)?;
        counted.topics.truncate(TOPICS);
        counted.authors.truncate(SITES);
        counted.domains.truncate(SITES);
        let notable = bookmarks
            .notable(&window, NOTABLE)?
            .into_iter()
            .enumerate()
            .map(|(rank, (pid, bookmark))| {
                let reason = reason(rank, &bookmark);
                (pid, bookmark, reason)
            })
            .collect();
        let new_tools = bookmarks.new_tools(&window, TOOLS)?;
        let mut trends = Trends {
            period,
            window,
            counted,
            notable,
            new_tools,
            summary: String::new(),
            notes: Vec::new(),
        };
        let mut words = [trends.plain_summary()];
        trends.notes.extend(self.rephrase(&mut words, &trends.facts(), rights));
        let [summary] = words;
        trends.summary = summary;
        Ok(trends)
    }
}

/// Stretches of time in a series.
const STRETCHES: i64 = 12;

impl App {
    /// The periods up to `as_of`, one after the other: their bounds and what was saved in each.
    pub fn trend_series(
        &self,
        period: Period,
        category: Option<&str>,
        as_of: Timestamp,
    ) -> Result<(Vec<Timestamp>, Series)> {
        let bound = |n: i64| as_of.plus_days(-period.days() * (STRETCHES - n));
        let bounds: Vec<Timestamp> = (0..=STRETCHES).map(bound).collect();
        let series = self.store.bookmarks.series(&bounds, category)?;
        Ok((bounds, series))
    }
}

fn reason(rank: usize, bookmark: &Bookmark) -> String {
    let mut counts: Vec<(&String, u64)> = bookmark
        .engagement
        .iter()
        .filter(|(name, _)| !name.contains("rank"))
        .filter_map(|(name, count)| Some((name, count.as_u64().filter(|count| *count > 0)?)))
        .collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let counts: Vec<String> = counts
        .iter()
        .take(3)
        .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
        .collect();
    let place = match rank {
        0 => "most engagement of the period".to_owned(),
        rank => format!("number {} by engagement", rank + 1),
    };
    format!("{place}: {}", counts.join(", "))
}

impl Trends {
    /// What the summary may speak of.
    fn facts(&self) -> String {
        let topics: Vec<String> = self
            .counted
            .topics
            .iter()
            .map(|topic| {
                let (name, now, before) = (&topic.name, topic.now, topic.before);
                format!("{name}: {now} now, {before} before, {}", trend(topic))
            })
            .collect();
        topics.join("; ")
    }

    fn plain_summary(&self) -> String {
        let Counted { now, before, topics, .. } = &self.counted;
        let about = match &self.window.category {
            Some(category) => format!(" in {category}"),
            None => String::new(),
        };
        let length = match self.period {
            Period::Day => "day",
            Period::Week => "week",
            Period::TwoWeeks => "two weeks",
            Period::Month => "30 days",
            Period::Quarter => "90 days",
        };
        if *now == 0 {
            return format!(
                "No bookmarks{about} in the {length} before {}; {before} in the {length} before that.",
                self.window.until.date()
            );
        }
        let change = match (now.cmp(before), now.abs_diff(*before)) {
            (_, by) if *before == 0 => {
                debug_assert_eq!(by, *now);
                format!("none in the {length} before")
            }
            (std::cmp::Ordering::Equal, _) => format!("as many as in the {length} before"),
            (std::cmp::Ordering::Greater, by) => format!("{by} more than in the {length} before"),
            (std::cmp::Ordering::Less, by) => format!("{by} fewer than in the {length} before"),
        };
        let mut text = format!("{}{about}, {change}.", count(*now, "bookmark"));
        let named: Vec<String> = topics
            .iter()
            .take(3)
            .map(|topic| format!("{} ({}, {})", topic.name, topic.now, trend(topic)))
            .collect();
        if !named.is_empty() {
            text += &format!(" Most about {}.", named.join(", "));
        }
        if let Some((tool, _)) = self.new_tools.first() {
            text += &match self.new_tools.len() {
                1 => format!(" New: {tool}."),
                more => format!(" New: {tool} and {} more.", more - 1),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_moves_only_when_it_is_not_chance() {
        let of = |now, before| trend(&Tally { name: String::new(), now, before });
        assert_eq!(of(1, 0), Trend::New);
        assert_eq!(of(2, 1), Trend::Stable);
        assert_eq!(of(4, 2), Trend::Up);
        assert_eq!(of(2, 4), Trend::Down);
        assert_eq!(of(101, 99), Trend::Stable);
        assert_eq!(of(126, 100), Trend::Up);
    }
}
