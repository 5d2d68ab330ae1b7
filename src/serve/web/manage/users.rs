//! Users and what is granted to them.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};

use super::super::{
    Audience, Form, Html, Shell, Visit, account::Person, age::Age, errors::sentence, visit::Reply,
};
use crate::{
    app::accounts::NewUser,
    domain::{
        Code, Error, Kind, Result,
        user::{Extent, Grant, Role},
    },
    store::users::Account,
};

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    shell: Shell,
    users: Vec<UserLine>,
    problem: Option<String>,
    name: String,
}

struct UserLine {
    name: String,
    display_name: String,
    role: &'static str,
    created: Age,
    can_sign_in: bool,
    grants: usize,
}

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    shell: Shell,
    name: String,
    display_name: String,
    role: &'static str,
    grants: Vec<GrantLine>,
    vaults: Vec<String>,
    is_self: bool,
    message: Option<&'static str>,
    problem: Option<String>,
}

struct GrantLine {
    id: i64,
    extent: String,
    write: bool,
    created: Age,
    /// Why nothing is in this part now.
    doubt: Option<String>,
}

/// `GET /users`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            Person::owner(visit)?;
            list(visit, None, String::new())
        })
        .await
}

fn list(visit: &Visit, problem: Option<String>, name: String) -> Result<Html> {
    let app = visit.app();
    let mut users = Vec::new();
    for account in app.store.users.all()?.into_iter().filter(|user| user.removed.is_none()) {
        users.push(UserLine {
            grants: app.store.users.grants(account.id)?.len(),
            name: account.name.to_string(),
            display_name: account.display_name,
            role: account.role.as_str(),
            created: Age::of(account.created),
            can_sign_in: account.password.is_some(),
        });
    }
    Html::of(&UsersPage { shell: visit.shell(), users, problem, name }, Audience::Caller)
}

/// `POST /users`: adds a user.
pub async fn add(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let owner = Person::owner(visit)?;
            let role = form.field("role").parse::<Role>();
            let added = role.and_then(|role| {
                let new = NewUser {
                    name: form.field("name"),
                    display_name: form.field("display_name"),
                    role,
                    password: Some(form.field("password")).filter(|text| !text.is_empty()),
                };
                visit.app().add_user(&owner.actor(visit), &new)
            });
            match added {
                Ok(account) => Ok(Reply::see(&format!("/users/{}", account.name))),
                Err(error) if is_input_error(&error) => {
                    let name = form.field("name").to_owned();
                    let html = list(visit, Some(sentence(error.plain())), name)?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

/// Whether an error is about what was entered.
fn is_input_error(error: &Error) -> bool {
    matches!(error.code, Code::InvalidParams | Code::InvalidRequest | Code::Conflict)
}

/// `GET /users/{name}`.
pub async fn one(Path(name): Path<String>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            let owner = Person::owner(visit)?;
            let account = visit.app().user(&name)?;
            user_page(visit, &owner, &account, None)
        })
        .await
}

fn user_page(
    visit: &Visit,
    owner: &Person,
    account: &Account,
    problem: Option<String>,
) -> Result<Html> {
    let app = visit.app();
    let mut grants = Vec::new();
    for row in app.store.users.grants(account.id)? {
        grants.push(GrantLine {
            id: row.id,
            doubt: app.doubt_about(&row.grant.extent)?.map(|doubt| sentence(&doubt)),
            extent: row.grant.extent.to_string(),
            write: row.grant.write,
            created: Age::of(row.created),
        });
    }
    let message = visit.value("done").map(|_| "Saved. It holds from the next request on.");
    let page = UserPage {
        shell: visit.shell(),
        name: account.name.to_string(),
        display_name: account.display_name.clone(),
        role: account.role.as_str(),
        grants,
        vaults: app.store.pages.vaults()?.into_iter().map(|vault| vault.name).collect(),
        is_self: owner.account.as_ref().is_some_and(|own| own.id == account.id),
        message,
        problem,
    };
    Html::of(&page, Audience::Caller)
}

/// `POST /users/{name}`: one of `profile`, `password`, `grant`, `revoke`, `remove`.
pub async fn change(Path(name): Path<String>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            let owner = Person::owner(visit)?;
            let account = visit.app().user(&name)?;
            match apply(visit, &owner, &account, &form) {
                Ok(reply) => Ok(reply),
                Err(error) if is_input_error(&error) => {
                    let html = user_page(visit, &owner, &account, Some(sentence(error.plain())))?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}

fn apply(visit: &Visit, owner: &Person, account: &Account, form: &Form) -> Result<Reply> {
    let app = visit.app();
    let actor = owner.actor(visit);
    let back = format!("/users/{}?done=1", account.name);
    match form.field("do") {
        "profile" => {
            app.set_profile(
                &actor,
                account,
                form.field("role").parse()?,
                form.field("display_name"),
            )?;
        }
        "password" => app.set_password(&actor, account, form.field("password"))?,
        "grant" => {
            let extent = extent(visit, form.field("part"), form.field("what"))?;
            let grant = Grant { extent, write: form.value("write").is_some() };
            app.add_grant(&actor, account, &grant)?;
        }
        "revoke" => {
            app.remove_grant(&actor, account, form.number("id")?)?;
        }
        "remove" => {
            if form.field("name").trim() != account.name.as_str() {
                return Err(Error::invalid_params(
                    "write the name of the user to remove the account; nothing was changed",
                ));
            }
            app.remove_user(&actor, account)?;
            return Ok(Reply::see("/users"));
        }
        _ => return Err(Error::invalid_params("the form does not say what to do")),
    }
    Ok(Reply::see(&back))
}

/// The part of the library that a form names.
fn extent(visit: &Visit, part: &str, what: &str) -> Result<Extent> {
    let app = visit.app();
    match part {
        "everything" => Ok(Extent::All),
        "vault" => app.vault_extent(what),
        "folder" => app.folder_extent(what),
        "label" => app.label_extent(what),
        "author" => app.author_extent(what),
        "kind" => what.trim().trim_end_matches('s').parse::<Kind>().map(Extent::Kind),
        _ => Err(Error::invalid_params("choose which part of the library to share")),
    }
}
