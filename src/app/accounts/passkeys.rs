//! Passkeys: adding one, signing in with one, removing one.
//!
//! A passkey names its account by itself, so a sign-in begins without a name and its challenge says
//! nothing about who has an account. Each is bound to the host of the page that made it.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use url::{Host, Url};
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Uuid, Webauthn, WebauthnBuilder, WebauthnError,
};

use super::{
    super::{App, tokens},
    Actor,
    brakes::{Key, too_early},
    ceremonies::Ceremonies,
};
use crate::{
    domain::{Code, Error, Result, Timestamp, UserId, error::Doing},
    store::users::{Account, PasskeyRow},
};

/// Passkeys of one account.
const MAX_PASSKEYS: usize = 20;
const MAX_NAME: usize = 100;

/// Begins the number of a sign-in, so that it is never taken for a session or a token.
const PREFIX: &str = "nwp_";

/// Open ceremonies.
#[derive(Default)]
pub(super) struct Passkeys {
    /// By the session that adds the passkey.
    additions: Ceremonies<i64, Addition>,
    /// By the hash of the number that the browser has.
    sign_ins: Ceremonies<[u8; 32], DiscoverableAuthentication>,
    /// The turn of those who use or remove a passkey: its counter is compared and stored in one
    /// step, and a removed passkey is not stored again.
    turn: Mutex<()>,
}

struct Addition {
    user: UserId,
    name: String,
    state: PasskeyRegistration,
}

/// Why an answer of an authenticator opens no account.
enum Refusal {
    Unknown,
    Wrong,
    /// The signature is right, and the counter went back.
    Copied,
}

/// Whether browsers offer passkeys on pages at this address.
pub fn passkeys_work_at(base: &str) -> bool {
    Url::parse(base).is_ok_and(|url| match url.host() {
        Some(Host::Domain(host)) => {
            let is_local = host == "localhost" || host.ends_with(".localhost");
            url.scheme() == "https" || is_local
        }
        _ => false,
    })
}

impl App {
    /// The passkeys of a user, oldest first.
    pub fn passkeys(&self, user: UserId) -> Result<Vec<PasskeyRow>> {
        self.store.users.passkeys(user)
    }

