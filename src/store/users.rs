//! Accounts: who has one, what was granted to them, and how they prove who they are.

use crate::domain::{
    Result, Timestamp, UserId, UserName,
    user::{Grant, Role},
};

/// An account. It stays when it is removed, because the books name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub id: UserId,
    /// Its name, as it stands in addresses.
    pub name: UserName,
    /// The name that people read.
    pub display_name: String,
    /// What the user is to the library; never `anonymous`.
    pub role: Role,
    /// The hash of the password, with its algorithm and parameters, as a PHC string.
    pub password: Option<String>,
    /// When it was added.
    pub created: Timestamp,
    /// When it was removed. A removed account has no password, grant, passkey, session or token.
    pub removed: Option<Timestamp>,
}

/// An account to add.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// Its name. That of a removed account is free again.
    pub name: UserName,
    /// The name that people read.
    pub display_name: String,
    /// What the user is to the library.
    pub role: Role,
    /// The hash of the password, as a PHC string.
    pub password: Option<String>,
}

/// A grant as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// Its number. Never given to another grant.
    pub id: i64,
    /// Whose it is.
    pub user: UserId,
    /// What was granted.
    pub grant: Grant,
    /// When it was granted.
    pub created: Timestamp,
}

/// A passkey of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyRow {
    /// The credential's id, as the authenticator gave it.
    pub credential: Vec<u8>,
    /// Whose it is.
    pub user: UserId,
    /// What the user calls it.
    pub name: String,
    /// Key, counter and flags, as JSON of the WebAuthn library.
    pub data: String,
    /// When it was added.
    pub created: Timestamp,
    /// When it was last used.
    pub used: Option<Timestamp>,
}

/// Keeps accounts, grants and passkeys. Names of live accounts are unique.
pub trait Users: Send + Sync {
    /// Adds an account. A taken name is a conflict.
    fn add(&self, account: &NewAccount) -> Result<Account>;

    /// The account of this number, removed or not.
    fn get(&self, id: UserId) -> Result<Option<Account>>;

    /// The live account of this name.
    fn find(&self, name: &UserName) -> Result<Option<Account>>;

    /// Every account by number, the removed ones too.
    fn all(&self) -> Result<Vec<Account>>;

    /// Whether a live owner has a password or a passkey.
    fn has_owner(&self) -> Result<bool>;

    /// Changes role and the name that people read. False when there is no such live account. The
    /// last live owner keeps the role: that is a conflict.
    fn set_profile(&self, id: UserId, role: Role, display_name: &str) -> Result<bool>;

    /// Replaces the password and ends every session of the account. False when there is no such
    /// live account.
    fn set_password(&self, id: UserId, password: &str) -> Result<bool>;

    /// Replaces the hash of an unchanged password, unless the password was changed meanwhile.
    /// Sessions go on.
    fn replace_password_hash(&self, id: UserId, old: &str, new: &str) -> Result<bool>;

    /// Removes an account, and with it its password, grants, passkeys, sessions, tokens and
    /// connected clients, in one transaction. False when there is no such live account. The last
    /// live owner stays: that is a conflict.
    fn remove(&self, id: UserId) -> Result<bool>;

    /// The grants of an account, by number.
    fn grants(&self, user: UserId) -> Result<Vec<GrantRow>>;

    /// Grants a part of the library. The same part again changes whether it may be written.
    fn grant(&self, user: UserId, grant: &Grant) -> Result<GrantRow>;

    /// Takes a grant back. False when there is none.
    fn revoke_grant(&self, id: i64) -> Result<bool>;

    /// Adds a passkey, or replaces the one with the same credential id of the same account.
    fn put_passkey(&self, passkey: &PasskeyRow) -> Result<()>;

    /// The passkeys of an account, oldest first.
    fn passkeys(&self, user: UserId) -> Result<Vec<PasskeyRow>>;

    /// The passkey with this credential id.
    fn passkey(&self, credential: &[u8]) -> Result<Option<PasskeyRow>>;

    /// Removes a passkey of an account. False when there is none.
    fn remove_passkey(&self, user: UserId, credential: &[u8]) -> Result<bool>;
}
