use std::io::{BufRead, IsTerminal};

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Common, out, word};
use crate::{
    app::{
        App,
        accounts::{Actor, NewUser},
    },
    domain::{Code, Error, Result, error::Doing, user::Role},
};

#[derive(Args)]
pub struct User {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Add a user
    #[command(after_help = "\
Examples:
  notewell user add mira --role owner
  notewell user add ann --display-name 'Ann Lee'
  printf %s \"$PASSWORD\" | notewell user add taro --password-stdin")]
    Add {
        /// The name, as it stands in addresses: a-z, digits and `-`
        name: String,
        /// owner, author or reader
        #[arg(long, default_value = "reader", value_parser = word::<Role>)]
        role: Role,
        /// The name that people read [default: NAME]
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        display_name: String,
        /// Read the password from stdin [default: ask on a terminal]
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the users
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the role of a user
    Role {
        name: String,
        /// owner, author or reader
        #[arg(value_parser = word::<Role>)]
        role: Role,
    },
    /// Change the password of a user; it ends every session
    Password {
        name: String,
        /// Read the password from stdin [default: ask on a terminal]
        #[arg(long)]
        password_stdin: bool,
    },
    /// Remove a user; it ends every session, token and connected client
    Remove { name: String },
}

impl User {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        let shell = Actor::shell();
        match self.command {
            Command::Add { name, role, display_name, password_stdin } => {
                let password = match password_stdin {
                    true => Some(from_stdin()?),
                    false if can_ask() => ask("Password (Enter for none): ", true)?,
                    false => None,
                };
                let password = password.as_deref();
                let new = NewUser { name: &name, display_name: &display_name, role, password };
                let user = app.add_user(&shell, &new)?;
                let name = &user.name;
                out::say(format_args!("User `{name}` ({role}) is added."));
                if user.password.is_none() {
                    out::note(format_args!(
                        "`{name}` has no password and cannot sign in. Set one with `notewell user password {name}`, or make a token with `notewell token create --user {name}`."
                    ));
                }
                if matches!(role, Role::Reader | Role::Author) {
                    out::note(format_args!(
                        "`{name}` sees pages with `free: true` and `access: members`; `notewell grant add {name} --folder VAULT/PATH` shows more."
                    ));
                }
            }
            Command::List { json } => list(&app, json)?,
            Command::Role { name, role } => {
                let user = app.user(&name)?;
                app.set_profile(&shell, &user, role, &user.display_name)?;
                out::say(format_args!("User `{}` is now {}.", user.name, with_article(role)));
            }
            Command::Password { name, password_stdin } => {
                let user = app.user(&name)?;
                let password = match password_stdin {
                    true => from_stdin()?,
                    false if can_ask() => ask("New password: ", false)?.unwrap_or_default(),
                    false => {
                        return Err(Error::invalid_params(
                            "there is no terminal to ask for the password on; give it with `--password-stdin`",
                        ));
                    }
                };
                app.set_password(&shell, &user, &password)?;
                out::say(format_args!(
                    "The password of `{}` is changed; every session of theirs has ended.",
                    user.name
                ));
            }
            Command::Remove { name } => {
                let user = app.user(&name)?;
                app.remove_user(&shell, &user)?;
                out::say(format_args!(
                    "User `{}` is removed, with every session, token, grant and connected client.",
                    user.name
                ));
            }
        }
        Ok(())
    }
}

fn list(app: &App, json: bool) -> Result<()> {
    let users = app.store.users.all()?;
    let users: Vec<_> = users.into_iter().filter(|user| user.removed.is_none()).collect();
    if json {
        let listed = users.iter().map(|user| {
            json!({
                "name": user.name.as_str(), "role": user.role, "display_name": user.display_name,
                "password": user.password.is_some(), "created": user.created,
            })
        });
        return out::json(&listed.collect::<Vec<_>>());
    }
    if users.is_empty() {
        out::note("There is no user yet; `notewell user add NAME --role owner` adds one.");
    }
    for user in users {
        let password = if user.password.is_some() { "password" } else { "no password" };
        out::say(format_args!(
            "{}\t{}\t{}\t{password}\tsince {}",
            user.name,
            user.role,
            user.display_name,
            user.created.date()
        ));
    }
    Ok(())
}

fn with_article(role: Role) -> &'static str {
    match role {
        Role::Owner => "an owner",
        Role::Author => "an author",
        Role::Reader => "a reader",
        Role::Anonymous => "anonymous",
    }
}

/// The first line of stdin.
fn from_stdin() -> Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).doing("read the password from stdin")?;
    let password = line.trim_end_matches(['\n', '\r']);
    match password.is_empty() {
        true => Err(Error::invalid_params("stdin has no password in its first line")),
        false => Ok(password.to_owned()),
    }
}

/// Whether somebody can type a password unseen.
fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for a new password twice, without showing it.
fn ask(question: &str, is_optional: bool) -> Result<Option<String>> {
    let read = |question: &str| rpassword::prompt_password(question).doing("read the password");
    let password = read(question)?;
    if password.is_empty() && is_optional {
        return Ok(None);
    }
    if read("The same again: ")? != password {
        return Err(Error::new(
            Code::Cancelled,
            "the two passwords differ; nothing was changed, try again",
        ));
    }
    Ok(Some(password))
}
