//! Charging a call: hold the price, run, then capture or release.

use std::{sync::Arc, time::Instant};

use serde_json::{Map, Value, json};

use super::{Market, Prepaid, Shared, count, identity::identify, milliseconds, prepaid::Verified};
use crate::{
    domain::{
        Caller, Error, Money, Pid, Price, Result, Timestamp, UserId,
        user::{Role, User},
    },
    store::{
        ledger::{Admission, EntryId, HoldId, NewHold},
        usage::{Call, NewUsage, Outcome},
    },
    telemetry::metric,
};

const DAY_MS: i64 = 86_400_000;

/// A call of a priced method, before it runs.
#[derive(Debug, Clone, Copy)]
pub struct PaidCall<'a> {
    /// Who calls.
    pub caller: &'a Caller,
    /// The token of the request, or what stands [for its connection](crate::store::usage::of_connection).
    pub token: Option<i64>,
    /// The name that was called.
    pub method: &'a str,
    /// The method's page.
    pub page: Pid,
    /// The etag of the page.
    pub version: &'a str,
    /// Whose method it is; `None` where it is the operator's own.
    pub author: Option<UserId>,
    /// What a call costs.
    pub price: Price,
    /// How many trial calls each user has (`price_free`).
    pub trial_calls: u32,
    /// The arguments. Only a hash of them is kept, for a day.
    pub arguments: &'a Map<String, Value>,
    /// An explicit idempotency key.
    pub key: Option<&'a str>,
    /// An x402 payment that came with the call.
    pub payment: Option<&'a Value>,
    /// The id of the request, for usage.
    pub request: &'a str,
}

impl PaidCall<'_> {
    fn user(&self) -> Option<UserId> {
        match self.caller {
            Caller::User(user) => user.id,
            Caller::Owner | Caller::Anonymous => None,
        }
    }

    fn call(&self) -> Call {
        Call {
            user: self.user(),
            token: self.token,
            method: self.method.to_owned(),
            page: self.page,
            author: self.author,
            version: self.version.to_owned(),
            price: self.price.amount(),
            request: self.request.to_owned(),
        }
    }
}

/// What a call needs to end with. One that is dropped releases what it holds.
#[must_use = "a charge ends with `capture` or `release`"]
pub enum Charge {
    /// The call costs nothing.
    NotCharged(NotCharged),
    /// The price, or a trial call, is held.
    Held(Hold),
    /// The call brought its own payment, which is verified.
    Prepaid(Box<Prepaid>),
}

impl Charge {
    /// The call succeeded: charges what it holds, and records it. The answer may be sent only
    /// after this succeeded.
    pub fn capture(self) -> Result<Receipt> {
        match self {
            Charge::NotCharged(call) => call.capture(),
            Charge::Held(hold) => hold.capture(),
            Charge::Prepaid(payment) => payment.capture(),
        }
    }

    /// The call failed: gives back what it holds, and records it.
    pub fn release(self) {
        match self {
            Charge::NotCharged(call) => call.release(),
            Charge::Held(hold) => hold.release(),
            Charge::Prepaid(payment) => payment.release(),
        }
    }
}

/// A call that costs nothing.
pub struct NotCharged {
    shared: Arc<Shared>,
    call: Call,
    started: Instant,
    /// Why: owner, author or repeat.
    pub reason: Outcome,
    /// The entry that charged the first of the repeats.
    entry: Option<EntryId>,
}

impl NotCharged {
    fn capture(self) -> Result<Receipt> {
        self.record(self.reason)?;
        let balance = match self.call.user {
            Some(user) => self.shared.ledger.balance(super::Account::User(user))?,
            None => Money::ZERO,
        };
        Ok(Receipt {
            entry: self.entry,
            amount: Money::ZERO,
            balance,
            currency: self.shared.config.market.currency.clone(),
            outcome: self.reason,
            settlement: None,
        })
    }

    fn release(self) {
        if let Err(error) = self.record(Outcome::Failed) {
            tracing::warn!(?error, "could not record a call that failed");
        }
    }

    fn record(&self, outcome: Outcome) -> Result<()> {
        count(outcome, Money::ZERO);
        let ms = milliseconds(self.started);
        self.shared.usage.record(&NewUsage { call: self.call.clone(), outcome, ms }).map(drop)
    }
}

/// What a call holds while it runs. Dropping it releases it.
#[must_use = "a hold ends with `capture` or `release`"]
pub struct Hold {
    shared: Arc<Shared>,
    id: HoldId,
    started: Instant,
    price: Money,
    author: Option<UserId>,
    /// How many trial calls are left after this one; `None` where the price is held.
    pub trial_calls_left: Option<u32>,
    is_open: bool,
}

impl Hold {
    /// The call succeeded: charges its price, or uses up the trial.
    pub fn capture(mut self) -> Result<Receipt> {
        let share = match self.author {
            Some(_) => self.price.split(self.shared.config.market.author_share).0,
            None => Money::ZERO,
        };
        // A failure leaves the hold open; dropping it releases it.
        let captured = self.shared.ledger.capture(self.id, share, milliseconds(self.started))?;
        self.is_open = false;
        count(captured.outcome, captured.charged);
        Ok(Receipt {
            entry: captured.entry,
            amount: captured.charged,
            balance: captured.balance,
            currency: self.shared.config.market.currency.clone(),
            outcome: captured.outcome,
            settlement: None,
        })
    }

    /// The call failed: it costs nothing.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.is_open {
            count(Outcome::Failed, Money::ZERO);
            self.shared.release(self.id, Outcome::Failed, milliseconds(self.started));
        }
    }
}

