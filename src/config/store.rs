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
    fn the_password_is_not_shown() {
        let store = Store { url: "postgres://nw:s3cret@h/db".into(), ..Store::default() };
        assert!(!format!("{store:?}").contains("s3cret"));
    }
}
