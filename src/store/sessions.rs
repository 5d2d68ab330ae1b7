//! Sessions of people in browsers. The cookie's secret is never stored, only its SHA-256.

use super::tokens::Holder;
use crate::domain::{Result, Timestamp, UserId};

/// A session as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its number, by which its user can end it.
    pub id: i64,
    /// Whose it is.
    pub user: UserId,
    /// When the user signed in.
    pub created: Timestamp,
    /// When it was last used, to the minute.
    pub seen: Timestamp,
    /// When it ends by itself.
    pub expires: Timestamp,
    /// What the browser called itself.
    pub agent: String,
    /// The address it was opened from.
    pub address: String,
}

/// A session to open.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Whose it is.
    pub user: UserId,
    /// When it ends by itself.
    pub expires: Timestamp,
    /// What the browser calls itself; cut to 200 characters.
    pub agent: String,
    /// The address it is opened from.
    pub address: String,
}

/// Keeps sessions under the SHA-256 of their secrets.
pub trait Sessions: Send + Sync {
    /// Opens a session.
    fn open(&self, hash: &[u8; 32], session: &NewSession) -> Result<Session>;

    /// The session with this hash and its holder, unless it ended or its account was removed.
    fn find(&self, hash: &[u8; 32], now: Timestamp) -> Result<Option<(Session, Holder)>>;

    /// Records a use, and moves the end.
    fn touch(&self, id: i64, seen: Timestamp, expires: Timestamp) -> Result<()>;

    /// The open sessions of an account, newest first.
    fn of_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>>;

    /// Ends a session of an account. False when there is none.
    fn end(&self, user: UserId, id: i64) -> Result<bool>;

    /// Ends every session of an account but `except`. Returns how many.
    fn end_all(&self, user: UserId, except: Option<i64>) -> Result<usize>;

    /// Forgets sessions that ended by themselves. Returns how many.
    fn prune(&self, now: Timestamp) -> Result<usize>;
}
