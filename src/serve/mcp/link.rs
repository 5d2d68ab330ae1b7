//! What all connections share, and what is particular to one: who calls, and what they asked for.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    elicit::Used,
    extension::{self, Extension},
    notices::{Lists, Mailbox},
    offers::Offers,
    pace::Pace,
    payment::StateKey,
    tasks::Runner,
};
use crate::{
    app::{
        App,
        rights::{Right, Rights},
    },
    domain::{Error, Result, Visible, network_of},
    serve::remote::Remotes,
    tools::ShownPrices,
};

/// What tells one caller from another, where the same rights are not enough.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A token, by its number.
    Token(i64),
    /// A connected client, by the number of its connection: its tokens change every hour.
    Connection(i64),
    /// A person in a browser, by the number of their account.
    User(i64),
    /// A caller without a token, by the network of their address.
    Network(IpAddr),
    /// Whoever started this process.
    Process,
}

impl Identity {
    /// The identity of a caller without a token.
    pub fn of_address(from: IpAddr) -> Self {
        Self::Network(network_of(from))
    }
}

/// One request's link to its caller.
#[derive(Debug, Clone)]
pub struct Link {
    /// What the request may see and do.
    pub rights: Rights,
    /// Who the limits count against.
    pub identity: Identity,
    /// `?method=NAME`: the page that gives the instructions instead of `initialize`.
    pub method: Option<String>,
}

impl Link {
    /// The link of whoever started this process, with these rights.
    pub fn of(rights: Rights) -> Self {
        Self { rights, identity: Identity::Process, method: None }
    }
}

/// Callers who are offered the same: what they see, and the built-in tools that they may use.
pub(super) type Audience = (Visible, Vec<&'static str>);

/// What every connection of this process shares.
pub struct Hub {
    /// The library.
    pub app: Arc<App>,
    /// What this program adds to the product.
    pub(super) extension: &'static dyn Extension,
    /// Calls at once, and those of callers other than the owner.
    calls: Arc<Semaphore>,
    guest_calls: Arc<Semaphore>,
    /// Callers other than the owner take turns, so that their work leaves room for the owner's and
    /// needs memory for a few calls only.
    turns: Arc<Semaphore>,
    /// Calls of each caller in a minute.
    pub(super) pace: Pace,
    mailboxes: Arc<Mutex<Vec<Weak<Mailbox>>>>,
    /// What callers who see the same pages were last seen to be offered, at a position of the change log.
    pub(super) lists: Mutex<Vec<(Audience, i64, Lists)>>,
    /// What connections with the same rights were last seen to be offered.
    pub(super) offers: Arc<Offers>,
    /// The prices that callers without a lasting connection were shown, the latest caller last.
    shown: Mutex<Vec<(Identity, Arc<ShownPrices>)>>,
    /// Signs what clients bring back from a top-up or a question.
    pub(super) state_key: StateKey,
    /// The tasks that this process runs.
    pub(super) runner: Arc<Runner>,
    /// The answers to questions that were used.
    pub(super) used: Used,
    /// Other bases, asked beside our own search.
    pub(super) remotes: Remotes,
}

/// How many callers' prices are remembered.
const MAX_SHOWN: usize = 1_000;

/// The right to run one call. It lasts as long as the work does, also when nobody waits for it any
/// more.
pub struct Permit {
    _call: OwnedSemaphorePermit,
    _guest: Option<[OwnedSemaphorePermit; 2]>,
}

impl Hub {
    /// Shared state of all connections.
    pub fn new(app: Arc<App>) -> Arc<Self> {
        let mailboxes: Arc<Mutex<Vec<Weak<Mailbox>>>> = Arc::default();
        let listening = mailboxes.clone();
        let offers: Arc<Offers> = Arc::default();
        let counting = offers.clone();
        app.events.subscribe(move |event| {
            counting.count_event();
            lock(&listening).retain(|mailbox| match mailbox.upgrade() {
                Some(mailbox) => {
                    mailbox.post(event);
                    true
                }
                None => false,
            });
        });
        let calls = app.config.limits.concurrent;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            calls: Arc::new(Semaphore::new(calls)),
            guest_calls: Arc::new(Semaphore::new(calls - calls / 4)),
            turns: Arc::new(Semaphore::new(cores.max(2))),
            pace: Pace::new(app.config.limits.calls_per_minute),
            runner: Runner::new(app.clone()),
            remotes: Remotes::new(&app.config),
            app,
            extension: extension::installed(),
            mailboxes,
            lists: Mutex::default(),
            offers,
            shown: Mutex::default(),
            state_key: StateKey::default(),
            used: Used::default(),
        })
    }

    /// The prices that a caller without a lasting connection was shown.
    pub fn shown_to(&self, identity: &Identity) -> Arc<ShownPrices> {
        let mut shown = lock(&self.shown);
        let known = shown.iter().position(|(who, _)| who == identity);
        let entry = match known {
            Some(at) => shown.remove(at),
            None => (identity.clone(), Arc::default()),
        };
        if shown.len() >= MAX_SHOWN {
            shown.remove(0);
        }
        let prices = entry.1.clone();
        shown.push(entry);
        prices
    }

    /// Delivers every event to a mailbox until it is dropped.
    pub fn deliver_to(&self, mailbox: &Arc<Mailbox>) {
        lock(&self.mailboxes).push(Arc::downgrade(mailbox));
    }

    /// Admits one call, or refuses it when as many run as may. Waits for the turn of a caller who is
    /// not the owner.
    pub async fn permit(&self, rights: &Rights) -> Result<Permit> {
        let busy = || {
            Error::limit(format!(
                "as many requests run as `limits.concurrent` ({}) allows; try again in a moment",
                self.app.config.limits.concurrent
            ))
        };
        let take = |calls: &Arc<Semaphore>| calls.clone().try_acquire_owned().map_err(|_| busy());
        if rights.may(Right::ReservedCapacity) {
            return Ok(Permit { _call: take(&self.calls)?, _guest: None });
        }
        let (guest, call) = (take(&self.guest_calls)?, take(&self.calls)?);
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| busy())?;
        Ok(Permit { _call: call, _guest: Some([guest, turn]) })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The link of a request or notification: what the HTTP front attached to it, or else the
/// connection's own.
pub(super) fn of_extensions(extensions: &rmcp::model::Extensions, own: &Link) -> Link {
    let parts = extensions.get::<http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<Link>()).unwrap_or(own).clone()
}
