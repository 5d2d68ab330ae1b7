//! Payments from outside: what was asked for before it is paid, and the entry that booked it.

use crate::domain::{Error, Money, Result, Timestamp, UserId, query::words};

use super::{
    ledger::{Entry, EntryId, NewEntry, Outside},
    usage::NewUsage,
};

words!(
    /// How far a payment is. `settling` is one whose outcome only the provider knows; `mismatch` is
    /// one that came in with another amount or currency than asked for.
    PaymentState, "state", {
        Begun = "begun",
        Settling = "settling",
        Booked = "booked",
        Failed = "failed",
        Mismatch = "mismatch",
    }
);

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its number.
    pub id: i64,
    /// When it was begun.
    pub at: Timestamp,
    /// Who brings the money.
    pub provider: Outside,
    /// Our name for it, unique for the provider.
    pub reference: String,
    /// Who pays; `None` for a payer without an account.
    pub user: Option<UserId>,
    /// How much.
    pub amount: Money,
    /// In which currency.
    pub currency: String,
    /// The call that it pays for; `None` for a top-up.
    pub call: Option<[u8; 32]>,
    /// How far it is.
    pub state: PaymentState,
    /// The provider's name for it.
    pub outside: String,
    /// The entry that booked it.
    pub entry: Option<EntryId>,
}

/// A payment to begin.
#[derive(Debug, Clone)]
pub struct NewPayment {
    /// Who brings the money.
    pub provider: Outside,
    /// Our name for it.
    pub reference: String,
    /// Who pays.
    pub user: Option<UserId>,
    /// How much.
    pub amount: Money,
    /// In which currency.
    pub currency: String,
    /// The call that it pays for.
    pub call: Option<[u8; 32]>,
}

/// What became of a payment to book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Booked {
    /// It is booked.
    New(Entry),
    /// It had been booked before; nothing was.
    Known(EntryId),
}

/// Keeps payments.
pub trait Payments: Send + Sync {
    /// Begins a payment. The same reference again is the payment that has it.
    fn begin(&self, payment: &NewPayment) -> Result<Payment>;

    /// The payment of a provider with this reference.
    fn find(&self, provider: Outside, reference: &str) -> Result<Option<Payment>>;

    /// Changes how far a payment is and, unless empty, the provider's name for it. One that is
    /// booked stays so.
    fn set_state(&self, id: i64, state: PaymentState, outside: &str) -> Result<()>;

    /// Takes a payment from one state to another. False when it is in another state.
    fn advance(&self, id: i64, from: PaymentState, to: PaymentState) -> Result<bool>;

    /// Books a payment, in one transaction with the call that it pays for. An entry whose key
    /// booked another payment is a conflict.
    fn book(
        &self,
        id: i64,
        entry: &NewEntry,
        outside: &str,
        call: Option<&NewUsage>,
    ) -> Result<Booked>;

    /// Whether an event of a provider was dealt with before.
    fn knows_event(&self, provider: Outside, event: &str) -> Result<bool>;

    /// Remembers that an event of a provider was dealt with.
    fn add_event(&self, provider: Outside, event: &str) -> Result<()>;

    /// The payments in this state, oldest first.
    fn in_state(&self, state: PaymentState) -> Result<Vec<Payment>>;

    /// The payments of a user, newest first.
    fn of_user(&self, user: UserId, limit: usize) -> Result<Vec<Payment>>;
}

/// The error of a payment whose entry booked another one.
pub(super) fn of_another(payment: i64, entry: EntryId) -> Error {
    Error::conflict(format!(
        "what payment {payment} brings was booked for another payment, with entry {entry}; nothing was booked"
    ))
}
