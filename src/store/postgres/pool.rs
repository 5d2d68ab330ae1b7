//! Connections that are kept open. When the server is away, one caller at a time tries to reach it
//! and the others learn at once that it is away.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::{Duration, Instant},
};

use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    address::{Address, cause},
    connection::{Connection, Driver},
    fault::{Fault, refusal},
    tls,
};
use crate::domain::{Error, Result};

/// How long connecting to one host may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the server counts as away before the next attempt.
const RETRY: Duration = Duration::from_millis(250);

/// The open connections of a process to one library.
pub(super) struct Pool {
    address: Address,
    tls: MakeRustlsConnect,
    /// The limit of each statement.
    limit: Duration,
    max_open: usize,
    max_idle: usize,
    /// What each new session begins with.
    session: Mutex<String>,
    state: Mutex<State>,
    returned: Condvar,
    /// Dropped last.
    driver: Driver,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
    absence: Option<Absence>,
}

/// The server could not be reached.
struct Absence {
    since: Instant,
    /// Nobody tries before.
    retry: Instant,
    why: String,
}

/// A connection that goes back to the pool when it is dropped.
pub(super) struct Lent<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
    /// It was idle in the pool: the server may have closed it meanwhile.
    pub(super) was_idle: bool,
}

impl Pool {
    pub(super) fn new(address: &Address, limit: Duration, max_idle: usize) -> Result<Self> {
        Ok(Self {
            tls: tls::connector(address.verify())?,
            address: address.clone(),
            limit,
            max_open: 2 * max_idle + 4,
            max_idle,
            session: Mutex::default(),
            state: Mutex::default(),
            returned: Condvar::new(),
            driver: Driver::start()?,
        })
    }

