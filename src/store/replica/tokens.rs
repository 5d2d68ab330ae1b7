//! Callers who were known before the server went away stay known meanwhile. Nothing can be revoked
//! in that time either.

use std::{collections::HashMap, hash::Hash, sync::Mutex};

use super::{Replica, lock};
use crate::{
    domain::{Result, Timestamp},
    store::{
        postgres,
        sessions::Session,
        tokens::{Credential, Holder, NewToken, Token, Tokens},
    },
};

/// Callers that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// The callers of this process, by the hash of their secret.
#[derive(Default)]
pub(super) struct Remembered {
    pub(super) tokens: Mutex<HashMap<[u8; 32], Credential>>,
    pub(super) sessions: Mutex<HashMap<[u8; 32], (Session, Holder)>>,
}

/// The server's answer, which is remembered; or what was remembered while the server is away.
pub(super) fn remember<K: Hash + Eq, V: Clone>(
    known: &Mutex<HashMap<K, V>>,
    key: K,
    answer: Result<Option<V>>,
) -> Result<Option<V>> {
    let mut known = lock(known);
    match answer {
        Ok(Some(value)) => {
            if known.len() >= MAX_REMEMBERED {
                known.clear();
            }
            known.insert(key, value.clone());
            Ok(Some(value))
        }
        Ok(None) => {
            known.remove(&key);
            Ok(None)
        }
        Err(error) if postgres::is_away(&error) => match known.get(&key) {
            Some(value) => Ok(Some(value.clone())),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

impl Tokens for Replica {
    fn create(&self, token: &NewToken, hash: &[u8; 32]) -> Result<Token> {
        self.write(|remote| remote.create(token, hash))
    }

    fn find(&self, hash: &[u8; 32]) -> Result<Option<Credential>> {
        let answer = self.write(|remote| Tokens::find(remote, hash));
        remember(&self.remembered.tokens, *hash, answer)
    }

    fn all(&self) -> Result<Vec<Token>> {
        self.write(Tokens::all)
    }

    fn valid(&self, ids: &[i64], now: Timestamp) -> Result<Vec<i64>> {
        match self.write(|remote| remote.valid(ids, now)) {
            // Asked to end what revoked tokens opened: none can be revoked now.
            Err(error) if postgres::is_away(&error) => {
                let known = lock(&self.remembered.tokens);
                let valid = |id: &&i64| {
                    known.values().any(|one| one.token.id == **id && one.token.is_valid(now))
                };
                Ok(ids.iter().filter(valid).copied().collect())
            }
            answer => answer,
        }
    }

    fn revoke(&self, id: i64) -> Result<bool> {
        self.write(|remote| remote.revoke(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Error;

    #[test]
    fn callers_stay_known_while_the_server_is_away_and_only_then() {
        let known = Mutex::default();
        let away = || Error::storage("away").with_data(serde_json::json!({ "store": "away" }));
        assert!(remember(&known, 1, Err::<Option<&str>, _>(away())).is_err());
        assert_eq!(remember(&known, 1, Ok(Some("ann"))).unwrap(), Some("ann"));
        assert_eq!(remember(&known, 1, Err(away())).unwrap(), Some("ann"));
        assert!(remember(&known, 1, Err::<Option<&str>, _>(Error::internal("x"))).is_err());
        assert_eq!(remember(&known, 1, Ok(None::<&str>)).unwrap(), None);
        assert!(remember(&known, 1, Err::<Option<&str>, _>(away())).is_err(), "revoked meanwhile");
    }
}
