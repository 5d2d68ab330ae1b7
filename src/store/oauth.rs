//! What the authorization server keeps: registered clients, codes, and the clients that a user
//! connected, each with its chain of refresh tokens. Every secret is kept as its SHA-256.

use crate::domain::{Result, Scopes, Timestamp, UserId};

/// A client that registered itself, with its metadata as it sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    /// The `client_id`.
    pub id: String,
    /// The SHA-256 of its secret, for a confidential client.
    pub secret: Option<[u8; 32]>,
    /// The registered metadata, as JSON.
    pub metadata: String,
    /// When it registered.
    pub created: Timestamp,
    /// When a user last connected it. One that never was expires.
    pub used: Option<Timestamp>,
}

/// An authorization code to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The `client_id` it was issued to.
    pub client: String,
    /// What the user reads as the client's name.
    pub client_name: String,
    /// Who consented.
    pub user: UserId,
    /// The `redirect_uri` of the request, to the letter.
    pub redirect_uri: String,
    /// The S256 challenge.
    pub challenge: String,
    /// The resource it is for.
    pub resource: String,
    /// What the user agreed to.
    pub scopes: Scopes,
    /// When it stops being valid.
    pub expires: Timestamp,
}

/// The hashes and ends of a pair of tokens to issue.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The SHA-256 of the access token.
    pub access: [u8; 32],
    /// When the access token ends.
    pub access_expires: Timestamp,
    /// The SHA-256 of the refresh token.
    pub refresh: [u8; 32],
    /// When the refresh token ends.
    pub refresh_expires: Timestamp,
}

/// A client that a user connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its number.
    pub id: i64,
    /// Who connected it.
    pub user: UserId,
    /// The `client_id`.
    pub client: String,
    /// What the user reads as its name.
    pub client_name: String,
    /// The resource its tokens are valid at.
    pub resource: String,
    /// What the user agreed to.
    pub scopes: Scopes,
    /// When it was connected.
    pub created: Timestamp,
    /// When it last got a token.
    pub used: Timestamp,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// The result of redeeming a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// The tokens are issued.
    Issued(Connection),
    /// There is no such code, it expired, or `accept` refused it. A refused code is spent.
    Refused,
    /// It was redeemed before. Every token that came of it is revoked now.
    Replayed(Connection),
}

/// The result of redeeming a refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refreshed {
    /// The tokens are issued, with these scopes.
    Issued(Connection, Scopes),
    /// There is no such token, it expired, its connection is revoked, or `accept` refused it.
    Refused,
    /// It was rotated longer ago than the grace period, or its successor was rotated too. The whole
    /// connection is revoked now.
    Replayed(Connection),
}

/// How long a registered client is kept that no user connected.
pub const UNUSED_CLIENT_MS: i64 = 24 * 60 * 60 * 1000;

/// Keeps what the authorization server must remember. Each method is one transaction.
pub trait OAuth: Send + Sync {
    /// Registers a client, and forgets the oldest that were never used beyond `most` of those.
    fn register(&self, client: &RegisteredClient, most: usize) -> Result<()>;

    /// A registered client that has not expired.
    fn client(&self, id: &str) -> Result<Option<RegisteredClient>>;

    /// Keeps a code until it is redeemed or expires.
    fn keep_code(&self, hash: &[u8; 32], code: &Code) -> Result<()>;

    /// Redeems a code once. `accept` checks it against the request; the new connection and both
    /// tokens are made in the same transaction.
    fn redeem(
        &self,
        hash: &[u8; 32],
        pair: &Pair,
        now: Timestamp,
        accept: &dyn Fn(&Code) -> bool,
    ) -> Result<Redeemed>;

    /// Exchanges a refresh token for a new pair, within `scopes` where given. The token before the
    /// newest stays good for `grace_ms` after its rotation. `accept` checks the connection against
    /// the request; a token that it refuses stays as it is.
    fn refresh(
        &self,
        hash: &[u8; 32],
        pair: &Pair,
        scopes: Option<Scopes>,
        now: Timestamp,
        grace_ms: i64,
        accept: &dyn Fn(&Connection) -> bool,
    ) -> Result<Refreshed>;

    /// Revokes the connection that an access or refresh token of this client belongs to. False
    /// when there is none.
    fn revoke_by_token(&self, hash: &[u8; 32], client: &str) -> Result<bool>;

    /// The live connections of a user, or of all, newest first.
    fn connections(&self, user: Option<UserId>) -> Result<Vec<Connection>>;

    /// Which of these connections are live: not revoked, their account live.
    fn live(&self, ids: &[i64]) -> Result<Vec<i64>>;

    /// Revokes a connection with its tokens. False when there is none that is live.
    fn revoke_connection(&self, id: i64) -> Result<bool>;

    /// Forgets codes, tokens and unused clients whose time is over. Returns how many rows.
    fn prune(&self, now: Timestamp) -> Result<usize>;
}
