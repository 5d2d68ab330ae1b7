//! What slows down guessing of passwords, set-up codes and tokens. In memory and bounded: a restart
//! forgets it.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::domain::{Error, count, network_of};

/// Wrong passwords for one user before the first delay.
const FREE_FOR_USER: u32 = 5;
/// Wrong passwords from one address before the first delay: several people may share one.
const FREE_FOR_ADDRESS: u32 = 20;
const LONGEST_DELAY: Duration = Duration::from_secs(15 * 60);
/// A key without a failure for this long starts anew.
const MEMORY: Duration = Duration::from_secs(60 * 60);
/// How many keys are remembered.
const MAX_KEYS: usize = 10_000;

/// Wrong tokens from one address in a minute before it is refused without a look.
const TOKENS_PER_MINUTE: u32 = 30;
const MINUTE: Duration = Duration::from_secs(60);

/// What attempts are counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Network(IpAddr),
    User(String),
}

impl Key {
    /// The key of an address: its network.
    pub fn address(from: IpAddr) -> Self {
        Self::Network(network_of(from))
    }

    fn free(&self) -> u32 {
        match self {
            Key::Network(_) => FREE_FOR_ADDRESS,
            Key::User(_) => FREE_FOR_USER,
        }
    }
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
    /// Attempts before this are refused.
    until: Instant,
}

#[derive(Clone, Copy)]
struct Minute {
    wrong: u32,
    began: Instant,
}

#[derive(Default)]
pub(super) struct Brakes {
    failures: Mutex<HashMap<Key, Failures>>,
    tokens: Mutex<HashMap<Key, Minute>>,
}

impl Brakes {
    /// Counts an attempt for every key, as a failure until `succeeded` says otherwise: attempts at
    /// the same time cannot slip through together. The error is how long to wait.
    pub fn attempt(&self, keys: &[Key], now: Instant) -> Result<(), Duration> {
        let mut failures = lock(&self.failures);
        let wait = keys.iter().filter_map(|key| failures.get(key)).map(|one| one.until).max();
        if let Some(wait) = wait.map(|until| until.saturating_duration_since(now))
            && !wait.is_zero()
        {
            return Err(wait);
        }
        for key in keys {
            make_room(&mut failures, key, now, |one| one.last, MEMORY);
            let fresh = Failures { count: 0, last: now, until: now };
            let one = failures.entry(key.clone()).or_insert(fresh);
            if now.saturating_duration_since(one.last) > MEMORY {
                *one = fresh;
            }
            one.count = one.count.saturating_add(1);
            one.last = now;
            one.until = now + delay(one.count, key.free());
        }
        Ok(())
    }

    /// The attempt succeeded. The user starts anew; an address only gets this attempt back, so that
    /// nobody clears it with an account of their own.
    pub fn succeeded(&self, keys: &[Key]) {
        let mut failures = lock(&self.failures);
        for key in keys {
            match (key, failures.get_mut(key)) {
                (Key::Network(_), Some(one)) if one.count > 1 => {
                    one.count -= 1;
                    one.until = one.last + delay(one.count, key.free());
                }
                _ => {
                    failures.remove(key);
                }
            }
        }
    }

    /// Counts a wrong token. True for the one with which the address reaches its limit.
    pub fn wrong_token(&self, from: IpAddr, now: Instant) -> bool {
        let mut tokens = lock(&self.tokens);
        let key = Key::address(from);
        make_room(&mut tokens, &key, now, |one| one.began, MINUTE);
        let fresh = Minute { wrong: 0, began: now };
        let one = tokens.entry(key).or_insert(fresh);
        if now.saturating_duration_since(one.began) >= MINUTE {
            *one = fresh;
        }
        one.wrong = one.wrong.saturating_add(1);
        one.wrong == TOKENS_PER_MINUTE
    }

    /// How long an address that sent too many wrong tokens has to wait.
    pub fn token_wait(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let one = *lock(&self.tokens).get(&Key::address(from))?;
        let rest = MINUTE.saturating_sub(now.saturating_duration_since(one.began));
        (one.wrong >= TOKENS_PER_MINUTE && !rest.is_zero()).then_some(rest)
    }
}

