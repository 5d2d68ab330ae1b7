//! Moments in time: milliseconds since 1970 in UTC, written as ISO 8601 with a `Z`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};

const DAY_MS: i64 = 86_400_000;

/// Milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The system clock.
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    /// The same time of day, `days` later.
    pub fn plus_days(self, days: i64) -> Self {
        Self(self.0.saturating_add(days.saturating_mul(DAY_MS)))
    }

    /// `2025-01-15`.
    pub fn date(self) -> String {
        self.to_string().chars().take_while(|c| *c != 'T').collect()
    }

    /// Reads a day (`2025-01-15`, its first moment), or a date and time with or without an offset
    /// (without: UTC), with `T` or a space between them.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(moment) = text.parse::<jiff::Timestamp>() {
            return Some(Self(moment.as_millisecond()));
        }
        let civil = text
            .parse::<jiff::civil::DateTime>()
            .or_else(|_| text.parse::<jiff::civil::Date>().map(|date| date.at(0, 0, 0, 0)))
            .ok()?;
        let moment = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(moment.timestamp().as_millisecond()))
    }

    /// Whether the text names a whole day rather than a moment, so that an end date includes it.
    pub fn is_day(text: &str) -> bool {
        text.trim().len() == 10
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| {
            Error::invalid_params(format!(
                "`{text}` is not a date; write `2025-01-31` or `2025-01-31T10:00:00Z`"
            ))
        })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_in_the_forms_people_write() {
        for (text, expected) in [
            ("2025-01-15", "2025-01-15T00:00:00.000Z"),
            ("2025-01-15T10:00:00Z", "2025-01-15T10:00:00.000Z"),
            ("2025-01-15 10:00:00", "2025-01-15T10:00:00.000Z"),
            ("2025-01-15T10:00:00.123+09:00", "2025-01-15T01:00:00.123Z"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), expected, "{text}");
        }
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::parse("2025-02-30"), None);
    }
}
