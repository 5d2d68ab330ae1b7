//! Hearing of changes, and holding what one process of all may do at a time.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::Duration,
};

use super::{Postgres, connection::Connection};
use crate::domain::Result;

/// Why a wait for changes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// Something was written.
    Change,
    /// Time is up.
    TimedOut,
    /// The connection is gone.
    Disconnected,
}

/// A session that hears of every write to the library.
pub struct Listener {
    _connection: Connection,
    news: Receiver<String>,
    /// How a message about this library begins.
    library: String,
}

impl Listener {
    /// Waits for a write, at most this long. Those that came one upon the other are one.
    pub fn wait(&self, at_most: Duration) -> WaitEnd {
        let deadline = std::time::Instant::now() + at_most;
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            match self.news.recv_timeout(left) {
                Ok(message) if message.starts_with(&self.library) => {
                    while self.news.try_recv().is_ok() {}
                    return WaitEnd::Change;
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return WaitEnd::TimedOut,
                Err(RecvTimeoutError::Disconnected) => return WaitEnd::Disconnected,
            }
        }
    }
}

/// The right to do something that one process of all may do at a time. The server takes it back
/// when the connection ends.
pub struct Lease {
    connection: Mutex<Connection>,
}

impl Lease {
    /// Whether it is still held.
    pub fn is_held(&self) -> bool {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.query_one("SELECT 1", &[]).is_ok()
    }
}

impl Postgres {
    /// Begins to listen.
    pub fn listen(&self) -> Result<Listener> {
        let (send, news) = channel();
        let listening = || {
            let mut connection = self.pool.listening(send)?;
            connection.batch("LISTEN nw")?;
            Ok(connection)
        };
        let connection = listening().map_err(|fault| self.explain(fault, "listen to it"))?;
        Ok(Listener { _connection: connection, news, library: format!("{}:", self.library) })
    }

    /// Takes a lease, or `None` while another process has it.
    pub fn lease(&self, name: &str) -> Result<Option<Lease>> {
        let take = || {
            let mut connection = self.pool.dedicated()?;
            let row = connection.query_one(
                "SELECT pg_try_advisory_lock(hashtextextended(
                     'notewell:lease:' || current_setting('nw.lib') || ':' || $1::text, 0))",
                &[&name],
            )?;
            Ok(row.try_get::<_, bool>(0)?.then_some(connection))
        };
        let held = take().map_err(|fault| self.explain(fault, "take a lease"))?;
        Ok(held.map(|connection| Lease { connection: Mutex::new(connection) }))
    }
}
