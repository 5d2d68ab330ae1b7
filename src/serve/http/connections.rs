//! The open TCP connections. When there are too many, the oldest that never carried a valid token
//! makes room, so that idle strangers cannot lock the owner out.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use tokio_util::sync::CancellationToken;

/// One connection, as its requests see it.
pub struct Connection {
    id: u64,
    pub address: IpAddr,
    /// Whether a request on it had a valid token.
    known: AtomicBool,
    /// When the answer that is being sent must have been taken.
    deadline: Mutex<Option<Instant>>,
    /// Closes the connection at once.
    pub ending: CancellationToken,
}

impl Connection {
    pub fn set_known(&self) {
        self.known.store(true, Ordering::Relaxed);
    }

    pub fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    fn is_overdue(&self, now: Instant) -> bool {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        deadline.is_some_and(|deadline| now > deadline)
    }
}

/// All open connections, oldest first.
pub struct Connections {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    by_age: BTreeMap<u64, Arc<Connection>>,
}

impl Connections {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection, closing another where there are too many. `None`: every one of them
    /// carried a valid token.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Entry> {
        let mut open = self.lock();
        if open.by_age.len() >= self.most && !close_oldest_stranger(&mut open) {
            return None;
        }
        open.last += 1;
        let connection = Arc::new(Connection {
            id: open.last,
            address,
            known: AtomicBool::new(false),
            deadline: Mutex::default(),
            ending: CancellationToken::new(),
        });
        open.by_age.insert(connection.id, connection.clone());
        Some(Entry { connections: self.clone(), connection })
    }

    /// Closes the oldest connection without a token, when the system has no file handle left.
    pub fn make_room(&self) -> bool {
        close_oldest_stranger(&mut self.lock())
    }

    /// Closes connections whose client does not take its answer.
    pub fn close_overdue(&self) {
        let now = Instant::now();
        for connection in self.lock().by_age.values().filter(|one| one.is_overdue(now)) {
            connection.ending.cancel();
        }
    }

    pub fn close_all(&self) {
        for connection in self.lock().by_age.values() {
            connection.ending.cancel();
        }
    }

    pub fn count(&self) -> usize {
        self.lock().by_age.len()
    }
}

fn close_oldest_stranger(open: &mut Open) -> bool {
    let stranger = open.by_age.values().find(|one| !one.known.load(Ordering::Relaxed)).cloned();
    let Some(stranger) = stranger else { return false };
    stranger.ending.cancel();
    open.by_age.remove(&stranger.id);
    true
}

/// A connection in the list; dropping it takes it out.
pub struct Entry {
    connections: Arc<Connections>,
    pub connection: Arc<Connection>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.connections.lock().by_age.remove(&self.connection.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_makes_room() {
        let connections = Connections::new(2);
        let address = IpAddr::from([127, 0, 0, 1]);
        let owner = connections.admit(address).unwrap();
        owner.connection.set_known();
        let stranger = connections.admit(address).unwrap();
        let newer = connections.admit(address).unwrap();
        assert!(stranger.connection.ending.is_cancelled());
        assert!(!owner.connection.ending.is_cancelled());
        newer.connection.set_known();
        assert!(connections.admit(address).is_none(), "both carried a token");
        drop(newer);
        assert_eq!(connections.count(), 1);
        assert!(connections.admit(address).is_some());
    }
}
