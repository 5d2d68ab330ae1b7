//! Signing in, and the sessions that it opens.

use std::{net::IpAddr, time::Instant};

use super::{
    super::{App, tokens},
    Actor,
    brakes::{Key, too_early},
    passwords::Verdict,
};
use crate::{
    domain::{Error, Result, Timestamp, UserId, UserName, author::fold},
    store::{
        sessions::{NewSession, Session},
        tokens::Holder,
        users::Account,
    },
};

/// A session that is not used for this long ends.
const IDLE_DAYS: i64 = 30;
/// How often a use is recorded.
const TOUCH_MS: i64 = 60_000;
/// Open sessions of one user. One more ends the one that was unused for the longest time.
const MAX_SESSIONS: usize = 100;

/// Begins the secret of a session, so that it is never taken for a token.
const PREFIX: &str = "nws_";

impl App {
    /// Checks a name and a password. What is wrong is not said, and an unknown name takes as long as
    /// a wrong password. Too many failures are a `Limit` whose data has `retry_after_seconds`.
    pub fn sign_in(&self, name: &str, password: &str, from: IpAddr) -> Result<Account> {
        let account = match UserName::new(name) {
            Ok(name) => self.store.users.find(&name)?,
            Err(_) => None,
        };
        let keys = self.brake_keys(name, account.as_ref(), from)?;
        let brakes = &self.accounts.brakes;
        brakes
            .attempt(&keys, Instant::now())
            .map_err(|wait| too_early("names or passwords", wait))?;
        let hash = account.as_ref().and_then(|account| account.password.as_deref());
        let verdict = self.accounts.hasher.verify(password, hash)?;
        let (Some(account), Verdict::Right | Verdict::RightButOutdated) = (&account, verdict)
        else {
            // Not the name as it was typed: people type passwords there.
            let (subject, outcome) = match &account {
                Some(account) => (account.name.as_str(), "wrong_password"),
                None => ("", "unknown_user"),
            };
            self.audit(Actor::user("", from).entry("sign_in", subject, outcome));
            return Err(Error::invalid_request("the name or the password is wrong"));
        };
        brakes.succeeded(&keys);
        if verdict == Verdict::RightButOutdated
            && let Err(error) = self.renew_hash(account, password)
        {
            tracing::warn!(?error, "an outdated password hash stays");
        }
        let name = account.name.as_str();
        self.audit(Actor::user(name, from).entry("sign_in", name, "ok"));
        Ok(account.clone())
    }

    /// Opens a session of somebody who signed in. The text is the secret for the cookie; it is kept
    /// only as a hash.
    pub fn open_session(
        &self,
        user: UserId,
        agent: &str,
        from: IpAddr,
    ) -> Result<(Session, String)> {
        let now = Timestamp::now();
        self.store.sessions.prune(now)?;
        let mut open = self.store.sessions.of_user(user, now)?;
        open.sort_by_key(|session| std::cmp::Reverse(session.seen));
        for session in open.iter().skip(MAX_SESSIONS - 1) {
            self.store.sessions.end(user, session.id)?;
        }
        let secret = tokens::new_secret(PREFIX)?;
        let session = NewSession {
            user,
            expires: now.plus_days(IDLE_DAYS),
            agent: agent.to_owned(),
            address: from.to_string(),
        };
        let session = self.store.sessions.open(&tokens::hash(&secret), &session)?;
        Ok((session, secret))
    }

    /// The session with this secret and whose it is; `None` when it ended.
    pub fn session_of(&self, secret: &str) -> Result<Option<(Session, Holder)>> {
        let now = Timestamp::now();
        let found = self.store.sessions.find(&tokens::hash(secret), now)?;
        let Some((mut session, holder)) = found else { return Ok(None) };
        if now.0.saturating_sub(session.seen.0) >= TOUCH_MS {
            let expires = now.plus_days(IDLE_DAYS);
            match self.store.sessions.touch(session.id, now, expires) {
                Ok(()) => (session.seen, session.expires) = (now, expires),
                Err(error) => tracing::warn!(?error, "a session's use is not recorded"),
            }
        }
        Ok(Some((session, holder)))
    }

    /// Ends a session of a user. False when there is none.
    pub fn end_session(&self, user: UserId, id: i64) -> Result<bool> {
        self.store.sessions.end(user, id)
    }

    /// What the attempts of somebody with this name are counted by.
    pub(super) fn brake_keys(
        &self,
        name: &str,
        account: Option<&Account>,
        from: IpAddr,
    ) -> Result<Vec<Key>> {
        let address = Key::address(from);
        // A stranger's failures must not keep a user out of the place where they are signed in.
        Ok(match account.map(|one| self.is_at_home(one.id, from)).transpose()? {
            Some(true) => vec![address],
            _ => vec![address, Key::User(fold(name).chars().take(100).collect())],
        })
    }

    /// Whether a user has a session that was opened from this address.
    fn is_at_home(&self, user: UserId, from: IpAddr) -> Result<bool> {
        let open = self.store.sessions.of_user(user, Timestamp::now())?;
        Ok(open.iter().any(|session| session.address == from.to_string()))
    }

    fn renew_hash(&self, account: &Account, password: &str) -> Result<()> {
        let Some(old) = &account.password else { return Ok(()) };
        let new = self.accounts.hasher.hash(password)?;
        self.store.users.replace_password_hash(account.id, old, &new)?;
        Ok(())
    }

    /// An error when an address has sent too many wrong tokens. To be asked after a token proved
    /// wrong: a right one is never refused.
    pub fn brake_token(&self, from: IpAddr) -> Result<()> {
        match self.accounts.brakes.token_wait(from, Instant::now()) {
            Some(wait) => Err(too_early("tokens", wait)),
            None => Ok(()),
        }
    }

    /// Counts a wrong token of an address.
    pub fn token_failed(&self, from: IpAddr) {
        if self.accounts.brakes.wrong_token(from, Instant::now()) {
            self.audit(Actor::user("", from).entry("token", "", "too_many_wrong"));
        }
    }
}
