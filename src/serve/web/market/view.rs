//! Offers, calls and entries as the pages show them.

use crate::{
    app::{
        market::tables::Names,
        offers::{Cost, Offer},
    },
    domain::{Money, Result, count},
    serve::web::{age::Age, encode},
    store::{
        ledger::{Account, Entry, EntryKind},
        usage::{Outcome, UsageRow},
    },
};

/// A method for sale.
pub struct OfferView {
    /// Its page.
    pub href: String,
    /// Its title.
    pub title: String,
    /// What a client calls.
    pub name: String,
    /// What it does.
    pub description: String,
    /// An example of its answers.
    pub example: Option<String>,
    /// Who wrote it, with their page.
    pub author: Option<(String, String)>,
    /// What a call costs, with the currency; `None` where it is free.
    pub price: Option<String>,
    /// How many trial calls each buyer has.
    pub free_calls: u32,
    /// What it would cost this visitor, where that is not the price.
    pub cost: Option<String>,
    /// How often it was called.
    pub calls: String,
    /// Where a client connects.
    pub address: Option<String>,
    /// Whether the visitor paid for a call before.
    pub is_bought: bool,
    /// What to fill in: name, description, and whether it is required.
    pub arguments: Vec<(String, String, bool)>,
}

impl OfferView {
    /// An offer, with amounts in a currency.
    pub fn new(offer: Offer, currency: &str) -> Self {
        let method = offer.method;
        let author = method.author().zip(offer.author);
        let calls = offer.popularity;
        Self {
            href: format!("/market/{}", method.pid()),
            author: author.map(|(author, name)| (name, format!("/@{}", encode(author.as_str())))),
            price: method.price().map(|price| format!("{price} {currency}")),
            free_calls: method.price().map_or(0, |_| method.page().price_free),
            cost: match offer.cost {
                Cost::Free => None,
                Cost::Own => Some("costs you nothing".to_owned()),
                Cost::Trial(left) => Some(format!("{} left", count(left, "trial call"))),
                Cost::Price(_) => None,
            },
            calls: match (calls.calls, calls.answered) {
                (0, _) => "not called in 30 days".to_owned(),
                (1, answered) => format!(
                    "called once in 30 days, {}",
                    if answered == 1 { "answered" } else { "not answered" }
                ),
                (all, answered) => {
                    format!("called {all} times in 30 days, {} % answered", answered * 100 / all)
                }
            },
            address: offer.address,
            is_bought: offer.is_bought,
            example: method.page().market_example.clone(),
            arguments: method
                .arguments
                .into_iter()
                .map(|argument| {
                    (argument.name, argument.description.unwrap_or_default(), argument.required)
                })
                .collect(),
            title: method.title,
            name: method.name,
            description: method.description,
        }
    }
}

/// A call of a priced method.
pub struct CallLine {
    /// When it ended.
    pub at: Age,
    /// The method, with its page in the market.
    pub method: String,
    /// The method's page.
    pub href: String,
    /// Who wrote it.
    pub author: String,
    /// How it ended, in words.
    pub outcome: &'static str,
    /// What was charged.
    pub charged: Money,
    /// The number of the entry that charged it: the receipt's number.
    pub entry: String,
    /// Whether what was charged was returned.
    pub is_refunded: bool,
}

impl CallLine {
    /// A call with the name of its author.
    pub fn new(row: UsageRow, names: &mut Names<'_>) -> Result<Self> {
        Ok(Self {
            at: Age::of(row.at),
            author: names.of(row.call.author)?,
            href: format!("/market/{}", row.call.page),
            method: row.call.method,
            outcome: outcome(row.outcome),
            charged: row.charged,
            entry: row.entry.map(|entry| entry.to_string()).unwrap_or_default(),
            is_refunded: row.refund.is_some(),
        })
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Charged => "charged",
        Outcome::Trial => "trial call, free",
        Outcome::Repeat => "the same again, free",
        Outcome::Owner => "by the owner, free",
        Outcome::Author => "by the author, free",
        Outcome::Failed => "failed, not charged",
        Outcome::Abandoned => "interrupted, not charged",
    }
}

/// An entry of the books.
pub struct EntryLine {
    /// Its page.
    pub href: String,
    /// Its number.
    pub id: i64,
    /// When it was booked.
    pub at: Age,
    /// What it books.
    pub kind: String,
    /// Its sides: the account in words, its name in the books, the amount.
    pub postings: Vec<(String, String, Money)>,
    /// A word of whoever booked it.
    pub memo: String,
    /// The entry that it ends.
    pub ends: Option<i64>,
    /// The entry that ended it.
    pub ended_by: Option<i64>,
    /// Whether it can be refunded.
    pub is_refundable: bool,
}

impl EntryLine {
    /// An entry with the names of the users whose accounts it touches.
    pub fn new(entry: &Entry, names: &mut Names<'_>) -> Result<Self> {
        let posting = |posting: &crate::store::ledger::Posting| {
            let account = posting.account;
            Ok((account_words(account, names)?, account.to_string(), posting.amount))
        };
        let refundable = [EntryKind::TopUp, EntryKind::Capture, EntryKind::Sale, EntryKind::Payout];
        Ok(Self {
            postings: entry.postings.iter().map(posting).collect::<Result<_>>()?,
            href: format!("/market/books/{}", entry.id),
            id: entry.id.0,
            at: Age::of(entry.at),
            kind: entry.kind.as_str().replace('_', "-"),
            memo: entry.memo.clone(),
            ends: entry.ends.map(|id| id.0),
            ended_by: entry.ended_by.map(|id| id.0),
            is_refundable: refundable.contains(&entry.kind) && entry.ended_by.is_none(),
        })
    }
}

/// An account of the books in words.
pub fn account_words(account: Account, names: &mut Names<'_>) -> Result<String> {
    let name = names.of_account(account)?;
    Ok(match account {
        Account::User(_) => format!("credit of {name}"),
        Account::Held(_) => format!("held for calls of {name}"),
        Account::Author(_) => format!("earnings of {name}"),
        Account::Platform => "platform".to_owned(),
        Account::Outside(outside) => format!("outside, {outside}"),
    })
}
