//! Money that comes in through a provider: top-ups that a person pays on the provider's page, and
//! the events that report them.

use super::{
    Market, TOP_UP_PATH,
    providers::{Checkout, PaymentEvent, is_exact},
};
use crate::{
    domain::{Error, Money, Result, Timestamp, UserId},
    store::{
        ledger::{Account, EntryKind, NewEntry, Outside},
        payments::{Booked, NewPayment, Payment, PaymentState},
    },
    telemetry::metric,
};

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A payment was booked as the credit of this user.
    Booked(UserId),
    /// The same was dealt with before.
    Repeat,
    /// It does not concern us.
    Ignored,
}

impl Market {
    /// Whether people can pay by card.
    pub fn takes_cards(&self) -> bool {
        self.provider(Outside::Stripe).is_ok()
    }

    /// Begins a top-up: where the person pays. `site` is this server's address as they know it.
    pub fn begin_top_up(&self, user: UserId, amount: Money, site: &str) -> Result<Checkout> {
        let settings = &self.shared.config.market;
        let (least, most) = (settings.min_top_up, settings.max_top_up);
        let currency = self.currency();
        if amount < least || amount > most || !is_exact(amount, currency) {
            return Err(Error::invalid_params(format!(
                "a top-up is {least} to {most} {currency}, in whole units of its smallest coin; `{amount}` is not"
            )));
        }
        let outside = Outside::Stripe;
        let provider = self.provider(outside).map_err(|_| {
            Error::invalid_request(
                "this server takes no card payments; pay the operator directly, who books it with `notewell market credit`",
            )
        })?;
        let payment = self.shared.payments.begin(&NewPayment {
            provider: outside,
            reference: format!("nw_{}", unique()?),
            user: Some(user),
            amount,
            currency: currency.to_owned(),
            call: None,
        })?;
        let checkout = provider.checkout(&payment, &format!("{site}{TOP_UP_PATH}"));
        match &checkout {
            Ok(checkout) => {
                let state = PaymentState::Begun;
                self.shared.payments.set_state(payment.id, state, &checkout.outside)?;
            }
            Err(error) => {
                tracing::warn!(?error, "could not begin a top-up");
                count(outside, "failed");
            }
        }
        checkout
    }

    /// Takes in an event of a provider. `signature` is what proves that it is the provider's.
    pub fn receive(&self, from: Outside, signature: &str, body: &[u8]) -> Result<Received> {
        let received = self.try_receive(from, signature, body);
        count(
            from,
            match &received {
                Ok(Received::Booked(_)) => "booked",
                Ok(Received::Repeat) => "repeat",
                Ok(Received::Ignored) => "ignored",
                Err(_) => "refused",
            },
        );
        received
    }

    fn try_receive(&self, from: Outside, signature: &str, body: &[u8]) -> Result<Received> {
        let payments = &self.shared.payments;
        let event = self.provider(from)?.event(signature, body, Timestamp::now())?;
        if payments.knows_event(from, &event.id)? {
            return Ok(Received::Repeat);
        }
        let received = match event.what {
            PaymentEvent::Other => Received::Ignored,
            PaymentEvent::Failed { reference } => {
                if let Some(payment) = payments.find(from, &reference)? {
                    payments.set_state(payment.id, PaymentState::Failed, "")?;
                }
                Received::Ignored
            }
            PaymentEvent::Paid { reference, outside, amount, currency } => {
                // One account of a provider may serve other shops than this.
                match payments.find(from, &reference)? {
                    None => Received::Ignored,
                    Some(payment) => self.book(&payment, &event.id, &outside, amount, &currency)?,
                }
            }
        };
        // Last: an event that could not be dealt with comes again.
        payments.add_event(from, &event.id)?;
        Ok(received)
    }

    /// Books a top-up that was paid.
    fn book(
        &self,
        payment: &Payment,
        event: &str,
        outside: &str,
        amount: Option<Money>,
        currency: &str,
    ) -> Result<Received> {
        let payments = &self.shared.payments;
        let Some(user) = payment.user else {
            return Err(Error::internal("a top-up has no user"));
        };
        if amount != Some(payment.amount) || currency != payment.currency {
            tracing::error!(
                payment = payment.id,
                "a payment came in with another amount or currency than asked for"
            );
            payments.set_state(payment.id, PaymentState::Mismatch, outside)?;
            // The same event again must not undo what a person decides about it.
            payments.add_event(payment.provider, event)?;
            return Err(Error::invalid_request(format!(
                "payment {} is for {} {}, and another amount or currency was paid; nothing was booked, and `notewell doctor` names it",
                payment.id, payment.amount, payment.currency
            )));
        }
        let key = format!("{}:{}", payment.provider, payment.reference);
        let entry = NewEntry::new(EntryKind::TopUp, key)
            .with_memo(outside)
            .add(Account::Outside(payment.provider), -payment.amount)
            .add(Account::User(user), payment.amount);
        Ok(match payments.book(payment.id, &entry, outside, None)? {
            Booked::New(_) => Received::Booked(user),
            Booked::Known(_) => Received::Repeat,
        })
    }
}

/// 32 hexadecimal digits that nobody can guess.
pub fn unique() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("the system gave no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) fn count(provider: Outside, outcome: &'static str) {
    metrics::counter!(metric::MARKET_PAYMENTS, "provider" => provider.as_str(), "outcome" => outcome)
        .increment(1);
}
