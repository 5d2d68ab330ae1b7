//! Who manages an account: a person in a browser, never a program with a token. A token must not
//! make another one that can do more.

use crate::{
    app::accounts::Actor,
    domain::{Error, Result, user::Role},
    serve::{mcp::Identity, web::Visit},
    store::{
        tokens::{Power, Token},
        users::Account,
    },
};

/// A person in a browser.
pub struct Person {
    /// The account; `None` for the owner of a server that asks nobody to sign in.
    pub account: Option<Account>,
    /// The account's name, or `owner`.
    pub name: String,
    /// What the person is to the library.
    pub role: Role,
}

impl Person {
    /// The person behind a visit; `None` for a stranger and for a program with a token.
    pub fn of(visit: &Visit) -> Result<Option<Self>> {
        let rights = visit.rights();
        if let Some(signed_in) = &visit.signed_in {
            let account = visit.app().store.users.get(signed_in.holder.id)?;
            return Ok(account.map(|account| Self {
                name: account.name.to_string(),
                role: account.role,
                account: Some(account),
            }));
        }
        let has_token = matches!(visit.link.identity, Identity::Token(_) | Identity::Connection(_));
        if has_token || rights.role() != Role::Owner {
            return Ok(None);
        }
        Ok(Some(Self { account: None, name: "owner".to_owned(), role: Role::Owner }))
    }

    /// The person behind a form.
    pub fn required(visit: &Visit) -> Result<Self> {
        Self::of(visit)?.ok_or_else(|| {
            Error::not_found("this is for people who signed in; a token cannot do it")
        })
    }

    /// The owner behind a visit.
    pub fn owner(visit: &Visit) -> Result<Self> {
        Self::of(visit)?
            .filter(|person| person.role == Role::Owner)
            .ok_or_else(|| Error::not_found("this page is for the owner of this library"))
    }

    /// Whether the person sees and may revoke a token.
    pub fn manages(&self, token: &Token) -> bool {
        let is_own = |user| self.account.as_ref().is_some_and(|account| account.id == user);
        match token.power {
            Power::User(user, _) => self.role == Role::Owner || is_own(user),
            Power::Scope(_) => self.role == Role::Owner,
        }
    }

    /// The person, for the audit log.
    pub fn actor(&self, visit: &Visit) -> Actor {
        Actor::user(&self.name, visit.from)
    }
}
