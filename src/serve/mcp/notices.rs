//! What the server tells without being asked: lists that changed, resources that were updated.
//! Handshake-era clients get it on their session, later ones through `subscriptions/listen`.
//!
//! A client hears of a list only when the list that it sees itself changed, and of a resource only
//! when it may read it. Changes that arrive faster than notices are sent are merged, never skipped.

use std::{
    collections::{BTreeSet, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::ResourceUpdatedNotificationParam,
    service::{Peer, SubscriptionContext},
};
use tokio::sync::Notify;

use super::link::{Hub, Link};
use crate::{
    app::{
        App, Event,
        rights::{Right, Rights},
    },
    domain::{Kind, Result},
    tools,
};

/// How long changes are collected before a notice is sent.
const GATHER: Duration = Duration::from_millis(100);

/// How often a session without news checks whether its client is still there, and what it may see.
const LOOK: Duration = Duration::from_secs(10);

/// How many audiences share their work: a caller may name any author.
const MAX_AUDIENCES: usize = 64;

/// The most that one connection may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 10_000;

/// The resources that a client subscribed to.
#[derive(Debug, Clone, Default)]
pub struct Subscribed(Arc<Mutex<HashSet<String>>>);

impl Subscribed {
    /// False when the connection has too many subscriptions.
    pub fn add(&self, uri: String) -> bool {
        let mut uris = lock(&self.0);
        if uris.len() >= MAX_SUBSCRIPTIONS {
            return false;
        }
        uris.insert(uri);
        true
    }

    pub fn remove(&self, uri: &str) {
        lock(&self.0).remove(uri);
    }

    fn has(&self, uri: &str) -> bool {
        lock(&self.0).contains(uri)
    }
}

/// The news that one connection was not told yet. Its size is bounded by the subscriptions.
#[derive(Debug)]
pub struct Mailbox {
    subscribed: Subscribed,
    updated: Mutex<BTreeSet<String>>,
    wake: Notify,
}

impl Mailbox {
    fn new(subscribed: Subscribed) -> Arc<Self> {
        Arc::new(Self { subscribed, updated: Mutex::default(), wake: Notify::new() })
    }

    pub fn post(&self, event: &Event) {
        if let Event::Resource(uri) = event
            && self.subscribed.has(uri)
        {
            lock(&self.updated).insert(uri.clone());
        }
        // Any change of the library may change what a caller is offered.
        self.wake.notify_one();
    }

    /// Takes the subscribed resources that changed, after a moment for what changes with them.
    async fn take(&self) -> BTreeSet<String> {
        tokio::time::sleep(GATHER).await;
        std::mem::take(&mut lock(&self.updated))
    }
}

/// Fingerprints of the lists that one caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lists {
    tools: u64,
    prompts: u64,
    resources: u64,
}

#[cfg(test)]
impl Lists {
    pub fn of(tools: u64, prompts: u64, resources: u64) -> Self {
        Self { tools, prompts, resources }
    }
}

impl Hub {
    /// The lists of a caller as they are now. Callers who see the same share the work.
    pub async fn lists(self: &Arc<Self>, link: &Link) -> Option<Lists> {
        if let Some(known) = self.offers.known(&link.rights) {
            return Some(known);
        }
        let _turn = self.offers.turn().await?;
        // Another connection may have looked while this one waited.
        if let Some(known) = self.offers.known(&link.rights) {
            return Some(known);
        }
        let events = self.offers.events();
        let (hub, own) = (self.clone(), link.clone());
        let lists = tokio::task::spawn_blocking(move || hub.read_lists(&own)).await.ok()?;
        let mut lists = lists
            .inspect_err(|error| {
                tracing::warn!(code = error.code.as_str(), "could not read what changed")
            })
            .ok()?;
        let added = self.extension.changes();
        lists.tools = lists.tools.wrapping_add(added.tools);
        lists.prompts = lists.prompts.wrapping_add(added.prompts);
        self.offers.remember(&link.rights, events, lists);
        Some(lists)
    }

    fn read_lists(&self, link: &Link) -> Result<Lists> {
        let rights = self.app.renewed(&link.rights)?;
        let audience = (rights.visible().clone(), tools::built_in(&self.app, &rights)?);
        let head = self.app.store.items.head()?;
        let mut known = lock(&self.lists);
        if let Some((_, _, lists)) =
            known.iter().find(|(who, at, _)| *who == audience && *at == head)
        {
            return Ok(*lists);
        }
        let lists = read_lists(&self.app, &rights, &audience.1)?;
        // Older positions are of no use to anybody. Prompts of one's own may change without one.
        known.retain(|(who, at, _)| *at == head && *who != audience);
        if !rights.may(Right::Read(Kind::Prompt)) && known.len() < MAX_AUDIENCES {
            known.push((audience, head, lists));
        }
        Ok(lists)
    }

