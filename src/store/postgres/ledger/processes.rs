//! Which processes live. Each that makes paid calls holds an advisory lock with a connection of its
//! own; the server releases it when the connection ends.

use std::sync::{Mutex, PoisonError};

use super::{
    super::{Postgres, connection::Connection, fault::Fault},
    holds,
};
use crate::{
    domain::{Result, Timestamp},
    store::{
        ledger::{Admission, HoldId, NewHold, Process},
        usage::Outcome,
    },
};

/// The key of the lock of a process, as SQL. `$1` is its number.
const KEY: &str = "hashtextextended('notewell:' || current_setting('nw.lib') || ':process:' || $1::bigint::text, 0)";

/// The connection that holds the lock of a process.
struct SessionLock {
    process: i64,
    connection: Mutex<Connection>,
}

impl SessionLock {
    /// Takes the lock again after the server closed the connection that held it.
    fn renew(&self, open: impl FnOnce() -> Result<Connection, Fault>) -> Result<(), Fault> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if take(&mut connection, self.process).is_err() {
            *connection = open()?;
            take(&mut connection, self.process)?;
        }
        Ok(())
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // The end of the connection releases it too, a little later.
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
        let sql = format!("SELECT pg_advisory_unlock({KEY})");
        if !connection.is_broken()
            && let Err(error) = connection.query_one(&sql, &[&self.process])
        {
            tracing::debug!(?error, "could not release the lock of this process");
        }
    }
}

/// Takes the lock of a process for as long as the connection lives.
fn take(connection: &mut Connection, process: i64) -> Result<(), Fault> {
    connection.query_one(&format!("SELECT pg_advisory_lock({KEY})::text"), &[&process]).map(drop)
}

impl Postgres {
    pub(super) fn enlist_process(&self) -> Result<Process> {
        let id = self.write(|tx| {
            let row = tx.query_one(
                "INSERT INTO market_processes (started) VALUES ($1) RETURNING id",
                &[&Timestamp::now().0],
            )?;
            Ok(row.try_get::<_, i64>(0)?)
        })?;
        let locked = self.pool.dedicated().and_then(|mut connection| {
            take(&mut connection, id)?;
            Ok(connection)
        });
        let connection = locked.map_err(|fault| self.explain(fault, "register this process"))?;
        let lock = SessionLock { process: id, connection: Mutex::new(connection) };
        Ok(Process { id, lock: Box::new(lock) })
    }

    /// Decides whether a call may run. A process whose lock is gone takes it again first: others
    /// would release the hold as that of a process that ended.
    pub(super) fn begin_hold(&self, process: &Process, hold: &NewHold) -> Result<Admission> {
        // Without its capture a hold is worth nothing, and the capture is durable.
        let begun = self.write_lightly(|tx| {
            let sql = format!("SELECT pg_try_advisory_xact_lock_shared({KEY})");
            let is_free: bool = tx.query_one(&sql, &[&process.id])?.try_get(0)?;
            match is_free {
                true => Ok(None),
                false => holds::begin(tx, process.id, hold).map(Some),
            }
        })?;
        if let Some(begun) = begun {
            return Ok(begun);
        }
        if let Some(lock) = process.lock.downcast_ref::<SessionLock>() {
            lock.renew(|| self.pool.dedicated())
                .map_err(|fault| self.explain(fault, "register this process"))?;
        }
        self.write_lightly(|tx| holds::begin(tx, process.id, hold))
    }

    pub(super) fn release_holds_of_the_dead(&self) -> Result<usize> {
        let processes: Vec<i64> = self.read(|db| {
            db.query("SELECT DISTINCT process FROM holds", &[])?
                .iter()
                .map(|row| Ok(row.try_get(0)?))
                .collect()
        })?;
        let mut released = 0;
        for process in processes {
            released += self.write(|tx| {
                let sql = format!("SELECT pg_try_advisory_xact_lock({KEY})");
                let is_dead: bool = tx.query_one(&sql, &[&process])?.try_get(0)?;
                if !is_dead {
                    return Ok(0);
                }
                let mut released = 0;
                for row in tx.query("SELECT id FROM holds WHERE process = $1", &[&process])? {
                    let hold = HoldId(row.try_get(0)?);
                    released += usize::from(holds::release(tx, hold, Outcome::Abandoned, 0)?);
                }
                Ok(released)
            })?;
        }
        Ok(released)
    }
}
