//! Making and checking tokens. A secret is shown once; what is kept is its hash.

use std::collections::HashSet;

use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::App;
use crate::{
    domain::{Error, Result, Scope, Timestamp},
    store::tokens::{Credential, NewToken, Power, Token},
};

/// Tells a leaked token for what it is, to people and to secret scanners.
const PREFIX: &str = "nw_";

impl App {
    /// Makes a token; the text is the only copy of the secret there will ever be.
    pub fn create_token(
        &self,
        name: &str,
        scope: Scope,
        expires: Option<Timestamp>,
    ) -> Result<(Token, String)> {
        self.add_token(NewToken {
            name: name.to_owned(),
            power: Power::Scope(scope),
            audience: None,
            connection: None,
            expires,
        })
    }

    /// Adds a token with a new secret.
    pub(super) fn add_token(&self, mut token: NewToken) -> Result<(Token, String)> {
        token.name = token.name.trim().to_owned();
        if token.name.is_empty() || token.name.chars().count() > 100 {
            return Err(Error::invalid_params("a token's name has 1 to 100 characters"));
        }
        let secret = new_secret(PREFIX)?;
        let token = self.store.tokens.create(&token, &hash(&secret))?;
        Ok((token, secret))
    }

    /// The token that was issued with this secret, valid or not.
    pub fn token_issued(&self, secret: &str) -> Result<Option<Credential>> {
        self.store.tokens.find(&hash(secret))
    }

    /// Which of these tokens are valid now.
    pub fn valid_tokens(&self, ids: &[i64]) -> Result<HashSet<i64>> {
        Ok(self.store.tokens.valid(ids, Timestamp::now())?.into_iter().collect())
    }
}

/// A secret of 256 random bits, after a prefix that tells what it is.
pub fn new_secret(prefix: &str) -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("the system gave no random numbers: {error}")))?;
    Ok(format!("{prefix}{}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
}

/// What a store keeps of a secret.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
