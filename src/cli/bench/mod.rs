//! How fast it is, on this machine: each file measures one promise and tells the figure beside the
//! goal. Nothing here is asserted, because a loaded machine proves nothing.
//!
//! Everything happens in a folder that is thrown away; a person's vault is read and copied, never
//! written to. Word and document come from a seed, so that two runs measure the same thing.

mod cards;
mod chunks;
mod corpus;
mod embedding;
mod load;
mod process;
mod prompts;
mod report;
mod rivals;
mod start;
mod vaults;

use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::TempDir;

use super::{Common, bar::Bar, out};
use crate::{
    app::App,
    config::{Config, EmbedProvider},
    domain::{Result, error::Doing},
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
    /// What words, documents and questions are made from
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Keep what --chunks builds here, for the next run
    #[arg(long, value_name = "DIR", requires = "chunks")]
    keep: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    pub fn run(self, common: &Common) -> Result<()> {
        telemetry::start_logs("warn", Form::Human);
        let bar = Bar::new();
        let mut reports = Vec::new();
        for vault in &common.vaults {
            reports.push(vaults::run(vault, &bar, &throwaway(common)?)?);
        }
        if let Some(count) = self.chunks {
            let folder = throwaway(common)?;
            let folder = match &self.keep {
                Some(keep) => keep.join(format!("{count}-{}", self.seed)),
                None => folder.path().to_owned(),
            };
            reports.push(chunks::run(count, self.seed, &bar, &folder)?);
        }
        if let Some(count) = self.cards {
            reports.push(cards::run(count, self.seed, &bar, &throwaway(common)?)?);
        }
        if let Some(count) = self.prompts {
            reports.push(prompts::run(count, self.seed, &bar, &throwaway(common)?)?);
        }
        if self.embed {
            reports.push(embedding::run(self.seed, &bar)?);
        }
        if let Some(seconds) = self.load {
            reports.push(load::run(seconds, self.seed, &bar, &throwaway(common)?)?);
        }
        if reports.is_empty() {
            reports.push(start::run(self.seed, &bar, &throwaway(common)?)?);
        }
        bar.finish();
        match self.json {
            true => out::say(format_args!("{:#}", report::json(&reports))),
            false => out::say(report::text(&reports)),
        }
        Ok(())
    }
}

/// A folder that goes when the bench ends, on the disk that `--data` names.
fn throwaway(common: &Common) -> Result<TempDir> {
    let what = "make a folder for the bench";
    match &common.data {
        Some(folder) => {
            std::fs::create_dir_all(folder).doing(what)?;
            tempfile::tempdir_in(folder).doing(what)
        }
        None => tempfile::tempdir().doing(what),
    }
}

/// The defaults, whatever the person's own config says: figures are to be compared.
fn config(data: &Path, provider: EmbedProvider) -> Config {
    let mut config = Config { data: data.to_path_buf(), ..Config::default() };
    config.embed.provider = provider;
    config
}

fn open(config: Config) -> Result<App> {
    App::open(config, crate::tools::names())
}
