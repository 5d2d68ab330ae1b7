//! What all connections share, and what is particular to one: who calls, and what they asked for.

use std::sync::Arc;

use rmcp::{RoleServer, service::RequestContext};
use tokio::sync::{Semaphore, broadcast};

use crate::{
    app::{App, Event, view::View},
    domain::Caller,
    tools::Toolsets,
};

/// One request's link to its caller.
#[derive(Debug, Clone)]
pub struct Link {
    pub caller: Caller,
    /// `?toolsets=vault,cards`.
    pub toolsets: Toolsets,
    /// `?method=NAME`: the page that gives the instructions instead of `initialize`.
    pub method: Option<String>,
    /// `/_system/mcp/{username}`: one author's notes only.
    pub author: Option<String>,
}

impl Link {
    pub fn owner() -> Self {
        Self::of(Caller::Owner)
    }

    pub fn view(&self) -> View<'_> {
        View { caller: &self.caller, author: self.author.as_deref() }
    }

    pub fn of(caller: Caller) -> Self {
        Self { caller, toolsets: Toolsets::ALL, method: None, author: None }
    }
}

/// What every connection of this process shares.
pub struct Hub {
    pub app: Arc<App>,
    /// Calls under way; the config bounds them.
    pub calls: Semaphore,
    events: broadcast::Sender<Event>,
}

impl Hub {
    pub fn new(app: Arc<App>) -> Arc<Self> {
        // Lagging behind loses notifications that say "look again", of which one more will come.
        let (events, _) = broadcast::channel(256);
        let sender = events.clone();
        app.events.subscribe(move |event| {
            // No connection is listening: nothing to tell.
            drop(sender.send(event.clone()));
        });
        Arc::new(Self { calls: Semaphore::new(app.config.limits.concurrent), app, events })
    }

    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }
}

/// The link of a request: what the HTTP front attached to it, or else the connection's own.
pub(super) fn of_request(context: &RequestContext<RoleServer>, own: &Link) -> Link {
    let parts = context.extensions.get::<http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<Link>()).unwrap_or(own).clone()
}
