//! Usage: one row for each call of a priced method, for bills, statements and figures. It never
//! holds arguments or content.

use std::collections::HashMap;

use crate::domain::{Money, Pid, Result, Timestamp, UserId, query::words};

use super::ledger::EntryId;

words!(
    /// How a call of a priced method ended.
    Outcome, "outcome", {
        Charged = "charged",
        Trial = "trial",
        Repeat = "repeat",
        Owner = "owner",
        Author = "author",
        Failed = "failed",
        Abandoned = "abandoned",
    }
);

impl Outcome {
    /// Whether the caller got the answer.
    pub fn is_success(self) -> bool {
        !matches!(self, Outcome::Failed | Outcome::Abandoned)
    }
}

/// A call of a priced method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who calls; `None` for a caller without an account.
    pub user: Option<UserId>,
    /// The token of the request, or what stands [for its connection](of_connection).
    pub token: Option<i64>,
    /// The name that was called.
    pub method: String,
    /// The method's page.
    pub page: Pid,
    /// Whose method it is; `None` where it is the operator's own.
    pub author: Option<UserId>,
    /// The etag of the page.
    pub version: String,
    /// What a call costs.
    pub price: Money,
    /// The id of the request, for the log.
    pub request: String,
}

/// What stands for a connected client where a token is counted: no token has a number below zero.
pub fn of_connection(connection: i64) -> i64 {
    -connection
}

/// A call to record.
#[derive(Debug, Clone)]
pub struct NewUsage {
    /// The call.
    pub call: Call,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub ms: u64,
}

/// A call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Its number, rising.
    pub id: i64,
    /// When it ended.
    pub at: Timestamp,
    /// The call.
    pub call: Call,
    /// What was charged for it.
    pub charged: Money,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub ms: u64,
    /// The entry that charged it.
    pub entry: Option<EntryId>,
    /// The entry that returned what was charged.
    pub refund: Option<EntryId>,
}

/// Which calls are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct UsageFilter {
    /// Calls of this user.
    pub user: Option<UserId>,
    /// Calls of this author's methods.
    pub author: Option<UserId>,
    /// From this moment, inclusive.
    pub from: Option<Timestamp>,
    /// Before this moment, exclusive.
    pub until: Option<Timestamp>,
    /// Only those above this number.
    pub after: Option<i64>,
}

/// What a method earned its author in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earning {
    /// The method.
    pub method: String,
    /// Calls that got an answer, charged or not.
    pub calls: u64,
    /// Calls that were charged.
    pub charged_calls: u64,
    /// What buyers paid.
    pub gross: Money,
    /// What the author got of that.
    pub earned: Money,
    /// What the author gave back for refunds booked in the period.
    pub refunded: Money,
}

/// How often a method was called on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayCalls {
    /// The start of the day, in UTC.
    pub day: Timestamp,
    /// The method.
    pub method: String,
    /// Calls that got an answer.
    pub calls: u64,
}

/// How often a method was called in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Popularity {
    /// Calls.
    pub calls: u64,
    /// Calls that got an answer.
    pub answered: u64,
}

/// Keeps usage. Rows of calls that hold credit are written by the books, in the same transaction.
pub trait Usage: Send + Sync {
    /// Records a call that was not charged.
    fn record(&self, usage: &NewUsage) -> Result<i64>;

    /// Calls, oldest first.
    fn list(&self, filter: &UsageFilter, limit: usize) -> Result<Vec<UsageRow>>;

    /// Calls below the number `before`, newest first.
    fn latest(
        &self,
        filter: &UsageFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<UsageRow>>;

    /// How often the methods of an author were called from `from` on and before `until`, by day and
    /// method. A day without calls has no row.
    fn daily(&self, author: UserId, from: Timestamp, until: Timestamp) -> Result<Vec<DayCalls>>;

    /// What each method of an author earned from `from` on and before `until`, by method.
    fn earnings(&self, author: UserId, from: Timestamp, until: Timestamp) -> Result<Vec<Earning>>;

    /// How often the methods of these pages were called since a moment, by others than their author
    /// and the owner.
    fn popularity(&self, pages: &[Pid], since: Timestamp) -> Result<HashMap<Pid, Popularity>>;

    /// How many trial calls of each page a user made, those under way included.
    fn trials(&self, user: UserId, pages: &[Pid]) -> Result<HashMap<Pid, u32>>;

    /// Which pages a user paid for a call of.
    fn bought(&self, user: UserId, pages: &[Pid]) -> Result<Vec<Pid>>;
}
