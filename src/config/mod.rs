//! Settings: the file, then the environment, then flags.

mod environment;
mod handed_on;
mod hosted;
mod listen;
mod market;
mod network;
mod remote;
mod sections;
mod store;
mod web;

pub use environment::{
    default_file, editor, embed_key, expand_home, has_display, home, llm_key, named_file,
    push_token, remote_token, search_path, settings_folder, stripe_key, stripe_webhook_secret,
    wants_colour,
};
pub use handed_on::{Unseen, library_environment, store_is_from_environment, unseen_settings};
pub use hosted::Hosted;
pub use listen::listen_address;
pub use market::{Market, Stripe, X402};
pub use network::Network;
pub use remote::{Remote, Remotes, is_local};
pub use sections::{
    Accounts, Anonymous, Bookmarks, Cards, Embed, EmbedProvider, History, Limits, Llm, LlmProvider,
    OAuth, Oss, Prompts, Search, Server, Toolsets, Vault, Write,
};
pub use store::Store;
pub use web::Web;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use self::environment::{env_path, env_text};
use crate::domain::{Error, Result, error::Doing};

/// The settings of a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where Notewell keeps its own files. Empty: the data directory of the platform.
    pub data: PathBuf,
    /// The log filter, as `RUST_LOG` writes it.
    pub log: String,
    /// `[store]`.
    pub store: Store,
    /// `[server]`.
    pub server: Server,
    /// `[[vault]]`, one per folder.
    pub vault: Vec<Vault>,
    /// `[write]`.
    pub write: Write,
    /// `[cards]`.
    pub cards: Cards,
    /// `[prompts]`.
    pub prompts: Prompts,
    /// `[bookmarks]`.
    pub bookmarks: Bookmarks,
    /// `[history]`.
    pub history: History,
    /// `[search]`.
    pub search: Search,
    /// `[embed]`.
    pub embed: Embed,
    /// `[oss]`.
    pub oss: Oss,
    /// `[llm]`.
    pub llm: Llm,
    /// `[accounts]`.
    pub accounts: Accounts,
    /// `[market]`.
    pub market: Market,
    /// `[[remote]]`, one per base.
    pub remote: Vec<Remote>,
    /// `[remotes]`.
    pub remotes: Remotes,
    /// `[web]`.
    pub web: Web,
    /// `[hosted]`.
    pub hosted: Hosted,
    /// `[limits]`.
    pub limits: Limits,
    /// `[oauth]`.
    pub oauth: OAuth,
    /// `[toolsets]`.
    pub toolsets: Toolsets,
    /// The file that these settings are from, where it holds a password or a token.
    #[serde(skip)]
    pub secret_file: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::new(),
            log: "info".into(),
            store: Store::default(),
            server: Server::default(),
            vault: Vec::new(),
            write: Write::default(),
            cards: Cards::default(),
            prompts: Prompts::default(),
            bookmarks: Bookmarks::default(),
            history: History::default(),
            search: Search::default(),
            embed: Embed::default(),
            oss: Oss::default(),
            llm: Llm::default(),
            accounts: Accounts::default(),
            market: Market::default(),
            remote: Vec::new(),
            remotes: Remotes::default(),
            web: Web::default(),
            hosted: Hosted::default(),
            limits: Limits::default(),
            oauth: OAuth::default(),
            toolsets: Toolsets::default(),
            secret_file: None,
        }
    }
}

