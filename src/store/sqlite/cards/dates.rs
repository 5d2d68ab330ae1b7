//! The forms in which Prisma's versions keep a date. A date is read in whichever form it has, and
//! written in the form of the value it replaces.

use rusqlite::{
    Connection,
    types::{Value, ValueRef},
};

use crate::domain::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateForm {
    /// `1735689600000`.
    #[default]
    Millis,
    /// `2025-01-01T00:00:00.000Z`.
    IsoZ,
    /// `2025-01-01T00:00:00.000+00:00`.
    IsoOffset,
    /// `2025-01-01 00:00:00.000`. Also for a value without the fraction, which SQLite's own
    /// `CURRENT_TIMESTAMP` leaves: a date cut to whole seconds would hide later changes.
    Sql,
}

impl DateForm {
    /// The form of a stored value; `None` when it is no date.
    pub fn of(value: ValueRef<'_>) -> Option<Self> {
        let ValueRef::Text(text) = value else {
            return matches!(value, ValueRef::Integer(_) | ValueRef::Real(_))
                .then_some(Self::Millis);
        };
        let text = std::str::from_utf8(text).ok()?.trim();
        read_text(text)?;
        Some(match (text.contains('T'), text.ends_with("+00:00")) {
            _ if text.bytes().all(|b| b.is_ascii_digit()) => Self::Millis,
            (true, true) => Self::IsoOffset,
            (true, false) => Self::IsoZ,
            (false, _) => Self::Sql,
        })
    }

    /// The form of most of a column's newest values; `None` where there are none.
    pub fn of_column(connection: &Connection, column: &str) -> rusqlite::Result<Option<Self>> {
        // Bounded, so that a column of nulls does not cost a walk through the whole table.
        let newest = |order: &str| format!(r#"SELECT "{column}" FROM "Note" {order} LIMIT 20"#);
        let mut statement = match connection.prepare(&newest("ORDER BY rowid DESC")) {
            Ok(statement) => statement,
            // A table WITHOUT ROWID.
            Err(_) => connection.prepare(&newest(""))?,
        };
        let mut rows = statement.query([])?;
        let mut counts: Vec<(usize, Self)> = Vec::new();
        while let Some(row) = rows.next()? {
            let Some(form) = Self::of(row.get_ref(0)?) else { continue };
            match counts.iter_mut().find(|(_, known)| *known == form) {
                Some((count, _)) => *count += 1,
                None => counts.push((1, form)),
            }
        }
        // Among equals the one that was written last.
        counts.reverse();
        Ok(counts.into_iter().max_by_key(|(count, _)| *count).map(|(_, form)| form))
    }

    pub fn write(self, moment: Timestamp) -> Value {
        let iso = moment.to_string();
        match self {
            Self::Millis => Value::Integer(moment.0),
            Self::IsoZ => Value::Text(iso),
            Self::IsoOffset => Value::Text(iso.replace('Z', "+00:00")),
            Self::Sql => Value::Text(iso.replace('T', " ").replace('Z', "")),
        }
    }
}

/// The moment to write for a change now: later than the one before, whatever the clock says.
pub fn after(before: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let next = before.map_or(i64::MIN, |before| before.0.saturating_add(1));
    Timestamp(now.0.max(next))
}

/// Reads a date in any of the forms; `None` when it is none of them.
pub fn read(value: ValueRef<'_>) -> Option<Timestamp> {
    match value {
        ValueRef::Integer(ms) => Some(Timestamp(ms)),
        ValueRef::Real(ms) => Some(Timestamp(ms as i64)),
        ValueRef::Text(text) => read_text(std::str::from_utf8(text).ok()?.trim()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn read_text(text: &str) -> Option<Timestamp> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(Timestamp);
    }
    Timestamp::parse(text.strip_suffix(" UTC").unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_reads_back_and_is_recognised() {
        let moment = Timestamp(1_735_689_600_000);
        for form in [DateForm::Millis, DateForm::IsoZ, DateForm::IsoOffset, DateForm::Sql] {
            let value = form.write(moment);
            assert_eq!(read(ValueRef::from(&value)), Some(moment), "{value:?}");
            assert_eq!(DateForm::of(ValueRef::from(&value)), Some(form), "{value:?}");
        }
        assert_eq!(read(ValueRef::Text(b"soon")), None);
        assert_eq!(DateForm::of(ValueRef::Text(b"soon")), None);
    }

    #[test]
    fn a_change_is_always_later_than_the_one_before() {
        let now = Timestamp(10_500);
        assert_eq!(after(Some(now), now), Timestamp(10_501));
        assert_eq!(after(None, now), now);
        assert_eq!(after(Some(Timestamp(9_000)), now), now);
    }
}
