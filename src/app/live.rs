//! What follows the library while a process serves it: the vaults' watchers, the look at cards and
//! prompts that others may have changed, the index and its vectors.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use super::{
    App, Event,
    follow::Followed,
    vault_reads::{CARDS, PROMPTS},
};
use crate::{
    domain::{Kind, Patience, Pid, Progress, Result, call::join_within, error::Doing},
    index::{Follower, Freshness, Worker},
    store::{items::Synced, pages::VaultRow, replica::Following},
};

/// How often foreign stores are looked at: a change by Memento's web app or by hand in
/// `user.jsonl` is seen within a second.
const LOOK: Duration = Duration::from_millis(400);

/// Comparisons of the prompts that a command makes at most, while others keep writing.
const COMPARISONS: usize = 5;

/// How long the end of a thread is waited for. One that hangs in the file system is left behind.
const JOIN_LIMIT: Duration = Duration::from_secs(5);

/// How long a command that runs and ends computes missing vectors.
const EMBEDDING: Duration = Duration::from_millis(500);

/// Of how many looks one is at cards, prompts, unfinished changes and holds, where each is a round
/// trip to a server that others use too.
const FOREIGN_LOOK_EVERY: u32 = 5;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Entries of the change log that are read at once.
const CHANGES_AT_ONCE: usize = 1_000;

/// How far the change log was announced to connections.
struct News {
    position: i64,
    /// A page changed, and the lists that it may be in were not compared yet.
    lists_due: bool,
}

/// Threads that end when this is dropped.
#[derive(Default)]
pub struct Live {
    follower: Option<Follower>,
    _worker: Option<Worker>,
    _following: Option<Following>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            join_within(thread, JOIN_LIMIT);
        }
    }
}

