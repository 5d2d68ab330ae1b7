//! The books: double entry, append only. Every entry sums to zero, has a unique key and is never
//! changed. Calls under way hold their price until they end.

use std::{fmt, str::FromStr};

use crate::domain::{Error, Money, Pid, Result, Timestamp, UserId, query::words};

use super::usage::{Call, Outcome};

words!(
    /// Where money comes from and goes to.
    Outside, "provider", { Manual = "manual", Stripe = "stripe", X402 = "x402" }
);

words!(
    /// What an entry books.
    EntryKind, "kind of entry", {
        TopUp = "top_up",
        Hold = "hold",
        Capture = "capture",
        Release = "release",
        Sale = "sale",
        Refund = "refund",
        Payout = "payout",
    }
);

/// An account of the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    /// The credit of a user. Never below zero.
    User(UserId),
    /// What a user's calls under way hold. Never below zero.
    Held(UserId),
    /// What an author earned and was not paid yet. Below zero after a refund of what was paid.
    Author(UserId),
    /// What the operator earned.
    Platform,
    /// Money outside the books. Its balance is minus what came in.
    Outside(Outside),
}

impl Account {
    /// The lowest balance; `None` for accounts that may owe.
    pub fn floor(self) -> Option<Money> {
        match self {
            Account::User(_) | Account::Held(_) => Some(Money::ZERO),
            Account::Author(_) | Account::Platform | Account::Outside(_) => None,
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Account::User(user) => write!(f, "user:{}", user.0),
            Account::Held(user) => write!(f, "held:{}", user.0),
            Account::Author(user) => write!(f, "author:{}", user.0),
            Account::Platform => f.write_str("platform"),
            Account::Outside(outside) => write!(f, "outside:{outside}"),
        }
    }
}

impl FromStr for Account {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid_params(format!(
                "`{text}` is not an account; write `user:N`, `held:N`, `author:N`, `platform` or `outside:NAME`"
            ))
        };
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let user = || name.parse().map(UserId).map_err(|_| wrong());
        Ok(match kind {
            "user" => Account::User(user()?),
            "held" => Account::Held(user()?),
            "author" => Account::Author(user()?),
            "platform" if name.is_empty() => Account::Platform,
            "outside" => Account::Outside(name.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        })
    }
}

/// The number of an entry, rising.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct EntryId(pub i64);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One side of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The account.
    pub account: Account,
    /// What is added to it; negative where it is taken away.
    pub amount: Money,
}

/// An entry of the books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub id: EntryId,
    /// When it was booked.
    pub at: Timestamp,
    /// What it books.
    pub kind: EntryKind,
    /// What it is booked for.
    pub key: String,
    /// The entry that this one ends.
    pub ends: Option<EntryId>,
    /// The entry that ended this one.
    pub ended_by: Option<EntryId>,
    /// A word of whoever booked it.
    pub memo: String,
    /// Its sides, which sum to zero.
    pub postings: Vec<Posting>,
}

impl Entry {
    /// What the entry adds to an account.
    pub fn amount_of(&self, account: Account) -> Money {
        let own = self.postings.iter().filter(|posting| posting.account == account);
        own.map(|posting| posting.amount).sum()
    }
}

/// An entry to book.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// What it books.
    pub kind: EntryKind,
    /// What it is booked for. The same key again books nothing.
    pub key: String,
    /// The entry that it ends.
    pub ends: Option<EntryId>,
    /// A word of whoever books it.
    pub memo: String,
    /// At least two sides, of different accounts, that sum to zero.
    pub postings: Vec<Posting>,
}

impl NewEntry {
    /// An entry without postings.
    pub fn new(kind: EntryKind, key: impl Into<String>) -> Self {
        Self { kind, key: key.into(), ends: None, memo: String::new(), postings: Vec::new() }
    }

    /// Adds `amount` to an account. Zero adds no posting.
    pub fn add(mut self, account: Account, amount: Money) -> Self {
        if amount != Money::ZERO {
            self.postings.push(Posting { account, amount });
        }
        self
    }

    /// Ends an entry.
    pub fn ending(mut self, entry: EntryId) -> Self {
        self.ends = Some(entry);
        self
    }

    /// With a word of whoever books it.
    pub fn with_memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = memo.into();
        self
    }
}

/// The result of booking an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It is booked.
    New(Entry),
    /// The same had been booked under this key before; nothing was.
    Known(Entry),
}

impl Posted {
    /// The entry.
    pub fn entry(&self) -> &Entry {
        match self {
            Posted::New(entry) | Posted::Known(entry) => entry,
        }
    }
}

