//! Ways for money to come in.

mod manual;
mod stripe;
mod x402;

use std::sync::Arc;

use serde_json::Value;

pub(super) use self::stripe::is_exact;
use crate::{
    config::Config,
    domain::{Error, Money, Result, Timestamp},
    store::{ledger::Outside, payments::Payment},
};

/// A way for money to come in. What a provider does not do, it refuses.
pub trait Provider: Send + Sync {
    /// The account that the money comes from.
    fn outside(&self) -> Outside;

    /// Begins a top-up: where the person pays.
    fn checkout(&self, _payment: &Payment, _back: &str) -> Result<Checkout> {
        Err(unsupported(self.outside(), "take top-ups"))
    }

    /// Reads an event that the provider sent, after checking that it is the provider's.
    fn event(&self, _signature: &str, _body: &[u8], _now: Timestamp) -> Result<Event> {
        Err(unsupported(self.outside(), "send events"))
    }

    /// What a caller may pay with, as x402 lists it.
    fn accepts(&self, _price: Money) -> Option<Value> {
        None
    }

    /// Our name for a payment that came with a call: the same for the same payment, however it is
    /// written.
    fn reference(&self, _payment: &Value) -> Result<String> {
        Err(unsupported(self.outside(), "take payments with a call"))
    }

    /// Checks a payment that came with a call. Nothing moves yet.
    fn verify(&self, _payment: &Value, _price: Money) -> Result<()> {
        Err(unsupported(self.outside(), "take payments with a call"))
    }

    /// Moves the money of a payment that came with a call. An error with [`Code::Payment`] says
    /// that it does not move; after any other, nobody knows.
    ///
    /// [`Code::Payment`]: crate::domain::Code::Payment
    fn settle(&self, _payment: &Value, _price: Money) -> Result<Settlement> {
        Err(unsupported(self.outside(), "take payments with a call"))
    }
}

/// Where a person pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The page to go to.
    pub url: String,
    /// The provider's name for the payment.
    pub outside: String,
}

/// What a provider reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's own id.
    pub id: String,
    /// What happened.
    pub what: PaymentEvent,
}

/// A provider's event for a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentEvent {
    /// It was paid.
    Paid {
        /// Our name for the payment.
        reference: String,
        /// The provider's name for it.
        outside: String,
        /// What was paid; `None` where it cannot be represented.
        amount: Option<Money>,
        /// The currency, in capital letters.
        currency: String,
    },
    /// It will not be paid any more.
    Failed {
        /// Our name for the payment.
        reference: String,
    },
    /// Nothing that concerns us.
    Other,
}

/// How far the money of a payment came.
#[derive(Debug, Clone, PartialEq)]
pub enum Settlement {
    /// It moved.
    Made {
        /// The transaction.
        transaction: String,
        /// The provider's whole answer, for the payer.
        response: Value,
    },
    /// It may still move: the provider began, and does not know yet how that ends.
    Pending {
        /// The provider's name for it; may be empty.
        outside: String,
    },
}

/// The providers that the config switches on.
pub(super) fn open(config: &Config) -> Result<Vec<Arc<dyn Provider>>> {
    let mut providers: Vec<Arc<dyn Provider>> = vec![Arc::new(manual::Manual)];
    if let Some(stripe) = stripe::Stripe::open(&config.market.stripe)? {
        providers.push(Arc::new(stripe));
    }
    if let Some(x402) = x402::X402::open(&config.market.x402) {
        providers.push(Arc::new(x402));
    }
    Ok(providers)
}

fn unsupported(outside: Outside, what: &str) -> Error {
    Error::invalid_request(format!("the provider `{outside}` does not {what}"))
}
