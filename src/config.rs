//! What can be set: the file, then the environment, then flags. The only reader of the environment.

mod listen;

pub use listen::listen_address;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::domain::{Error, Result, error::Doing, query::words};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where Notewell keeps its own files. Empty: the data directory of the platform.
    pub data: PathBuf,
    pub log: String,
    pub server: Server,
    pub vault: Vec<Vault>,
    pub cards: Cards,
    pub prompts: Prompts,
    pub bookmarks: Bookmarks,
    pub search: Search,
    pub embed: Embed,
    pub oss: Oss,
    pub llm: Llm,
    pub limits: Limits,
    pub toolsets: Toolsets,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    #[serde(deserialize_with = "listen::from_text")]
    pub listen: SocketAddr,
    /// The address people use, behind a proxy: links in answers start with it.
    pub public_url: String,
    /// Host names besides loopback that requests may be addressed to.
    pub allowed_hosts: Vec<String>,
    /// Origins besides our own whose pages may call us.
    pub allowed_origins: Vec<String>,
    pub anonymous: Anonymous,
    pub session_idle_seconds: u64,
    /// How long a shutdown waits for what was accepted.
    pub drain_seconds: u64,
}

words!(
    /// What a caller without a token may do over HTTP.
    Anonymous, "anonymous", { Free = "free", Off = "off", Owner = "owner" }
);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vault {
    /// Empty: the folder's own name.
    #[serde(default)]
    pub name: String,
    pub path: PathBuf,
    /// Look for changes by reading the folder, where the file system sends no events.
    #[serde(default)]
    pub poll: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cards {
    /// Memento's `dev.db`, or empty for `cards.db` in the data directory.
    pub database: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prompts {
    /// Empty: `prompts` in the data directory.
    pub directory: PathBuf,
    /// How many backups of `user.jsonl` are kept.
    pub backups: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bookmarks {
    /// The categories, as `assets/taxonomy.toml` has them; empty: those.
    pub taxonomy: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Results in an answer when the caller does not say.
    pub limit: usize,
    /// The most that a caller may ask for.
    pub max_limit: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embed {
    pub provider: EmbedProvider,
    /// Threads that embed in the background; 0: all cores but one.
    pub threads: usize,
    /// For `http`: an OpenAI-compatible base address such as `http://127.0.0.1:11434/v1`.
    pub url: String,
    pub model: String,
    pub dims: usize,
    /// A file with the key, readable by its owner only. `NOTEWELL_EMBED_KEY` wins over it.
    pub key_file: PathBuf,
    pub timeout_seconds: u64,
}

words!(
    /// Who turns text into vectors.
    EmbedProvider, "embed provider", { Embedded = "embedded", None = "none", Http = "http" }
);

/// Reports on repositories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oss {
    /// Forges that may be asked, over https and at a public address only.
    pub allowed_hosts: Vec<String>,
    /// Forges of one's own network, as `host` or `host:port`: also over http, also at a private
    /// address.
    pub trusted_hosts: Vec<String>,
    pub clone_mb: u64,
    pub clone_seconds: u64,
    /// Build and test, where there is a sandbox to do it in.
    pub build: bool,
    /// For the build, and again for the tests.
    pub build_seconds: u64,
    pub memory_mb: u64,
    pub processes: u64,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    pub provider: LlmProvider,
    /// The base address; empty: the provider's own.
    pub url: String,
    pub model: String,
    /// A file with the key, readable by its owner only. `NOTEWELL_LLM_KEY` wins over it.
    pub key_file: PathBuf,
    /// The time limit of one call, tries and waits included.
    pub timeout_seconds: u64,
    /// How often a busy or broken server is asked again.
    pub retries: u32,
    /// The longest answer that is asked for.
    pub max_tokens: u32,
    /// Prices of a million tokens, in whatever currency: only for the counter of what was spent.
    pub input_cost: f64,
    pub output_cost: f64,
}

words!(
    /// Who writes in words of its own.
    LlmProvider, "llm provider", { None = "none", Anthropic = "anthropic", OpenAi = "openai" }
);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub body_bytes: usize,
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
    pub streams_per_caller: usize,
    /// Sessions of streamable HTTP; a new one replaces the least recently used.
    pub sessions: usize,
    pub sessions_per_caller: usize,
    /// TCP connections; a new one replaces the oldest that never carried a valid token.
    pub connections: usize,
    /// How long the headers of a request, and a connection without one, may take.
    pub header_seconds: u64,
    /// How long the body of a request may take.
    pub body_seconds: u64,
    pub request_seconds: u64,
    /// The longest answer of one tool, in bytes of text.
    pub result_bytes: usize,
    /// A note larger than this is named by `doctor` and not read.
    pub note_bytes: u64,
    pub query_chars: usize,
    /// Tools, prompts and resources on one page of a list.
    pub page: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolsets {
    pub vault: bool,
    pub cards: bool,
    pub bookmarks: bool,
    pub prompts: bool,
    pub market: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::new(),
            log: "info".into(),
            server: Server::default(),
            vault: Vec::new(),
            cards: Cards::default(),
            prompts: Prompts::default(),
            bookmarks: Bookmarks::default(),
            search: Search::default(),
            embed: Embed::default(),
            oss: Oss::default(),
            llm: Llm::default(),
            limits: Limits::default(),
            toolsets: Toolsets::default(),
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7717)),
            public_url: String::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
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
        Self { limit: 10, max_limit: 100 }
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
        }
    }
}

