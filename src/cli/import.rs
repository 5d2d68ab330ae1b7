use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Common, bar::Bar, bookmark, interrupt, out, prompt};
use crate::{
    app::{bookmarks::Imported, cards::Report},
    domain::{Error, Result, Timestamp},
};

/// What is kept of cards and bookmarks, which are imported in batches.
const INTERRUPTED: &str = "Stopped. What was imported so far is kept; the same command again goes on, and adds nothing twice.";
const PROMPTS_INTERRUPTED: &str =
    "Stopped. Prompts are imported all at once or not at all; `notewell prompt list` shows which.";

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell import cards takeout.zip
  notewell import bookmarks bookmarks.html tweets.js saved.jsonl.gz
  notewell import prompts library.csv")]
pub struct Import {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Google Keep's Takeout, Memento's JSON or a folder of Markdown, each also as a zip
    Cards {
        /// Files, folders or zips
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Posts and links: X exports, browsers, Pinboard, karakeep, CSV, JSONL, each also as .gz
    Bookmarks {
        /// Files
        #[arg(required = true, value_name = "FILE")]
        paths: Vec<PathBuf>,
    },
    /// Prompts from CSV, JSONL or JSON (also with .gz), Markdown files or folders of them
    Prompts {
        /// Files or folders
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

impl Import {
    pub fn run(self, common: &Common) -> Result<()> {
        interrupt::explain(match &self.what {
            What::Prompts { .. } => PROMPTS_INTERRUPTED,
            _ => INTERRUPTED,
        })?;
        let app = common.open()?;
        match self.what {
            What::Cards { paths } => {
                let bar = Bar::new();
                let report = app.cards.import(&paths, &bar);
                bar.finish();
                tell(&report?);
            }
            What::Bookmarks { paths } => {
                let bar = Bar::of_bytes();
                let imported = app.import_bookmarks(&paths, Timestamp::now(), &bar);
                bar.finish();
                let imported = imported?;
                tell_bookmarks(&imported);
                if let Some(line) = bookmark::judge(&app)? {
                    out::say(line);
                }
                refuse_failed(&imported)?;
            }
            What::Prompts { paths } => {
                let bar = Bar::new();
                let report = app.import_prompts(&paths, &bar);
                bar.finish();
                prompt::tell_import(&report?);
            }
        }
        Ok(())
    }
}

/// Names up to this many things of a kind; the rest is counted.
const NAMED: usize = 20;

fn tell(report: &Report) {
    for (lines, what) in [(&report.skipped, "skipped"), (&report.remarks, "note")] {
        for (name, why) in lines.iter().take(NAMED) {
            out::note(format_args!("{what}: `{name}` {why}"));
        }
        if lines.len() > NAMED {
            out::note(format_args!("{what}: and {} more", lines.len() - NAMED));
        }
    }
    out::say(format_args!(
        "{} added, {} updated, {} already there, {} skipped, {} other files",
        report.added,
        report.updated,
        report.present,
        report.skipped.len(),
        report.others
    ));
}

fn tell_bookmarks(imported: &Imported) {
    for (path, format) in &imported.files {
        out::note(format_args!("`{}` is {format}", path.display()));
    }
    for (name, why) in &imported.skipped {
        out::note(format_args!("skipped: `{name}` {why}"));
    }
    out::say(format_args!(
        "{} added, {} updated, {} already there, {} skipped",
        imported.added,
        imported.updated,
        imported.present,
        imported.skipped.len()
    ));
}

fn refuse_failed(imported: &Imported) -> Result<()> {
    match imported.failed.as_slice() {
        [] => Ok(()),
        failed => {
            let failed: Vec<&str> = failed.iter().map(|(_, why)| why.as_str()).collect();
            Err(Error::invalid_params(failed.join("\n")))
        }
    }
}
