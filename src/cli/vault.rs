use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Common, out};
use crate::domain::{Error, Result};

#[derive(Args)]
pub struct Vault {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the folders that this library reads
    List,
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
    /// Stop reading a folder; its files stay where they are
    Remove { name: String },
}

impl Vault {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::List => {
                for vault in app.sources.register_vaults()? {
                    out::say(format_args!("{}\t{}", vault.name, vault.root.display()));
                }
            }
            Command::Add { folder, name, poll } => {
                let vault = app.sources.add_vault(&folder, name.as_deref(), poll)?;
                out::say(format_args!("{}\t{}", vault.name, vault.root.display()));
            }
            Command::Remove { name } => {
                if !app.store.pages.remove_vault(&name)? {
                    return Err(Error::invalid_params(format!(
                        "no vault is called `{name}`; `notewell vault list` names them"
                    )));
                }
                out::say(format_args!(
                    "`{name}` is not read any more; its files were not touched."
                ));
            }
        }
        Ok(())
    }
}
