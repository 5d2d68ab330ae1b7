//! The forms in which Prisma's versions keep a date, read per value and written as the column
//! already has them.

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
    /// `2025-01-01 00:00:00`: what `CURRENT_TIMESTAMP` writes.
    Sql,
    /// `2025-01-01 00:00:00.000`.
    SqlMillis,
}

impl DateForm {
    fn of(value: ValueRef<'_>) -> Option<Self> {
        let ValueRef::Text(text) = value else {
            return matches!(value, ValueRef::Integer(_) | ValueRef::Real(_))
                .then_some(Self::Millis);
        };
        let text = std::str::from_utf8(text).ok()?.trim();
        read_text(text)?;
        Some(match (text.contains('T'), text.ends_with("+00:00"), text.contains('.')) {
            _ if text.bytes().all(|b| b.is_ascii_digit()) => Self::Millis,
            (true, true, _) => Self::IsoOffset,
            (true, false, _) => Self::IsoZ,
            (false, _, true) => Self::SqlMillis,
            (false, _, false) => Self::Sql,
        })
    }

    /// The form of the newest values of a column; `None` where there are none.
    pub fn of_column(connection: &Connection, column: &str) -> rusqlite::Result<Option<Self>> {
        // Bounded, so that a column of nulls does not cost a walk through the whole table.
        let newest = |order: &str| format!(r#"SELECT "{column}" FROM "Note" {order} LIMIT 20"#);
        let mut statement = match connection.prepare(&newest("ORDER BY rowid DESC")) {
            Ok(statement) => statement,
            // A table WITHOUT ROWID.
            Err(_) => connection.prepare(&newest(""))?,
        };
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(form) = Self::of(row.get_ref(0)?) {
                return Ok(Some(form));
            }
        }
        Ok(None)
    }

    pub fn write(self, moment: Timestamp) -> Value {
        let iso = moment.to_string();
        match self {
            Self::Millis => Value::Integer(moment.0),
            Self::IsoZ => Value::Text(iso),
            Self::IsoOffset => Value::Text(iso.replace('Z', "+00:00")),
            Self::Sql => Value::Text(iso.replace('T', " ").chars().take(19).collect()),
            Self::SqlMillis => Value::Text(iso.replace('T', " ").replace('Z', "")),
        }
    }

    /// The moment to write for a change now, later than the one before even in a form that keeps
    /// only whole seconds.
    pub fn after(self, before: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let (step, now) = match self {
            Self::Sql => (1_000, now.0.div_euclid(1_000) * 1_000),
            _ => (1, now.0),
        };
        let before = before.map_or(i64::MIN, |before| before.0);
        let next = before.div_euclid(step).saturating_add(1).saturating_mul(step);
        Timestamp(now.max(next))
    }
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
        for form in [
            DateForm::Millis,
            DateForm::IsoZ,
            DateForm::IsoOffset,
            DateForm::Sql,
            DateForm::SqlMillis,
        ] {
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
        assert_eq!(DateForm::Millis.after(Some(now), now), Timestamp(10_501));
        assert_eq!(DateForm::Millis.after(None, now), now);
        assert_eq!(DateForm::Sql.after(Some(Timestamp(10_000)), now), Timestamp(11_000));
        assert_eq!(DateForm::Sql.after(Some(Timestamp(9_000)), now), Timestamp(10_000));
    }
}
