use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{
    Common,
    bar::Bar,
    bookmark,
    interrupt::{INTERRUPTED, Interrupt},
    out,
};
use crate::{
    app::App,
    config,
    domain::{Error, Result, Timestamp, count},
    import::{ImportReport, Remarks},
    store::revisions::Actor,
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell import cards takeout.zip
  notewell import bookmarks bookmarks.html tweets.js saved.jsonl.gz
  notewell import prompts library.csv
  notewell import vault ~/notes --vault team")]
pub struct Import {
    #[command(subcommand)]
    what: What,
    /// Print the report as JSON
    #[arg(long, global = true)]
    json: bool,
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
    /// A folder of notes with its attachments, into the hosted vault that --vault names
    Vault {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
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
        if let What::Vault { folder } = &self.what {
            return vault(folder, self.json, common);
        }
        let app = common.open()?;
        let interrupt = Interrupt::listen()?;
        let bar = match &self.what {
            What::Bookmarks { .. } => Bar::of_bytes(),
            _ => Bar::new(),
        };
        let bar = bar.until(interrupt.clone());
        let actor = Actor::shell("import");
        let report = match &self.what {
            What::Cards { paths } => app.cards.import(paths, &bar, &actor),
            What::Bookmarks { paths } => {
                app.import_bookmarks(paths, Timestamp::now(), &bar, &actor)
            }
            What::Prompts { paths } => app.import_prompts(paths, &bar, &actor),
            What::Vault { .. } => return Err(Error::internal("a vault has a report of its own")),
        };
        bar.finish();
        let report = report?;
        match self.json {
            true => out::say(
                serde_json::to_string(&report)
                    .map_err(|error| Error::internal(format!("could not write JSON: {error}")))?,
            ),
            false => print_report(&report),
        }
        if !report.stopped {
            interrupt.end_with(IMPORTED);
            if matches!(self.what, What::Bookmarks { .. })
                && let Some(line) = bookmark::judge(&app)?
            {
                if self.json { out::note(line) } else { out::say(line) }
            }
            bring_up_to_date(&app)?;
        }
        outcome(&report)
    }
}

/// Copies a folder into a hosted vault. Here `--vault` is its name, not a folder to read.
fn vault(folder: &Path, as_json: bool, common: &Common) -> Result<()> {
    let [name] = common.vaults.as_slice() else {
        return Err(Error::invalid_params(
            "name the hosted vault to fill: --vault NAME; `notewell vault create NAME` makes one",
        ));
    };
    let name = name.to_string_lossy().into_owned();
    let app = Common { vaults: Vec::new(), ..common.clone() }.open()?;
    let interrupt = Interrupt::listen()?;
    let bar = Bar::new().until(interrupt.clone());
    let imported =
        app.import_vault(&config::expand_home(folder), &name, &bar, &Actor::shell("import"));
    bar.finish();
    let imported = imported?;
    if as_json {
        out::json(&imported)?;
    } else {
        for (path, why) in imported.skipped.iter().take(MAX_NAMED) {
            print_remark("skipped", path, why);
        }
        out::say(format_args!(
            "{} added, {} updated, {} already there, {} skipped",
            imported.added,
            imported.updated,
            imported.unchanged,
            imported.skipped.len()
        ));
    }
    if imported.stopped {
        out::note("Stopped. What was imported so far is kept; the same command again goes on.");
        std::process::exit(INTERRUPTED);
    }
    interrupt.end_with(IMPORTED);
    bring_up_to_date(&app)
}

/// What a person reads who interrupts the work that follows an import.
const IMPORTED: &str = "Stopped. Everything is imported. What is not indexed or embedded yet is taken in by searches, a server or `notewell index`.";

/// Indexes and embeds what was imported, with a bar, so that the next search finds it.
fn bring_up_to_date(app: &App) -> Result<()> {
    let bar = Bar::new();
    let done = app.catch_up(&bar).and_then(|_| app.embed_all(&bar));
    bar.finish();
    done
}

/// Names up to this many things of a kind; the rest is counted.
const MAX_NAMED: usize = 20;

fn print_report(report: &ImportReport) {
    for (path, format) in &report.files {
        out::note(format_args!("`{}` is {format}", path.display()));
    }
    print_remarks("skipped", &report.skipped);
    print_remarks("note", &report.changed);
    let others = match report.other_files {
        0 => String::new(),
        others => format!(", {}", count(others, "other file")),
    };
    out::say(format_args!(
        "{} added, {} updated, {} already there, {} skipped{others}",
        report.added, report.updated, report.unchanged, report.skipped.total
    ));
}

fn print_remarks(what: &str, remarks: &Remarks) {
    let named = remarks.first.iter().take(MAX_NAMED);
    for (place, why) in named.clone() {
        print_remark(what, place, why);
    }
    let more = remarks.total - named.len();
    if more > 0 {
        out::note(format_args!("{what}: and {more} more; --json lists the first 1000"));
    }
}

fn print_remark(what: &str, place: &str, why: &str) {
    out::note(format_args!("{what}: `{place}`: {why}"));
}

fn outcome(report: &ImportReport) -> Result<()> {
    if report.stopped {
        out::note(
            "Stopped. What was imported so far is kept; the same command again goes on, and adds nothing twice.",
        );
        std::process::exit(INTERRUPTED);
    }
    if report.failed.is_empty() {
        return Ok(());
    }
    let failed: Vec<&str> = report.failed.iter().map(|(_, why)| why.as_str()).collect();
    Err(Error::invalid_params(failed.join("\n")))
}
