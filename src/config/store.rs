//! `[store]`: where durable state is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `[store]`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The address of a PostgreSQL library; empty: SQLite in the data directory. May contain a
    /// password.
    pub url: String,
    /// How long the server may take for one statement.
    pub timeout_seconds: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self { url: String::new(), timeout_seconds: 10 }
    }
}

impl Store {
    /// Whether the address contains a password.
    pub fn has_password(&self) -> bool {
        let user = self.url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        user.is_some_and(|(user, _)| user.contains(':')) || self.url.contains("password=")
    }
}

/// Without the address, which may contain a password.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("url", &if self.url.is_empty() { "" } else { "…" })
            .field("timeout_seconds", &self.timeout_seconds)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_noticed() {
        let has = |url: &str| Store { url: url.into(), ..Store::default() }.has_password();
        assert!(has("postgres://nw:s3cret@h1,h2/db") && has("postgres://h/db?password=s3cret"));
        assert!(!has("") && !has("postgres://nw@h:5432/db") && !has("postgres://h:5432/db"));
    }

    #[test]
    fn the_password_is_not_shown() {
        let store = Store { url: "postgres://nw:s3cret@h/db".into(), ..Store::default() };
        assert!(!format!("{store:?}").contains("s3cret"));
    }
}
