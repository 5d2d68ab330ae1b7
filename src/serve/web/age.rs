//! How long ago something was, in words.

use crate::domain::{Timestamp, count};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A moment with its age.
#[derive(Debug, Clone)]
pub struct Age {
    /// `3 days ago`.
    pub text: String,
    /// `2025-01-15T10:00:00.000Z`, for machines.
    pub exact: String,
}

impl Age {
    /// The age of a moment now.
    pub fn of(moment: Timestamp) -> Self {
        Self { text: words(moment, Timestamp::now()), exact: moment.to_string() }
    }
}

fn words(moment: Timestamp, now: Timestamp) -> String {
    let past = now.0.saturating_sub(moment.0);
    let ago = |number: i64, noun: &str| format!("{} ago", count(number, noun));
    match past {
        past if past < -MINUTE => moment.date(),
        past if past < MINUTE => "just now".to_owned(),
        past if past < HOUR => ago(past / MINUTE, "minute"),
        past if past < DAY => ago(past / HOUR, "hour"),
        past if past < 2 * DAY => "yesterday".to_owned(),
        past if past < 31 * DAY => ago(past / DAY, "day"),
        past if past < 365 * DAY => ago(past / (30 * DAY), "month"),
        past => ago(past / (365 * DAY), "year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        for (moment, expected) in [
            ("2026-01-31T11:59:40Z", "just now"),
            ("2026-01-31T11:59:00Z", "1 minute ago"),
            ("2026-01-31T02:00:00Z", "10 hours ago"),
            ("2026-01-30T02:00:00Z", "yesterday"),
            ("2026-01-11T12:00:00Z", "20 days ago"),
            ("2025-12-01T12:00:00Z", "2 months ago"),
            ("2023-01-31T12:00:00Z", "3 years ago"),
            ("2026-03-01T12:00:00Z", "2026-03-01"),
        ] {
            assert_eq!(words(moment.parse().unwrap(), now), expected, "{moment}");
        }
    }
}
