//! The market: credit, charges and the books. What a method costs and who may call it is decided
//! by its callers; this keeps the money.

mod books;
mod charge;
mod identity;
mod payments;
mod prepaid;
mod providers;
mod resolve;
mod statement;
pub mod tables;

pub use books::{Payout, month};
pub use charge::{Charge, Hold, NotCharged, PaidCall, Receipt};
pub use payments::{Received, unique};
pub use prepaid::Prepaid;
pub use providers::{Checkout, Event, PaymentEvent, Provider, Settlement};
pub use resolve::{Arrival, Ending};
pub use statement::Statement;

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::App;
use crate::{
    config::Config,
    domain::{Error, Money, Result, UserId},
    store::{
        Ledger, Payments, Store, Usage,
        ledger::{Account, HoldId, Outside, Process},
        usage::Outcome,
    },
    telemetry::metric,
};

/// Where people top up their credit.
pub const TOP_UP_PATH: &str = "/market/topup";

/// Credit, charges and the books.
#[derive(Clone)]
pub struct Market {
    shared: Arc<Shared>,
}

struct Shared {
    config: Arc<Config>,
    ledger: Arc<dyn Ledger>,
    usage: Arc<dyn Usage>,
    payments: Arc<dyn Payments>,
    providers: Vec<Arc<dyn Provider>>,
    /// This process, once it made a paid call.
    process: Mutex<Option<Arc<Process>>>,
    /// Holds that could not be released yet.
    unreleased: Mutex<Vec<Unreleased>>,
}

struct Unreleased {
    hold: HoldId,
    outcome: Outcome,
    ms: u64,
}

impl Market {
    /// The market of a store, with the providers that the config names.
    pub fn open(config: Arc<Config>, store: &Store) -> Result<Self> {
        Ok(Self {
            shared: Arc::new(Shared {
                providers: providers::open(&config)?,
                config,
                ledger: store.ledger.clone(),
                usage: store.usage.clone(),
                payments: store.payments.clone(),
                process: Mutex::default(),
                unreleased: Mutex::default(),
            }),
        })
    }

    fn provider(&self, outside: Outside) -> Result<&Arc<dyn Provider>> {
        let found = self.shared.providers.iter().find(|provider| provider.outside() == outside);
        found.ok_or_else(|| {
            Error::invalid_request(format!(
                "the provider `{outside}` is not configured; `[market.{outside}]` in notewell.toml switches it on"
            ))
        })
    }

    /// The currency of prices and credit.
    pub fn currency(&self) -> &str {
        &self.shared.config.market.currency
    }

    /// A user's credit, without what calls under way hold.
    pub fn balance(&self, user: UserId) -> Result<Money> {
        self.shared.ledger.balance(Account::User(user))
    }

    /// Where people top up their credit.
    pub fn top_up_url(&self) -> String {
        format!("{}{TOP_UP_PATH}", self.shared.config.public_url())
    }

    /// Releases what processes that ended held, and what this one could not release before.
    pub fn tend(&self) -> Result<()> {
        for one in mem::take(&mut *lock(&self.shared.unreleased)) {
            self.shared.release(one.hold, one.outcome, one.ms);
        }
        let released = self.shared.ledger.release_abandoned()?;
        if released > 0 {
            tracing::warn!(released, "gave back what calls of a process that ended had held");
        }
        Ok(())
    }
}

impl Shared {
    /// This process, as one that makes paid calls.
    fn process(&self) -> Result<Arc<Process>> {
        let mut process = lock(&self.process);
        if let Some(process) = process.as_ref() {
            return Ok(process.clone());
        }
        let enlisted = Arc::new(self.ledger.enlist()?);
        *process = Some(enlisted.clone());
        Ok(enlisted)
    }

    /// Releases a hold now, or later where the store fails.
    fn release(&self, hold: HoldId, outcome: Outcome, ms: u64) {
        if let Err(error) = self.ledger.release(hold, outcome, ms) {
            tracing::warn!(?error, "could not release what a call held; trying again");
            lock(&self.unreleased).push(Unreleased { hold, outcome, ms });
        }
    }
}

impl App {
    /// Credit, charges and the books.
    pub fn market(&self) -> &Market {
        &self.market
    }
}

fn milliseconds(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Counts a call by how it ended.
fn count(outcome: Outcome, charged: Money) {
    metrics::counter!(metric::MARKET_CALLS, "outcome" => outcome.as_str()).increment(1);
    metrics::counter!(metric::MARKET_CHARGED).increment(charged.0.unsigned_abs());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
