//! Making the first owner: whoever reads the server's console has a code to do it with.

use std::{net::IpAddr, sync::PoisonError, time::Instant};

use sha2::{Digest, Sha256};

use super::{
    super::App,
    Actor,
    brakes::{Key, too_early},
};
use crate::{
    domain::{Error, Result, UserName, user::Role},
    store::users::{Account, NewAccount},
};

/// No letter or digit that looks like another. 32, so that each byte of randomness is one of them
/// with the same chance.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

impl App {
    /// Whether an owner can sign in.
    pub fn has_owner(&self) -> Result<bool> {
        self.store.users.has_owner()
    }

    /// The one-time code with which the owner is made, such as `7QK2-M9XD`. One per process, and
    /// only while no owner can sign in.
    pub fn setup_code(&self) -> Option<String> {
        match self.has_owner() {
            Ok(false) => {}
            Ok(true) => return None,
            Err(error) => {
                tracing::error!(?error, "could not look for an owner");
                return None;
            }
        }
        let mut code = self.accounts.setup.lock().unwrap_or_else(PoisonError::into_inner);
        if code.is_none() {
            match new_code() {
                Ok(new) => *code = Some(new),
                Err(error) => tracing::error!(?error, "could not make a set-up code"),
            }
        }
        code.clone()
    }

    /// Makes the owner, for whoever has the set-up code.
    pub fn set_up(
        &self,
        code: &str,
        name: &str,
        display_name: &str,
        password: &str,
        from: IpAddr,
    ) -> Result<Account> {
        let keys = [Key::address(from)];
        self.accounts
            .brakes
            .attempt(&keys, Instant::now())
            .map_err(|wait| too_early("set-up codes", wait))?;
        // Held to the end: a code makes one owner.
        let mut valid = self.accounts.setup.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_owner()? {
            self.accounts.brakes.succeeded(&keys);
            return Err(Error::conflict("this server is set up; sign in instead"));
        }
        if !valid.as_deref().is_some_and(|valid| is_same_code(valid, code)) {
            self.audit(Actor::user("", from).entry("set_up", "", "wrong_code"));
            return Err(Error::invalid_request(
                "this is not the set-up code; the console of the running server shows it",
            ));
        }
        self.accounts.brakes.succeeded(&keys);
        let name = UserName::new(name)?;
        let display_name = super::users::display_name(&name, display_name)?;
        let password = self.accounts.hasher.hash(password)?;
        let actor = Actor::user(name.as_str(), from);
        let account = self
            .audited(&actor, "set_up", &name, || self.make_owner(&name, &display_name, password))?;
        *valid = None;
        Ok(account)
    }

    /// Adds the owner, or gives the password to an owner who has none.
    fn make_owner(&self, name: &UserName, display_name: &str, password: String) -> Result<Account> {
        let users = &self.store.users;
        match users.find(name)? {
            Some(account) if account.role == Role::Owner => {
                // The password first, with the entry: it is what makes the set-up complete.
                users.set_password(account.id, &password)?;
                users.set_profile(account.id, Role::Owner, display_name)?;
                let changed = users.get(account.id)?;
                changed.ok_or_else(|| Error::internal("an account went while it was set up"))
            }
            _ => users.add(&NewAccount {
                name: name.clone(),
                display_name: display_name.to_owned(),
                role: Role::Owner,
                password: Some(password),
            }),
        }
    }
}

fn new_code() -> Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("the system gave no random numbers: {error}")))?;
    let mut code = String::with_capacity(9);
    for (at, byte) in bytes.into_iter().enumerate() {
        if at == 4 {
            code.push('-');
        }
        code.push(char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
    }
    Ok(code)
}

/// Compares hashes: how long it takes says nothing about the code.
fn is_same_code(valid: &str, typed: &str) -> bool {
    let plain = |code: &str| {
        let letters = code.chars().filter(char::is_ascii_alphanumeric);
        Sha256::digest(letters.take(64).collect::<String>().to_ascii_uppercase())
    };
    plain(valid) == plain(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_can_be_typed_in_any_way() {
        let code = new_code().unwrap();
        assert_eq!((code.len(), code.as_bytes()[4]), (9, b'-'), "{code}");
        assert!(is_same_code(&code, &format!(" {} ", code.to_lowercase().replace('-', ""))));
        assert!(!is_same_code(&code, ""));
        assert!(!is_same_code(&code, &new_code().unwrap()));
    }
}
