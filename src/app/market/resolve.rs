//! Payments of which only the provider knows how they ended: a person looks, and says so.

use super::Market;
use crate::{
    domain::{Error, Money, Result, UserId},
    store::{
        ledger::{Account, EntryId, EntryKind, NewEntry, Outside},
        payments::{Booked, Payment, PaymentState},
    },
};

/// How a payment ended, by the provider's own records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The money came in: this amount, or what was asked for.
    Arrived(Option<Money>),
    /// It did not, or it was returned.
    Failed,
}

/// What was booked for a payment that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The entry.
    pub entry: EntryId,
    /// What it books.
    pub amount: Money,
    /// Whose credit it is; the platform's income where the payer has no account.
    pub user: Option<UserId>,
}

impl Market {
    /// Ends a payment in doubt. One that arrived becomes its payer's credit, once; one that failed
    /// may be sent again. Returns what was booked.
    pub fn resolve(&self, id: i64, ending: Ending) -> Result<Option<Arrival>> {
        let payments = &self.shared.payments;
        let mut doubtful = payments.in_state(PaymentState::Settling)?;
        doubtful.extend(payments.in_state(PaymentState::Mismatch)?);
        let payment = doubtful.into_iter().find(|payment| payment.id == id).ok_or_else(|| {
            Error::invalid_params(format!(
                "payment {id} is not in doubt; nothing was changed. `notewell doctor` names those that are"
            ))
        })?;
        let Ending::Arrived(amount) = ending else {
            return match payments.advance(id, payment.state, PaymentState::Failed)? {
                true => Ok(None),
                false => Err(ended(id)),
            };
        };
        let amount = match amount {
            Some(amount) => amount,
            None if payment.state == PaymentState::Settling => payment.amount,
            None => {
                return Err(Error::invalid_params(format!(
                    "payment {id} came in with another amount or currency than the {} {} asked for; write what it is worth, as in `--arrived {}`",
                    payment.amount, payment.currency, payment.amount
                )));
            }
        };
        if !amount.is_positive() {
            return Err(Error::invalid_params("what arrived is more than zero"));
        }
        let (kind, account) = match payment.user {
            Some(user) => (EntryKind::TopUp, Account::User(user)),
            None => (EntryKind::Sale, Account::Platform),
        };
        let entry = NewEntry::new(kind, key(&payment))
            .with_memo(format!("payment {id}"))
            .add(Account::Outside(payment.provider), -amount)
            .add(account, amount);
        match payments.book(id, &entry, "", None)? {
            Booked::New(entry) => Ok(Some(Arrival { entry: entry.id, amount, user: payment.user })),
            Booked::Known(_) => Err(ended(id)),
        }
    }
}

/// The key under which the payment would have been booked, so that a transaction is booked once.
fn key(payment: &Payment) -> String {
    let name = match payment.provider {
        Outside::X402 if !payment.outside.is_empty() => &payment.outside,
        _ => &payment.reference,
    };
    format!("{}:{name}", payment.provider)
}

fn ended(id: i64) -> Error {
    Error::conflict(format!("payment {id} ended meanwhile; nothing was changed"))
}
