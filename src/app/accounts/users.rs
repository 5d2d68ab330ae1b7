//! Changes of accounts and their credentials, each with its entry in the audit log.

use super::{super::App, Actor};
use crate::{
    domain::{Error, Result, Timestamp, UserId, UserName, user::Role},
    store::{
        audit::with_entry,
        tokens::{NewToken, Power, Token},
        users::{Account, NewAccount},
    },
};

const MAX_DISPLAY_NAME: usize = 100;

/// A user to add.
#[derive(Debug, Clone)]
pub struct NewUser<'a> {
    /// The name, as it stands in addresses.
    pub name: &'a str,
    /// The name that people read; empty: the name.
    pub display_name: &'a str,
    /// What the user is to the library.
    pub role: Role,
    /// The password; without one the user can only be given tokens.
    pub password: Option<&'a str>,
}

impl App {
    /// The live account of this name.
    pub fn user(&self, name: &str) -> Result<Account> {
        let unknown = || {
            Error::not_found(format!(
                "there is no user `{}`; `notewell user list` names them",
                name.chars().take(100).collect::<String>()
            ))
        };
        let name = UserName::new(name).map_err(|_| unknown())?;
        self.store.users.find(&name)?.ok_or_else(unknown)
    }

    /// Adds a user.
    pub fn add_user(&self, actor: &Actor, new: &NewUser<'_>) -> Result<Account> {
        let name = UserName::new(new.name)?;
        let display_name = display_name(&name, new.display_name)?;
        let role = account_role(new.role)?;
        let taken = self.store.users.find(&name)?.is_some();
        // A taken name is refused without the work of a hash.
        let hash = |password| self.accounts.hasher.hash(password);
        let password = if taken { None } else { new.password.map(hash).transpose()? };
        let account = NewAccount { name, display_name, role, password };
        self.audited(actor, "user_add", &account.name, || self.store.users.add(&account))
    }

    /// Changes the role and the name that people read.
    pub fn set_profile(
        &self,
        actor: &Actor,
        user: &Account,
        role: Role,
        display_name: &str,
    ) -> Result<()> {
        let role = account_role(role)?;
        let display_name = self::display_name(&user.name, display_name)?;
        self.audited(actor, "user_profile", &user.name, || {
            still(user, self.store.users.set_profile(user.id, role, &display_name)?)
        })
    }

    /// Changes the password and ends every session of the user.
    pub fn set_password(&self, actor: &Actor, user: &Account, password: &str) -> Result<()> {
        let password = self.accounts.hasher.hash(password)?;
        self.audited(actor, "user_password", &user.name, || {
            still(user, self.store.users.set_password(user.id, &password)?)
        })
    }

    /// Removes a user with every credential. What the books say of the user stays.
    pub fn remove_user(&self, actor: &Actor, user: &Account) -> Result<()> {
        self.audited(actor, "user_remove", &user.name, || {
            still(user, self.store.users.remove(user.id)?)
        })
    }

    /// Makes a token; the text is the only copy of the secret there will ever be.
    pub fn issue_token(
        &self,
        actor: &Actor,
        name: &str,
        power: Power,
        expires: Option<Timestamp>,
    ) -> Result<(Token, String)> {
        let subject = match power {
            Power::Scope(scope) => scope.to_string(),
            Power::User(user, _) => self.user_name(user)?,
        };
        let token =
            NewToken { name: name.to_owned(), power, audience: None, connection: None, expires };
        self.audited(actor, "token_create", subject, || self.add_token(token))
    }

    /// Ends a token. False when there is none that is valid.
    pub fn revoke_token(&self, actor: &Actor, id: i64) -> Result<bool> {
        // The store writes the entry with the change; a token that was not valid has none.
        let entry = actor.entry("token_revoke", id, "ok");
        with_entry(entry, self.config.accounts.audit_entries, || self.store.tokens.revoke(id)).0
    }

    /// The name of an account, removed or not.
    pub fn user_name(&self, user: UserId) -> Result<String> {
        let account = self.store.users.get(user)?;
        Ok(account.map(|account| account.name.to_string()).unwrap_or_default())
    }
}

/// An error when the account went between looking and changing.
fn still(user: &Account, changed: bool) -> Result<()> {
    match changed {
        true => Ok(()),
        false => Err(Error::not_found(format!("there is no user `{}` any more", user.name))),
    }
}

fn account_role(role: Role) -> Result<Role> {
    match role {
        Role::Anonymous => Err(Error::invalid_params(
            "a user is an owner, an author or a reader; anonymous callers have no account",
        )),
        role => Ok(role),
    }
}

/// The name that people read; the account's name where none is given.
pub(super) fn display_name(name: &UserName, text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(name.to_string());
    }
    if text.chars().count() > MAX_DISPLAY_NAME || text.chars().any(char::is_control) {
        return Err(Error::invalid_params(format!(
            "a display name has up to {MAX_DISPLAY_NAME} characters, in one line"
        )));
    }
    Ok(text.to_owned())
}
