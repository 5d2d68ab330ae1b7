//! Tokens: who may call over HTTP. The secret itself is never stored, only its SHA-256.

use crate::domain::{
    Caller, Result, Scope, Timestamp,
    user::{Grant, Role, User},
};

/// A token as it is kept: without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Never given to another token.
    pub id: i64,
    /// What the owner calls it.
    pub name: String,
    /// What it allows.
    pub scope: Scope,
    /// When it was created.
    pub created: Timestamp,
    /// When it stops being valid by itself.
    pub expires: Option<Timestamp>,
    /// When the owner revoked it.
    pub revoked: Option<Timestamp>,
}

impl Token {
    /// Whether it is neither revoked nor expired.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }

    /// The caller that a request with this token has.
    pub fn caller(&self) -> Caller {
        let (role, grants) = match self.scope {
            Scope::Owner => (Role::Owner, vec![Grant::EVERYTHING]),
            Scope::Reader => (Role::Reader, Vec::new()),
        };
        Caller::User(User { id: self.id, name: self.name.clone(), role, grants })
    }
}

/// Keeps tokens under the SHA-256 of their secrets.
pub trait Tokens: Send + Sync {
    /// Adds a token. Two tokens cannot have the same hash.
    fn create(
        &self,
        name: &str,
        scope: Scope,
        hash: &[u8; 32],
        expires: Option<Timestamp>,
    ) -> Result<Token>;

    /// The token whose secret has this SHA-256, valid or not.
    ///
    /// A lookup may take longer the more leading bytes match. That reveals nothing of use: who
    /// can choose the leading bytes of a SHA-256 learns only bytes of a hash, never of a secret.
    fn find(&self, hash: &[u8; 32]) -> Result<Option<Token>>;

    /// Every token, valid or not, by id.
    fn all(&self) -> Result<Vec<Token>>;

    /// False when there is no such token, or it was revoked before.
    fn revoke(&self, id: i64) -> Result<bool>;
}
