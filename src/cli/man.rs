use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use super::{Cli, out};
use crate::{
    domain::{Result, count, error::Doing},
    vault,
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell man ~/.local/share/man/man1
  man notewell-search")]
pub struct ManPages {
    /// Where the pages are written; made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl ManPages {
    pub fn run(self) -> Result<()> {
        let folder = &self.folder;
        std::fs::create_dir_all(folder)
            .doing(format_args!("make the folder `{}`", folder.display()))?;
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let pages = write(&command, folder)?;
        let pages = count(pages, "page");
        out::say(format_args!("Wrote {pages} to `{}`.", folder.display()));
        Ok(())
    }
}

/// Writes the pages of a command and of everything below it; returns how many.
fn write(command: &Command, folder: &Path) -> Result<u64> {
    // No date: the same program writes the same bytes.
    let page = Man::new(command.clone())
        .source(concat!("Notewell ", env!("CARGO_PKG_VERSION")))
        .manual("Notewell");
    let mut text = Vec::new();
    page.render(&mut text).doing("render a man page")?;
    vault::replace(&folder.join(page.get_filename()), &text)?;
    let mut pages = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages += write(inner, folder)?;
    }
    Ok(pages)
}
