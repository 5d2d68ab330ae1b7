use clap::Args;

use super::{Common, out};
use crate::{
    app::{status, vaults::NO_VAULT},
    domain::{Result, count},
};

/// Files named one by one; the rest is counted.
const MAX_FILES_NAMED: usize = 10;

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
            return out::json(&status);
        }
        out::say(format_args!("notewell {} in {}", status.version, status.data));
        if status.vaults.is_empty() {
            out::say(NO_VAULT);
        }
        for vault in &status.vaults {
            let state = match (&vault.problem, vault.seen) {
                (Some(problem), _) => problem.clone(),
                (None, _) if !vault.reachable => {
                    "NOT REACHABLE, its notes stay as they were".to_owned()
                }
                (None, None) => "not read yet".to_owned(),
                (None, Some(seen)) => format!("read {seen}"),
            };
            out::say(format_args!(
                "vault {}: {}, {state}, {}",
                vault.name,
                count(vault.pages, "page"),
                vault.root
            ));
        }
        out::say(format_args!("{} in {}", items(&status), count(status.passages, "passage")));
        let behind = count(status.behind, "change");
        match (status.behind, status.obstacle) {
            (0, _) => out::say("index: up to date"),
            (_, None) => out::say(format_args!(
                "index: {behind} behind; the next search or `notewell index` takes them in"
            )),
            (_, Some(why)) => out::say(format_args!("index: {behind} behind, because {why}")),
        }
        for repair in &status.repairs {
            out::say(format_args!("repaired: {repair}"));
        }
        match (&status.model, status.vectors) {
            (Some(model), Some((done, total))) => out::say(format_args!(
                "vectors: {done} of {total} passages ({model}; texts in scripts other than Latin, Cyrillic, Han and kana are found by words only)"
            )),
            _ => out::say("vectors: off, search goes by words"),
        }
        for skipped in status.skipped.iter().take(MAX_FILES_NAMED) {
            out::say(format_args!("left out: {skipped}"));
        }
        if status.skipped.len() > MAX_FILES_NAMED {
            out::say(format_args!(
                "left out: and {} more; `notewell doctor` names them all",
                status.skipped.len() - MAX_FILES_NAMED
            ));
        }
        Ok(())
    }
}

/// How many items of each kind there are: `20 pages, 1 card, 3 prompts, 0 bookmarks`.
pub(super) fn items(status: &status::Status) -> String {
    let counts = [
        (status.pages, "page"),
        (status.cards, "card"),
        (status.prompts, "prompt"),
        (status.bookmarks, "bookmark"),
    ];
    counts.map(|(number, noun)| count(number, noun)).join(", ")
}
