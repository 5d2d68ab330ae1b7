//! `notewell bench`: measures speed on this machine.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use super::{Common, bar::Bar, out, serve::raise_file_limit};
use crate::{
    bench::{
        Load, Plan,
        report::{self, Report},
    },
    domain::Result,
    telemetry::{self, Form},
};

/// Without a flag: how soon a client gets its first answer. Each flag measures something else;
/// `--vault DIR` measures indexing on a copy of that folder. `--data DIR` says where the throwaway
/// folder is made.
#[derive(Args)]
pub struct Bench {
    /// Search over this many passages, made from the seed, against raw tantivy and FTS5
    #[arg(long, value_name = "N")]
    chunks: Option<u64>,
    /// Listing, searching and making cards in a library of this many
    #[arg(long, value_name = "N")]
    cards: Option<u64>,
    /// Listing and making prompts in a library of this many
    #[arg(long, value_name = "N")]
    prompts: Option<u64>,
    /// The embedded model
    #[arg(long)]
    embed: bool,
    /// Many HTTP clients at once: response times, errors and limits by kind, memory (exit status 1:
    /// there were errors)
    #[arg(long)]
    load: bool,
    /// How long --load lasts
    #[arg(long, value_name = "N", requires = "load", default_value = "5", value_parser = minutes)]
    minutes: f64,
    /// Clients of --load that search, read, list and write
    #[arg(long, value_name = "N", requires = "load", default_value_t = 200)]
    clients: usize,
    /// Event streams of --load that stay open
    #[arg(long, value_name = "N", requires = "load", default_value_t = 2000)]
    idle: usize,
    /// Requests with a token beside requests without one, and signing in
    #[arg(long)]
    tokens: bool,
    /// A paid call beside the same call unpaid
    #[arg(long)]
    market: bool,
    /// What words, documents and questions are made from
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Keep what --chunks builds here, for the next run
    #[arg(long, value_name = "DIR", requires = "chunks")]
    keep: Option<PathBuf>,
    /// Measure --chunks on a replica: the address of an empty library of a PostgreSQL server
    #[arg(long, value_name = "URL", requires = "chunks")]
    store: Option<String>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        // Every client of --load is an open file.
        raise_file_limit();
        telemetry::start_logs("warn", Form::Human);
        let bar = Bar::new();
        let plan = Plan {
            vaults: common.vaults.clone(),
            chunks: self.chunks,
            cards: self.cards,
            prompts: self.prompts,
            embed: self.embed,
            load: self.load.then_some(Load {
                minutes: self.minutes,
                clients: self.clients,
                idle: self.idle,
            }),
            tokens: self.tokens,
            market: self.market,
            seed: self.seed,
            keep: self.keep,
            store: self.store,
            data: common.data.clone(),
        };
        let reports = plan.run(&bar)?;
        bar.finish();
        match self.json {
            true => out::say(format_args!("{:#}", report::json(&reports))),
            false => out::say(report::text(&reports)),
        }
        let errors: u64 = reports.iter().map(Report::errors).sum();
        Ok(if errors > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

fn minutes(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 10_000.0 => Ok(minutes),
        _ => Err("a number of minutes above 0, such as `10` or `0.5`".to_owned()),
    }
}
