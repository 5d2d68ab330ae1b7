use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Common, bar::Bar, out, prompt};
use crate::{app::cards::Format, domain::Result};

#[derive(Args)]
pub struct Export {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// All cards as one JSON file, or as a folder of Markdown files
    Cards {
        /// A file that ends in `.json`, or a new folder
        path: PathBuf,
        /// `json` or `markdown` [default: by the path's ending]
        #[arg(long)]
        format: Option<Format>,
    },
    /// All bookmarks as one JSONL file, which `import bookmarks` reads back
    Bookmarks {
        /// A new file
        path: PathBuf,
    },
    /// Your prompts as one JSONL or CSV file, or as a folder of Markdown files
    Prompts {
        /// A file that ends in `.jsonl` or `.csv`, or a folder
        path: PathBuf,
        /// The built-in prompts too
        #[arg(long)]
        all: bool,
    },
}

impl Export {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.what {
            What::Cards { path, format } => {
                let json =
                    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
                let format = format.unwrap_or(if json { Format::Json } else { Format::Markdown });
                let bar = Bar::new();
                let exported = app.cards.export(&path, format, &bar);
                bar.finish();
                let exported = exported?;
                let cards = out::count(exported.cards as u64, "card");
                out::say(format_args!("{cards} in `{}`", exported.path.display()));
            }
            What::Bookmarks { path } => {
                let bar = Bar::new();
                let exported = app.export_bookmarks(&path, &bar);
                bar.finish();
                let bookmarks = out::count(exported?, "bookmark");
                out::say(format_args!("{bookmarks} in `{}`", path.display()));
            }
            What::Prompts { path, all } => prompt::export(&app, &path, all)?,
        }
        Ok(())
    }
}