    /// The statements that each session begins with from now on.
    pub(super) fn set_session(&self, sql: String) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = sql;
    }

    /// An idle connection, or a new one.
    pub(super) fn take(&self) -> Result<Lent<'_>, Fault> {
        let deadline = Instant::now() + self.limit;
        let mut state = self.state();
        loop {
            while let Some(connection) = state.idle.pop() {
                if !connection.is_broken() {
                    let connection = Some(connection);
                    return Ok(Lent { pool: self, connection, was_idle: true });
                }
                state.open -= 1;
            }
            if let Some(absence) = &mut state.absence {
                let now = Instant::now();
                if now < absence.retry {
                    return Err(Fault::Away(absence.why.clone()));
                }
                // This caller tries; the others go on believing that the server is away.
                absence.retry = now + CONNECT;
            }
            if state.open < self.max_open {
                state.open += 1;
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Fault::Refused(Error::storage(format!(
                    "all {} connections to the store are in use; try again",
                    self.max_open
                ))));
            }
            let waited = self.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        self.fresh()
    }

    /// A new connection, after an idle one turned out to be dead: the others probably are too.
    pub(super) fn replace(&self, dead: Lent<'_>) -> Result<Lent<'_>, Fault> {
        drop(dead);
        self.forget_idle(&mut self.state());
        self.take()
    }

    fn forget_idle(&self, state: &mut State) {
        state.open -= state.idle.len();
        state.idle.clear();
    }

    /// A new connection, counted already.
    fn fresh(&self) -> Result<Lent<'_>, Fault> {
        // From here on the count goes down when it is dropped.
        let mut lent = Lent { pool: self, connection: None, was_idle: false };
        match self.connect(None) {
            Ok(connection) => {
                self.state().absence = None;
                lent.connection = Some(connection);
                Ok(lent)
            }
            Err(fault) => {
                self.set_absence(&fault, true);
                Err(fault)
            }
        }
    }

    /// A connection outside the pool, for a lock or for listening.
    pub(super) fn dedicated(&self) -> Result<Connection, Fault> {
        self.connect(None).inspect_err(|fault| self.note(fault))
    }

    /// As [`Self::dedicated`]; what others call with NOTIFY goes to `news`.
    pub(super) fn listening(&self, news: Sender<String>) -> Result<Connection, Fault> {
        self.connect(Some(&news)).inspect_err(|fault| self.note(fault))
    }

    /// Takes a session that began like those of the pool.
    pub(super) fn adopt(&self, session: Connection) {
        let mut state = self.state();
        state.open += 1;
        state.idle.push(session);
    }

    /// Remembers that the server is away. A known absence stays as it is: callers who learn of it
    /// at once must not put off the next attempt.
    pub(super) fn note(&self, fault: &Fault) {
        self.set_absence(fault, false);
    }

    /// Remembers that the server is away; `tried` by whoever just tried to reach it.
    fn set_absence(&self, fault: &Fault, tried: bool) {
        if !fault.is_away() {
            return;
        }
        let why = match fault {
            Fault::Away(why) => why.clone(),
            Fault::Server(error) => cause(error),
            _ => "it does not answer".to_owned(),
        };
        let now = Instant::now();
        let mut state = self.state();
        if state.absence.is_some() && !tried {
            return;
        }
        // Connections from before the fault are of no use any more.
        self.forget_idle(&mut state);
        let since = state.absence.as_ref().map_or(now, |absence| absence.since);
        state.absence = Some(Absence { since, retry: now + RETRY, why });
    }

    /// Since when the server is away, and why.
    pub(super) fn absence(&self) -> Option<(Instant, String)> {
        self.state().absence.as_ref().map(|absence| (absence.since, absence.why.clone()))
    }

    /// Tries the hosts in the order of the address.
    fn connect(&self, news: Option<&Sender<String>>) -> Result<Connection, Fault> {
        let mut reasons = Vec::new();
        for (name, config) in self.address.hosts() {
            let connect_limit = config.get_connect_timeout().copied().unwrap_or(CONNECT);
            let opened = Connection::open(
                &self.driver,
                config,
                self.tls.clone(),
                self.limit,
                connect_limit,
                news.cloned(),
            );
            match opened.and_then(|connection| self.begin_session(connection)) {
                Ok(connection) => return Ok(connection),
                Err(fault) => match self.named(fault, &name) {
                    Fault::Away(why) => reasons.push(why),
                    refused => return Err(refused),
                },
            }
        }
        Err(Fault::Away(reasons.join(", ")))
    }

    fn begin_session(&self, mut connection: Connection) -> Result<Connection, Fault> {
        let milliseconds = self.limit.as_millis();
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A process that stops within a transaction must not hold the library for long.
        connection.batch(&format!(
            "SET statement_timeout = {milliseconds};
             SET lock_timeout = {};
             SET idle_in_transaction_session_timeout = {};
             SET client_min_messages = warning;
             {session}",
            // Before the statement's limit, so that the reason is known.
            milliseconds * 9 / 10,
            2 * milliseconds
        ))?;
        Ok(connection)
    }

    /// Adds the host to the reason, where the address has several.
    fn named(&self, fault: Fault, host: &str) -> Fault {
        match fault {
            Fault::Server(error) => match refusal(&error, &self.address) {
                Some(refused) => Fault::Refused(refused),
                None if cause(&error) == "database does not allow writes" => {
                    Fault::Away(format!("`{host}` is a read-only standby"))
                }
                None => Fault::Away(format!("`{host}`: {}", cause(&error))),
            },
            Fault::TooSlow => Fault::Away(format!("`{host}` does not answer")),
            other => other,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    pub(super) fn get(&mut self) -> Result<&mut Connection, Fault> {
        self.connection.as_mut().ok_or_else(|| Fault::Away("the connection is closed".to_owned()))
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        match self.connection.take() {
            Some(connection)
                if !connection.is_broken() && state.idle.len() < self.pool.max_idle =>
            {
                // It answered.
                state.absence = None;
                state.idle.push(connection);
            }
            other => {
                state.open -= 1;
                drop(state);
                drop(other);
            }
        }
        self.pool.returned.notify_one();
    }
}