impl App {
    /// Starts following. Returns at once: what there is to catch up with is done in the background.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        let vaults = self.sources.register_vaults()?;
        let mut live = Live::default();
        live.follower = Some(Follower::start(self.index.clone())?);
        live._worker = self.start_vectors()?;
        live._following = self.follow_store()?;
        let (app, stop) = (self.clone(), live.stop.clone());
        self.vault_reads.begin(vaults.len(), vaults.iter().any(|vault| vault.seen.is_none()));
        live.threads.push(
            std::thread::Builder::new()
                .name("follow".into())
                .spawn(move || Patience::background().during(|| app.follow(vaults, &stop)))
                .doing("start following the library")?,
        );
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
        Ok(())
    }

    /// Ends what `start` began, waiting for what is under way.
    pub fn stop(&self) {
        self.verifications.stop();
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(live);
    }

    fn start_vectors(&self) -> Result<Option<Worker>> {
        let Some(embed) = self.passage_embedder() else { return Ok(None) };
        let threads = self.config.embed.threads;
        Worker::start(self.index.clone(), embed, threads).map(Some)
    }

    /// Follows the log of a store that other processes write to.
    fn follow_store(self: &Arc<Self>) -> Result<Option<Following>> {
        let Some(replica) = &self.replica else { return Ok(None) };
        let app = Arc::downgrade(self);
        let on_news = move || {
            if let Some(app) = app.upgrade() {
                app.with_follower(Follower::nudge);
            }
        };
        replica.follow(on_news).map(Some)
    }

    fn follow(self: &Arc<Self>, vaults: Vec<VaultRow>, stop: &AtomicBool) {
        // What connections could see before the first look: they are notified of what it changes.
        let position = self.store.items.head().unwrap_or_default();
        let mut news = News { position, lists_due: false };
        self.remember_lists();
        self.prompts_announced.store(self.prompts.version().unwrap_or_default(), Ordering::Release);
        // Watch first, then look: a change in between is seen twice rather than never.
        let mut followed: Vec<Followed> =
            vaults.into_iter().map(|vault| self.follow_vault(vault)).collect();
        for vault in &mut followed {
            self.first_look(vault);
            self.vault_reads.finish_one();
        }
        let mut round = 0u32;
        while !stop.load(Ordering::Acquire) {
            for vault in &mut followed {
                self.tend_vault(vault);
            }
            round = round.wrapping_add(1);
            let due = self.replica.is_none() || round % FOREIGN_LOOK_EVERY == 1;
            if due {
                self.renew_followed(&mut followed);
            }
            if due && let Err(error) = self.look_at_others() {
                tracing::warn!(error = ?error, "could not look for changed cards and prompts");
            }
            self.announce(&mut news);
            std::thread::park_timeout(LOOK);
        }
    }

    /// Cards that Memento changed, prompts that somebody edited.
    fn look_at_others(&self) -> Result<()> {
        // Trouble with one does not hide changes of the other.
        let cards = self.cards.sync();
        let prompts = self.sync_prompts();
        self.vault_reads.set_behind(CARDS, cards.is_err());
        self.vault_reads.set_behind(PROMPTS, prompts.is_err());
        if let Err(error) = self.recover() {
            tracing::warn!(?error, "unfinished changes wait");
        }
        if let Err(error) = self.market().tend() {
            tracing::warn!(?error, "holds of processes that ended wait");
        }
        if [&cards, &prompts].into_iter().flatten().any(|synced| synced.any()) {
            self.wake_index();
        }
        cards.and(prompts).map(drop)
    }

    /// Announces to connections what changed since the last time, whichever process changed it.
    /// What cannot be read now is announced the next time.
    fn announce(&self, news: &mut News) {
        if let Err(error) = self.announce_changes(news) {
            tracing::warn!(code = error.code.as_str(), "could not read what changed; trying again");
        }
        if let Ok(version) = self.prompts.version()
            && self.prompts_announced.swap(version, Ordering::AcqRel) != version
        {
            self.events.send(&Event::Prompts);
        }
    }

    /// Goes through the change log to its end, in pieces: an import may change any number of items
    /// at once. The position moves on only past what was announced.
    fn announce_changes(&self, news: &mut News) -> Result<()> {
        loop {
            let changes = self.store.items.changes(news.position, CHANGES_AT_ONCE)?;
            let Some((last, _)) = changes.last().copied() else { break };
            let pids: Vec<Pid> = changes.into_iter().map(|(_, pid)| pid).collect();
            for item in self.store.items.get_many(&pids)? {
                if item.kind == Kind::Page {
                    news.lists_due = true;
                    self.events.send(&Event::Resource(super::resources::uri(item.pid)));
                    // The page may be a file of a skill, which somebody subscribed to.
                    if let Some((vault, path)) = item.key.split_once('/') {
                        let uri = super::skills::address::of_vault(vault, path);
                        self.events.send(&Event::Resource(uri));
                    }
                }
            }
            news.position = last;
        }
        if news.lists_due {
            self.announce_lists()?;
            news.lists_due = false;
        }
        Ok(())
    }

    /// The methods and the number of pages, as connections see them now.
    fn lists(&self) -> Result<(Vec<String>, u64)> {
        let methods = self.methods(&self.owner())?;
        let names = methods
            .into_iter()
            .map(|method| {
                let price = (method.price(), method.page().price_free);
                format!("{} {} {:?} {price:?}", method.name, method.description, method.arguments)
            })
            .collect();
        Ok((names, self.store.items.count(Some(Kind::Page))?))
    }

    fn remember_lists(&self) {
        if let Ok(lists) = self.lists() {
            *self.announced.lock().unwrap_or_else(PoisonError::into_inner) = lists;
        }
    }

    /// Sends a notice for each list that differs from what was announced last.
    fn announce_lists(&self) -> Result<()> {
        let (methods, pages) = self.lists()?;
        let mut announced = self.announced.lock().unwrap_or_else(PoisonError::into_inner);
        if announced.0 != methods {
            self.events.send(&Event::Tools);
            // A method is offered as a prompt too.
            self.events.send(&Event::Prompts);
        }
        if announced.1 != pages {
            self.events.send(&Event::Resources);
        }
        *announced = (methods, pages);
        Ok(())
    }

    pub(super) fn wake_index(&self) {
        self.with_follower(Follower::wake);
    }

    fn with_follower(&self, work: impl FnOnce(&Follower)) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(follower) = live.as_ref().and_then(|live| live.follower.as_ref()) {
            work(follower);
        }
    }

    /// Looks for changes once, for a command that runs and ends.
    pub fn refresh(&self, progress: &dyn Progress) -> Result<()> {
        for vault in self.sources.register_vaults()? {
            let synced = self.sources.sync_vault(&vault, progress);
            // A drive that is not mounted keeps its notes as they were; `doctor` says so.
            self.vault_reads.set_behind(&vault.name, synced.is_err() && !vault.is_away());
            if let Err(error) = synced {
                tracing::warn!(vault = vault.name, error = ?error, "could not read the vault");
            }
        }
        let cards = self.cards.sync();
        self.vault_reads.set_behind(CARDS, cards.is_err());
        if let Err(error) = cards {
            // The cards stay as they were; a command about cards says what is wrong.
            tracing::warn!(error = ?error, "could not read the cards");
        }
        let prompts = self.sync_prompts_once();
        self.vault_reads.set_behind(PROMPTS, prompts.is_err());
        prompts
    }

    /// Brings the index up to date now, as far as the disk lets it, and returns how far that is.
    pub fn catch_up(&self, progress: &dyn Progress) -> Result<Freshness> {
        self.index.catch_up(&|stage| stage.report(progress))
    }

    /// Computes every vector that is missing.
    pub fn embed_all(&self, progress: &dyn Progress) -> Result<()> {
        let Some(embed) = self.passage_embedder() else { return Ok(()) };
        self.index.embed_all(&embed, cores(), &|done, total| {
            progress.report(done, Some(total), "embedding passages");
        })
    }

    /// Prepares a command that asks once and ends: indexes what changed and embeds for a short
    /// while. The answer says what is left. A failure to embed leaves the search by words.
    pub fn prepare(&self, progress: &dyn Progress) -> Result<()> {
        self.catch_up(progress)?;
        let Some(embed) = self.passage_embedder() else { return Ok(()) };
        if let Err(error) = self.index.embed_for(&embed, cores(), EMBEDDING) {
            tracing::warn!(?error, "could not compute vectors");
        }
        Ok(())
    }

    /// Compares the prompts for a command that runs and ends. What another process wrote and recorded
    /// during a comparison is compared again: nobody would look later.
    fn sync_prompts_once(&self) -> Result<()> {
        for _ in 0..COMPARISONS {
            self.sync_prompts()?;
            if self.sources.prompts_shown().is(self.prompts.version()?) {
                break;
            }
        }
        Ok(())
    }

    /// Makes the registry equal to the prompts.
    pub(super) fn sync_prompts(&self) -> Result<Synced> {
        let version = self.prompts.version()?;
        let mut shown = self.sources.prompts_shown();
        if shown.is(version) {
            return Ok(Synced::default());
        }
        let all = super::prompts::stamps(self.prompts.as_ref())?;
        if all.is_empty()
            && let Some(why) = self.prompts_suspicion()?
        {
            tracing::warn!("{why}; they stay as they were, and `notewell doctor` says more");
            shown.skip(version);
            return Ok(Synced::default());
        }
        let synced = self.store.items.sync(Kind::Prompt, &all)?;
        shown.set(version);
        Ok(synced)
    }
}
