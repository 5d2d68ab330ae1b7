use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Common, bar::Bar, out};
use crate::{
    app::{
        App,
        vaults::{NO_VAULT, unknown_vault},
    },
    domain::{Error, Result},
    store::pages::VaultRow,
};

#[derive(Args)]
pub struct Vault {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the folders that this library reads
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Read another folder from now on
    Add {
        folder: PathBuf,
        /// What to call it [default: the folder's name]
        #[arg(long)]
        name: Option<String>,
        /// Look for changes by reading the folder, where the file system sends no events
        #[arg(long)]
        poll: bool,
    },
    /// Read a vault from the folder that it moved to; its history and grants stay
    Move {
        name: String,
        /// Where its notes are now
        folder: PathBuf,
    },
    /// Make a vault that lives in the library itself: for authors who write over WebDAV, with
    /// `notewell push`, or with the tools
    Create {
        name: String,
        /// The user whose pages these are
        #[arg(long, value_name = "USER")]
        author: Option<String>,
    },
    /// Stop reading a vault; its files stay where they are
    Remove {
        name: String,
        /// Delete the files of a hosted vault, too
        #[arg(long)]
        delete_files: bool,
    },
    /// Look at every folder again, or at one
    Rescan {
        /// The vault [default: all]
        name: Option<String>,
        /// A vault that had notes and has none now is really empty: its notes leave the library
        #[arg(long)]
        accept_empty: bool,
    },
}

impl Vault {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::List { json } => {
                let vaults = app.sources.register_vaults()?;
                if json {
                    let listed = vaults.iter();
                    let listed =
                        listed.map(|vault| json!({"name": vault.name, "path": vault.location}));
                    return out::json(&listed.collect::<Vec<_>>());
                }
                if vaults.is_empty() {
                    out::note(NO_VAULT);
                }
                for vault in vaults {
                    out::say(format_args!("{}\t{}", vault.name, vault.location));
                }
            }
            Command::Add { folder, name, poll } => {
                let vault = app.sources.add_vault(&folder, name.as_deref(), poll)?;
                out::say(format_args!("{}\t{}", vault.name, vault.location));
            }
            Command::Move { name, folder } => {
                let vault = app.sources.move_vault(&name, &folder)?;
                out::say(format_args!("{}\t{}", vault.name, vault.location));
                look(&app, &[vault], false)?;
                out::note("Change the folder in the config, too, if it names the old one.");
            }
            Command::Create { name, author } => {
                let vault = app.create_vault(&name, author.as_deref())?;
                out::say(format_args!("{}\t{}", vault.name, vault.location));
                let usage = app.store.hosted.usage(&vault.name)?;
                if usage.files > 0 {
                    let files = match usage.files {
                        1 => "1 file or folder".to_owned(),
                        files => format!("{files} files and folders"),
                    };
                    out::note(format_args!("It has {files} from before it was removed."));
                }
            }
            Command::Remove { name, delete_files } => remove(&app, &name, delete_files)?,
            Command::Rescan { name, accept_empty } => rescan(&app, name, accept_empty)?,
        }
        Ok(())
    }
}

fn remove(app: &App, name: &str, delete_files: bool) -> Result<()> {
    let vault = app.sources.vault(name)?.ok_or_else(|| unknown_vault(name))?;
    if delete_files && !vault.is_hosted() {
        return Err(Error::invalid_params(format!(
            "`{name}` is a folder, whose files are never deleted from here; leave out --delete-files"
        )));
    }
    app.store.pages.remove_vault(name)?;
    if delete_files {
        app.store.hosted.delete_files(name)?;
        out::say(format_args!("`{name}` and its files are deleted."));
    } else if vault.is_hosted() {
        out::say(format_args!(
            "`{name}` is not read any more; its files are kept, and `notewell vault create {name}` brings them back."
        ));
    } else {
        out::say(format_args!("`{name}` is not read any more; its files were not touched."));
    }
    Ok(())
}

fn rescan(app: &App, name: Option<String>, accept_empty: bool) -> Result<()> {
    let mut vaults = app.sources.register_vaults()?;
    if let Some(name) = &name {
        vaults.retain(|vault| vault.name == *name);
        if vaults.is_empty() {
            return Err(unknown_vault(name));
        }
    }
    look(app, &vaults, accept_empty)
}

fn look(app: &App, vaults: &[VaultRow], accept_empty: bool) -> Result<()> {
    let bar = Bar::new();
    for vault in vaults {
        let synced = match accept_empty {
            true => app.sources.accept_empty(vault, &bar)?,
            false => app.sources.sync_vault(vault, &bar)?,
        };
        bar.finish();
        match app.sources.vault(&vault.name)?.and_then(|row| row.problem) {
            Some(problem) => out::say(problem.message(vault)),
            None => out::say(format_args!(
                "{}: {} new, {} changed, {} gone",
                vault.name, synced.new, synced.changed, synced.gone
            )),
        }
    }
    Ok(())
}