/// No delay for the first failures, then 1 s, 2 s, 4 s and so on.
fn delay(failures: u32, free: u32) -> Duration {
    match failures.checked_sub(free) {
        None => Duration::ZERO,
        Some(more) => {
            Duration::from_secs(1_u64.checked_shl(more).unwrap_or(u64::MAX)).min(LONGEST_DELAY)
        }
    }
}

/// Forgets old keys, and the oldest, where a new key would be one too many.
fn make_room<T: Copy>(
    map: &mut HashMap<Key, T>,
    key: &Key,
    now: Instant,
    last: impl Fn(&T) -> Instant,
    memory: Duration,
) {
    if map.len() < MAX_KEYS || map.contains_key(key) {
        return;
    }
    map.retain(|_, one| now.saturating_duration_since(last(one)) <= memory);
    if map.len() >= MAX_KEYS {
        // A tenth at once, so that a flood of keys does not look for the oldest every time.
        let mut ages: Vec<Instant> = map.values().map(&last).collect();
        ages.sort_unstable();
        let oldest = ages.get(MAX_KEYS / 10).copied().unwrap_or(now);
        map.retain(|_, one| last(one) > oldest);
    }
}

fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of an attempt that came too early.
pub(super) fn too_early(what: &str, wait: Duration) -> Error {
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    let wait = count(seconds, "second");
    Error::limit(format!("too many wrong {what}; try again in {wait}"))
        .with_data(json!({ "retry_after_seconds": seconds }))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn user() -> [Key; 1] {
        [Key::User("mira".to_owned())]
    }

    #[test]
    fn the_delay_grows_and_success_ends_it() {
        let brakes = Brakes::default();
        let mut now = Instant::now();
        for _ in 0..FREE_FOR_USER {
            brakes.attempt(&user(), now).unwrap();
        }
        let mut waits = Vec::new();
        for _ in 0..12 {
            let wait = brakes.attempt(&user(), now).unwrap_err();
            waits.push(wait.as_secs());
            now += wait;
            brakes.attempt(&user(), now).unwrap();
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        assert!(brakes.attempt(&[Key::User("ann".to_owned())], now).is_ok(), "others go on");
        brakes.succeeded(&user());
        assert!(brakes.attempt(&user(), now).is_ok());
    }

    #[test]
    fn a_success_gives_an_address_one_attempt_back() {
        let brakes = Brakes::default();
        let now = Instant::now();
        let address = [Key::address([10, 0, 0, 1].into())];
        for _ in 0..FREE_FOR_ADDRESS - 1 {
            brakes.attempt(&address, now).unwrap();
        }
        for _ in 0..50 {
            brakes.attempt(&address, now).unwrap();
            brakes.succeeded(&address);
        }
        brakes.attempt(&address, now).unwrap();
        assert!(brakes.attempt(&address, now).is_err());
    }

    #[test]
    fn wrong_tokens_are_refused_for_the_rest_of_the_minute() {
        let brakes = Brakes::default();
        let now = Instant::now();
        let from: IpAddr = [10, 0, 0, 1].into();
        let reached: Vec<bool> =
            (0..TOKENS_PER_MINUTE).map(|_| brakes.wrong_token(from, now)).collect();
        assert_eq!(reached.iter().filter(|reached| **reached).count(), 1);
        assert!(brakes.token_wait(from, now).is_some());
        assert!(brakes.token_wait([10, 0, 0, 2].into(), now).is_none());
        assert!(brakes.token_wait(from, now + MINUTE).is_none());
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let brakes = Brakes::default();
        let start = Instant::now();
        for number in 0..MAX_KEYS as u32 + 500 {
            let now = start + Duration::from_millis(u64::from(number));
            let key = Key::Network(Ipv6Addr::from(u128::from(number) << 64).into());
            brakes.attempt(&[key], now).unwrap();
        }
        let known = lock(&brakes.failures).len();
        assert!(known <= MAX_KEYS && known > MAX_KEYS / 2, "{known}");
    }
}