/// A payout to book: what is unpaid of an author's balance.
#[derive(Debug, Clone)]
pub struct NewPayout {
    /// The author.
    pub author: UserId,
    /// Where the money went.
    pub through: Outside,
    /// What came in from this moment on is not paid.
    pub until: Timestamp,
    /// What it is booked for. The same key again books nothing.
    pub key: String,
    /// A word of whoever books it.
    pub memo: String,
    /// The amount that somebody confirmed; no other one is booked.
    pub expected: Option<Money>,
}

impl NewPayout {
    /// Why nothing is booked while this much is unpaid.
    pub(super) fn refusal(&self, unpaid: Money) -> Option<PaidOut> {
        let unpaid = unpaid.max(Money::ZERO);
        match self.expected {
            Some(expected) if expected != unpaid => Some(PaidOut::Changed { expected, unpaid }),
            _ => (!unpaid.is_positive()).then_some(PaidOut::Nothing),
        }
    }

    /// The entry that books it.
    pub(super) fn entry(&self, amount: Money) -> NewEntry {
        NewEntry::new(EntryKind::Payout, &self.key)
            .with_memo(&self.memo)
            .add(Account::Author(self.author), -amount)
            .add(Account::Outside(self.through), amount)
    }
}

/// What became of a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaidOut {
    /// It is booked.
    Now(Entry),
    /// Something was booked under its key before; nothing is now.
    Before(Entry),
    /// Nothing is unpaid.
    Nothing,
    /// Another amount is unpaid than was confirmed; nothing is booked.
    Changed {
        /// What was confirmed.
        expected: Money,
        /// What is unpaid.
        unpaid: Money,
    },
}

/// A process that may have calls under way, alive as long as this is.
#[derive(Debug)]
pub struct Process {
    /// Its number, never given to another.
    pub id: i64,
    /// What shows others that it lives; released by the system when the process ends.
    pub lock: Box<dyn std::any::Any + Send + Sync>,
}

/// A paid call that is about to run.
#[derive(Debug, Clone)]
pub struct NewHold {
    /// The call.
    pub call: Call,
    /// What makes two calls the same call.
    pub identity: CallIdentity,
    /// How many trial calls of this method each user has.
    pub trial_calls: u32,
    /// What a user may spend from `day` on.
    pub user_cap: Money,
    /// What a token may spend from `day` on.
    pub token_cap: Money,
    /// When the day of the caps began.
    pub day: Timestamp,
    /// A call that succeeded from here on is not charged again.
    pub repeat_since: Timestamp,
}

/// What makes two calls the same call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallIdentity {
    /// The hash of method, version and arguments, or of an explicit key.
    pub call: [u8; 32],
    /// The hash of method and arguments.
    pub arguments: [u8; 32],
}

/// The number of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HoldId(pub i64);

/// Whether a paid call may run, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The price is held.
    Held(HoldId),
    /// A trial call is held; so many are left after it.
    Trial(HoldId, u32),
    /// The same call succeeded before; the entry charged it, unless it was a trial.
    Repeat(Option<EntryId>),
    /// The explicit key is that of a call with other arguments, which is under way or succeeded.
    KeyTaken,
    /// The same call is under way, and the credit does not cover both.
    Running,
    /// The credit does not cover the price.
    Short(Money),
    /// The user spent this much today, and the price does not fit under the cap.
    UserCap(Money),
    /// The token spent this much today, and the price does not fit under the cap.
    TokenCap(Money),
}

/// How a paid call that succeeded was charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The entry that charged it, now or at its first success.
    pub entry: Option<EntryId>,
    /// What was charged now.
    pub charged: Money,
    /// How the call ended.
    pub outcome: Outcome,
    /// The user's credit afterwards.
    pub balance: Money,
}

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenHold {
    /// Its number.
    pub id: HoldId,
    /// Whose process makes it.
    pub process: i64,
    /// Since when.
    pub at: Timestamp,
    /// Whose call it is.
    pub user: UserId,
    /// The method's page.
    pub page: Pid,
    /// The method.
    pub method: String,
    /// What is held.
    pub amount: Money,
}

/// Which entries are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryFilter {
    /// Only those with a posting to this account.
    pub account: Option<Account>,
    /// Only those of this kind.
    pub kind: Option<EntryKind>,
    /// From this moment, inclusive.
    pub from: Option<Timestamp>,
    /// Before this moment, exclusive.
    pub until: Option<Timestamp>,
    /// Only those below this number.
    pub before: Option<EntryId>,
}

