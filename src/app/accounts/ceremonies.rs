//! Ceremonies that were begun and not finished: what the server remembers between its challenge and
//! the authenticator's answer. In memory and bounded: a restart forgets it.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::brakes::Key;

/// How long a person has for one ceremony.
const LIFETIME: Duration = Duration::from_secs(5 * 60);
/// Open ceremonies of one address. One more ends its oldest, so that a flood ends only its own.
const MAX_OF_ADDRESS: usize = 20;
/// Open ceremonies of all addresses. One more ends the oldest.
const MAX_OPEN: usize = 2_000;

struct Open<T> {
    state: T,
    from: Key,
    begun: Instant,
}

/// Open ceremonies, each of which can be finished once.
pub(super) struct Ceremonies<K, T> {
    open: Mutex<HashMap<K, Open<T>>>,
}

impl<K, T> Default for Ceremonies<K, T> {
    fn default() -> Self {
        Self { open: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone, T> Ceremonies<K, T> {
    /// Begins a ceremony. An open one with the same key ends.
    pub fn begin(&self, key: K, state: T, from: IpAddr, now: Instant) {
        let from = Key::address(from);
        let mut open = self.lock();
        open.retain(|_, one| is_open(one, now));
        let of_address = |one: &Open<T>| one.from == from;
        if open.values().filter(|one| of_address(one)).count() >= MAX_OF_ADDRESS {
            end_oldest(&mut open, of_address);
        }
        if open.len() >= MAX_OPEN {
            end_oldest(&mut open, |_| true);
        }
        open.insert(key, Open { state, from, begun: now });
    }

    /// Ends a ceremony. `None` when there is none with this key, or it took too long.
    pub fn take(&self, key: &K, now: Instant) -> Option<T> {
        let one = self.lock().remove(key)?;
        is_open(&one, now).then_some(one.state)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Open<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_open<T>(one: &Open<T>, now: Instant) -> bool {
    now.saturating_duration_since(one.begun) < LIFETIME
}

fn end_oldest<K: Eq + Hash + Clone, T>(
    open: &mut HashMap<K, Open<T>>,
    which: impl Fn(&Open<T>) -> bool,
) {
    let candidates = open.iter().filter(|(_, one)| which(one));
    let oldest = candidates.min_by_key(|(_, one)| one.begun).map(|(key, _)| key.clone());
    if let Some(key) = oldest {
        open.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_ceremony_is_finished_once_and_in_time() {
        let ceremonies = Ceremonies::default();
        let start = Instant::now();
        ceremonies.begin(1, "one", HERE, start);
        ceremonies.begin(2, "two", HERE, start);
        assert_eq!(ceremonies.take(&1, start), Some("one"));
        assert_eq!(ceremonies.take(&1, start), None);
        assert_eq!(ceremonies.take(&2, start + LIFETIME), None);
        ceremonies.begin(3, "old", HERE, start);
        ceremonies.begin(3, "new", HERE, start);
        assert_eq!(ceremonies.take(&3, start), Some("new"));
    }

    #[test]
    fn a_flood_ends_only_ceremonies_of_its_own_address() {
        let ceremonies = Ceremonies::default();
        let start = Instant::now();
        ceremonies.begin(0, (), HERE, start);
        for number in 1..=500 {
            let now = start + Duration::from_millis(number);
            ceremonies.begin(number, (), [10, 0, 0, 1].into(), now);
        }
        assert_eq!(ceremonies.lock().len(), 1 + MAX_OF_ADDRESS);
        assert!(ceremonies.take(&0, start).is_some());
        assert!(ceremonies.take(&500, start).is_some());
        assert!(ceremonies.take(&1, start).is_none());
    }

    #[test]
    fn the_number_of_ceremonies_is_bounded() {
        let ceremonies = Ceremonies::default();
        let start = Instant::now();
        for number in 0..MAX_OPEN as u32 + 50 {
            let now = start + Duration::from_millis(number.into());
            ceremonies.begin(number, (), Ipv4Addr::from(number).into(), now);
        }
        assert_eq!(ceremonies.lock().len(), MAX_OPEN);
        assert!(ceremonies.take(&49, start).is_none());
        assert!(ceremonies.take(&50, start).is_some());
    }
}
