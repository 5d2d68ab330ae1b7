//! One transaction. The writer of a library is alone in it: the row of the library is locked from
//! the beginning, so that what it reads is still so when it writes, and positions of the change
//! log are given in the order of commit.

use std::ops::{Deref, DerefMut};

use super::{connection::Connection, fault::Fault};
use crate::domain::Error;

/// An open transaction; rolled back when it is dropped without a commit.
pub(super) struct Transaction<'a> {
    connection: &'a mut Connection,
    /// The library's number.
    pub(super) library: i64,
    /// The newest position that this transaction gave.
    head: Option<i64>,
    open: bool,
}

/// The numbers of new items, and the positions at which the change log has them.
pub(super) struct NewItems {
    pub(super) pids: Vec<i64>,
    pub(super) positions: Vec<i64>,
}

/// Begins a write. A `light` commit may be lost in a crash of the server, and only then.
pub(super) fn begin_write(library: i64, light: bool) -> String {
    let light = if light { "SET LOCAL synchronous_commit = off;" } else { "" };
    format!("BEGIN; {light} SELECT 1 FROM libraries WHERE id = {library} FOR NO KEY UPDATE")
}

/// Begins a read as of one moment.
pub(super) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

impl<'a> Transaction<'a> {
    /// Begins a transaction with these statements.
    pub(super) fn begin(
        connection: &'a mut Connection,
        library: i64,
        sql: &str,
    ) -> Result<Self, Fault> {
        let begun = connection.batch(sql);
        Self::begun(connection, library, begun)
    }

    /// A transaction that was begun, or an attempt that is rolled back.
    pub(super) fn begun(
        connection: &'a mut Connection,
        library: i64,
        begun: Result<(), Fault>,
    ) -> Result<Self, Fault> {
        connection.take_failed();
        let transaction = Self { connection, library, head: None, open: true };
        begun.map(|()| transaction)
    }

    /// Gives the item the next position of the change log.
    pub(super) fn log(&mut self, pid: i64) -> Result<(), Fault> {
        let library = self.library;
        let row = self.connection.query_one(
            "WITH moved AS (UPDATE libraries SET head = head + 1 WHERE id = $2 RETURNING head)
             INSERT INTO changes (pid, seq) SELECT $1, head FROM moved
             ON CONFLICT (lib, pid) DO UPDATE SET seq = excluded.seq RETURNING seq",
            &[&pid, &library],
        )?;
        self.head = Some(row.try_get(0)?);
        Ok(())
    }

    /// Gives numbers and positions of the change log to items that are new.
    pub(super) fn add_items(&mut self, count: usize) -> Result<NewItems, Fault> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let library = self.library;
        let row = self.connection.query_one(
            "UPDATE libraries SET last_pid = last_pid + $2, head = head + $2 WHERE id = $1
             RETURNING last_pid, head",
            &[&library, &count],
        )?;
        let (pid, head): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        self.head = Some(head);
        Ok(NewItems {
            pids: (pid - count + 1..=pid).collect(),
            positions: (head - count + 1..=head).collect(),
        })
    }

    /// Makes the changes durable, and wakes those who follow the log.
    pub(super) fn commit(mut self) -> Result<(), Fault> {
        if self.connection.take_failed() {
            // The server would answer COMMIT with a silent ROLLBACK.
            return Err(Fault::Refused(Error::internal(
                "a statement of a change failed, and the change went on: nothing was changed",
            )));
        }
        if let Some(head) = self.head {
            let library = self.library;
            let wake = format!("{library}:{head}");
            self.connection.execute("SELECT pg_notify('nw', $1)", &[&wake])?;
        }
        self.open = false;
        self.connection.batch("COMMIT").map_err(|fault| match fault {
            fault if fault.breaks() => {
                self.connection.give_up();
                Fault::Unknown
            }
            fault => fault,
        })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open && !self.connection.is_broken() && self.connection.batch("ROLLBACK").is_err() {
            self.connection.give_up();
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}
