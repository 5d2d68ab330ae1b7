//! The server database: PostgreSQL, for a library that several processes on several machines
//! share. One database holds many libraries; row-level security shows each session one of them.
//!
//! Statements read like those of `sqlite`: the session knows its library, so none names it. Reads
//! are one statement where they can be, for each is a round trip.

mod address;
mod audit;
mod bookmarks;
mod cards;
mod connection;
mod copy;
mod counts;
mod fault;
mod hosted;
mod items;
mod ledger;
mod listen;
mod mirror;
mod oauth;
mod pages;
mod payments;
mod pool;
mod prompts;
mod reports;
mod revisions;
mod schema;
mod sessions;
mod tasks;
mod tls;
mod tokens;
mod transaction;
mod usage;
mod users;
mod value;
mod vectors;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_postgres::Row;

pub use address::Address;
pub use fault::is_away;
pub use listen::{Lease, Listener, WaitEnd};
pub use prompts::PostgresPrompts;

use self::{
    connection::Connection,
    fault::Fault,
    pool::Pool,
    transaction::{BEGIN_SNAPSHOT, Transaction},
};
use crate::{
    domain::{Error, Pid, Result},
    store::Caches,
};

/// A library in a PostgreSQL database.
///
/// Its functions block. Call them where SQLite's are called, on the blocking pool.
pub struct Postgres {
    address: Address,
    pool: Pool,
    /// The number of the library's row.
    library: i64,
    /// Writers outside this database: one at a time.
    turn: Mutex<()>,
    /// Transactions of this process that may have changed something.
    writes: AtomicU64,
}

/// Rows are not kept, and an idle connection costs little.
impl Caches for Postgres {}

impl Postgres {
    /// Connects, migrates the schema, and makes the library if there is none of that name. Each
    /// statement may take `limit`; up to `idle` connections are kept.
    pub fn open(address: &Address, limit: Duration, idle: usize) -> Result<Self> {
        let pool = Pool::new(address, limit, idle)?;
        let prepared = || -> Result<i64, Fault> {
            let mut session = pool.dedicated()?;
            let library = schema::prepare(&mut session, address)?;
            session.batch(&library.session)?;
            pool.set_session(library.session);
            pool.adopt(session);
            Ok(library.id)
        };
        let library = prepared().map_err(|fault| fault::explain(fault, address, "open it"))?;
        Ok(Self {
            address: address.clone(),
            pool,
            library,
            writes: AtomicU64::new(0),
            turn: Mutex::default(),
        })
    }

    /// Since when the server is away, and why; `None` while it answers.
    pub fn absence(&self) -> Option<(Instant, String)> {
        self.pool.absence()
    }

    /// Reads with statements that stand for themselves. Tried again once when an idle connection
    /// turns out to be dead.
    fn read<T>(&self, work: impl Fn(&mut Connection) -> Result<T, Fault>) -> Result<T> {
        self.attempt(work).map_err(|fault| self.explain(fault, "read it"))
    }

    /// Reads with several statements as of one moment.
    fn snapshot<T>(&self, work: impl Fn(&mut Connection) -> Result<T, Fault>) -> Result<T> {
        self.read(|connection| {
            let mut transaction = Transaction::begin(connection, self.library, BEGIN_SNAPSHOT)?;
            work(&mut transaction)
        })
    }

    /// How many transactions of this process may have changed something.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Acquire)
    }

    /// Runs one transaction beside the writers of the library, for what is in no log and can be
    /// made again. Tried again once, as a read is.
    fn write_aside<T>(&self, work: impl Fn(&mut Connection) -> Result<T, Fault>) -> Result<T> {
        self.read(|connection| {
            let begin = "BEGIN; SET LOCAL synchronous_commit = off";
            let mut transaction = Transaction::begin(connection, self.library, begin)?;
            let value = work(&mut transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    /// Runs one write transaction: durable when this returns.
    fn write<T>(&self, work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Fault>) -> Result<T> {
        self.transact(false, work)
    }

    /// Runs one write transaction that every process sees at once, and that a crash of the server
    /// may take away. For what is worth nothing without a later write.
    fn write_lightly<T>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T> {
        self.transact(true, work)
    }

    fn transact<T>(
        &self,
        light: bool,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T> {
        let transacted = || {
            let begin = transaction::begin_write(self.library, light);
            let mut lent = self.pool.take()?;
            let mut begun = lent.get()?.batch(&begin);
            // Nothing was done yet when an idle connection is dead at the beginning.
            if lent.was_idle && begun.as_ref().is_err_and(Fault::is_worth_another_connection) {
                lent = self.pool.replace(lent)?;
                begun = lent.get()?.batch(&begin);
            }
            let mut transaction = Transaction::begun(lent.get()?, self.library, begun)?;
            let value = work(&mut transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let transacted = transacted();
        // Also after a failure: nobody knows what became of an interrupted commit.
        self.writes.fetch_add(1, Ordering::AcqRel);
        transacted
            .inspect_err(|fault| self.pool.note(fault))
            .map_err(|fault| self.explain(fault, "write to it"))
    }

    fn attempt<T>(&self, work: impl Fn(&mut Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut lent = self.pool.take()?;
        let done = work(lent.get()?);
        let done = match done {
            Err(fault) if lent.was_idle && fault.is_worth_another_connection() => {
                work(self.pool.replace(lent)?.get()?)
            }
            done => done,
        };
        done.inspect_err(|fault| self.pool.note(fault))
    }

    fn explain(&self, fault: Fault, what: &str) -> Error {
        fault::explain(fault, &self.address, what)
    }

    /// Reads the rows of `pids` with one statement, in the order asked for. `select` begins the
    /// statement, given the table of wanted numbers (`wanted.value`) to join with.
    fn read_many<T>(
        &self,
        pids: &[Pid],
        select: impl Fn(&str) -> String,
        row: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<T>> {
        if pids.is_empty() {
            return Ok(Vec::new());
        }
        let numbers: Vec<i64> = pids.iter().map(|pid| pid.0).collect();
        let wanted = "unnest($1::bigint[]) WITH ORDINALITY AS wanted (value, place)";
        let statement = select(wanted) + " ORDER BY wanted.place";
        self.read(|db| db.query(&statement, &[&numbers])?.iter().map(&row).collect())
    }
}
