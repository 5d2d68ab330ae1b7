//! What the server tells without being asked: lists that changed, resources that were updated.
//! Handshake-era clients get it on their session, later ones through `subscriptions/listen`.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    RoleServer,
    model::ResourceUpdatedNotificationParam,
    service::{Peer, SubscriptionContext},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::app::Event;

/// The resources a handshake-era client subscribed to.
#[derive(Debug, Clone, Default)]
pub struct Subscribed(Arc<Mutex<HashSet<String>>>);

/// The most that one connection may subscribe to.
const MOST: usize = 10_000;

impl Subscribed {
    pub fn add(&self, uri: String) -> bool {
        let mut uris = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uris.len() >= MOST {
            return false;
        }
        uris.insert(uri);
        true
    }

    pub fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn has(&self, uri: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// Passes events on to a session until it closes.
pub async fn to_session(
    mut events: Receiver<Event>,
    peer: Peer<RoleServer>,
    subscribed: Subscribed,
) {
    while let Some(event) = next(&mut events).await {
        if peer.is_transport_closed() {
            return;
        }
        let sent = match event {
            Event::Tools => peer.notify_tool_list_changed().await,
            Event::Prompts => peer.notify_prompt_list_changed().await,
            Event::Resources => peer.notify_resource_list_changed().await,
            Event::Resource(uri) if subscribed.has(&uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
            }
            Event::Resource(_) => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Passes events on to one `subscriptions/listen` until it is cancelled.
pub async fn to_listener(mut events: Receiver<Event>, context: &SubscriptionContext) {
    let sink = context.sink();
    let accepted = context.accepted().clone();
    let wants = |flag: Option<bool>| flag == Some(true);
    loop {
        let event = tokio::select! {
            () = context.cancelled() => return,
            event = next(&mut events) => event,
        };
        let Some(event) = event else { return };
        let sent = match event {
            Event::Tools if wants(accepted.tools_list_changed) => {
                sink.notify_tool_list_changed().await
            }
            Event::Prompts if wants(accepted.prompts_list_changed) => {
                sink.notify_prompt_list_changed().await
            }
            Event::Resources if wants(accepted.resources_list_changed) => {
                sink.notify_resource_list_changed().await
            }
            Event::Resource(uri)
                if accepted.resource_subscriptions.iter().flatten().any(|one| *one == uri) =>
            {
                sink.notify_resource_updated(uri).await
            }
            _ => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn next(events: &mut Receiver<Event>) -> Option<Event> {
    loop {
        match events.recv().await {
            Ok(event) => return Some(event),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}
