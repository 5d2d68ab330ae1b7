//! The composition root, and the use cases that touch two rooms or more: one file per noun.

pub mod accounts;
mod ask;
mod attachments;
pub mod backup;
pub mod bookmarks;
pub mod cards;
pub mod demo;
pub mod doctor;
pub mod edit;
mod events;
mod follow;
pub mod history;
pub mod hosted;
mod library;
mod live;
pub mod market;
pub mod methods;
pub mod notes;
pub mod offers;
pub mod oss;
pub mod page;
pub mod places;
pub mod prompts;
pub mod public;
pub mod question;
pub mod rendering;
mod rerank;
pub mod resources;
pub mod rights;
pub mod self_check;
mod shared_vectors;
mod shown;
pub mod skills;
mod sources;
pub mod status;
pub mod tasks;
pub mod tokens;
mod vault_reads;
pub mod vaults;
mod watching;

pub use attachments::Attachment;
pub use events::{Event, Events};
pub use sources::Sources;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use self::{
    cards::CardRoom, library::LibraryCache, live::Live, methods::Method, rights::Rights,
    skills::SkillCache, vault_reads::VaultReads,
};
use crate::{
    config::{self, Config, EmbedProvider},
    domain::{Error, Patience, Result},
    embed::{
        Embedder, Role,
        embedded::Embedded,
        http::{self, Http},
    },
    index::{self, Index},
    llm::{self, Provider},
    search::{self, Engine},
    store::{
        self, Prompts, Store, StoreLimits, StoreUrl, jsonl::JsonlPrompts,
        postgres::PostgresPrompts, private, replica::Replica,
    },
};

/// How long a search waits for the index to have what was acknowledged before it. Longer than
/// any single change takes; a first index says how far it is instead.
const CATCH_UP: Duration = Duration::from_secs(2);

/// The library, open.
pub struct App {
    /// The settings.
    pub config: Arc<Config>,
    /// Durable state.
    pub store: Store,
    /// The copy of a store that other processes share.
    pub replica: Option<Arc<Replica>>,
    /// The cards.
    pub cards: Arc<CardRoom>,
    /// The prompts.
    pub prompts: Arc<dyn Prompts>,
    /// Every place where items live, as the index reads them.
    pub sources: Arc<Sources>,
    /// Whether the vaults were read yet.
    vault_reads: Arc<VaultReads>,
    /// Terms and vectors.
    pub index: Arc<Index>,
    /// Search.
    pub engine: Engine,
    /// News for connections.
    pub events: Events,
    /// What was changed, with the way back.
    pub journal: history::Journal,
    /// Unfinished changes that could not be settled at the last attempt, and why.
    waiting: Mutex<BTreeMap<i64, String>>,
    /// Sign-in, and what slows down guessing.
    accounts: accounts::Accounts,
    /// Changes to hosted vaults that further writes join.
    hosted_changes: hosted::OpenChanges,
    /// Repositories that are being verified.
    verifications: oss::Verifications,
    market: market::Market,
    embedder: Option<Arc<dyn Embedder>>,
    /// The language model, where one is configured.
    provider: Option<Arc<dyn Provider>>,
    orders: Mutex<rerank::Orders>,
    /// What bookmarks are judged by, once the first one is.
    enricher: Mutex<Option<Arc<crate::enrich::Enricher>>>,
    /// Whether this process answers over HTTP.
    serves_http: AtomicBool,
    /// Texts that callers were shown, for edits that come back with an older etag.
    pub bases: edit::Bases,
    /// Names that no page can take.
    built_in_tools: Vec<&'static str>,
    /// The link maps, one per part of the library that was read lately; each follows the change
    /// log.
    libraries: LibraryCache,
    /// The vectors of what is offered.
    offer_vectors: offers::OfferVectors,
    known_methods: Mutex<Option<(i64, Arc<Vec<Method>>)>>,
    /// Skills that were read, until their files change.
    skill_cache: SkillCache,
    /// Long calls that clients follow.
    pub tasks: tasks::Tasks,
    /// The methods and the number of pages that were last announced to connections.
    announced: Mutex<(Vec<String>, u64)>,
    /// The state of the prompts that was last announced.
    prompts_announced: AtomicU64,
    live: Mutex<Option<Live>>,
}

