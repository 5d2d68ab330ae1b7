//! The turn: an advisory lock that a session holds. The server releases it when the session ends,
//! so a process that dies gives it up.

use std::sync::{Mutex, PoisonError, TryLockError};

use crate::{
    domain::{Error, Result},
    store::{
        postgres::{Postgres, fault::Fault, pool::Lent},
        revisions::{Exclusive, Turn},
    },
};

/// What the first number of the lock means: "Nwtn".
const LOCK: i32 = 0x4e77_746e;

/// The session that holds the lock of a library.
struct Session<'a> {
    lent: Mutex<Lent<'a>>,
    library: i32,
}

impl Postgres {
    pub(super) fn take_turn(&self) -> Result<Turn<'_>> {
        let process = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = self.session("SELECT pg_advisory_lock($1, $2), true")?;
        // `pg_advisory_lock` waits, or fails when the limit is over.
        lock.map(|lock| Turn::new(process, lock)).ok_or_else(busy)
    }

    pub(super) fn try_take_turn(&self) -> Result<Option<Turn<'_>>> {
        let process = match self.turn.try_lock() {
            Ok(process) => process,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        let lock = self.session("SELECT 1, pg_try_advisory_lock($1, $2)")?;
        Ok(lock.map(|lock| Turn::new(process, lock)))
    }

    /// A session that holds the lock, or `None` where another one has it.
    fn session(&self, sql: &str) -> Result<Option<Session<'_>>> {
        // Libraries are counted from 1; two that share a lock would only wait for each other.
        let library = self.library as i32;
        let attempt = || {
            let mut lent = self.pool.take()?;
            let mut row = lent.get()?.query_one(sql, &[&LOCK, &library]);
            if lent.was_idle && row.as_ref().is_err_and(Fault::is_worth_another_connection) {
                lent = self.pool.replace(lent)?;
                row = lent.get()?.query_one(sql, &[&LOCK, &library]);
            }
            match row {
                Ok(row) if row.try_get::<_, bool>(1)? => {
                    Ok(Some(Session { lent: Mutex::new(lent), library }))
                }
                Ok(_) => Ok(None),
                Err(fault) if fault.is(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE) => {
                    Ok(None)
                }
                Err(fault) => Err(fault),
            }
        };
        attempt()
            .inspect_err(|fault| self.pool.note(fault))
            .map_err(|fault| self.explain(fault, "lock the library for writing"))
    }
}

fn busy() -> Error {
    Error::storage("another Notewell process is writing to this library; try again")
}

impl Exclusive for Session<'_> {
    fn check(&self) -> Result<()> {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        match lent.get().and_then(|session| session.batch("SELECT 1")) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::storage(
                "the connection that held the right to write broke: nothing was changed, try again",
            )
            .with_data(serde_json::json!({ "store": "away" }))),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let lent = self.lent.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Ok(session) = lent.get() else { return };
        let released =
            session.execute("SELECT pg_advisory_unlock($1, $2)", &[&LOCK, &self.library]);
        if released.is_err() {
            // The end of the session releases the lock.
            session.give_up();
        }
    }
}
