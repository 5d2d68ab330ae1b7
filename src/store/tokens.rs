//! Tokens: who may call over HTTP. The secret itself is never stored.

use crate::domain::{
    Caller, Result, Scope, Timestamp,
    user::{Grant, Role, User},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: i64,
    pub name: String,
    pub scope: Scope,
    pub created: Timestamp,
    pub expires: Option<Timestamp>,
    pub revoked: Option<Timestamp>,
}

impl Token {
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

pub trait Tokens: Send + Sync {
    fn create(
        &self,
        name: &str,
        scope: Scope,
        hash: &[u8; 32],
        expires: Option<Timestamp>,
    ) -> Result<Token>;

    /// Every token with its hash, so that the caller compares them all in constant time.
    fn all(&self) -> Result<Vec<(Token, [u8; 32])>>;

    /// False when there is no such token, or it was revoked before.
    fn revoke(&self, id: i64) -> Result<bool>;
}