/// What a call was charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The entry that charged it, now or at its first success.
    pub entry: Option<EntryId>,
    /// What was charged now.
    pub amount: Money,
    /// The user's credit afterwards.
    pub balance: Money,
    /// The currency of both.
    pub currency: String,
    /// How the call ended: charged, trial, repeat, owner or author.
    pub outcome: Outcome,
    /// What the facilitator answered, where the call brought its own payment.
    pub settlement: Option<Value>,
}

impl Receipt {
    /// The receipt as results carry it.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.entry.map(|entry| entry.to_string()),
            "amount": self.amount,
            "balance": self.balance,
            "currency": self.currency,
            "outcome": self.outcome,
        })
    }
}

impl Market {
    /// Decides whether a call may run, and holds what it costs. Too little credit is an error with
    /// [`Code::Payment`](crate::domain::Code::Payment), whose data says what is missing and where
    /// to top up.
    pub fn begin(&self, call: &PaidCall<'_>) -> Result<Charge> {
        let begun = self.try_begin(call);
        if begun.is_err() {
            metrics::counter!(metric::MARKET_CALLS, "outcome" => "refused").increment(1);
        }
        begun
    }

    fn try_begin(&self, call: &PaidCall<'_>) -> Result<Charge> {
        let started = Instant::now();
        let shared = &self.shared;
        let not_charged = |reason, entry| {
            let (shared, call) = (shared.clone(), call.call());
            Ok(Charge::NotCharged(NotCharged { shared, call, started, reason, entry }))
        };
        if call.caller.role() == Role::Owner {
            return not_charged(Outcome::Owner, None);
        }
        if call.author.is_some() && call.author == call.user() {
            return not_charged(Outcome::Author, None);
        }
        let identity = identify(call.page, call.version, call.arguments, call.key)?;
        if let Some(payment) = call.payment {
            return match self.verify(call, call.call(), identity, payment, started)? {
                Verified::Payment(prepaid) => Ok(Charge::Prepaid(prepaid)),
                Verified::Repeat(entry) => not_charged(Outcome::Repeat, entry),
            };
        }
        let Caller::User(user @ User { id: Some(_), .. }) = call.caller else {
            return Err(self.needs_account(call));
        };
        if !user.scopes.market {
            return Err(Error::invalid_request(format!(
                "`{}` costs {} {} a call, and this credential may not spend credit; connect again with the scope `market`, or use a token that has it",
                call.method,
                call.price,
                self.currency()
            )));
        }
        let now = Timestamp::now();
        let settings = &shared.config.market;
        let new = NewHold {
            call: call.call(),
            identity,
            trial_calls: call.trial_calls,
            user_cap: settings.daily_cap,
            token_cap: settings.daily_cap_per_token,
            day: Timestamp(now.0 - now.0.rem_euclid(DAY_MS)),
            repeat_since: now.plus_days(-1),
        };
        let hold = |id, trial_calls_left| {
            Ok(Charge::Held(Hold {
                shared: shared.clone(),
                id,
                started,
                price: call.price.amount(),
                author: call.author,
                trial_calls_left,
                is_open: true,
            }))
        };
        match shared.ledger.begin(&*shared.process()?, &new)? {
            Admission::Held(id) => hold(id, None),
            Admission::Trial(id, left) => hold(id, Some(left)),
            Admission::Repeat(entry) => not_charged(Outcome::Repeat, entry),
            Admission::KeyTaken => Err(Error::conflict(
                "this idempotency key was used for a call with other arguments; use a new key for a new call",
            )),
            Admission::Running => Err(Error::conflict(format!(
                "the same call of `{}` is under way, and your credit does not cover a second one; try again when it has ended",
                call.method
            ))),
            Admission::Short(balance) => Err(self.short(call, balance)),
            Admission::UserCap(spent) => {
                Err(self.capped(call, spent, settings.daily_cap, "you may"))
            }
            Admission::TokenCap(spent) => {
                let who = match call.token {
                    Some(token) if token < 0 => "this connected client may",
                    _ => "this token may",
                };
                Err(self.capped(call, spent, settings.daily_cap_per_token, who))
            }
        }
    }

    fn short(&self, call: &PaidCall<'_>, balance: Money) -> Error {
        let (currency, url) = (self.currency(), self.top_up_url());
        Error::payment(format!(
            "`{}` costs {} {currency} a call, and your credit is {balance} {currency}; top up at {url} and call again",
            call.method, call.price
        ))
        .with_data(self.payment_data(call, balance))
    }

    fn needs_account(&self, call: &PaidCall<'_>) -> Error {
        Error::payment(format!(
            "`{}` costs {} {} a call, which takes an account with credit; sign in, top up at {} and call again",
            call.method,
            call.price,
            self.currency(),
            self.top_up_url()
        ))
        .with_data(self.payment_data(call, Money::ZERO))
    }

    fn payment_data(&self, call: &PaidCall<'_>, balance: Money) -> Value {
        let price = call.price.amount();
        json!({
            "method": call.method,
            "price": price,
            "balance": balance,
            "shortfall": price.minus(balance).unwrap_or(price),
            "currency": self.currency(),
            "top_up_url": self.top_up_url(),
        })
    }

    fn capped(&self, call: &PaidCall<'_>, spent: Money, cap: Money, who: &str) -> Error {
        let currency = self.currency();
        let now = Timestamp::now();
        let seconds = (DAY_MS - now.0.rem_euclid(DAY_MS)).div_euclid(1_000) + 1;
        Error::limit(format!(
            "`{}` costs {} {currency} a call, and {who} spend {cap} {currency} a day, of which {spent} {currency} are spent; call again after midnight UTC, or ask the operator to raise the cap",
            call.method, call.price
        ))
        .with_data(json!({
            "method": call.method,
            "price": call.price,
            "spent": spent,
            "cap": cap,
            "currency": currency,
            "retry_after_seconds": seconds,
        }))
    }
}