/// Command-line flags. Each overrides the environment and the file.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// The config file (`--config`).
    pub config: Option<PathBuf>,
    /// The data directory (`--data`).
    pub data: Option<PathBuf>,
    /// Vaults besides those of the file (`--vault`).
    pub vaults: Vec<PathBuf>,
    /// The address to listen on (`--listen`).
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
        config.apply_environment()?;
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
            author: None,
        }));
        config.finish()
    }

    /// Reads a config file. Relative paths in it start at its folder, and `~` is the home.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .doing(format_args!("read the config file `{}`", path.display()))?;
        let mut config = Self::parse(&text)
            .map_err(|error| Error::invalid_params(format!("`{}`: {error}", path.display())))?;
        config.secret_file = config.has_secret().then(|| path.to_path_buf());
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
            &mut config.market.stripe.key_file,
            &mut config.market.stripe.webhook_secret_file,
            &mut config.bookmarks.taxonomy,
        ];
        let vaults = config.vault.iter_mut().map(|vault| &mut vault.path);
        let tokens = config.remote.iter_mut().map(|remote| &mut remote.token_file);
        for path in paths.into_iter().chain(vaults).chain(tokens) {
            if !path.as_os_str().is_empty() {
                *path = resolve(path);
            }
        }
        Ok(config)
    }

    /// Whether a password or a token is among the settings.
    fn has_secret(&self) -> bool {
        self.store.has_password() || self.remote.iter().any(|remote| !remote.token.is_empty())
    }

    /// Parses a config file without resolving its paths.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    fn apply_environment(&mut self) -> Result<()> {
        if let Some(data) = env_path("NOTEWELL_DATA") {
            self.data = data;
        }
        if let Some(url) = env_text("NOTEWELL_STORE_URL") {
            self.store.url = url;
        }
        if let Some(log) = env_text("NOTEWELL_LOG") {
            self.log = log;
        }
        if let Some(listen) = env_text("NOTEWELL_LISTEN") {
            self.server.listen = listen_address(&listen).map_err(|error| {
                Error::invalid_params(format!("NOTEWELL_LISTEN: {}", error.plain()))
            })?;
        }
        if let Some(hosts) = env_text("NOTEWELL_ALLOWED_HOSTS") {
            let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
            self.server.allowed_hosts.extend(hosts.map(String::from));
        }
        if let Some(proxies) = env_text("NOTEWELL_TRUSTED_PROXIES") {
            let proxies = proxies.split(',').map(str::trim).filter(|proxy| !proxy.is_empty());
            for proxy in proxies {
                self.server.trusted_proxies.push(proxy.parse()?);
            }
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
            self.vault.push(Vault { name: String::new(), path: vault, poll: false, author: None });
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

    /// Checks what involves more than one key.
    fn check(&self) -> Result<()> {
        if self.server.anonymous == Anonymous::Owner && !self.server.listen.ip().is_loopback() {
            return Err(Error::invalid_params(format!(
                "`anonymous = \"owner\"` opens everything to whoever reaches `{}`; listen on a loopback address, or make tokens with `notewell token create`",
                self.server.listen
            )));
        }
        let positive = [
            ("limits.body_bytes", self.limits.body_bytes),
            ("limits.upload_bytes", self.limits.upload_bytes),
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
            ("limits.calls_per_minute", self.limits.calls_per_minute as usize),
            ("limits.confirm_seconds", self.limits.confirm_seconds as usize),
            ("accounts.audit_entries", self.accounts.audit_entries as usize),
            ("store.timeout_seconds", self.store.timeout_seconds as usize),
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
        self.market.check()?;
        remote::check(&self.remote, &self.remotes)?;
        let prices = [self.llm.input_cost, self.llm.output_cost];
        if prices.iter().any(|price| !price.is_finite() || *price < 0.0) {
            return Err(Error::invalid_params(
                "`llm.input_cost` and `llm.output_cost` are prices of a million tokens, 0 or more",
            ));
        }
        Ok(())
    }

    /// A warning when other machines can reach the server without a token.
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

    /// The database of cards.
    pub fn cards_database(&self) -> PathBuf {
        self.or_in_data(&self.cards.database, "cards.db")
    }

    /// The folder of `user.jsonl`.
    pub fn prompts_directory(&self) -> PathBuf {
        self.or_in_data(&self.prompts.directory, "prompts")
    }

    /// Whether the cards are in a file that the config names, and not where the library is.
    pub fn has_cards_database(&self) -> bool {
        !self.cards.database.as_os_str().is_empty()
    }

    /// Whether the prompts are in a folder that the config names, and not where the library is.
    pub fn has_prompts_directory(&self) -> bool {
        !self.prompts.directory.as_os_str().is_empty()
    }

    fn or_in_data(&self, path: &Path, name: &str) -> PathBuf {
        if path.as_os_str().is_empty() { self.data.join(name) } else { path.to_path_buf() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../config.example.toml");

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
        expected.retain(|key| key != ".vault" && key != ".remote");
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
