use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::{Common, out};
use crate::{
    app::{App, accounts::Actor},
    domain::{
        Error, Kind, Result,
        user::{Extent, Grant as Granted, Role},
    },
    store::users::Account,
};

#[derive(Args)]
pub struct Grant {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Let a user read a part of the library, and perhaps write it
    #[command(after_help = "\
Examples:
  notewell grant add ann --folder notes/recipes
  notewell grant add ann --label soup --write
  notewell grant add taro --kind cards")]
    Add {
        /// The user's name
        user: String,
        #[command(flatten)]
        part: Part,
        /// The user may also write it
        #[arg(long)]
        write: bool,
    },
    /// List what users may read and write
    List {
        /// Of one user [default: all]
        user: Option<String>,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a part back; it holds for the next request
    Remove {
        /// The user's name
        #[arg(required_unless_present = "id")]
        user: Option<String>,
        #[command(flatten)]
        part: Part,
        /// The grant's number in the list, instead of user and part
        #[arg(long, value_name = "N", group = "one_part")]
        id: Option<i64>,
    },
}

#[derive(Args)]
#[group(id = "one_part", required = true, multiple = false)]
struct Part {
    /// The whole library
    #[arg(long)]
    all: bool,
    /// The pages of a vault
    #[arg(long = "whole-vault", value_name = "VAULT")]
    vault: Option<String>,
    /// The pages below a folder
    #[arg(long, value_name = "VAULT/PATH")]
    folder: Option<String>,
    /// The pages, cards and bookmarks with a label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The pages of an author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Every item of a kind
    #[arg(long, value_name = "KIND")]
    kind: Option<KindFlag>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindFlag {
    Pages,
    Cards,
    Bookmarks,
    Prompts,
}

impl Part {
    fn extent(&self, app: &App) -> Result<Option<Extent>> {
        if self.all {
            return Ok(Some(Extent::All));
        }
        if let Some(vault) = &self.vault {
            return app.vault_extent(vault).map(Some);
        }
        if let Some(folder) = &self.folder {
            return app.folder_extent(folder).map(Some);
        }
        if let Some(label) = &self.label {
            return app.label_extent(label).map(Some);
        }
        if let Some(author) = &self.author {
            return app.author_extent(author).map(Some);
        }
        Ok(self.kind.map(|kind| {
            Extent::Kind(match kind {
                KindFlag::Pages => Kind::Page,
                KindFlag::Cards => Kind::Card,
                KindFlag::Bookmarks => Kind::Bookmark,
                KindFlag::Prompts => Kind::Prompt,
            })
        }))
    }
}

impl Grant {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::Add { user, part, write } => add(&app, &user, &part, write),
            Command::List { user, json } => list(&app, user.as_deref(), json),
            Command::Remove { user, part, id } => remove(&app, user.as_deref(), &part, id),
        }
    }
}

fn add(app: &App, user: &str, part: &Part, write: bool) -> Result<()> {
    let user = app.user(user)?;
    let extent = part.extent(app)?.ok_or_else(|| Error::invalid_params("name a part"))?;
    let is_needless = user.role == Role::Owner;
    // A page that was just written may be in the part.
    super::read::refresh(app)?;
    let doubt = app.doubt_about(&extent)?;
    let row = app.add_grant(&Actor::shell(), &user, &Granted { extent, write })?;
    out::say(format_args!("Grant {}: `{}` may {}.", row.id, user.name, described(&row.grant)));
    if let Some(doubt) = doubt {
        out::note(format_args!(
            "Check the name: {doubt}. What is added there later is shared too."
        ));
    }
    if is_needless {
        out::note(format_args!("`{}` is an owner and may read and write everything.", user.name));
    }
    Ok(())
}

fn list(app: &App, user: Option<&str>, json: bool) -> Result<()> {
    let users = match user {
        Some(user) => vec![app.user(user)?],
        None => live_users(app)?,
    };
    let mut listed = Vec::new();
    for user in &users {
        for row in app.store.users.grants(user.id)? {
            let (part, value) = part(&row.grant.extent);
            listed.push(json!({
                "id": row.id, "user": user.name.as_str(), "part": part, "value": value,
                "write": row.grant.write, "created": row.created,
            }));
            if !json {
                out::say(format_args!("{}\t{}\t{}", row.id, user.name, described(&row.grant)));
            }
        }
    }
    if json {
        return out::json(&listed);
    }
    if listed.is_empty() {
        out::note("There is no grant; `notewell grant add USER --folder VAULT/PATH` makes one.");
    }
    Ok(())
}

fn remove(app: &App, user: Option<&str>, part: &Part, id: Option<i64>) -> Result<()> {
    let users = match user {
        Some(user) => vec![app.user(user)?],
        None => live_users(app)?,
    };
    let extent = part.extent(app)?;
    for user in &users {
        let rows = app.store.users.grants(user.id)?;
        let row = rows.iter().find(|row| match (&extent, id) {
            (Some(extent), _) => row.grant.extent == *extent,
            (None, id) => Some(row.id) == id,
        });
        if let Some(row) = row
            && app.remove_grant(&Actor::shell(), user, row.id)?
        {
            let what = described(&row.grant);
            out::say(format_args!(
                "Grant {} is taken back: `{}` may no longer {what}.",
                row.id, user.name
            ));
            return Ok(());
        }
    }
    Err(Error::not_found("there is no such grant; `notewell grant list` names them"))
}

fn live_users(app: &App) -> Result<Vec<Account>> {
    let users = app.store.users.all()?;
    Ok(users.into_iter().filter(|user| user.removed.is_none()).collect())
}

/// The word for a part and what it names.
fn part(extent: &Extent) -> (&'static str, String) {
    match extent {
        Extent::All => ("all", String::new()),
        Extent::Free => ("free", String::new()),
        Extent::Members => ("members", String::new()),
        Extent::Vault(vault) => ("vault", vault.clone()),
        Extent::Folder { vault, folder } => ("folder", format!("{vault}/{folder}")),
        Extent::Label(label) => ("label", label.clone()),
        Extent::Author(author) => ("author", author.as_str().to_owned()),
        Extent::Kind(kind) => ("kind", format!("{kind}s")),
    }
}

fn described(grant: &Granted) -> String {
    let may = if grant.write { "read and write" } else { "read" };
    match part(&grant.extent) {
        ("all", _) => format!("{may} everything"),
        ("kind", kind) => format!("{may} all {kind}"),
        (part, value) => format!("{may} the {part} `{value}`"),
    }
}
