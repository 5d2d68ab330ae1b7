use clap::Args;

use super::{Common, out};
use crate::domain::{Error, Result};

/// Files named one by one; the rest is counted.
const NAMED: usize = 10;

#[derive(Args)]
pub struct Status {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        // As it is, without looking for changes: that is what a status is for.
        app.sources.register_vaults()?;
        let status = app.status()?;
        if self.json {
            let value = serde_json::to_value(&status).map_err(|error| {
                Error::internal("could not write the status").with_source(error)
            })?;
            out::say(format_args!("{value:#}"));
            return Ok(());
        }
        out::say(format_args!("notewell {} in {}", status.version, status.data));
        for vault in &status.vaults {
            let state = match (vault.reachable, vault.seen) {
                (false, _) => "NOT REACHABLE, its notes stay as they were".to_owned(),
                (true, None) => "not read yet".to_owned(),
                (true, Some(seen)) => format!("read {seen}"),
            };
            out::say(format_args!(
                "vault {}: {} pages, {state}, {}",
                vault.name, vault.pages, vault.root
            ));
        }
        out::say(format_args!(
            "{} pages, {} cards, {} prompts, {} bookmarks in {} passages",
            status.pages, status.cards, status.prompts, status.bookmarks, status.passages
        ));
        match status.behind {
            0 => out::say("index: up to date"),
            behind => out::say(format_args!("index: {behind} changes to take in")),
        }
        match (&status.model, status.vectors) {
            (Some(model), Some((done, total))) => out::say(format_args!(
                "vectors: {done} of {total} passages ({model}; texts in scripts other than Latin, Cyrillic, Han and kana are found by words only)"
            )),
            _ => out::say("vectors: off, search goes by words"),
        }
        for skipped in status.skipped.iter().take(NAMED) {
            out::say(format_args!("left out: {skipped}"));
        }
        if status.skipped.len() > NAMED {
            out::say(format_args!(
                "left out: and {} more; `notewell doctor` names them all",
                status.skipped.len() - NAMED
            ));
        }
        Ok(())
    }
}
