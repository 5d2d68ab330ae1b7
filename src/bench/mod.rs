//! How fast it is, on this machine: each file measures one promise and prints the figure beside its
//! goal. Nothing here is asserted, because a loaded machine proves nothing.
//!
//! Everything happens in a folder that is thrown away; a person's vault is read and copied, never
//! written to. Word and document come from a seed, so that two runs measure the same thing.

mod cards;
mod chunks;
mod connection;
mod corpus;
mod editing;
mod embedding;
mod load;
mod paying;
mod process;
mod prompts;
pub mod report;
mod rivals;
mod start;
mod tokens;
mod vaults;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub use self::load::Load;
use self::report::Report;
use crate::{
    app::App,
    config::{Config, EmbedProvider},
    domain::{Progress, Result, error::Doing},
};

/// What to measure. With nothing chosen, how soon a client gets its first answer.
#[derive(Debug, Default)]
pub struct Plan {
    /// Folders to index a copy of.
    pub vaults: Vec<PathBuf>,
    /// Passages to search over.
    pub chunks: Option<u64>,
    /// Cards to list, search and create.
    pub cards: Option<u64>,
    /// Prompts to list and create.
    pub prompts: Option<u64>,
    /// Whether to measure the embedded model.
    pub embed: bool,
    /// Many HTTP clients at once.
    pub load: Option<Load>,
    /// Whether to measure what a token and a sign-in cost.
    pub tokens: bool,
    /// Whether to measure what a price adds to a call.
    pub market: bool,
    /// Seed of the generated words, documents and questions.
    pub seed: u64,
    /// Where the index of `chunks` is kept for the next run.
    pub keep: Option<PathBuf>,
    /// The address of an empty library of a server, for `chunks`.
    pub store: Option<String>,
    /// Where the temporary folder is made.
    pub data: Option<PathBuf>,
}

impl Plan {
    /// Takes the measurements, one report each.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<Report>> {
        let mut reports = Vec::new();
        for vault in &self.vaults {
            reports.push(vaults::run(vault, progress, &self.throwaway()?)?);
        }
        if let Some(count) = self.chunks {
            let folder = self.throwaway()?;
            let folder = match &self.keep {
                Some(keep) => keep.join(format!("{count}-{}", self.seed)),
                None => folder.path().to_owned(),
            };
            reports.push(chunks::run(count, self.seed, progress, &folder, self.store.as_deref())?);
        }
        if let Some(count) = self.cards {
            reports.push(cards::run(count, self.seed, progress, &self.throwaway()?)?);
        }
        if let Some(count) = self.prompts {
            reports.push(prompts::run(count, self.seed, progress, &self.throwaway()?)?);
        }
        if self.embed {
            reports.push(embedding::run(self.seed, progress)?);
        }
        if let Some(load) = self.load {
            reports.push(load::run(load, self.seed, progress, &self.throwaway()?)?);
        }
        if self.tokens {
            reports.push(tokens::run(progress, &self.throwaway()?)?);
        }
        if self.market {
            reports.push(paying::run(progress, &self.throwaway()?)?);
        }
        if reports.is_empty() {
            reports.push(start::run(self.seed, progress, &self.throwaway()?)?);
        }
        Ok(reports)
    }

    /// A folder that is deleted when the bench ends.
    fn throwaway(&self) -> Result<TempDir> {
        let what = "make a folder for the bench";
        match &self.data {
            Some(folder) => {
                std::fs::create_dir_all(folder).doing(what)?;
                tempfile::tempdir_in(folder).doing(what)
            }
            None => tempfile::tempdir().doing(what),
        }
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
