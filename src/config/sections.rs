//! The sections of the config file, with their defaults.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{Network, listen};
use crate::domain::{self, Toolset, query::words};

/// `[server]`: where HTTP listens and who may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// The address to listen on.
    #[serde(deserialize_with = "listen::from_text")]
    pub listen: SocketAddr,
    /// The address people use, behind a proxy: links in answers start with it.
    pub public_url: String,
    /// Host names besides loopback that requests may be addressed to.
    pub allowed_hosts: Vec<String>,
    /// Origins besides our own whose pages may call us.
    pub allowed_origins: Vec<String>,
    /// Proxies that say truly where a request came from.
    pub trusted_proxies: Vec<Network>,
    /// What callers without a token may do.
    pub anonymous: Anonymous,
    /// Idle time after which a streamable HTTP session ends.
    pub session_idle_seconds: u64,
    /// How long a shutdown waits for what was accepted.
    pub drain_seconds: u64,
}

words!(
    /// What a caller without a token may do over HTTP.
    Anonymous, "anonymous", { Free = "free", Off = "off", Owner = "owner" }
);

/// `[[vault]]`: a folder of Markdown files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vault {
    /// Empty: the folder's own name.
    #[serde(default)]
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    /// Look for changes by reading the folder, where the file system sends no events.
    #[serde(default)]
    pub poll: bool,
    /// The user whose pages these are; empty: each page says it. `None`, for a vault that a flag
    /// names: as it was.
    #[serde(default = "author_of_each_page")]
    pub author: Option<String>,
}

/// An empty name: each page names its own author.
fn author_of_each_page() -> Option<String> {
    Some(String::new())
}

/// `[write]`: what agents may write to notes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Write {
    /// Whether agents may write to notes at all.
    pub enabled: bool,
    /// The only folders in which agents may write, as `inbox/`; empty: everywhere.
    pub folders: Vec<String>,
}

/// `[cards]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cards {
    /// Memento's `dev.db`, or empty for `cards.db` in the data directory.
    pub database: PathBuf,
}

/// `[prompts]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prompts {
    /// Empty: `prompts` in the data directory.
    pub directory: PathBuf,
    /// How many backups of `user.jsonl` are kept.
    pub backups: usize,
}

/// `[history]`: how much of the journal of changes is kept. Beyond any of these limits the oldest
/// changes are removed; the newest one always stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct History {
    /// Days that a change is kept.
    pub days: u32,
    /// How many changes are kept.
    pub changes: u64,
    /// Megabytes of contents that are kept, compressed.
    pub megabytes: u64,
}

impl Default for History {
    fn default() -> Self {
        Self { days: 365, changes: 20_000, megabytes: 512 }
    }
}

/// `[bookmarks]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bookmarks {
    /// The categories, as `assets/taxonomy.toml` has them; empty: those.
    pub taxonomy: PathBuf,
}

/// `[search]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Results in an answer when the caller does not say.
    pub limit: usize,
    /// The most that a caller may ask for.
    pub max_limit: usize,
    /// The kinds that come first among items that answer equally well.
    pub kinds: Vec<domain::Kind>,
}

/// `[embed]`: the embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embed {
    /// Where vectors come from.
    pub provider: EmbedProvider,
    /// Threads that embed in the background; 0: all cores but one.
    pub threads: usize,
    /// For `http`: an OpenAI-compatible base address such as `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// For `http`: the name of the model.
    pub model: String,
    /// For `http`: values of one vector.
    pub dims: usize,
    /// A file with the key, readable by its owner only. `NOTEWELL_EMBED_KEY` wins over it.
    pub key_file: PathBuf,
    /// For `http`: the time limit of one request.
    pub timeout_seconds: u64,
}

words!(
    /// Where vectors come from.
    EmbedProvider, "embed provider", { Embedded = "embedded", None = "none", Http = "http" }
);

/// `[oss]`: reports on repositories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oss {
    /// Forges that may be asked, over https and at a public address only.
    pub allowed_hosts: Vec<String>,
    /// Forges of one's own network, as `host` or `host:port`: also over http, also at a private
    /// address.
    pub trusted_hosts: Vec<String>,
    /// Largest clone.
    pub clone_mb: u64,
    /// Time limit of a clone.
    pub clone_seconds: u64,
    /// Build and test, where there is a sandbox to do it in.
    pub build: bool,
    /// For the build, and again for the tests.
    pub build_seconds: u64,
    /// Memory of a build.
    pub memory_mb: u64,
    /// Processes of a build.
    pub processes: u64,
    /// Disk space of a build.
    pub disk_mb: u64,
    /// Verifications at once.
    pub jobs: usize,
    /// Verifications that may wait for their turn.
    pub queue: usize,
    /// How long a call waits for a verification before it answers what is known.
    pub wait_seconds: u64,
    /// A host and the address of its API, for stars and description.
    pub api: BTreeMap<String, String>,
    /// An OSV endpoint, or a folder with OSV records. Empty: vulnerabilities are not checked.
    pub osv: String,
}

/// `[llm]`: the language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    /// Which protocol the language model speaks.
    pub provider: LlmProvider,
    /// The base address; empty: the provider's own.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// A file with the key, readable by its owner only. `NOTEWELL_LLM_KEY` wins over it.
    pub key_file: PathBuf,
    /// The time limit of one call, tries and waits included.
    pub timeout_seconds: u64,
    /// How often a busy or broken server is asked again.
    pub retries: u32,
    /// The longest answer that is asked for.
    pub max_tokens: u32,
    /// The price of a million input tokens, in any currency, for the cost counter.
    pub input_cost: f64,
    /// The price of a million output tokens.
    pub output_cost: f64,
}

