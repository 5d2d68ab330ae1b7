//! Password hashes: argon2id with its parameters in the hash (a PHC string).

use std::sync::{Condvar, Mutex, PoisonError};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use unicode_normalization::UnicodeNormalization;

use crate::domain::{Error, Result};

/// Memory in KiB, passes and lanes of a new hash, as OWASP recommends them.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

const MIN_CHARS: usize = 10;
const MAX_BYTES: usize = 1024;

/// How many hashes are computed at once: each takes its memory and a core.
const AT_ONCE: usize = 2;

/// Hashes and verifies passwords, a few at a time.
#[derive(Default)]
pub(super) struct Hasher {
    running: Mutex<usize>,
    ended: Condvar,
}

/// What a verification showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Wrong,
    Right,
    /// Right, and the hash has other parameters than new ones have.
    RightButOutdated,
}

impl Hasher {
    /// Checks a new password and hashes it.
    pub fn hash(&self, password: &str) -> Result<String> {
        let password = normal(password);
        let chars = password.chars().count();
        if chars < MIN_CHARS {
            return Err(Error::invalid_params(format!(
                "the password has {chars} of at least {MIN_CHARS} characters; choose a longer one"
            )));
        }
        if password.len() > MAX_BYTES {
            return Err(Error::invalid_params(format!(
                "the password has more than {MAX_BYTES} bytes; choose a shorter one"
            )));
        }
        let _turn = self.turn();
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|error| {
            Error::internal(format!("the system gave no random numbers: {error}"))
        })?;
        argon2()?
            .hash_password_with_salt(password.as_bytes(), &salt)
            .map(|hash: PasswordHash| hash.to_string())
            .map_err(|error| Error::internal(format!("could not hash the password: {error}")))
    }

    /// Compares a password with a hash. Without a hash the work is the same, and the password wrong.
    pub fn verify(&self, password: &str, hash: Option<&str>) -> Result<Verdict> {
        let password = normal(password);
        // Too long for any hash of ours; checked late, it would be a way to use up the processor.
        let password = if password.len() > MAX_BYTES { String::new() } else { password };
        let unknown = unknown_user_hash();
        let parsed = PasswordHash::new(hash.unwrap_or(&unknown)).map_err(|error| {
            Error::internal(format!("the hash of a password cannot be read: {error}"))
        })?;
        let _turn = self.turn();
        let is_right = argon2()?.verify_password(password.as_bytes(), &parsed).is_ok();
        if !is_right || hash.is_none() {
            return Ok(Verdict::Wrong);
        }
        let is_current =
            hash.is_some_and(|hash| hash.starts_with(&format!("{}$", current_prefix())));
        Ok(if is_current { Verdict::Right } else { Verdict::RightButOutdated })
    }

    fn turn(&self) -> Turn<'_> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = self
            .ended
            .wait_while(running, |running| *running >= AT_ONCE)
            .unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Turn(self)
    }
}

struct Turn<'a>(&'a Hasher);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.ended.notify_one();
    }
}

/// One form for a password, whichever keyboard typed it.
fn normal(password: &str) -> String {
    password.nfkc().collect()
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
        .map_err(|error| Error::internal(format!("the password parameters are wrong: {error}")))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// How a hash with the current parameters begins.
fn current_prefix() -> String {
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}")
}

/// A hash that no password has, at the cost of a current one.
fn unknown_user_hash() -> String {
    format!("{}$bm90ZXdlbGxub3Rld2VsbA${}", current_prefix(), "A".repeat(43))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_right_only_for_its_own_hash() {
        let hasher = Hasher::default();
        let hash = hasher.hash("корова на лугу").unwrap();
        assert!(hash.starts_with(&current_prefix()), "{hash}");
        assert_eq!(hasher.verify("корова на лугу", Some(&hash)).unwrap(), Verdict::Right);
        assert_eq!(hasher.verify("корова на луге", Some(&hash)).unwrap(), Verdict::Wrong);
        assert_eq!(hasher.verify("корова на лугу", None).unwrap(), Verdict::Wrong);
        assert_eq!(hasher.verify(&"x".repeat(1 << 20), Some(&hash)).unwrap(), Verdict::Wrong);
        assert_ne!(hasher.hash("корова на лугу").unwrap(), hash, "every hash has its own salt");
    }

    #[test]
    fn one_password_has_one_form() {
        let hasher = Hasher::default();
        let hash = hasher.hash("パスワードﾊﾟｽﾜｰﾄﾞ").unwrap();
        let verdict = hasher.verify("ﾊﾟｽﾜｰﾄﾞパスワード", Some(&hash)).unwrap();
        assert_eq!(verdict, Verdict::Right);
    }

    #[test]
    fn a_hash_with_other_parameters_is_outdated() {
        let cheap = Argon2::new(
            Algorithm::Argon2id,
            Version::V0x13,
            Params::new(1024, 1, 1, None).unwrap(),
        );
        let hash: PasswordHash =
            cheap.hash_password_with_salt(b"correct horse", b"0123456789abcdef").unwrap();
        let hasher = Hasher::default();
        let verdict = hasher.verify("correct horse", Some(&hash.to_string())).unwrap();
        assert_eq!(verdict, Verdict::RightButOutdated);
        let verdict = hasher.verify("wrong horse", Some(&hash.to_string())).unwrap();
        assert_eq!(verdict, Verdict::Wrong);
    }

    #[test]
    fn a_password_is_neither_short_nor_endless() {
        let hasher = Hasher::default();
        let error = hasher.hash("short").unwrap_err();
        assert!(error.message.contains("at least 10"), "{error}");
        assert!(hasher.hash(&"ж".repeat(600)).unwrap_err().message.contains("1024 bytes"));
    }
}
