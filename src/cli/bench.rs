//! `notewell bench`: measures speed on this machine.

use std::path::PathBuf;

use clap::Args;

use super::{Common, bar::Bar, out};
use crate::{
    bench::{Plan, report},
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
    /// 200 HTTP clients at once for this many seconds: response times, and memory afterwards
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "300")]
    load: Option<u64>,
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
    pub fn run(self, common: &Common) -> Result<()> {
        telemetry::start_logs("warn", Form::Human);
        let bar = Bar::new();
        let plan = Plan {
            vaults: common.vaults.clone(),
            chunks: self.chunks,
            cards: self.cards,
            prompts: self.prompts,
            embed: self.embed,
            load: self.load,
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
        Ok(())
    }
}
