use std::path::PathBuf;

use clap::{Args, Subcommand};

use serde_json::{Value, json};

use super::{Common, bar::Bar, out, word};
use crate::{
    app::{cards::Format, prompts},
    domain::{Result, count},
};

#[derive(Args)]
pub struct Export {
    #[command(subcommand)]
    what: What,
    /// Print what was written as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// All cards as one JSON file, or as a folder of Markdown files
    Cards {
        /// A file that ends in `.json`, or a new folder
        path: PathBuf,
        /// `json` or `markdown` [default: by the path's ending]
        #[arg(long, value_parser = word::<Format>)]
        format: Option<Format>,
    },
    /// All bookmarks as one JSONL file, which `import bookmarks` reads back
    Bookmarks {
        /// A new file
        path: PathBuf,
    },
    /// Every file of a hosted vault, byte for byte
    Vault {
        /// The vault
        name: String,
        /// A new folder
        #[arg(value_name = "DIR")]
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
        let bar = Bar::new();
        let (what, written, left_out, path) = match self.what {
            What::Cards { path, format } => {
                let json =
                    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
                let format = format.unwrap_or(if json { Format::Json } else { Format::Markdown });
                let exported = app.cards.export(&path, format, &bar);
                bar.finish();
                ("card", exported?.cards, Vec::new(), path)
            }
            What::Bookmarks { path } => {
                let exported = app.export_bookmarks(&path, &bar);
                bar.finish();
                ("bookmark", exported? as usize, Vec::new(), path)
            }
            What::Vault { name, path } => {
                let exported = app.export_vault(&name, &path, &bar);
                bar.finish();
                ("file", exported?.files, Vec::new(), path)
            }
            What::Prompts { path, all } => {
                let form = prompts::Form::of(&path)?;
                let report = prompts::export(app.prompts.as_ref(), &path, form, all)?;
                ("prompt", report.written, report.left_out, path)
            }
        };
        if self.json {
            let left_out: Vec<Value> = left_out
                .into_iter()
                .map(|(name, why)| json!({ "name": name, "reason": why }))
                .collect();
            out::say(json!({ "written": written, "path": path, "leftOut": left_out }));
            return Ok(());
        }
        for (name, why) in &left_out {
            out::error(format_args!("left out: `{name}` {why}"));
        }
        out::say(format_args!("{} in `{}`", count(written, what), path.display()));
        Ok(())
    }
}
