//! The market: credit, charges and the books. What a method costs and who may call it is decided
//! by its callers; this keeps the money.

mod books;
mod charge;
mod identity;

pub use books::{Payout, month};
pub use charge::{Charge, Hold, NotCharged, PaidCall, Receipt};

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::App;
use crate::{
    config::Config,
    domain::{Money, Result, UserId},
    store::{
        Ledger, Store, Usage,
        ledger::{Account, HoldId, Process},
        usage::Outcome,
    },
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
    /// The market of a store.
    pub fn new(config: Arc<Config>, store: &Store) -> Self {
        Self {
            shared: Arc::new(Shared {
                config,
                ledger: store.ledger.clone(),
                usage: store.usage.clone(),
                process: Mutex::default(),
                unreleased: Mutex::default(),
            }),
        }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
