//! A call that brings its own payment: verified before it runs, settled after it succeeded and
//! before its answer is sent.

use std::{sync::Arc, time::Instant};

use serde_json::Value;

use super::{
    Market, PaidCall, Receipt, Shared, payments,
    providers::{Provider, Settlement},
};
use crate::{
    domain::{Code, Error, Money, Patience, Result, Timestamp},
    store::{
        ledger::{Account, CallIdentity, EntryId, EntryKind, NewEntry, Outside},
        payments::{Booked, NewPayment, Payment, PaymentState},
        usage::{Call, NewUsage, Outcome},
    },
};

const AS_CREDIT: &str = "the x402 payment became credit; repeat the call without it";

/// A verified payment of a call that runs. Dropping it takes nothing.
pub struct Prepaid {
    shared: Arc<Shared>,
    provider: Arc<dyn Provider>,
    payment: Payment,
    payload: Value,
    call: Call,
    started: Instant,
}

/// What a payment that came with a call is good for.
pub(super) enum Verified {
    Payment(Box<Prepaid>),
    /// It paid for the same call before.
    Repeat(Option<EntryId>),
}

impl Market {
    /// What callers may pay with besides their credit, as x402 lists it.
    pub fn accepts(&self, price: Money) -> Vec<Value> {
        self.shared.providers.iter().filter_map(|provider| provider.accepts(price)).collect()
    }

    pub(super) fn verify(
        &self,
        call: &PaidCall<'_>,
        record: Call,
        identity: CallIdentity,
        payload: &Value,
        started: Instant,
    ) -> Result<Verified> {
        let provider = self.provider(Outside::X402)?.clone();
        let price = call.price.amount();
        let reference = provider.reference(payload)?;
        let payments = &self.shared.payments;
        let paid_for = identity.paid(call.key);
        let known = payments.find(Outside::X402, &reference)?;
        match known.as_ref().map(|payment| (payment.state, payment.call == Some(paid_for))) {
            Some((_, false)) => {
                return Err(for_another_call());
            }
            Some((PaymentState::Booked, true)) => {
                let known = known.as_ref();
                let payer = known.and_then(|payment| payment.user);
                // Everybody can read in the chain what was signed.
                if call.key.is_none() && (payer.is_none() || payer != record.user) {
                    return Err(Error::payment(
                        "the x402 payment was used; sign a new one, and to be able to repeat a call, send an idempotency key with it that nobody can guess",
                    ));
                }
                let entry = known.and_then(|payment| payment.entry);
                return self.repeated(entry).map(Verified::Repeat);
            }
            Some((PaymentState::Settling, true)) => {
                return Err(Error::conflict(
                    "the x402 payment is being settled, and how that ends is not known yet; ask the operator if this goes on",
                ));
            }
            _ => {}
        }
        provider
            .verify(payload, price)
            .inspect_err(|_| payments::count(Outside::X402, "refused"))?;
        let payment = payments.begin(&NewPayment {
            provider: Outside::X402,
            reference,
            user: record.user,
            amount: price,
            currency: self.currency().to_owned(),
            call: Some(paid_for),
        })?;
        // Another call with it may have begun while the provider verified it.
        if payment.call != Some(paid_for) {
            return Err(for_another_call());
        }
        Ok(Verified::Payment(Box::new(Prepaid {
            shared: self.shared.clone(),
            provider,
            payment,
            payload: payload.clone(),
            call: record,
            started,
        })))
    }

    /// The entry of a payment that is used again: for a day, and unless it was given back.
    fn repeated(&self, entry: Option<EntryId>) -> Result<Option<EntryId>> {
        let booked = match entry {
            Some(entry) => self.shared.ledger.entry(entry)?,
            None => None,
        };
        let why = match booked {
            Some(booked) if booked.kind != EntryKind::Sale => {
                return Err(Error::payment(AS_CREDIT));
            }
            Some(booked) if booked.ended_by.is_some() => "was refunded",
            Some(booked) if booked.at >= Timestamp::now().plus_days(-1) => return Ok(entry),
            _ => "paid for this call more than a day ago",
        };
        Err(Error::payment(format!("the x402 payment {why}; sign a new one")))
    }
}