    /// Begins to add a passkey within a session. An account with a password must prove it: somebody
    /// at an open browser must not leave a key behind. Returns the options for the browser.
    pub fn begin_passkey(
        &self,
        base: &str,
        account: &Account,
        session: i64,
        name: &str,
        password: &str,
        from: IpAddr,
    ) -> Result<Value> {
        let party = self.relying_party(base)?;
        let name = name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control)
        {
            return Err(Error::invalid_params(format!(
                "the name of a passkey has 1 to {MAX_NAME} characters, in one line"
            )));
        }
        if account.password.is_some() {
            self.sign_in(account.name.as_str(), password, from).map_err(|error| {
                match error.code {
                    Code::InvalidRequest => Error::invalid_request("the password is wrong"),
                    _ => error,
                }
            })?;
        }
        let known = self.passkeys(account.id)?;
        if known.len() >= MAX_PASSKEYS {
            return Err(Error::conflict(format!(
                "an account has up to {MAX_PASSKEYS} passkeys; remove one first"
            )));
        }
        let known = known.into_iter().map(|row| row.credential).collect();
        let (options, state) = party
            .start_passkey_registration(
                handle(account),
                account.name.as_str(),
                &account.display_name,
                Some(known),
            )
            .doing("begin a passkey")?;
        let mut options = serde_json::to_value(options).doing("write the options of a passkey")?;
        // A sign-in has no name, so the authenticator must find the passkey by itself.
        let selection = &mut options["publicKey"]["authenticatorSelection"];
        selection["residentKey"] = "required".into();
        selection["requireResidentKey"] = true.into();
        let addition = Addition { user: account.id, name: name.to_owned(), state };
        self.accounts.passkeys.additions.begin(session, addition, from, Instant::now());
        Ok(options)
    }

    /// Adds the passkey that was begun in this session. `answer` is the authenticator's, as JSON.
    pub fn add_passkey(
        &self,
        actor: &Actor,
        base: &str,
        account: &Account,
        session: i64,
        answer: &str,
    ) -> Result<()> {
        let party = self.relying_party(base)?;
        let addition = self.accounts.passkeys.additions.take(&session, Instant::now());
        let addition = addition.filter(|addition| addition.user == account.id);
        let Addition { name, state, .. } = addition.ok_or_else(too_late)?;
        self.audited(actor, "passkey_add", &account.name, || {
            let unfit =
                || Error::invalid_request("the answer of the device is not valid; try again");
            let answer: RegisterPublicKeyCredential =
                serde_json::from_str(answer).map_err(|error| unfit().with_source(error))?;
            let passkey = party
                .finish_passkey_registration(&answer, &state)
                .map_err(|error| unfit().with_source(error))?;
            if self.store.users.passkey(passkey.cred_id())?.is_some() {
                return Err(Error::conflict("this passkey is here already; sign in with it"));
            }
            self.store.users.put_passkey(&PasskeyRow {
                credential: passkey.cred_id().to_vec(),
                user: account.id,
                name,
                data: text(&passkey)?,
                created: Timestamp::now(),
                used: None,
            })
        })
    }

    /// Begins a sign-in. Returns its number, which finishes it, and the options for the browser.
    pub fn begin_passkey_sign_in(&self, base: &str, from: IpAddr) -> Result<(String, Value)> {
        let (mut options, state) = self
            .relying_party(base)?
            .start_discoverable_authentication()
            .doing("begin a sign-in with a passkey")?;
        // The person pressed a button: the browser asks at once, not in the name's field.
        options.mediation = None;
        let options = serde_json::to_value(options).doing("write the options of a passkey")?;
        let number = tokens::new_secret(PREFIX)?;
        let key = tokens::hash(&number);
        self.accounts.passkeys.sign_ins.begin(key, state, from, Instant::now());
        Ok((number, options))
    }

    /// Checks the answer of an authenticator, as JSON, to the sign-in with this number. Attempts are
    /// braked and recorded as those with a password are.
    pub fn sign_in_with_passkey(
        &self,
        base: &str,
        number: &str,
        answer: &str,
        from: IpAddr,
    ) -> Result<Account> {
        let party = self.relying_party(base)?;
        let state = self.accounts.passkeys.sign_ins.take(&tokens::hash(number), Instant::now());
        let state = state.ok_or_else(too_late)?;
        let answer: Option<PublicKeyCredential> = serde_json::from_str(answer).ok();
        let _turn = self.accounts.passkeys.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match &answer {
            Some(answer) => self.passkey_of(answer)?,
            None => None,
        };
        let keys = match &found {
            Some((_, account)) => self.brake_keys(account.name.as_str(), Some(account), from)?,
            None => vec![Key::address(from)],
        };
        let brakes = &self.accounts.brakes;
        brakes.attempt(&keys, Instant::now()).map_err(|wait| too_early("sign-ins", wait))?;
        let checked = match (&found, &answer) {
            (Some((row, account)), Some(answer)) => verify(&party, answer, state, row, account)?,
            _ => Err(Refusal::Unknown),
        };
        match (found, checked) {
            (Some((row, account)), Ok(passkey)) => {
                let used = Some(Timestamp::now());
                self.store.users.put_passkey(&PasskeyRow { data: text(&passkey)?, used, ..row })?;
                brakes.succeeded(&keys);
                let name = account.name.as_str();
                self.audit(Actor::user(name, from).entry("sign_in", name, "ok"));
                Ok(account)
            }
            (found, checked) => {
                let refusal = checked.err().unwrap_or(Refusal::Unknown);
                let subject = found.map(|(_, account)| account.name.to_string());
                let subject = subject.unwrap_or_default();
                let entry = Actor::user("", from).entry("sign_in", subject, refusal.outcome());
                self.audit(entry);
                Err(refusal.into())
            }
        }
    }

    /// Removes a passkey of a user, unless nothing else opens the account.
    pub fn remove_passkey(
        &self,
        actor: &Actor,
        account: &Account,
        credential: &[u8],
    ) -> Result<()> {
        let _turn = self.accounts.passkeys.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.passkeys(account.id)?;
        let gone = || Error::not_found("there is no such passkey any more");
        if !known.iter().any(|row| row.credential == credential) {
            return Err(gone());
        }
        if known.len() == 1 && account.password.is_none() {
            return Err(Error::conflict(format!(
                "this passkey is the only way into the account; add another, or set a password with `notewell user password {}`",
                account.name
            )));
        }
        self.audited(actor, "passkey_remove", &account.name, || {
            match self.store.users.remove_passkey(account.id, credential)? {
                true => Ok(()),
                false => Err(gone()),
            }
        })
    }

    /// The passkey that an answer names, and its live account.
    fn passkey_of(&self, answer: &PublicKeyCredential) -> Result<Option<(PasskeyRow, Account)>> {
        let Some(row) = self.store.users.passkey(answer.get_credential_id())? else {
            return Ok(None);
        };
        let account = self.store.users.get(row.user)?;
        Ok(account.filter(|account| account.removed.is_none()).map(|account| (row, account)))
    }

    /// This server, as authenticators know it.
    fn relying_party(&self, base: &str) -> Result<Webauthn> {
        let unfit = || {
            Error::invalid_request(format!(
                "passkeys work on https with a host name, and on `localhost`; this page is at `{base}`"
            ))
        };
        let url = Url::parse(base).ok().filter(|_| passkeys_work_at(base)).ok_or_else(unfit)?;
        // Without a path: origins are compared as whole addresses.
        let origin = Url::parse(&url.origin().ascii_serialization()).map_err(|_| unfit())?;
        let host = origin.host_str().ok_or_else(unfit)?;
        WebauthnBuilder::new(host, &origin)
            .and_then(|builder| builder.rp_name(&self.config.web.title).build())
            .doing("prepare passkeys")
    }
}

