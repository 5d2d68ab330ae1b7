use clap::Args;
use serde_json::json;

use super::{Form, account_name, form, period, table, user_id, user_of};
use crate::{
    app::{App, market::tables},
    cli::{out, word},
    domain::Result,
    store::ledger::{Account, Entry, EntryFilter, EntryKind},
};

#[derive(Args)]
pub struct Entries {
    /// Only entries that touch the credit of this user
    #[arg(long, value_name = "NAME", conflicts_with = "account")]
    user: Option<String>,
    /// Only entries that touch this account, such as author:3 or platform
    #[arg(long, value_parser = word::<Account>)]
    account: Option<Account>,
    /// Only top_up, hold, capture, release, sale, refund or payout
    #[arg(long, value_parser = word::<EntryKind>)]
    kind: Option<EntryKind>,
    /// Only entries of this month
    #[arg(long, value_name = "YYYY-MM")]
    month: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    /// Print them as CSV, one row for each account of an entry
    #[arg(long)]
    csv: bool,
}

impl Entries {
    pub fn run(self, app: &App) -> Result<()> {
        let form = form(self.json, self.csv)?;
        let (from, until) = period(self.month.as_deref())?;
        let user = user_id(app, self.user.as_deref())?.map(Account::User);
        let filter = EntryFilter {
            account: self.account.or(user),
            kind: self.kind,
            from,
            until,
            before: None,
        };
        let entries = app.store.ledger.entries(&filter, self.limit)?;
        match form {
            Form::Json => {
                let listed: Result<Vec<_>> =
                    entries.iter().map(|entry| as_json(app, entry)).collect();
                out::json(&listed?)
            }
            Form::Csv => table::csv(tables::ENTRY_COLUMNS, &app.entry_table(&entries)?),
            Form::Text => {
                if entries.is_empty() {
                    out::note("No entry fits.");
                }
                for entry in &entries {
                    out::say(line(app, entry)?);
                }
                Ok(())
            }
        }
    }
}

fn line(app: &App, entry: &Entry) -> Result<String> {
    let mut line = format!("{}\t{}\t{}", entry.id, entry.at, entry.kind);
    for posting in &entry.postings {
        line += &format!("\t{} {}", account_name(app, posting.account)?, posting.amount);
    }
    if let Some(ends) = entry.ends {
        line += &format!("\tends {ends}");
    }
    if let Some(by) = entry.ended_by {
        line += &format!("\tended by {by}");
    }
    if !entry.memo.is_empty() {
        line += &format!("\t{}", entry.memo);
    }
    Ok(line)
}

fn as_json(app: &App, entry: &Entry) -> Result<serde_json::Value> {
    let postings: Result<Vec<_>> = entry
        .postings
        .iter()
        .map(|posting| {
            Ok(json!({
                "account": posting.account.to_string(),
                "user": user_of(app, posting.account)?,
                "amount": posting.amount,
            }))
        })
        .collect();
    Ok(json!({
        "id": entry.id, "at": entry.at, "kind": entry.kind, "key": entry.key, "ends": entry.ends,
        "ended_by": entry.ended_by, "memo": entry.memo, "currency": app.market().currency(),
        "postings": postings?,
    }))
}
