//! News that connections pass on to their clients.

use std::sync::{Mutex, PoisonError};

/// A change that connections may announce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The list of tools changed (a page became a method, or stopped being one).
    Tools,
    /// The list of prompts changed.
    Prompts,
    /// The list of resources changed.
    Resources,
    /// One resource's content changed.
    Resource(String),
}

type Listener = Box<dyn Fn(&Event) + Send + Sync>;

/// Listeners of changes.
#[derive(Default)]
pub struct Events(Mutex<Vec<Listener>>);

impl Events {
    /// Listeners live as long as the library is open.
    pub fn subscribe(&self, listener: impl Fn(&Event) + Send + Sync + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(listener));
    }

    /// Calls every listener.
    pub fn send(&self, event: &Event) {
        for listener in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(event);
        }
    }
}
