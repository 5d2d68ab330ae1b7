//! Tokens: who may call over HTTP. The secret itself is never stored, only its SHA-256.

use std::sync::Arc;

use crate::domain::{
    Caller, Result, Scope, Scopes, Timestamp, UserId, UserName,
    user::{Grant, Role, User},
};

/// A token as it is kept: without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Never given to another token.
    pub id: i64,
    /// What the owner calls it; for a connected client, the client's name.
    pub name: String,
    /// What it opens.
    pub power: Power,
    /// The only resource at which it is valid, as an absolute URL; `None`: the whole server.
    pub audience: Option<String>,
    /// The connected client that it was issued to.
    pub connection: Option<i64>,
    /// When it was created.
    pub created: Timestamp,
    /// When it stops being valid by itself.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// The library, without an account.
    Scope(Scope),
    /// What a user may, within these scopes.
    User(UserId, Scopes),
}

/// A token to add.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What to call it.
    pub name: String,
    /// What it opens.
    pub power: Power,
    /// The only resource at which it is valid.
    pub audience: Option<String>,
    /// The connected client that it is issued to.
    pub connection: Option<i64>,
    /// When it stops being valid by itself.
    pub expires: Option<Timestamp>,
}

impl Token {
    /// Whether it is neither revoked nor expired.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}

/// The account behind a credential, as of the lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The account's number.
    pub id: UserId,
    /// The account's name.
    pub name: UserName,
    /// What the user is to the library.
    pub role: Role,
    /// What was granted.
    pub grants: Arc<[Grant]>,
}

impl Holder {
    /// The caller of a request that this account makes with a credential of these scopes.
    pub fn caller(&self, scopes: Scopes) -> Caller {
        Caller::User(User {
            id: Some(self.id),
            name: self.name.to_string(),
            role: self.role,
            grants: self.grants.clone(),
            scopes,
        })
    }
}

/// A token and, where it belongs to an account, that account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The token.
    pub token: Token,
    /// The account. `None` for a token that belongs to none.
    pub holder: Option<Holder>,
}

/// The name of a token that was given none.
pub const UNNAMED: &str = "unnamed";

impl Token {
    /// What people call it: its name, or its number.
    pub fn shown_name(&self) -> String {
        match self.name.trim() {
            "" | UNNAMED => format!("token {}", self.id),
            name => name.to_owned(),
        }
    }
}

impl Credential {
    /// The caller that a request with this token has.
    pub fn caller(&self) -> Caller {
        match (self.token.power, &self.holder) {
            (Power::User(_, scopes), Some(holder)) => holder.caller(scopes),
            (Power::Scope(Scope::Owner), _) => Caller::User(User {
                id: None,
                name: self.token.shown_name(),
                role: Role::Owner,
                grants: [Grant::EVERYTHING].into(),
                scopes: Scopes::ALL,
            }),
            // An account that is gone leaves what everybody may see.
            (Power::Scope(Scope::Reader) | Power::User(..), _) => Caller::User(User {
                id: None,
                name: self.token.shown_name(),
                role: Role::Reader,
                grants: [].into(),
                scopes: Scopes { read: true, ..Scopes::NONE },
            }),
        }
    }
}

/// Keeps tokens under the SHA-256 of their secrets.
pub trait Tokens: Send + Sync {
    /// Adds a token. Two tokens cannot have the same hash.
    fn create(&self, token: &NewToken, hash: &[u8; 32]) -> Result<Token>;

    /// The token whose secret has this SHA-256, valid or not, and its account with its grants, in
    /// one look at the database.
    ///
    /// A lookup may take longer the more leading bytes match. That reveals nothing of use: who
    /// can choose the leading bytes of a SHA-256 learns only bytes of a hash, never of a secret.
    fn find(&self, hash: &[u8; 32]) -> Result<Option<Credential>>;

    /// Every token but those of connected clients, valid or not, by id.
    fn all(&self) -> Result<Vec<Token>>;

    /// Which of these tokens are valid: neither revoked nor expired, their account live.
    fn valid(&self, ids: &[i64], now: Timestamp) -> Result<Vec<i64>>;

    /// False when there is no such token, or it was revoked before.
    fn revoke(&self, id: i64) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_without_a_name_is_called_by_its_number() {
        let mut token = Token {
            id: 7,
            name: UNNAMED.to_owned(),
            power: Power::Scope(Scope::Owner),
            audience: None,
            connection: None,
            created: Timestamp(0),
            expires: None,
            revoked: None,
        };
        assert_eq!(token.shown_name(), "token 7");
        token.name = "телефон".to_owned();
        assert_eq!(token.shown_name(), "телефон");
        assert!(
            matches!(Credential { token, holder: None }.caller(), Caller::User(user) if user.name == "телефон")
        );
    }
}