/// Keeps the books.
pub trait Ledger: Send + Sync {
    /// Books an entry. A key that was booked before with the same sides changes nothing; with
    /// others it is a conflict. So is a second end of the same entry, a sum other than zero, and a
    /// balance below its floor.
    fn post(&self, entry: &NewEntry) -> Result<Posted>;

    /// One entry.
    fn entry(&self, id: EntryId) -> Result<Option<Entry>>;

    /// The entry that was booked under this key.
    fn of_key(&self, key: &str) -> Result<Option<Entry>>;

    /// Entries, newest first.
    fn entries(&self, filter: &EntryFilter, limit: usize) -> Result<Vec<Entry>>;

    /// The balance of an account; zero where nothing was booked.
    fn balance(&self, account: Account) -> Result<Money>;

    /// The balance that an account had before a moment, from its postings.
    fn balance_before(&self, account: Account, at: Timestamp) -> Result<Money>;

    /// What is left of the balance that an account had before a moment: less what was paid out
    /// since, and less what was refunded since of what had been booked before. What came in since
    /// does not count, nor does a payout that had been booked before and came back since.
    fn unpaid_before(&self, account: Account, at: Timestamp) -> Result<Money>;

    /// Books what [`Ledger::unpaid_before`] says, in the transaction that says it: of two payouts at
    /// the same moment the later one finds what the earlier one left.
    fn pay_out(&self, payout: &NewPayout) -> Result<PaidOut>;

    /// Every account with its balance, by name.
    fn balances(&self) -> Result<Vec<(Account, Money)>>;

    /// Registers this process as one that makes calls.
    fn enlist(&self) -> Result<Process>;

    /// Decides in one transaction whether a call may run, and holds what it costs. Every process
    /// sees the hold at once; a power cut may take it away, as a release would.
    fn begin(&self, process: &Process, hold: &NewHold) -> Result<Admission>;

    /// Charges a call that succeeded: `author` of the price to its author, the rest to the
    /// platform. A call whose twin was charged meanwhile is not charged. A hold that was released
    /// meanwhile is a conflict.
    fn capture(&self, hold: HoldId, author: Money, ms: u64) -> Result<Captured>;

    /// Gives back what a call holds, and records how it ended. False when it was released before.
    fn release(&self, hold: HoldId, outcome: Outcome, ms: u64) -> Result<bool>;

    /// Releases the holds of processes that ended without doing so. Returns how many.
    fn release_abandoned(&self) -> Result<usize>;

    /// Calls under way, oldest first.
    fn open_holds(&self) -> Result<Vec<OpenHold>>;

    /// What is wrong with the books; empty when every entry sums to zero, every balance is the sum
    /// of its postings and above its floor, and every held amount belongs to a call under way.
    fn damage(&self) -> Result<Vec<String>>;

    /// Sums every balance again from its postings. Returns how many changed.
    fn recount(&self) -> Result<usize>;
}

/// What holds for an entry whatever the books say.
pub(super) fn check(new: &NewEntry) -> Result<()> {
    let sum = Money::total(new.postings.iter().map(|posting| posting.amount))?;
    let twice = new.postings.iter().enumerate().any(|(at, one)| {
        new.postings.iter().skip(at + 1).any(|other| other.account == one.account)
    });
    let has_zero = new.postings.iter().any(|posting| posting.amount == Money::ZERO);
    if sum != Money::ZERO || new.postings.len() < 2 || twice || has_zero {
        return Err(Error::conflict(format!(
            "an entry has at least two amounts, of different accounts, that sum to zero; `{}` has not, and nothing was booked",
            new.key
        )));
    }
    Ok(())
}

/// Whether an entry books the same as the one to book.
pub(super) fn is_same(known: &Entry, new: &NewEntry) -> bool {
    known.kind == new.kind
        && known.ends == new.ends
        && known.postings.len() == new.postings.len()
        && new.postings.iter().all(|posting| known.postings.contains(posting))
}

/// The error of an entry that does not exist.
pub(super) fn unknown_entry(id: EntryId) -> Error {
    Error::invalid_params(format!(
        "the books have no entry {id}; `notewell market entries` lists them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_reads_back() {
        for name in ["user:7", "held:7", "author:12", "platform", "outside:x402"] {
            assert_eq!(name.parse::<Account>().unwrap().to_string(), name);
        }
        for bad in ["", "user", "user:", "user:x", "platform:1", "outside:bank", "bank"] {
            assert!(bad.parse::<Account>().is_err(), "{bad}");
        }
    }
}
