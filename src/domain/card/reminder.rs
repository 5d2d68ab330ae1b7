//! When a recurring reminder comes again.

use super::{super::Timestamp, Recurrence};

/// The first occurrence after `now` of a reminder that was set for `reminder`; none when it does
/// not come again. A month without that day ends on its last day (31 January, then 28 February).
pub fn next_occurrence(
    reminder: Timestamp,
    recurrence: Recurrence,
    now: Timestamp,
) -> Option<Timestamp> {
    let days = match recurrence {
        Recurrence::None => return None,
        Recurrence::Daily => 1,
        Recurrence::Weekly => 7,
        Recurrence::Monthly => return next_month(reminder, now),
    };
    let step = Timestamp(0).plus_days(days).0;
    let behind = now.0.saturating_sub(reminder.0).max(0);
    Some(Timestamp(reminder.0.checked_add((behind / step + 1).checked_mul(step)?)?))
}

fn next_month(reminder: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let civil = |moment: Timestamp| -> Option<jiff::civil::DateTime> {
        let moment = jiff::Timestamp::from_millisecond(moment.0).ok()?;
        Some(jiff::tz::TimeZone::UTC.to_datetime(moment))
    };
    let (first, today) = (civil(reminder)?, civil(now)?);
    let months = i64::from(today.year() - first.year()) * 12 + i64::from(today.month())
        - i64::from(first.month());
    // Counted from the first one each time, so that a short month does not shorten the next.
    (months.max(1)..=months.max(1) + 1).find_map(|months| {
        let then = first.checked_add(jiff::Span::new().try_months(months).ok()?).ok()?;
        let then = then.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond();
        (then > now.0).then_some(Timestamp(then))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(reminder: &str, recurrence: Recurrence, now: &str) -> String {
        next_occurrence(reminder.parse().unwrap(), recurrence, now.parse().unwrap())
            .map_or_else(|| "never".into(), |moment| moment.to_string())
    }

    #[test]
    fn a_reminder_comes_again_after_now() {
        use Recurrence::{Daily, Monthly, None, Weekly};
        for (reminder, recurrence, now, expected) in [
            ("2025-01-31T09:00:00Z", None, "2025-02-01", "never"),
            ("2025-01-31T09:00:00Z", Daily, "2025-01-31T09:00:00Z", "2025-02-01T09:00:00.000Z"),
            ("2025-01-31T09:00:00Z", Daily, "2025-03-10T08:00:00Z", "2025-03-10T09:00:00.000Z"),
            ("2025-01-31T09:00:00Z", Weekly, "2025-01-31T10:00:00Z", "2025-02-07T09:00:00.000Z"),
            ("2025-01-31T09:00:00Z", Monthly, "2025-01-31T10:00:00Z", "2025-02-28T09:00:00.000Z"),
            ("2025-01-31T09:00:00Z", Monthly, "2025-02-28T09:00:00Z", "2025-03-31T09:00:00.000Z"),
            ("2025-01-31T09:00:00Z", Monthly, "2026-05-02", "2026-05-31T09:00:00.000Z"),
            // Done before its time: the next one is not the one that is still to come.
            ("2025-01-31T09:00:00Z", Daily, "2025-01-30", "2025-02-01T09:00:00.000Z"),
            ("2025-01-31T09:00:00Z", Monthly, "2025-01-30", "2025-02-28T09:00:00.000Z"),
        ] {
            assert_eq!(next(reminder, recurrence, now), expected, "{reminder} {recurrence} {now}");
        }
    }
}