impl Default for Toolsets {
    fn default() -> Self {
        Self { vault: true, cards: true, bookmarks: true, prompts: true, market: true }
    }
}

/// What flags say; each wins over the environment and the file.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub config: Option<PathBuf>,
    pub data: Option<PathBuf>,
    pub vaults: Vec<PathBuf>,
    pub listen: Option<SocketAddr>,
    /// Host names that requests may be addressed to, besides those of the file.
    pub allowed_hosts: Vec<String>,
}

impl Config {
    /// File, then environment, then flags; then the empty paths become the platform's.
    pub fn load(flags: &Flags) -> Result<Self> {
        let named = flags.config.as_deref().map(expand_home);
        let mut config = match named.or_else(named_file) {
            Some(path) => Self::read(&path)?,
            None => match default_file().filter(|path| path.exists()) {
                Some(path) => Self::read(&path)?,
                None => Self::default(),
            },
        };
        config.take_environment()?;
        if let Some(data) = &flags.data {
            config.data = expand_home(data);
        }
        if let Some(listen) = flags.listen {
            config.server.listen = listen;
        }
        config.server.allowed_hosts.extend(flags.allowed_hosts.iter().cloned());
        config.vault.extend(flags.vaults.iter().map(|path| Vault {
            name: String::new(),
            path: expand_home(path),
            poll: false,
        }));
        config.finish()
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .doing(format_args!("read the config file `{}`", path.display()))?;
        let mut config = Self::parse(&text)
            .map_err(|error| Error::invalid_params(format!("`{}`: {error}", path.display())))?;
        let base = path.parent().unwrap_or(Path::new("."));
        // A path in the file is relative to the file, not to where the shell is; `~` is the home.
        let resolve = |path: &Path| base.join(expand_home(path));
        let osv = &mut config.oss.osv;
        if !osv.is_empty() && !osv.contains("://") {
            *osv = resolve(Path::new(osv)).to_string_lossy().into_owned();
        }
        let paths = [
            &mut config.data,
            &mut config.cards.database,
            &mut config.prompts.directory,
            &mut config.embed.key_file,
            &mut config.llm.key_file,
            &mut config.bookmarks.taxonomy,
        ];
        for path in paths.into_iter().chain(config.vault.iter_mut().map(|vault| &mut vault.path)) {
            if !path.as_os_str().is_empty() {
                *path = resolve(path);
            }
        }
        Ok(config)
    }

    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    fn take_environment(&mut self) -> Result<()> {
        if let Some(data) = env_path("NOTEWELL_DATA") {
            self.data = data;
        }
        if let Some(log) = env_text("NOTEWELL_LOG") {
            self.log = log;
        }
        if let Some(listen) = env_text("NOTEWELL_LISTEN") {
            self.server.listen = listen_address(&listen)
                .map_err(|error| Error::invalid_params(format!("NOTEWELL_LISTEN: {error}")))?;
        }
        if let Some(hosts) = env_text("NOTEWELL_ALLOWED_HOSTS") {
            let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
            self.server.allowed_hosts.extend(hosts.map(String::from));
        }
        if let Some(url) = env_text("NOTEWELL_PUBLIC_URL") {
            self.server.public_url = url;
        }
        if let Some(anonymous) = env_text("NOTEWELL_ANONYMOUS") {
            self.server.anonymous = anonymous.parse()?;
        }
        if let Some(database) = env_path("NOTEWELL_CARDS_DATABASE") {
            self.cards.database = database;
        }
        if let Some(directory) = env_path("NOTEWELL_PROMPTS_DIRECTORY") {
            self.prompts.directory = directory;
        }
        if let Some(provider) = env_text("NOTEWELL_EMBED_PROVIDER") {
            self.embed.provider = provider.parse()?;
        }
        if let Some(provider) = env_text("NOTEWELL_LLM_PROVIDER") {
            self.llm.provider = provider.parse()?;
        }
        if let Some(url) = env_text("NOTEWELL_LLM_URL") {
            self.llm.url = url;
        }
        if let Some(model) = env_text("NOTEWELL_LLM_MODEL") {
            self.llm.model = model;
        }
        if let Some(vault) = env_path("NOTEWELL_VAULT") {
            self.vault.push(Vault { name: String::new(), path: vault, poll: false });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Self> {
        if self.data.as_os_str().is_empty() {
            self.data = directories::ProjectDirs::from("", "", "notewell")
                .map(|dirs| dirs.data_dir().to_path_buf())
                .ok_or_else(|| {
                    Error::invalid_params(
                        "this account has no home directory; say where to keep data with `--data DIR`",
                    )
                })?;
        }
        self.check()?;
        Ok(self)
    }

    /// What no single key can check.
    fn check(&self) -> Result<()> {
        if self.server.anonymous == Anonymous::Owner && !self.server.listen.ip().is_loopback() {
            return Err(Error::invalid_params(format!(
                "`anonymous = \"owner\"` opens everything to whoever reaches `{}`; listen on a loopback address, or make tokens with `notewell token create`",
                self.server.listen
            )));
        }
        let positive = [
            ("limits.body_bytes", self.limits.body_bytes),
            ("limits.batch", self.limits.batch),
            ("limits.concurrent", self.limits.concurrent),
            ("limits.concurrent_per_caller", self.limits.concurrent_per_caller),
            ("limits.streams", self.limits.streams),
            ("limits.streams_per_caller", self.limits.streams_per_caller),
            ("limits.sessions", self.limits.sessions),
            ("limits.sessions_per_caller", self.limits.sessions_per_caller),
            ("limits.connections", self.limits.connections),
            ("limits.header_seconds", self.limits.header_seconds as usize),
            ("limits.body_seconds", self.limits.body_seconds as usize),
            ("limits.page", self.limits.page),
            ("oss.jobs", self.oss.jobs),
            ("search.limit", self.search.limit),
            ("search.max_limit", self.search.max_limit),
            ("llm.timeout_seconds", self.llm.timeout_seconds as usize),
            ("llm.max_tokens", self.llm.max_tokens as usize),
        ];
        if let Some((key, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(Error::invalid_params(format!("`{key}` must be at least 1")));
        }
        if self.embed.provider == EmbedProvider::Http && self.embed.url.is_empty() {
            return Err(Error::invalid_params(
                "`[embed] provider = \"http\"` needs `url`, such as `http://127.0.0.1:11434/v1`",
            ));
        }
        if self.llm.provider != LlmProvider::None && self.llm.model.is_empty() {
            return Err(Error::invalid_params(format!(
                "`[llm] provider = \"{}\"` needs `model`, the name of the model to ask",
                self.llm.provider
            )));
        }
        let prices = [self.llm.input_cost, self.llm.output_cost];
        if prices.iter().any(|price| !price.is_finite() || *price < 0.0) {
            return Err(Error::invalid_params(
                "`llm.input_cost` and `llm.output_cost` are prices of a million tokens, 0 or more",
            ));
        }
        Ok(())
    }

    /// Why `serve` should warn about who can reach it.
    pub fn exposure(&self) -> Option<String> {
        let server = &self.server;
        let exposed = !server.listen.ip().is_loopback()
            && server.anonymous != Anonymous::Off
            && server.public_url.is_empty();
        exposed.then(|| {
            format!(
                "`{}` can be reached from other machines, and callers without a token may read pages with `free: true`; set `anonymous = \"off\"` in [server] to require a token, or `public_url` if this is meant",
                server.listen
            )
        })
    }

    /// The start of every link that Notewell hands out.
    pub fn public_url(&self) -> String {
        if self.server.public_url.is_empty() {
            format!("http://{}", self.server.listen)
        } else {
            self.server.public_url.trim_end_matches('/').to_owned()
        }
    }

    pub fn cards_database(&self) -> PathBuf {
        self.or_in_data(&self.cards.database, "cards.db")
    }

    pub fn prompts_directory(&self) -> PathBuf {
        self.or_in_data(&self.prompts.directory, "prompts")
    }

    fn or_in_data(&self, path: &Path, name: &str) -> PathBuf {
        if path.as_os_str().is_empty() { self.data.join(name) } else { path.to_path_buf() }
    }
}

/// The key of the embedding provider: the environment, else the file.
pub fn embed_key(embed: &Embed) -> Result<Option<String>> {
    secret("NOTEWELL_EMBED_KEY", &embed.key_file)
}

/// The key of the language model's provider: the environment, else the file.
pub fn llm_key(llm: &Llm) -> Result<Option<String>> {
    secret("NOTEWELL_LLM_KEY", &llm.key_file)
}

/// A secret from the environment or from a file that only its owner can read.
fn secret(name: &str, file: &Path) -> Result<Option<String>> {
    if let Some(key) = env_text(name) {
        return Ok(Some(key));
    }
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file)
            .doing(format_args!("read the key file `{}`", file.display()))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            return Err(Error::invalid_params(format!(
                "others can read the key file `{0}`; run `chmod 600 {0}`",
                file.display()
            )));
        }
    }
    let key = std::fs::read_to_string(file)
        .doing(format_args!("read the key file `{}`", file.display()))?;
    Ok(Some(key.trim().to_owned()))
}

