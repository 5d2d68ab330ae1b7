//! Amounts of money in millionths of the configured currency: whole numbers, read from decimal text
//! and never from a float.

use std::{fmt, iter::Sum, str::FromStr};

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};

/// Millionths in one unit of the currency.
const MICROS: i64 = 1_000_000;
/// Decimals that an amount can have.
const DECIMALS: usize = 6;
/// Decimals that are always written.
const WRITTEN_DECIMALS: usize = 2;

/// An amount of money in millionths of the currency. Negative where something is taken from an
/// account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Money(pub i64);

impl Money {
    /// Nothing.
    pub const ZERO: Money = Money(0);

    /// Reads an amount of at least 0, such as `10`, `0.01` or `1.000001`.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let wrong = |why: &str| {
            // What was written may be long; its start is enough to recognise it.
            let short: String = text.chars().take(40).collect();
            Error::invalid_params(format!(
                "`{short}` is not an amount of money: {why}; write digits with a point, such as `10`, `0.01` or `1.000001`"
            ))
        };
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if text.starts_with('-') {
            return Err(wrong("it is below zero"));
        }
        if !is_number(whole) || !is_number(part) {
            return Err(wrong("it has something other than digits and one point"));
        }
        let part = part.trim_end_matches('0');
        if part.len() > DECIMALS {
            return Err(wrong("it has more than 6 decimals"));
        }
        let digits = |text: &str| text.parse::<i64>().ok();
        let micros = digits(whole)
            .and_then(|whole| whole.checked_mul(MICROS))
            .zip(digits(&format!("{part:0<DECIMALS$}")))
            .and_then(|(whole, part)| whole.checked_add(part));
        micros.map(Self).ok_or_else(|| wrong("it is too large"))
    }

    /// The sum, or an error where it cannot be represented.
    pub fn plus(self, other: Self) -> Result<Self> {
        self.0.checked_add(other.0).map(Self).ok_or_else(too_large)
    }

    /// The difference, or an error where it cannot be represented.
    pub fn minus(self, other: Self) -> Result<Self> {
        self.0.checked_sub(other.0).map(Self).ok_or_else(too_large)
    }

    /// The sum of all, or an error where it cannot be represented.
    pub fn total(amounts: impl IntoIterator<Item = Self>) -> Result<Self> {
        amounts.into_iter().try_fold(Self::ZERO, Self::plus)
    }

    /// Splits an amount of at least 0 into `percent` of it and the rest. Where that does not come
    /// out even, the first part is the larger one.
    pub fn split(self, percent: u8) -> (Self, Self) {
        // An i64 times 100 fits into an i128, and the result is at most the amount.
        let first = (i128::from(self.0) * i128::from(percent.min(100)) + 99).div_euclid(100);
        let first = i64::try_from(first).unwrap_or(self.0).min(self.0);
        (Self(first), Self(self.0 - first))
    }

    /// Whether it is more than nothing.
    pub fn is_positive(self) -> bool {
        self.0 > 0
    }
}

fn too_large() -> Error {
    Error::invalid_request("the sum is too large for the books; nothing was booked")
}

impl std::ops::Neg for Money {
    type Output = Self;

    /// `i64::MIN` cannot be parsed and has no opposite; it stays what it is and no sum with it holds.
    fn neg(self) -> Self {
        Self(self.0.checked_neg().unwrap_or(self.0))
    }
}

impl Sum for Money {
    /// For reports. Saturates; the books themselves use [`Money::total`].
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self(amounts.fold(0, |sum, amount| sum.saturating_add(amount.0)))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.unsigned_abs();
        let unit = MICROS.unsigned_abs();
        let part = format!("{:0DECIMALS$}", micros % unit);
        let kept = part.trim_end_matches('0').len().max(WRITTEN_DECIMALS);
        let sign = if self.0 < 0 { "-" } else { "" };
        let part = part.get(..kept).unwrap_or(&part);
        f.pad(&format!("{sign}{}.{part}", micros / unit))
    }
}

impl FromStr for Money {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl Serialize for Money {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| serde::de::Error::custom(error.plain()))
    }
}

/// What one call of a method costs: more than nothing and at most [`Price::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Price(Money);

impl Price {
    /// The highest price: 10,000.
    pub const MAX: Money = Money(10_000 * MICROS);

    /// Checks an amount.
    pub fn new(amount: Money) -> Result<Self> {
        if !amount.is_positive() {
            return Err(Error::invalid_params(
                "a price is more than zero; leave `price` out where a call costs nothing",
            ));
        }
        if amount > Self::MAX {
            return Err(Error::invalid_params(format!(
                "the price `{amount}` is above `{}`, the highest there is",
                Self::MAX
            )));
        }
        Ok(Self(amount))
    }

    /// Reads a price from decimal text, such as `0.01`.
    pub fn parse(text: &str) -> Result<Self> {
        Money::parse(text).and_then(Self::new)
    }

    /// The amount.
    pub fn amount(self) -> Money {
        self.0
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimal_text_is_read_exactly() {
        for (text, micros) in [
            ("0", 0),
            ("10", 10_000_000),
            ("0.01", 10_000),
            ("1.000001", 1_000_001),
            (" 00.10 ", 100_000),
            ("1.5000000000", 1_500_000),
            ("9223372036854.775807", i64::MAX),
        ] {
            assert_eq!(Money::parse(text).unwrap(), Money(micros), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        for (text, why) in [
            ("-1", "below zero"),
            ("-0.00", "below zero"),
            ("1e3", "other than digits"),
            ("+1", "other than digits"),
            (".5", "other than digits"),
            ("5.", "other than digits"),
            ("1,50", "other than digits"),
            ("1.2.3", "other than digits"),
            ("", "other than digits"),
            ("١", "other than digits"),
            ("１", "other than digits"),
            ("NaN", "other than digits"),
            ("0.0000001", "6 decimals"),
            ("9223372036854.775808", "too large"),
            ("99999999999999999999", "too large"),
        ] {
            let error = Money::parse(text).unwrap_err();
            assert!(error.message.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_price_is_more_than_nothing() {
        assert_eq!(Price::parse("0.01").unwrap().amount(), Money(10_000));
        for bad in ["0", "0.00", "10000.01", "-1"] {
            assert!(Price::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sums_do_not_wrap() {
        assert!(Money(i64::MAX).plus(Money(1)).is_err());
        assert!(Money(i64::MIN).minus(Money(1)).is_err());
        assert!(Money::total([Money(i64::MAX), Money(1)]).is_err());
    }

    #[test]
    fn an_odd_share_is_rounded_to_the_first() {
        assert_eq!(Money(10_000).split(80), (Money(8_000), Money(2_000)));
        assert_eq!(Money(1).split(80), (Money(1), Money(0)));
        assert_eq!(Money(1).split(0), (Money(0), Money(1)));
        assert_eq!(Money(i64::MAX).split(100), (Money(i64::MAX), Money(0)));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(micros in 0..=i64::MAX) {
            let money = Money(micros);
            prop_assert_eq!(Money::parse(&money.to_string()).unwrap(), money);
            prop_assert_eq!((-money).to_string(), if micros == 0 { "0.00".into() } else { format!("-{money}") });
        }

        #[test]
        fn shares_add_up(micros in 0..=i64::MAX, percent in 0u8..=100) {
            let (first, rest) = Money(micros).split(percent);
            prop_assert_eq!(first.plus(rest).unwrap(), Money(micros));
            prop_assert!(first >= Money::ZERO && rest >= Money::ZERO);
        }
    }
}
