//! How many calls one caller may make in a minute.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;

use super::link::{Identity, Link};
use crate::{
    app::rights::Right,
    domain::{Error, Result, UserId, count},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Beyond this many callers, those who made no call for a minute are forgotten.
const MANY: usize = 1024;

/// They are looked for this often at most: everybody waits meanwhile.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Who is counted: the tokens of one user together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    User(UserId),
    Other(Identity),
}

/// What a caller may still do, and as of when.
#[derive(Clone, Copy)]
struct Allowance {
    calls: f64,
    at: Instant,
}

/// Allowances that fill up again with time, so that calls may come in bursts.
pub struct Pace {
    per_minute: u32,
    callers: Mutex<Callers>,
}

#[derive(Default)]
struct Callers {
    allowances: HashMap<Key, Allowance>,
    /// When it was last looked for those to forget.
    looked: Option<Instant>,
}

impl Callers {
    /// Forgets, where there are many, who made no call for a minute.
    fn forget_the_gone(&mut self, now: Instant) {
        let age = |at: Instant| now.saturating_duration_since(at);
        let is_time = self.looked.is_none_or(|looked| age(looked) >= BETWEEN_LOOKS);
        if self.allowances.len() >= MANY && is_time {
            self.looked = Some(now);
            self.allowances.retain(|_, one| age(one.at) < MINUTE);
        }
    }
}

impl Pace {
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, callers: Mutex::default() }
    }

    /// Counts a call of a caller who is not the owner.
    pub fn take(&self, link: &Link, now: Instant) -> Result<()> {
        if link.rights.may(Right::ReservedCapacity) {
            return Ok(());
        }
        let user = link.rights.user().and_then(|user| user.id);
        let key = user.map_or_else(|| Key::Other(link.identity.clone()), Key::User);
        let most = f64::from(self.per_minute);
        let a_second = most / MINUTE.as_secs_f64();
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if !callers.allowances.contains_key(&key) {
            callers.forget_the_gone(now);
        }
        let one = callers.allowances.entry(key).or_insert(Allowance { calls: most, at: now });
        let passed = now.saturating_duration_since(one.at).as_secs_f64();
        one.calls = (one.calls + passed * a_second).min(most);
        one.at = now;
        if one.calls >= 1.0 {
            one.calls -= 1.0;
            return Ok(());
        }
        let wait = (((1.0 - one.calls) / a_second).ceil() as u64).max(1);
        Err(Error::limit(format!(
            "this caller made as many calls as `limits.calls_per_minute` ({}) allows; try again in {}",
            self.per_minute,
            count(wait, "second")
        ))
        .with_data(json!({ "retry_after_seconds": wait })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::rights::Rights,
        config,
        domain::{
            Caller, Scopes,
            user::{Role, User},
        },
    };

    fn link(token: i64, user: i64, role: Role) -> Link {
        let user = User {
            id: Some(UserId(user)),
            name: "ann".to_owned(),
            role,
            grants: [].into(),
            scopes: Scopes::ALL,
        };
        let rights = Rights::new(Caller::User(user), &config::Toolsets::default());
        Link { identity: Identity::Token(token), ..Link::of(rights) }
    }

    #[test]
    fn the_tokens_of_a_user_count_together_and_the_owner_is_not_counted() {
        let pace = Pace::new(4);
        let now = Instant::now();
        let (phone, laptop) = (link(1, 7, Role::Reader), link(2, 7, Role::Reader));
        for link in [&phone, &laptop, &phone, &laptop] {
            pace.take(link, now).unwrap();
        }
        let error = pace.take(&phone, now).unwrap_err();
        assert!(error.message.contains("calls_per_minute"), "{error}");
        assert_eq!(error.data.unwrap()["retry_after_seconds"], 15);
        assert!(pace.take(&laptop, now + Duration::from_secs(14)).is_err());
        assert!(pace.take(&laptop, now + Duration::from_secs(16)).is_ok());
        pace.take(&link(3, 8, Role::Reader), now).unwrap();
        for _ in 0..20 {
            pace.take(&link(4, 9, Role::Owner), now).unwrap();
        }
    }

    #[test]
    fn callers_who_are_gone_are_forgotten() {
        let pace = Pace::new(1);
        let now = Instant::now();
        for user in 0..5000_i64 {
            let later = now + Duration::from_millis(user.unsigned_abs() * 100);
            pace.take(&link(1, user, Role::Reader), later).unwrap();
        }
        assert!(remembered(&pace) <= MANY);
    }

    #[test]
    fn a_flood_of_callers_does_not_look_for_the_gone_at_each_call() {
        let pace = Pace::new(1);
        let start = Instant::now();
        let many = i64::try_from(MANY).unwrap();
        let call = |user, ms| {
            let now = start + Duration::from_millis(ms);
            pace.take(&link(1, user, Role::Reader), now).unwrap();
        };
        (0..many).for_each(|user| call(user, 0));
        (many..2 * many).for_each(|user| call(user, 500));
        call(-1, 60_100);
        assert_eq!(remembered(&pace), MANY + 1, "the first were gone");
        call(-2, 60_700);
        assert_eq!(remembered(&pace), MANY + 2, "the others wait for the next look");
        call(-3, 61_100);
        assert_eq!(remembered(&pace), 3);
    }

    #[test]
    fn callers_without_a_token_count_by_their_network() {
        let pace = Pace::new(2);
        let now = Instant::now();
        let stranger = |address: &str| Link {
            identity: Identity::of_address(address.parse().unwrap()),
            ..Link::of(Rights::new(Caller::Anonymous, &config::Toolsets::default()))
        };
        pace.take(&stranger("2001:db8::1"), now).unwrap();
        pace.take(&stranger("2001:db8::2"), now).unwrap();
        assert!(pace.take(&stranger("2001:db8::3"), now).is_err());
        assert!(pace.take(&stranger("2001:db8:0:1::3"), now).is_ok());
    }

    fn remembered(pace: &Pace) -> usize {
        pace.callers.lock().unwrap().allowances.len()
    }
}
