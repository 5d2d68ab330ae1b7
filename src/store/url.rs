//! Where a library's durable state is, and opening it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Audit, Bookmarks, Caches, Cards, Hosted, Items, Ledger, OAuth, Pages, Payments, Reports,
    Revisions, Sessions, Store, Tasks, Tokens, Usage, Users,
    postgres::{Address, Postgres},
    private,
    sqlite::Sqlite,
    texts::VaultTexts,
};
use crate::domain::{Error, Result};

/// The address of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one, read once at the start")]
pub enum StoreUrl {
    /// `sqlite:DIR`, or only `DIR`: the file `notewell.db` of a directory.
    Sqlite(PathBuf),
    /// `postgres://USER:PASSWORD@HOST/DATABASE?library=NAME`: a library of a server.
    Postgres(Address),
}

impl StoreUrl {
    /// Reads an address. A word of two letters or more before a colon is a scheme; a directory
    /// whose name looks like that is written as `./NAME` or `sqlite:NAME`.
    pub fn parse(text: &str) -> Result<Self> {
        let is_scheme = |word: &str| {
            word.len() > 1
                && word.starts_with(|c: char| c.is_ascii_alphabetic())
                && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        };
        let (scheme, place) = match text.split_once(':') {
            Some((scheme, place)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), place),
            _ => ("sqlite".to_owned(), text),
        };
        match scheme.as_str() {
            "sqlite" if place.is_empty() => Err(Error::invalid_params(format!(
                "the store `{text}` names no directory; write `sqlite:DIR`"
            ))),
            "sqlite" => Ok(Self::Sqlite(PathBuf::from(place))),
            "postgres" | "postgresql" => Address::parse(text).map(Self::Postgres),
            // The rest may hold a password.
            _ => Err(Error::invalid_params(format!(
                "the store has the scheme `{scheme}`, and only `sqlite:DIR`, a directory or `postgres://…` can be opened"
            ))),
        }
    }
}

impl From<&Path> for StoreUrl {
    fn from(directory: &Path) -> Self {
        Self::Sqlite(directory.to_path_buf())
    }
}

/// What a store may use.
#[derive(Debug, Clone, Copy)]
pub struct StoreLimits {
    /// Larger texts of pages are not read.
    pub text_bytes: u64,
    /// Connections that are kept for reading.
    pub readers: usize,
    /// How long a statement of a server may take.
    pub timeout: Duration,
}

impl StoreLimits {
    /// What a process that sets nothing may use.
    pub const DEFAULT: Self =
        Self { text_bytes: 16 << 20, readers: 4, timeout: Duration::from_secs(10) };
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The name of the file that is in a data directory while a restore puts files into it.
pub const RESTORE_UNFINISHED: &str = "restore-unfinished";

/// Refuses a directory that has only a part of what a restore was to put into it.
fn check_restored(directory: &Path) -> Result<()> {
    match directory.join(RESTORE_UNFINISHED).exists() {
        true => Err(Error::invalid_request(format!(
            "a restore into `{}` did not finish; run `notewell restore BACKUP --force` again. What was there before is in its folder `before-restore-…`",
            directory.display()
        ))),
        false => Ok(()),
    }
}

/// Opens a store, making or migrating it as needed.
pub fn open(url: &StoreUrl, limits: StoreLimits) -> Result<Store> {
    match url {
        StoreUrl::Sqlite(directory) => {
            check_restored(directory)?;
            private::make_private(directory)?;
            let database = Sqlite::open(&directory.join("notewell.db"))?;
            let database = Arc::new(database.with_readers(limits.readers));
            Ok(of(&database, limits, None))
        }
        StoreUrl::Postgres(address) => {
            let database = Postgres::open(address, limits.timeout, limits.readers)?;
            let database = Arc::new(database);
            Ok(of(&database, limits, Some(database.clone())))
        }
    }
}

/// The store whose nouns are all in one database.
fn of<D>(database: &Arc<D>, limits: StoreLimits, server: Option<Arc<Postgres>>) -> Store
where
    D: Items + Pages + Hosted + Users + Sessions + Audit + Tokens + Bookmarks + Reports,
    D: Revisions + OAuth + Ledger + Payments + Usage + Tasks + Caches + 'static,
{
    let texts = VaultTexts::new(database.clone(), database.clone(), limits.text_bytes);
    Store {
        items: database.clone(),
        pages: database.clone(),
        texts: Arc::new(texts),
        hosted: database.clone(),
        users: database.clone(),
        sessions: database.clone(),
        audit: database.clone(),
        tokens: database.clone(),
        bookmarks: database.clone(),
        reports: database.clone(),
        revisions: database.clone(),
        oauth: database.clone(),
        ledger: database.clone(),
        payments: database.clone(),
        usage: database.clone(),
        tasks: database.clone(),
        caches: database.clone(),
        cards: server.clone().map(|server| -> Arc<dyn Cards> { server }),
        server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_directory_or_names_its_scheme() {
        let sqlite = |path: &str| StoreUrl::Sqlite(PathBuf::from(path));
        for (text, expected) in [
            ("/srv/данные", sqlite("/srv/данные")),
            ("ノート", sqlite("ノート")),
            ("sqlite:data", sqlite("data")),
            ("SQLite:/srv/a:b", sqlite("/srv/a:b")),
            ("./a:b", sqlite("./a:b")),
            ("C:\\data", sqlite("C:\\data")),
        ] {
            assert_eq!(StoreUrl::parse(text).unwrap(), expected, "{text}");
        }
        for text in ["", "sqlite:"] {
            assert!(StoreUrl::parse(text).unwrap_err().message.contains("names no directory"));
        }
        let server = StoreUrl::parse("postgresql://nw@localhost/notes?library=team").unwrap();
        assert!(matches!(server, StoreUrl::Postgres(address) if address.library() == "team"));
        let error = StoreUrl::parse("mysql://nw:s3cret@localhost/notes").unwrap_err();
        assert!(error.message.contains("`mysql`") && error.message.contains("sqlite:DIR"));
        assert!(!error.message.contains("s3cret"));
    }
}