/// The config file that the environment names.
pub fn named_file() -> Option<PathBuf> {
    env_path("NOTEWELL_CONFIG")
}

/// Where the config file is looked for when nobody names one.
pub fn default_file() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "notewell")
        .map(|dirs| dirs.config_dir().join("notewell.toml"))
}

/// The user's home, where clients keep their settings.
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf())
}

/// The path with a leading `~` replaced by the user's home. A shell does that only where the `~` is
/// not quoted, and nobody does it in a config file.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// The variables that decide which library is used, for a client that starts with an environment
/// of its own. The paths are absolute.
pub fn library_environment() -> Vec<(&'static str, PathBuf)> {
    ["NOTEWELL_CONFIG", "NOTEWELL_DATA", "NOTEWELL_VAULT"]
        .into_iter()
        .filter_map(|name| Some((name, env_path(name)?)))
        .map(|(name, path)| (name, std::path::absolute(&path).unwrap_or(path)))
        .collect()
}

/// Whether a terminal gets colour: `NO_COLOR` and `TERM=dumb` turn it off.
pub fn wants_colour() -> bool {
    env_text("NO_COLOR").is_none() && env_text("TERM").is_none_or(|term| term != "dumb")
}

/// Where programs are looked for, to hand on to one whose environment is otherwise empty.
pub fn search_path() -> String {
    env_text("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// The person's editor, for `prompt edit`.
pub fn editor() -> String {
    env_text("VISUAL").or_else(|| env_text("EDITOR")).unwrap_or_else(|| "vi".into())
}

fn env_path(name: &str) -> Option<PathBuf> {
    env_text(name).map(|path| expand_home(Path::new(&path)))
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn env_text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../config.example.toml");

    #[test]
    fn the_example_is_the_default() {
        assert_eq!(Config::parse(EXAMPLE).unwrap(), Config::default());
    }

    #[test]
    fn the_example_names_every_key() {
        fn keys(value: &toml::Value, path: &str, found: &mut Vec<String>) {
            if let toml::Value::Table(table) = value {
                for (key, value) in table {
                    let path = format!("{path}.{key}");
                    keys(value, &path, found);
                    found.push(path);
                }
            }
        }
        let mut expected = Vec::new();
        keys(&toml::Value::try_from(Config::default()).unwrap(), "", &mut expected);
        expected.retain(|key| key != ".vault");
        let mut written = Vec::new();
        keys(&toml::from_str(EXAMPLE).unwrap(), "", &mut written);
        expected.sort();
        written.sort();
        assert_eq!(written, expected);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = Config::parse("[server]\nlissten = \"127.0.0.1:1\"").unwrap_err();
        assert!(error.contains("lissten"), "{error}");
    }

    #[test]
    fn a_tilde_is_the_home_and_other_paths_start_at_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notewell.toml");
        let text = "data = \"~/data\"\n[[vault]]\npath = \"~\"\n[[vault]]\npath = \"~notes\"\n[oss]\nosv = \"~/osv\"\n";
        #[expect(clippy::disallowed_methods, reason = "a test's own file")]
        std::fs::write(&file, text).unwrap();
        let config = Config::read(&file).unwrap();
        let home = home().unwrap();
        assert_eq!(config.data, home.join("data"));
        assert_eq!(config.oss.osv, home.join("osv").to_string_lossy());
        assert_eq!(config.vault[0].path, home);
        // Another user's home is the shell's to know; this is a folder with that name.
        assert_eq!(config.vault[1].path, folder.path().join("~notes"));
    }

    #[test]
    fn an_open_address_is_warned_about() {
        let mut config = Config::default();
        assert_eq!(config.exposure(), None);
        config.server.listen = "0.0.0.0:7717".parse().unwrap();
        assert!(config.exposure().unwrap().contains("anonymous"));
        config.server.anonymous = Anonymous::Off;
        assert_eq!(config.exposure(), None);
    }

    #[test]
    fn everybody_is_owner_only_on_loopback() {
        let mut config = Config::default();
        config.server.anonymous = Anonymous::Owner;
        assert!(config.check().is_ok());
        config.server.listen = "0.0.0.0:7717".parse().unwrap();
        assert!(config.check().is_err());
    }
}