impl Prepaid {
    pub(super) fn capture(self) -> Result<Receipt> {
        let payments = &self.shared.payments;
        let id = self.payment.id;
        // Until here a caller who went away takes nothing.
        Patience::current().check()?;
        let moved = [PaymentState::Begun, PaymentState::Failed]
            .into_iter()
            .map(|from| payments.advance(id, from, PaymentState::Settling))
            .try_fold(false, |any, moved| moved.map(|moved| any || moved))?;
        if !moved {
            return Err(Error::conflict(
                "the x402 payment is used by the same call twice at once; send it once",
            ));
        }
        let price = self.call.price;
        // From here on the facilitator has its own time, whatever is left of the request's.
        let settled = Patience::default().during(|| self.provider.settle(&self.payload, price));
        if !matches!(settled, Ok(Settlement::Made { .. })) {
            payments::count(Outside::X402, "failed");
        }
        let (transaction, response) = match settled {
            Ok(Settlement::Made { transaction, response }) => (transaction, response),
            Ok(Settlement::Pending { outside }) => {
                let why = Error::outside("the facilitator did not finish in time");
                return Err(self.in_doubt("may still be made", &outside, &why));
            }
            Err(error) if error.code == Code::Payment => {
                payments.set_state(id, PaymentState::Failed, "")?;
                return Err(error);
            }
            Err(error) => return Err(self.in_doubt("may still be made", "", &error)),
        };
        let author = match self.call.author {
            Some(_) => price.split(self.shared.config.market.author_share).0,
            None => Money::ZERO,
        };
        // A transaction pays for one call. Where the facilitator settles what it settled before
        // and repeats its answer, the key is taken, and nothing is booked.
        let paid_with = match transaction.as_str() {
            "" => &self.payment.reference,
            transaction => transaction,
        };
        let mut entry = NewEntry::new(EntryKind::Sale, format!("x402:{paid_with}"))
            .with_memo(self.call.method.clone())
            .add(Account::Outside(Outside::X402), -price)
            .add(Account::Platform, price.minus(author)?);
        if let Some(user) = self.call.author {
            entry = entry.add(Account::Author(user), author);
        }
        let ms = super::milliseconds(self.started);
        let usage = NewUsage { call: self.call.clone(), outcome: Outcome::Charged, ms };
        let booked = payments.book(id, &entry, &transaction, Some(&usage)).map_err(|error| {
            self.in_doubt("was settled and is not in the books", &transaction, &error)
        })?;
        let entry = match booked {
            Booked::New(entry) => entry.id,
            Booked::Known(entry) => {
                // A person may have resolved it in the meantime.
                let known = self.shared.ledger.entry(entry)?;
                if known.is_none_or(|known| known.kind != EntryKind::Sale) {
                    return Err(Error::conflict(AS_CREDIT));
                }
                entry
            }
        };
        payments::count(Outside::X402, "booked");
        super::count(Outcome::Charged, price);
        let balance = match self.call.user {
            Some(user) => self.shared.ledger.balance(Account::User(user))?,
            None => Money::ZERO,
        };
        Ok(Receipt {
            entry: Some(entry),
            amount: price,
            balance,
            currency: self.payment.currency.clone(),
            outcome: Outcome::Charged,
            settlement: Some(response),
        })
    }

    /// A payment of which a person has to find out how it ended, whom `doctor` tells: it stays one
    /// that is being settled. `outside` is the provider's name for it. Returns what the payer is
    /// told.
    fn in_doubt(&self, how: &str, outside: &str, why: &Error) -> Error {
        let id = self.payment.id;
        tracing::error!(payment = id, outside, error = ?why, "an x402 payment {how}");
        if !outside.is_empty() {
            let kept = self.shared.payments.set_state(id, PaymentState::Settling, outside);
            if let Err(error) = kept {
                tracing::error!(payment = id, ?error, "could not keep the name of a payment");
            }
        }
        Error::new(
            why.code,
            format!(
                "{}; the x402 payment {how}, and the answer is withheld: ask the operator before you sign a new one",
                why.message
            ),
        )
    }

    pub(super) fn release(self) {
        super::count(Outcome::Failed, Money::ZERO);
        let ms = super::milliseconds(self.started);
        let usage = NewUsage { call: self.call.clone(), outcome: Outcome::Failed, ms };
        if let Err(error) = self.shared.usage.record(&usage) {
            tracing::warn!(?error, "could not record a call that failed");
        }
    }
}

fn for_another_call() -> Error {
    Error::payment("the x402 payment was made for another call or other arguments; sign a new one")
}
