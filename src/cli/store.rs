use clap::{Args, Subcommand};
use serde_json::json;

use super::{Common, bar::Bar, interrupt::Interrupt, out};
use crate::{
    domain::{Result, count},
    store::{
        StoreLimits, StoreUrl,
        copy::{Copied, copy},
    },
    telemetry::{self, Form},
};

#[derive(Args)]
pub struct Store {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copy a whole library into an empty store, and compare every row
    #[command(after_help = "\
Stop servers that write to the source first: what they write meanwhile is not copied.
  notewell store copy --from sqlite:/srv/notewell --to postgres://nw@db/notewell?library=team
  notewell store copy --from postgres://nw@db/notewell?library=team --to sqlite:/srv/copy")]
    Copy {
        /// The source: `sqlite:DIR` or `postgres://…`
        #[arg(long, value_name = "STORE")]
        from: String,
        /// The target, which has no library yet
        #[arg(long, value_name = "STORE")]
        to: String,
        /// Print the summary as JSON
        #[arg(long)]
        json: bool,
    },
}

impl Store {
    pub fn run(self, common: &Common) -> Result<()> {
        let config = common.config()?;
        telemetry::start_logs("error", Form::Human);
        let Command::Copy { from, to, json } = self.command;
        let (from, to) = (StoreUrl::parse(&from)?, StoreUrl::parse(&to)?);
        let limits = StoreLimits {
            timeout: std::time::Duration::from_secs(config.store.timeout_seconds),
            ..StoreLimits::DEFAULT
        };
        let bar = Bar::new().until(Interrupt::listen()?);
        let copied = copy(&from, &to, limits, &bar);
        bar.finish();
        let copied = copied?;
        match json {
            true => out::json(&json!(copied)),
            false => {
                summarise(&copied);
                Ok(())
            }
        }
    }
}

fn summarise(copied: &Copied) {
    for (table, rows) in &copied.tables {
        out::say(format_args!("{table}\t{}", count(*rows, "row")));
    }
    let rows: u64 = copied.tables.values().sum();
    out::say(format_args!(
        "{} in {}, {}, {} and {} copied; every row was read again and is the same. The index is made anew when the copy is first used.",
        count(rows, "row"),
        count(copied.tables.len() as u64, "table"),
        count(copied.cards, "card"),
        count(copied.prompts, "prompt"),
        count(copied.prompt_backups, "prompt backup"),
    ));
}
