//! Stretches of time that a question names: `in August`, `на прошлой неделе`, `2024年8月`.

use jiff::{ToSpan, civil::Date};

use super::question::find;
use crate::domain::Timestamp;

/// Days, from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    pub first: Date,
    pub last: Date,
}

/// Names of stretches relative to today; lower case, split at commas.
const RELATIVE: &[(Relative, &str)] = &[
    (Relative::Today, "today, сегодня, 今日"),
    (Relative::Yesterday, "yesterday, вчера, 昨日"),
    (Relative::Week(0), "this week, на этой неделе, за эту неделю, 今週"),
    (Relative::Week(1), "last week, на прошлой неделе, за прошлую неделю, 先週"),
    (Relative::Month(0), "this month, в этом месяце, за этот месяц, 今月"),
    (Relative::Month(1), "last month, в прошлом месяце, за прошлый месяц, 先月"),
    (Relative::Year(0), "this year, в этом году, за этот год, 今年"),
    (Relative::Year(1), "last year, в прошлом году, за прошлый год, 去年, 昨年"),
];

/// A stretch that ends today, or one that many before it.
#[derive(Debug, Clone, Copy)]
enum Relative {
    Today,
    Yesterday,
    Week(i64),
    Month(i64),
    Year(i64),
}

/// The forms of each month's name, in order.
const MONTHS: [&str; 12] = [
    "january, jan, январь, января, январе, январём",
    "february, feb, февраль, февраля, феврале, февралём",
    "march, mar, март, марта, марте, мартом",
    "april, apr, апрель, апреля, апреле, апрелем",
    "may, май, мая, мае, маем",
    "june, jun, июнь, июня, июне, июнем",
    "july, jul, июль, июля, июле, июлем",
    "august, aug, август, августа, августе, августом",
    "september, sept, sep, сентябрь, сентября, сентябре, сентябрём",
    "october, oct, октябрь, октября, октябре, октябрём",
    "november, nov, ноябрь, ноября, ноябре, ноябрём",
    "december, dec, декабрь, декабря, декабре, декабрём",
];

impl Period {
    /// Finds the stretch that a lower-case question names, and removes its words.
    pub(super) fn take(text: &mut String, now: Timestamp) -> Option<Self> {
        let today = today(now)?;
        for (relative, names) in RELATIVE {
            if remove_any(text, names) {
                return relative.period(today);
            }
        }
        let year = take_number(text, &["年", " года", " году", " год"], 1900..=2199);
        let month = (1i16..)
            .zip(MONTHS)
            .find(|(_, names)| remove_any(text, names))
            .map(|(month, _)| month)
            .or_else(|| take_number_before(text, "月", 1..=12));
        let day = month
            .and_then(|_| take_number(text, &["日", " числа", "st", "nd", "rd", "th"], 1..=31));
        let Some(month) = month else {
            let year = year?;
            return Some(Self {
                first: Date::new(year, 1, 1).ok()?,
                last: Date::new(year, 12, 31).ok()?,
            });
        };
        // A month without a year is the last one that has begun.
        let month = i8::try_from(month).ok()?;
        let year = year.unwrap_or(today.year() - i16::from(month > today.month()));
        let first = Date::new(year, month, 1).ok()?;
        match day {
            Some(day) => {
                let day = Date::new(year, month, i8::try_from(day).ok()?).ok()?;
                Some(Self { first: day, last: day })
            }
            None => Some(Self { first, last: first.last_of_month() }),
        }
    }

    pub(super) fn from(self) -> Option<Timestamp> {
        Timestamp::parse(&self.first.to_string())
    }

    /// The first moment after it.
    pub(super) fn until(self) -> Option<Timestamp> {
        Timestamp::parse(&self.last.to_string()).map(|last| last.plus_days(1))
    }
}

fn today(now: Timestamp) -> Option<Date> {
    let moment = jiff::Timestamp::from_millisecond(now.0).ok()?;
    Some(moment.to_zoned(jiff::tz::TimeZone::UTC).date())
}