impl App {
    /// Opens the library. Cheap: nothing here grows with the size of the library.
    pub fn open(config: Config, built_in_tools: Vec<&'static str>) -> Result<Self> {
        let config = Arc::new(config);
        let limits = StoreLimits {
            text_bytes: config.limits.note_bytes,
            readers: config.limits.concurrent,
            timeout: Duration::from_secs(config.store.timeout_seconds),
        };
        private::make_private(&config.data)?;
        let store = store::open(&store_url(&config)?, limits)?;
        let replica = Replica::beside(&store, &config.data, limits.readers)?;
        let store = match &replica {
            Some(replica) => replica.in_front_of(store),
            None => store,
        };
        let journal = history::Journal::new(&config.history, store.revisions.clone());
        let cards = Arc::new(CardRoom::new(&config, &store, journal.clone()));
        let prompts = open_prompts(&config, &store);
        let embedder = embedder(&config.embed)?;
        let provider = llm::open(&config.llm)?;
        let index_root = config.data.join("index");
        let verifications = oss::Verifications::new(&config, store.reports.clone());
        let market = market::Market::open(config.clone(), &store)?;
        let tasks = tasks::Tasks::new(store.tasks.clone(), config.limits.tasks)?;
        let kinds = config.search.kinds.clone();
        let sources =
            Arc::new(Sources::new(config.clone(), store.clone(), cards.clone(), prompts.clone()));
        let model = embedder.as_ref().map(|embedder| (embedder.id(), embedder.dims()));
        let index = Arc::new(Index::open(&index_root, sources.clone(), model)?);
        let vectorise = embedder.clone().map(query_embedder);
        let mut engine = Engine::new(index.clone(), vectorise, CATCH_UP).preferring(&kinds);
        if let Some(embedder) = embedder.clone() {
            engine = engine.knowing(Arc::new(move |text| embedder.knows(text)));
        }
        let app = Self {
            config,
            store,
            replica,
            cards,
            prompts,
            vault_reads: sources.vault_reads.clone(),
            sources,
            index,
            engine,
            events: Events::default(),
            journal,
            waiting: Mutex::default(),
            accounts: accounts::Accounts::default(),
            hosted_changes: hosted::OpenChanges::default(),
            verifications,
            market,
            embedder,
            provider,
            orders: Mutex::default(),
            enricher: Mutex::default(),
            serves_http: AtomicBool::new(false),
            bases: edit::Bases::default(),
            built_in_tools,
            libraries: LibraryCache::default(),
            offer_vectors: offers::OfferVectors::default(),
            known_methods: Mutex::default(),
            skill_cache: SkillCache::default(),
            tasks,
            announced: Mutex::default(),
            prompts_announced: AtomicU64::default(),
            live: Mutex::default(),
        };
        // A process that died may have left a change half made.
        if let Err(error) = app.recover() {
            tracing::warn!(?error, "unfinished changes wait");
        }
        if let Err(error) = app.market.tend() {
            tracing::warn!(?error, "holds of processes that ended wait");
        }
        Ok(app)
    }

    /// From now on, the address of a page in an answer leads to this process.
    pub fn serve_http(&self) {
        self.serves_http.store(true, Ordering::Release);
    }

    /// Where pages can be opened; `None` when no server is known to answer.
    fn site(&self) -> Option<String> {
        let known = !self.config.server.public_url.is_empty();
        (known || self.serves_http.load(Ordering::Acquire)).then(|| self.config.public_url())
    }

    /// Embeds passages on the calling thread, for the index's workers.
    pub fn passage_embedder(&self) -> Option<index::Embed> {
        let embedder = self.embedder.clone()?;
        let model = embedder.id().to_owned();
        let embed: index::Embed = Arc::new(move |texts: &[&str]| {
            Patience::current().check()?;
            embedder.embed(texts, Role::Passage)
        });
        Some(match &self.replica {
            Some(replica) => shared_vectors::sharing(embed, model, replica.remote().clone()),
            None => embed,
        })
    }

    /// Frees what the databases keep in memory to be faster. For a server that has nothing to do.
    pub fn release_memory(&self) {
        self.store.caches.release();
        self.cards.release_memory();
    }

    /// The embedding model, unless none is configured.
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    /// The server's instructions for a client's model: the page whose method is
    /// `initialize` (or another that the client names), or our own words.
    pub fn greeting(&self, rights: &Rights, method: Option<&str>) -> String {
        self.instructions(rights, method).unwrap_or_else(|| INSTRUCTIONS.to_owned())
    }
}

/// Embeds a question, or a passage that others are compared with.
pub fn query_embedder(embedder: Arc<dyn Embedder>) -> search::Vectorise {
    Arc::new(move |text: &str, role| {
        let role = match role {
            search::Role::Question => Role::Query,
            search::Role::Passage => Role::Passage,
        };
        let mut vectors = embedder.embed(&[text], role)?;
        vectors.pop().ok_or_else(|| Error::internal("the embedder gave no vector"))
    })
}

/// The user's prompts: in the folder that the config names, in the server database, or in the data
/// directory.
fn open_prompts(config: &Config, store: &Store) -> Arc<dyn Prompts> {
    let keep = config.prompts.backups;
    match &store.server {
        Some(server) if !config.has_prompts_directory() => {
            Arc::new(PostgresPrompts::new(server.clone(), keep))
        }
        _ => {
            let completions = config.data.join("completions.json");
            Arc::new(JsonlPrompts::open(config.prompts_directory(), keep, Some(completions)))
        }
    }
}

/// Where the durable state of a library is: the server that the settings name, or the data directory.
pub fn store_url(config: &Config) -> Result<StoreUrl> {
    if config.store.url.is_empty() {
        return Ok(StoreUrl::from(config.data.as_path()));
    }
    StoreUrl::parse(&config.store.url)
}

fn embedder(config: &config::Embed) -> Result<Option<Arc<dyn Embedder>>> {
    Ok(match config.provider {
        EmbedProvider::None => None,
        EmbedProvider::Embedded => Some(Arc::new(Embedded::new())),
        EmbedProvider::Http => Some(Arc::new(Http::new(http::Provider {
            url: config.url.clone(),
            model: config.model.clone(),
            dims: config.dims,
            key: config::embed_key(config)?,
            timeout: Duration::from_secs(config.timeout_seconds),
        })?)),
    })
}

const INSTRUCTIONS: &str = "The person's own notes, cards, bookmarks and prompts. Call `search` first; \
open a hit with `note_html` and its `match_id` (a focused window) or `toc_path` (one section) before you \
read a whole note. `expand` walks a long note's outline.";
