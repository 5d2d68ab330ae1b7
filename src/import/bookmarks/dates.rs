//! The forms in which exports write a moment.

use serde_json::Value;

use crate::domain::Timestamp;

/// Forms that ISO 8601 does not cover. Where the order of day and month is anybody's guess
/// (`03/04/2023`) nothing is guessed.
const WITH_OFFSET: &[&str] = &[
    // X
    "%a %b %d %H:%M:%S %z %Y",
    // twitter-web-exporter
    "%Y-%m-%d %H:%M:%S %:z",
    "%Y-%m-%d %H:%M:%S %z",
    // Mail and feeds
    "%a, %d %b %Y %H:%M:%S %z",
    // Old Netscape files, like a web server's log
    "%d/%b/%Y:%H:%M:%S %z",
];
const IN_UTC: &[&str] = &[
    "%a, %d %b %Y %H:%M:%S GMT",
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
];
const DAYS: &[&str] = &["%Y/%m/%d", "%d.%m.%Y", "%b %d, %Y", "%B %d, %Y"];

/// A moment in any form that an export uses; `None` for what is none.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => {
            epoch(number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64))?)
        }
        Value::String(text) => parse(text),
        _ => None,
    }
}

pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // Longer than any date: not worth trying every form on.
    if text.is_empty() || text.len() > 64 {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return epoch(text.parse().ok()?);
    }
    if let Some(moment) = Timestamp::parse(text) {
        return Some(moment);
    }
    let offset = WITH_OFFSET.iter().find_map(|form| {
        let moment = jiff::fmt::strtime::parse(form, text).ok()?.to_timestamp().ok()?;
        Some(Timestamp(moment.as_millisecond()))
    });
    let civil = || {
        let time = |form: &&str| jiff::civil::DateTime::strptime(form, text).ok();
        let day = |form: &&str| Some(jiff::civil::Date::strptime(form, text).ok()?.at(0, 0, 0, 0));
        let civil = IN_UTC.iter().find_map(time).or_else(|| DAYS.iter().find_map(day))?;
        let moment = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Timestamp(moment.timestamp().as_millisecond()))
    };
    offset.or_else(civil)
}

/// Seconds, milliseconds or microseconds since 1970, recognised by magnitude; a browser
/// that counts microseconds from 1601 has more than anybody. Nobody saved a page before 1973.
fn epoch(number: i64) -> Option<Timestamp> {
    const BETWEEN_1601_AND_1970_MS: i64 = 11_644_473_600_000;
    match number {
        100_000_000..100_000_000_000 => Some(Timestamp(number * 1000)),
        100_000_000_000..100_000_000_000_000 => Some(Timestamp(number)),
        100_000_000_000_000..10_000_000_000_000_000 => Some(Timestamp(number / 1000)),
        10_000_000_000_000_000..100_000_000_000_000_000 => {
            Some(Timestamp(number / 1000 - BETWEEN_1601_AND_1970_MS))
        }
        1_000_000_000_000_000_000.. => Some(Timestamp(number / 1_000_000)),
        _ => None,
    }
}

/// A post's number on X holds when it was posted, since November 2010.
pub(super) fn posted(number: &str) -> Option<Timestamp> {
    const FIRST: u64 = 30_000_000_000;
    const EPOCH_MS: u64 = 1_288_834_974_657;
    let number: u64 = number.parse().ok()?;
    (number > FIRST).then_some(Timestamp(i64::try_from((number >> 22) + EPOCH_MS).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_exports() {
        for (text, expected) in [
            ("2017-10-23T12:30:00Z", "2017-10-23T12:30:00.000Z"),
            ("2017-10-23T12:30:00.123+09:00", "2017-10-23T03:30:00.123Z"),
            ("2017-10-23 12:30:00 +00:00", "2017-10-23T12:30:00.000Z"),
            ("2017-10-23 12:30:00 +0300", "2017-10-23T09:30:00.000Z"),
            ("Mon Oct 16 22:59:00 +0000 2017", "2017-10-16T22:59:00.000Z"),
            ("Sat, 14 May 2016 23:10:31 +0200", "2016-05-14T21:10:31.000Z"),
            ("Sat, 14 May 2016 23:10:31 GMT", "2016-05-14T23:10:31.000Z"),
            ("10/Oct/2000:13:55:36 +0300", "2000-10-10T10:55:36.000Z"),
            ("1456433748", "2016-02-25T20:55:48.000Z"),
            ("1456433748000", "2016-02-25T20:55:48.000Z"),
            ("1515515697780642", "2018-01-09T16:34:57.780Z"),
            ("13166193600000000", "2018-03-22T12:00:00.000Z"),
            ("2023/03/04 05:40", "2023-03-04T05:40:00.000Z"),
            ("04.03.2023", "2023-03-04T00:00:00.000Z"),
            ("2023-03-04", "2023-03-04T00:00:00.000Z"),
            ("March 4, 2023", "2023-03-04T00:00:00.000Z"),
        ] {
            assert_eq!(parse(text).map(|m| m.to_string()).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "0", "7", "yesterday", "03/04/2023", "2023-13-01", "99999999999999999999"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_post_tells_its_time_by_its_number() {
        let moment = posted("920061541986250758").unwrap();
        assert_eq!(moment.to_string().get(..16), Some("2017-10-16T22:59"));
        assert_eq!(posted("1234567890"), None);
        assert_eq!(posted("no"), None);
    }
}