impl Relative {
    fn period(self, today: Date) -> Option<Period> {
        let (first, last) = match self {
            Relative::Today => (today, today),
            Relative::Yesterday => (today.yesterday().ok()?, today.yesterday().ok()?),
            Relative::Week(ago) => {
                let since = i64::from(today.weekday().to_monday_zero_offset()) + 7 * ago;
                let first = today.checked_sub(since.days()).ok()?;
                (first, first.checked_add(6.days()).ok()?)
            }
            Relative::Month(ago) => {
                let first = today.first_of_month().checked_sub(ago.months()).ok()?;
                (first, first.last_of_month())
            }
            Relative::Year(ago) => {
                let first = today.first_of_year().checked_sub(ago.years()).ok()?;
                (first, first.last_of_year())
            }
        };
        Some(Period { first, last })
    }
}

/// Removes the first of these names that occurs as a whole word.
fn remove_any(text: &mut String, names: &str) -> bool {
    for name in names.split(", ") {
        if let Some(at) = find(text, name) {
            text.replace_range(at..at + name.len(), " ");
            return true;
        }
    }
    false
}

/// Removes the first number of this range, with a unit after it if there is one.
fn take_number(
    text: &mut String,
    units: &[&str],
    range: std::ops::RangeInclusive<i16>,
) -> Option<i16> {
    let (at, end, number) =
        numbers(text).into_iter().find(|(.., number)| range.contains(number))?;
    let unit =
        units.iter().find(|unit| text[end..].starts_with(**unit)).map_or(0, |unit| unit.len());
    text.replace_range(at..end + unit, " ");
    Some(number)
}

/// Removes the first number of this range that stands right before a unit.
fn take_number_before(
    text: &mut String,
    unit: &str,
    range: std::ops::RangeInclusive<i16>,
) -> Option<i16> {
    let mut all = numbers(text).into_iter();
    let (at, end, number) =
        all.find(|(_, end, number)| range.contains(number) && text[*end..].starts_with(unit))?;
    text.replace_range(at..end + unit.len(), " ");
    Some(number)
}

/// The whole numbers of a text with their places, written in ASCII or full-width digits.
fn numbers(text: &str) -> Vec<(usize, usize, i16)> {
    let digit = |c: char| {
        c.to_digit(10).or_else(|| ('０'..='９').position(|wide| wide == c).map(|at| at as u32))
    };
    let mut found = Vec::new();
    let mut open: Option<(usize, i64)> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (digit(c), open) {
            (Some(digit), None) => open = Some((at, i64::from(digit))),
            (Some(digit), Some((start, number))) => {
                open = Some((start, number.saturating_mul(10).saturating_add(i64::from(digit))));
            }
            (None, Some((start, number))) => {
                found.extend(i16::try_from(number).ok().map(|number| (start, at, number)));
                open = None;
            }
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_time_in_three_languages() {
        // A Monday.
        let now = Timestamp::parse("2026-11-16T04:00:00Z").unwrap();
        for (text, expected, rest) in [
            ("what did i save in august", "2026-08-01 2026-08-31", "what did i save in"),
            ("saved in december", "2025-12-01 2025-12-31", "saved in"),
            ("in august 2024", "2024-08-01 2024-08-31", "in"),
            ("on august 3rd", "2026-08-03 2026-08-03", "on"),
            ("in 2024", "2024-01-01 2024-12-31", "in"),
            ("last week", "2026-11-09 2026-11-15", ""),
            ("yesterday", "2026-11-15 2026-11-15", ""),
            ("что я сохранил в августе 2025 года", "2025-08-01 2025-08-31", "что я сохранил в"),
            ("за прошлый месяц", "2026-10-01 2026-10-31", ""),
            ("8月に保存したもの", "2026-08-01 2026-08-31", "に保存したもの"),
            ("2024年８月3日", "2024-08-03 2024-08-03", ""),
            ("去年", "2025-01-01 2025-12-31", ""),
        ] {
            let mut left = text.to_owned();
            let Period { first, last } = Period::take(&mut left, now).unwrap();
            assert_eq!(format!("{first} {last}"), expected, "{text}");
            assert_eq!(left.split_whitespace().collect::<Vec<_>>().join(" "), rest, "{text}");
        }
        let mut none = "how many notes do i have".to_owned();
        assert_eq!(Period::take(&mut none, now), None);
        assert_eq!(Period::take(&mut "1999999999999999999999".to_owned(), now), None);
    }
}