    /// Whether a caller may read a resource.
    pub async fn sees(self: &Arc<Self>, link: &Link, uri: &str) -> bool {
        let _turn = self.offers.turn().await;
        let (app, link, uri) = (self.app.clone(), link.clone(), uri.to_owned());
        let read = move || {
            let found =
                app.renewed(&link.rights).and_then(|rights| app.read_resource(&uri, &rights));
            found.is_ok_and(|found| found.is_some())
        };
        tokio::task::spawn_blocking(read).await.unwrap_or(false)
    }
}

fn read_lists(app: &App, rights: &Rights, built_in: &[&str]) -> Result<Lists> {
    let mut methods = DefaultHasher::new();
    for method in app.methods(rights)? {
        let price = (method.price(), method.page().price_free);
        (method.name, method.title, method.description).hash(&mut methods);
        format!("{:?} {price:?}", method.arguments).hash(&mut methods);
    }
    let methods_of_skills = methods.finish();
    let mut tools = methods.clone();
    built_in.hash(&mut tools);
    let mut prompts = methods;
    if rights.may(Right::Read(Kind::Prompt)) {
        app.prompts.version()?.hash(&mut prompts);
    }
    let mut resources = DefaultHasher::new();
    // Skills are resources: those of folders, and those of methods.
    app.skills_version(rights)?.hash(&mut resources);
    methods_of_skills.hash(&mut resources);
    if rights.visible().is_everything() {
        // Every page is the owner's, so counting them is enough.
        app.store.items.count(Some(Kind::Page))?.hash(&mut resources);
    } else {
        let mut after = None;
        loop {
            let rows = app.store.pages.list(after, 1000, rights.visible())?;
            let Some(last) = rows.last() else { break };
            after = Some(last.pid);
            for row in &rows {
                (row.pid, &row.vault, &row.path, &row.facts.page.title).hash(&mut resources);
            }
        }
    }
    Ok(Lists { tools: tools.finish(), prompts: prompts.finish(), resources: resources.finish() })
}

/// Passes news on to a session until it closes. `known` is what the client saw when it connected.
pub async fn to_session(
    hub: Arc<Hub>,
    link: Link,
    peer: Peer<RoleServer>,
    subscribed: Subscribed,
    mut known: Option<Lists>,
) {
    let mailbox = Mailbox::new(subscribed);
    hub.deliver_to(&mailbox);
    loop {
        let now = hub.lists(&link).await.or(known);
        let differs = |list: fn(Lists) -> u64| known.map(list) != now.map(list);
        let mut sent = Ok(());
        if differs(|lists| lists.tools) {
            sent = sent.and(peer.notify_tool_list_changed().await);
        }
        if differs(|lists| lists.prompts) {
            sent = sent.and(peer.notify_prompt_list_changed().await);
        }
        if differs(|lists| lists.resources) {
            sent = sent.and(peer.notify_resource_list_changed().await);
        }
        known = now;
        if sent.is_err() || peer.is_transport_closed() {
            return;
        }
        if tokio::time::timeout(LOOK, mailbox.wake.notified()).await.is_err() {
            // Nothing changed in the library; what was granted to the caller may have.
            continue;
        }
        for uri in mailbox.take().await {
            if hub.sees(&link, &uri).await {
                let updated = ResourceUpdatedNotificationParam::new(uri);
                if peer.notify_resource_updated(updated).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Passes news on to one `subscriptions/listen` until it is cancelled.
pub async fn to_listener(hub: Arc<Hub>, link: Link, context: &SubscriptionContext) {
    let sink = context.sink();
    let accepted = context.accepted().clone();
    let wants = |flag: Option<bool>| flag == Some(true);
    let subscribed = Subscribed::default();
    for uri in accepted.resource_subscriptions.iter().flatten() {
        subscribed.add(uri.clone());
    }
    let mailbox = Mailbox::new(subscribed);
    hub.deliver_to(&mailbox);
    let mut known = hub.lists(&link).await;
    loop {
        tokio::select! {
            () = context.cancelled() => return,
            () = mailbox.wake.notified() => {}
            // What was granted to the caller may change without the library.
            () = tokio::time::sleep(LOOK) => {}
        }
        let updated = mailbox.take().await;
        let now = hub.lists(&link).await.or(known);
        let differs = |list: fn(Lists) -> u64| known.map(list) != now.map(list);
        let mut sent = Ok(());
        if wants(accepted.tools_list_changed) && differs(|lists| lists.tools) {
            sent = sent.and(sink.notify_tool_list_changed().await);
        }
        if wants(accepted.prompts_list_changed) && differs(|lists| lists.prompts) {
            sent = sent.and(sink.notify_prompt_list_changed().await);
        }
        if wants(accepted.resources_list_changed) && differs(|lists| lists.resources) {
            sent = sent.and(sink.notify_resource_list_changed().await);
        }
        known = now;
        for uri in updated {
            if hub.sees(&link, &uri).await {
                sent = sent.and(sink.notify_resource_updated(uri).await);
            }
        }
        if sent.is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
