//! Admission: how much of the server one caller may use at once.
//!
//! Requests, event streams and the bytes of request bodies are counted for each caller and in all.
//! A quarter of every total is kept for the owner, so that nobody else can lock them out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    app::rights::Right,
    config,
    domain::{Error, Result},
    serve::mcp::{Identity, Link},
};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Requests,
    Streams,
    Bytes,
}

/// Who asks for a share: callers of one identity are counted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub identity: Identity,
    pub owner: bool,
}

impl Visitor {
    pub fn of(link: &Link) -> Self {
        Self { identity: link.identity.clone(), owner: link.rights.may(Right::ReservedCapacity) }
    }

    /// Whether both are one caller. Callers without a token are alike wherever they call from: an
    /// address may change, and their session's id is all that tells them apart.
    pub fn is_same_caller(&self, other: &Self) -> bool {
        match (&self.identity, &other.identity) {
            (Identity::Network(_), Identity::Network(_)) => true,
            (own, other) => own == other,
        }
    }
}

pub struct Gate {
    limits: config::Limits,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    callers: HashMap<Identity, Counts>,
    guests: Counts,
    all: Counts,
}

type Counts = [usize; 3];

impl Gate {
    pub fn new(limits: &config::Limits) -> Arc<Self> {
        Arc::new(Self { limits: limits.clone(), used: Mutex::default() })
    }

    /// Takes `amount` of a resource until the share is dropped.
    pub fn take(
        self: &Arc<Self>,
        visitor: &Visitor,
        resource: Resource,
        amount: usize,
    ) -> Result<Share> {
        let mut share = Share { gate: self.clone(), visitor: visitor.clone(), resource, amount: 0 };
        share.grow(amount)?;
        Ok(share)
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The total of a resource, and the most of one caller who is not the owner.
    fn limits(&self, resource: Resource) -> (usize, usize) {
        let limits = &self.limits;
        match resource {
            Resource::Requests => (limits.concurrent, limits.concurrent_per_caller),
            Resource::Streams => (limits.streams, limits.streams_per_caller),
            Resource::Bytes => {
                // One body of the largest size fits, whatever the config says.
                let total = limits.buffer_bytes.max(limits.body_bytes.saturating_mul(2));
                (total, total / 2)
            }
        }
    }

    fn refusal(&self, resource: Resource, own: bool) -> Error {
        let (what, total, each) = match resource {
            Resource::Requests => ("requests", "concurrent", "concurrent_per_caller"),
            Resource::Streams => ("event streams", "streams", "streams_per_caller"),
            Resource::Bytes => ("bytes of requests", "buffer_bytes", "buffer_bytes"),
        };
        let (whose, key) = if own { ("this caller has", each) } else { ("the server has", total) };
        Error::limit(format!(
            "{whose} as many {what} open as `limits.{key}` allows; try again in a moment"
        ))
    }
}

/// A part of the server's capacity, given back when dropped.
pub struct Share {
    gate: Arc<Gate>,
    visitor: Visitor,
    resource: Resource,
    amount: usize,
}

impl Share {
    /// Takes `more` of the same resource.
    pub fn grow(&mut self, more: usize) -> Result<()> {
        let (total, each) = self.gate.limits(self.resource);
        let at = self.resource as usize;
        let mut used = self.gate.lock();
        if used.all[at].saturating_add(more) > total {
            return Err(self.gate.refusal(self.resource, false));
        }
        if !self.visitor.owner {
            if used.guests[at].saturating_add(more) > total - total / 4 {
                return Err(self.gate.refusal(self.resource, false));
            }
            let own = used.callers.entry(self.visitor.identity.clone()).or_default();
            if own[at].saturating_add(more) > each {
                return Err(self.gate.refusal(self.resource, true));
            }
            own[at] += more;
            used.guests[at] += more;
        }
        used.all[at] += more;
        self.amount += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let at = self.resource as usize;
        let mut used = self.gate.lock();
        used.all[at] -= self.amount;
        if self.visitor.owner {
            return;
        }
        used.guests[at] -= self.amount;
        if let Some(own) = used.callers.get_mut(&self.visitor.identity) {
            own[at] -= self.amount;
            // Callers who use nothing are forgotten: addresses are many.
            if own.iter().all(|count| *count == 0) {
                used.callers.remove(&self.visitor.identity);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(last: u8) -> Visitor {
        Visitor { identity: Identity::of_address([10, 0, 0, last].into()), owner: false }
    }

    #[test]
    fn a_quarter_is_kept_for_the_owner() {
        let limits =
            config::Limits { concurrent: 8, concurrent_per_caller: 4, ..config::Limits::default() };
        let gate = Gate::new(&limits);
        let take = |visitor: &Visitor| gate.take(visitor, Resource::Requests, 1);
        let mut shares: Vec<Share> = (0..4).map(|_| take(&guest(1)).unwrap()).collect();
        let error = take(&guest(1)).err().unwrap();
        assert!(error.message.contains("concurrent_per_caller"), "{}", error.message);
        shares.extend((0..2).map(|_| take(&guest(2)).unwrap()));
        assert!(take(&guest(3)).is_err(), "six of eight are taken");
        let owner = Visitor { identity: Identity::Token(1), owner: true };
        shares.extend((0..2).map(|_| take(&owner).unwrap()));
        assert!(take(&owner).is_err(), "all eight are taken");
        shares.clear();
        assert!(take(&guest(3)).is_ok());
        assert!(gate.lock().callers.is_empty(), "nobody is remembered");
    }

    #[test]
    fn bytes_are_counted_as_they_arrive() {
        let limits =
            config::Limits { body_bytes: 100, buffer_bytes: 400, ..config::Limits::default() };
        let gate = Gate::new(&limits);
        let mut share = gate.take(&guest(1), Resource::Bytes, 0).unwrap();
        share.grow(150).unwrap();
        assert!(share.grow(51).is_err(), "one caller has half");
        drop(share);
        assert_eq!(gate.lock().all, [0, 0, 0]);
    }
}
