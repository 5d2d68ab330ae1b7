//! What an author earned in a month, and how their balance moved.

use serde_json::{Value, json};

use super::{Market, month};
use crate::{
    domain::{Money, Result, UserId},
    store::{
        ledger::{Account, EntryFilter, EntryId, EntryKind},
        usage::Earning,
    },
};

/// The statement of an author for a month: `opening + earned - refunded - paid_out` is `closing`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The author.
    pub author: UserId,
    /// The month, such as `2026-10`.
    pub month: String,
    /// The currency of every amount.
    pub currency: String,
    /// The balance at the start.
    pub opening: Money,
    /// The author's share of what was charged.
    pub earned: Money,
    /// What went back to buyers of that, or of earlier months.
    pub refunded: Money,
    /// What was paid to the author.
    pub paid_out: Money,
    /// The balance at the end.
    pub closing: Money,
    /// What `payout` would book now.
    pub payable: Money,
    /// The entry that paid this month.
    pub payout: Option<EntryId>,
    /// The methods that were called or refunded, by name.
    pub methods: Vec<Earning>,
}

impl Market {
    /// The statement of an author for a month.
    pub fn statement(&self, author: UserId, text: &str) -> Result<Statement> {
        let (from, until) = month(text)?;
        let account = Account::Author(author);
        let ledger = &self.shared.ledger;
        let filter = EntryFilter {
            account: Some(account),
            from: Some(from),
            until: Some(until),
            ..EntryFilter::default()
        };
        let (mut earned, mut refunded, mut paid_out) = (Money::ZERO, Money::ZERO, Money::ZERO);
        for entry in ledger.entries(&filter, usize::MAX)? {
            let amount = entry.amount_of(account);
            match entry.kind {
                EntryKind::Payout => paid_out = paid_out.minus(amount)?,
                // A payout that came back.
                EntryKind::Refund if amount.is_positive() => paid_out = paid_out.minus(amount)?,
                EntryKind::Refund => refunded = refunded.minus(amount)?,
                _ => earned = earned.plus(amount)?,
            }
        }
        let payout = ledger.of_key(&super::books::payout_key(author, text))?;
        Ok(Statement {
            author,
            month: text.to_owned(),
            currency: self.currency().to_owned(),
            opening: ledger.balance_before(account, from)?,
            earned,
            refunded,
            paid_out,
            closing: ledger.balance_before(account, until)?,
            payable: if payout.is_some() { Money::ZERO } else { self.payable(author, text)? },
            payout: payout.map(|entry| entry.id),
            methods: self.shared.usage.earnings(author, from, until)?,
        })
    }

    /// Everybody who ever earned something.
    pub fn authors(&self) -> Result<Vec<UserId>> {
        let balances = self.shared.ledger.balances()?;
        let mut authors: Vec<UserId> = balances
            .into_iter()
            .filter_map(|(account, _)| match account {
                Account::Author(user) => Some(user),
                _ => None,
            })
            .collect();
        authors.sort_unstable();
        Ok(authors)
    }
}

impl Statement {
    /// The statement as JSON, with the author's name.
    pub fn to_json(&self, author: &str) -> Value {
        let methods: Vec<Value> = self
            .methods
            .iter()
            .map(|line| {
                json!({
                    "method": line.method, "calls": line.calls,
                    "charged_calls": line.charged_calls, "gross": line.gross,
                    "earned": line.earned, "refunded": line.refunded,
                })
            })
            .collect();
        json!({
            "author": author, "month": self.month, "currency": self.currency,
            "opening": self.opening, "earned": self.earned, "refunded": self.refunded,
            "paid_out": self.paid_out, "closing": self.closing, "payable": self.payable,
            "payout_entry": self.payout, "methods": methods,
        })
    }

    /// The names of the columns of [`Statement::lines`].
    pub const COLUMNS: [&'static str; 11] = [
        "author",
        "month",
        "line",
        "method",
        "calls",
        "charged_calls",
        "gross",
        "earned",
        "refunded",
        "amount",
        "currency",
    ];

    /// The statement as a table. The amounts of `opening`, `method` and `paid_out` sum to that of
    /// `closing`.
    pub fn lines(&self, author: &str) -> Vec<[String; 11]> {
        let line = |name: &str, amount: Money| {
            let mut line: [String; 11] = Default::default();
            line[0] = author.to_owned();
            line[1] = self.month.clone();
            line[2] = name.to_owned();
            line[9] = amount.to_string();
            line[10] = self.currency.clone();
            line
        };
        let mut lines = vec![line("opening", self.opening)];
        for method in &self.methods {
            let amount = method.earned.minus(method.refunded).unwrap_or_default();
            let mut line = line("method", amount);
            line[3] = method.method.clone();
            line[4] = method.calls.to_string();
            line[5] = method.charged_calls.to_string();
            line[6] = method.gross.to_string();
            line[7] = method.earned.to_string();
            line[8] = method.refunded.to_string();
            lines.push(line);
        }
        lines.push(line("paid_out", -self.paid_out));
        lines.push(line("closing", self.closing));
        lines.push(line("payable", self.payable));
        lines
    }
}
