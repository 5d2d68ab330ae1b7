//! Booking what does not come from a call: top-ups by hand, refunds, payouts.

use super::Market;
use crate::{
    domain::{Error, Money, Result, Timestamp, UserId},
    store::ledger::{
        Account, Entry, EntryId, EntryKind, NewEntry, NewPayout, Outside, PaidOut, Posted,
    },
};

/// The longest memo.
const MAX_MEMO: usize = 500;

/// A payout to an author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payout {
    /// The author.
    pub author: UserId,
    /// The month it settles, such as `2026-10`.
    pub month: String,
    /// What was paid.
    pub amount: Money,
    /// The entry that booked it.
    pub entry: EntryId,
}

impl Market {
    /// Books money that came in as a user's credit. The same key again books nothing.
    pub fn top_up(
        &self,
        user: UserId,
        amount: Money,
        from: Outside,
        key: &str,
        memo: &str,
    ) -> Result<Posted> {
        if !amount.is_positive() {
            return Err(Error::invalid_params("a top-up is more than zero"));
        }
        let entry = NewEntry::new(EntryKind::TopUp, key)
            .with_memo(checked_memo(memo)?)
            .add(Account::Outside(from), -amount)
            .add(Account::User(user), amount);
        self.shared.ledger.post(&entry)
    }

    /// Books the reverse of an entry: what a call was charged goes back to its user, a top-up or a
    /// payout back outside. Each entry can be refunded once.
    pub fn refund(&self, id: EntryId, memo: &str) -> Result<Entry> {
        let ledger = &self.shared.ledger;
        let entry = ledger.entry(id)?.ok_or_else(|| {
            Error::invalid_params(format!(
                "the books have no entry {id}; `notewell market entries` lists them"
            ))
        })?;
        match entry.kind {
            EntryKind::TopUp | EntryKind::Capture | EntryKind::Sale | EntryKind::Payout => {}
            EntryKind::Hold | EntryKind::Release | EntryKind::Refund => {
                return Err(Error::invalid_params(format!(
                    "entry {id} is a {}; refund a capture, a top_up, a sale or a payout",
                    entry.kind
                )));
            }
        }
        if let Some(by) = entry.ended_by {
            return Err(Error::conflict(format!(
                "entry {id} was refunded with entry {by}; nothing was booked"
            )));
        }
        let mut refund = NewEntry::new(EntryKind::Refund, format!("refund:{id}"))
            .ending(id)
            .with_memo(checked_memo(memo)?);
        for posting in &entry.postings {
            // What was held goes back to the credit it came from.
            let account = match posting.account {
                Account::Held(user) => Account::User(user),
                other => other,
            };
            refund = refund.add(account, -posting.amount);
        }
        Ok(ledger.post(&refund)?.entry().clone())
    }

    /// What is to be paid to an author for a month that is over, and everything before it: the
    /// balance at its end, less what was paid since, also for another month, and what was refunded
    /// of it since.
    pub fn payable(&self, author: UserId, month: &str) -> Result<Money> {
        let (_, end) = self::month(month)?;
        let unpaid = self.shared.ledger.unpaid_before(Account::Author(author), end)?;
        Ok(unpaid.max(Money::ZERO))
    }

    /// Books the payout of a month that is over. Each month is paid once. With `expected`, another
    /// amount than that is a conflict.
    pub fn payout(
        &self,
        author: UserId,
        month: &str,
        through: Outside,
        memo: &str,
        expected: Option<Money>,
    ) -> Result<Payout> {
        let (_, until) = self::month(month)?;
        if until > Timestamp::now() {
            return Err(Error::invalid_params(format!(
                "{month} is not over; pay it out from {} on",
                until.date()
            )));
        }
        let memo = checked_memo(memo)?;
        let key = payout_key(author, month);
        let payout = NewPayout { author, through, until, key, memo, expected };
        let amount = |entry: &Entry| -entry.amount_of(Account::Author(author));
        match self.shared.ledger.pay_out(&payout)? {
            PaidOut::Now(entry) => Ok(Payout {
                author,
                month: month.to_owned(),
                amount: amount(&entry),
                entry: entry.id,
            }),
            PaidOut::Before(entry) => Err(Error::conflict(format!(
                "{month} was paid out with entry {} ({} {}); nothing was booked",
                entry.id,
                amount(&entry),
                self.currency()
            ))),
            PaidOut::Changed { expected, unpaid } => Err(Error::conflict(format!(
                "what is to be paid for {month} changed from {expected} to {unpaid} {} since it was shown; nothing was booked. Look at it again",
                self.currency()
            ))),
            PaidOut::Nothing => Err(Error::invalid_params(format!(
                "nothing is to be paid for {month}; `notewell market statement` shows why"
            ))),
        }
    }
}

/// The key under which a month is paid out, once.
pub(super) fn payout_key(author: UserId, month: &str) -> String {
    format!("payout:{}:{month}", author.0)
}

/// The first moment of a month such as `2026-10`, and of the one after it, in UTC.
pub fn month(text: &str) -> Result<(Timestamp, Timestamp)> {
    let wrong = || Error::invalid_params(format!("`{text}` is not a month; write it as `2026-10`"));
    let (year, number) = text.split_once('-').ok_or_else(wrong)?;
    let plain =
        |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    if !plain(year, 4) || !plain(number, 2) {
        return Err(wrong());
    }
    let (year, number): (i32, u32) =
        (year.parse().map_err(|_| wrong())?, number.parse().map_err(|_| wrong())?);
    let start = |year: i32, number: u32| Timestamp::parse(&format!("{year:04}-{number:02}-01"));
    let next = if number == 12 { start(year + 1, 1) } else { start(year, number + 1) };
    start(year, number).zip(next).ok_or_else(wrong)
}

fn checked_memo(memo: &str) -> Result<String> {
    let memo = memo.trim();
    if memo.chars().count() > MAX_MEMO || memo.chars().any(char::is_control) {
        return Err(Error::invalid_params(format!(
            "a memo is one line of at most {MAX_MEMO} characters"
        )));
    }
    Ok(memo.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_ends_where_the_next_begins() {
        for (text, from, until) in
            [("2026-02", "2026-02-01", "2026-03-01"), ("2026-12", "2026-12-01", "2027-01-01")]
        {
            let (start, end) = month(text).unwrap();
            assert_eq!((start.date(), end.date()), (from.into(), until.into()));
        }
        for bad in ["", "2026", "2026-13", "2026-00", "26-01", "2026-1", "2026-01-01", "+026-01"] {
            assert!(month(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_memo_is_one_short_line() {
        assert_eq!(checked_memo(" перевод 送金 ").unwrap(), "перевод 送金");
        assert!(checked_memo("a\nb").is_err());
        assert!(checked_memo(&"a".repeat(501)).is_err());
    }
}