/// Verifies an answer. The passkey has the new counter.
fn verify(
    party: &Webauthn,
    answer: &PublicKeyCredential,
    state: DiscoverableAuthentication,
    row: &PasskeyRow,
    account: &Account,
) -> Result<Result<Passkey, Refusal>> {
    let mut passkey: Passkey =
        serde_json::from_str(&row.data).doing("read a passkey from the store")?;
    let is_own = answer.get_user_unique_id() == Some(handle(account).as_bytes().as_slice());
    if !is_own {
        return Ok(Err(Refusal::Wrong));
    }
    Ok(match party.finish_discoverable_authentication_v2(answer, state, &passkey) {
        Ok(result) => {
            passkey.update_credential(&result);
            Ok(passkey)
        }
        Err(WebauthnError::CredentialPossibleCompromise) => Err(Refusal::Copied),
        Err(error) => {
            tracing::debug!(?error, "an answer of a passkey is wrong");
            Err(Refusal::Wrong)
        }
    })
}

impl Refusal {
    /// The word of the audit log.
    fn outcome(&self) -> &'static str {
        match self {
            Refusal::Unknown => "unknown_passkey",
            Refusal::Wrong => "wrong_passkey",
            Refusal::Copied => "copied_passkey",
        }
    }
}

/// What is wrong is said only to whoever has the key.
impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::invalid_request(match refusal {
            Refusal::Unknown | Refusal::Wrong => {
                "this passkey opens no account here; sign in with another, or with your password"
            }
            Refusal::Copied => {
                "this passkey may have been copied: its counter went back. Sign in with your password or another passkey, and remove this one at `/account`"
            }
        })
    }
}

fn too_late() -> Error {
    Error::invalid_request("this took too long, or was finished before; try again")
}

fn text(passkey: &Passkey) -> Result<String> {
    serde_json::to_string(passkey).doing("write a passkey")
}

/// What an authenticator knows an account by. It differs between libraries on one host, where a
/// passkey for the same account would replace the other.
fn handle(account: &Account) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(b"notewell passkey");
    hash.update(account.id.0.to_le_bytes());
    hash.update(account.created.0.to_le_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    Uuid::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_a_name_and_a_safe_connection() {
        for base in ["https://kb.example", "https://kb.example/notes", "http://localhost:7717"] {
            assert!(passkeys_work_at(base), "{base}");
        }
        for base in [
            "http://127.0.0.1:7717",
            "https://192.0.2.1",
            "http://[::1]:7717",
            "http://kb.example",
            "http://notlocalhost",
            "",
        ] {
            assert!(!passkeys_work_at(base), "{base}");
        }
    }
}
