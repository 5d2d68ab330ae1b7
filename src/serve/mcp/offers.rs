//! The lists that were last sent to each caller. A change of the library wakes every connection;
//! those with the same rights share one listing, and listings take turns, so that thousands of idle
//! streams leave the threads to the requests.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::notices::Lists;
use crate::app::rights::Rights;

/// Listings at once.
const TURNS: usize = 2;

/// How long a listing is shared while no event came: grants change without one.
const FRESH: Duration = Duration::from_secs(1);

/// How many callers' lists are remembered.
const MAX_CALLERS: usize = 256;

/// One listing: for whom, after how many events, when.
struct Listing {
    rights: Rights,
    events: u64,
    at: Instant,
    lists: Lists,
}

/// Listings that connections share.
pub(super) struct Offers {
    events: AtomicU64,
    turns: Semaphore,
    listings: Mutex<Vec<Listing>>,
}

impl Default for Offers {
    fn default() -> Self {
        Self { events: AtomicU64::new(0), turns: Semaphore::new(TURNS), listings: Mutex::default() }
    }
}

impl Offers {
    /// Counts an event: what was listed before it may have changed.
    pub(super) fn count_event(&self) {
        self.events.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of events so far.
    pub(super) fn events(&self) -> u64 {
        self.events.load(Ordering::SeqCst)
    }

    /// Waits for the turn to list.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// What a caller with the same rights was offered, if nothing happened since.
    pub(super) fn known(&self, rights: &Rights) -> Option<Lists> {
        let events = self.events();
        let listings = self.lock();
        let listing = listings.iter().find(|listing| listing.rights == *rights)?;
        (listing.events == events && listing.at.elapsed() < FRESH).then_some(listing.lists)
    }

    /// Remembers a listing that began when there had been so many events.
    pub(super) fn remember(&self, rights: &Rights, events: u64, lists: Lists) {
        let mut listings = self.lock();
        listings.retain(|listing| listing.rights != *rights);
        if listings.len() >= MAX_CALLERS {
            listings.remove(0);
        }
        listings.push(Listing { rights: rights.clone(), events, at: Instant::now(), lists });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Listing>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Toolsets, domain::Caller};

    #[test]
    fn a_look_is_shared_by_equal_rights_until_the_next_event() {
        let offers = Offers::default();
        let rights = |caller| Rights::new(caller, &Toolsets::default());
        let lists = Lists::of(1, 2, 3);
        let events = offers.events();
        offers.remember(&rights(Caller::Owner), events, lists);
        assert_eq!(offers.known(&rights(Caller::Owner)), Some(lists));
        assert_eq!(offers.known(&rights(Caller::Anonymous)), None);
        offers.count_event();
        assert_eq!(offers.known(&rights(Caller::Owner)), None);
        // A listing that began before the event says nothing about what came with it.
        offers.remember(&rights(Caller::Owner), events, lists);
        assert_eq!(offers.known(&rights(Caller::Owner)), None);
    }
}