words!(
    /// The protocol of the language model.
    LlmProvider, "llm provider", { None = "none", Anthropic = "anthropic", OpenAi = "openai" }
);

/// `[limits]`: bounds on what a caller can send and hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a file that is uploaded to be imported. It goes to the disk, not to memory.
    pub upload_bytes: usize,
    /// Request bodies in memory at once, in bytes. A caller who is not the owner gets half.
    pub buffer_bytes: usize,
    /// Requests in one JSON-RPC batch.
    pub batch: usize,
    /// Requests at once; one more is refused. A quarter is kept for the owner.
    pub concurrent: usize,
    /// Requests at once of one token or, without a token, one address. The owner has no such limit.
    pub concurrent_per_caller: usize,
    /// Open event streams; a quarter is kept for the owner.
    pub streams: usize,
    /// Open event streams of one caller.
    pub streams_per_caller: usize,
    /// Sessions of streamable HTTP; a new one replaces the least recently used.
    pub sessions: usize,
    /// Sessions of one caller.
    pub sessions_per_caller: usize,
    /// TCP connections; a new one replaces the oldest that never carried a valid token.
    pub connections: usize,
    /// How long the headers of a request, and a connection without one, may take.
    pub header_seconds: u64,
    /// How long the body of a request may take.
    pub body_seconds: u64,
    /// Time limit of one request.
    pub request_seconds: u64,
    /// The longest answer of one tool, in bytes of text.
    pub result_bytes: usize,
    /// A note larger than this is named by `doctor` and not read.
    pub note_bytes: u64,
    /// Characters of a question.
    pub query_chars: usize,
    /// Tools, prompts and resources on one page of a list.
    pub page: usize,
    /// Calls of one user in a minute, with all of their tokens; also of one token without a user,
    /// and of one address without a token. The owner has no limit.
    pub calls_per_minute: u32,
    /// Tasks of one caller that have not ended.
    pub tasks: u64,
    /// How long a person has to answer a question before a call.
    pub confirm_seconds: u64,
}

/// `[accounts]`: people with a name and a password.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Accounts {
    /// Entries of the audit log; beyond them the oldest are forgotten.
    pub audit_entries: u64,
}

/// `[oauth]`: clients that connect with their user's consent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuth {
    /// Whether the metadata document of a client is fetched that is not known beforehand.
    pub fetch_clients: bool,
}

/// `[toolsets]`: groups of tools that are offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolsets {
    /// Search, reading and editing of notes.
    pub vault: bool,
    /// The nine card tools.
    pub cards: bool,
    /// Bookmarks, `ask`, `recommend`, `trends`, `oss_report`.
    pub bookmarks: bool,
    /// Creating, changing and deleting prompts.
    pub prompts: bool,
    /// Paid methods.
    pub market: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7717)),
            public_url: String::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            anonymous: Anonymous::Free,
            session_idle_seconds: 3600,
            drain_seconds: 10,
        }
    }
}

impl Default for Prompts {
    fn default() -> Self {
        Self { directory: PathBuf::new(), backups: 10 }
    }
}

impl Default for Search {
    fn default() -> Self {
        Self { limit: 10, max_limit: 100, kinds: Vec::new() }
    }
}

impl Default for Write {
    fn default() -> Self {
        Self { enabled: true, folders: Vec::new() }
    }
}

impl Default for Embed {
    fn default() -> Self {
        Self {
            provider: EmbedProvider::Embedded,
            threads: 0,
            url: String::new(),
            model: String::new(),
            dims: 0,
            key_file: PathBuf::new(),
            timeout_seconds: 30,
        }
    }
}

impl Default for Oss {
    fn default() -> Self {
        Self {
            allowed_hosts: ["github.com", "gitlab.com", "codeberg.org"].map(Into::into).to_vec(),
            trusted_hosts: Vec::new(),
            clone_mb: 300,
            clone_seconds: 120,
            build: true,
            build_seconds: 300,
            memory_mb: 2048,
            processes: 256,
            disk_mb: 2048,
            jobs: 1,
            queue: 20,
            wait_seconds: 25,
            api: BTreeMap::new(),
            osv: String::new(),
        }
    }
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            provider: LlmProvider::None,
            url: String::new(),
            model: String::new(),
            key_file: PathBuf::new(),
            timeout_seconds: 30,
            retries: 2,
            max_tokens: 1024,
            input_cost: 0.0,
            output_cost: 0.0,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            upload_bytes: 256 << 20,
            buffer_bytes: 64 << 20,
            batch: 100,
            concurrent: 64,
            concurrent_per_caller: 16,
            streams: 512,
            streams_per_caller: 64,
            sessions: 512,
            sessions_per_caller: 64,
            connections: 1024,
            header_seconds: 20,
            body_seconds: 60,
            request_seconds: 60,
            result_bytes: 4 << 20,
            note_bytes: 16 << 20,
            query_chars: 10_000,
            page: 100,
            calls_per_minute: 600,
            tasks: 32,
            confirm_seconds: 120,
        }
    }
}

impl Default for Accounts {
    fn default() -> Self {
        Self { audit_entries: 100_000 }
    }
}

impl Toolsets {
    /// The toolsets that are switched on.
    pub fn enabled(&self) -> domain::Toolsets {
        let switches = [
            (Toolset::Vault, self.vault),
            (Toolset::Cards, self.cards),
            (Toolset::Bookmarks, self.bookmarks),
            (Toolset::Prompts, self.prompts),
            (Toolset::Market, self.market),
        ];
        switches.into_iter().filter(|(_, on)| *on).map(|(toolset, _)| toolset).collect()
    }
}

impl Default for Toolsets {
    fn default() -> Self {
        Self { vault: true, cards: true, bookmarks: true, prompts: true, market: true }
    }
}
