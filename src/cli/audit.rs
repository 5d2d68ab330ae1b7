use clap::Args;
use serde_json::json;

use super::{Common, out};
use crate::domain::{Error, Result};

/// The most entries that are read at once.
const MAX_ENTRIES: usize = 100_000;

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell audit --user ann
  notewell audit --limit 1000 --json")]
pub struct Audit {
    /// Only what this user did, and what was done to them
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// How many entries, newest first
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub fn run(self, common: &Common) -> Result<()> {
        let limit = self.limit;
        if !(1..=MAX_ENTRIES).contains(&limit) {
            return Err(Error::invalid_params(format!(
                "limit `{limit}` is not between 1 and {MAX_ENTRIES}"
            )));
        }
        let app = common.open()?;
        let entries = app.store.audit.entries(None, self.user.as_deref(), limit)?;
        if self.json {
            let listed = entries.iter().map(|entry| {
                json!({
                    "id": entry.id, "at": entry.at, "who": entry.who, "action": entry.action,
                    "subject": entry.subject, "address": entry.address, "outcome": entry.outcome,
                })
            });
            return out::json(&listed.collect::<Vec<_>>());
        }
        if entries.is_empty() {
            match &self.user {
                Some(user) => out::note(format_args!("The audit log has no entry of `{user}`.")),
                None => out::note("The audit log is empty."),
            }
        }
        let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        for entry in entries {
            out::say(format_args!(
                "{}\t{}\t{}\t{}\t{}\t{}",
                entry.at,
                or_dash(&entry.who),
                entry.action,
                or_dash(&entry.subject),
                entry.address,
                entry.outcome
            ));
        }
        Ok(())
    }
}
