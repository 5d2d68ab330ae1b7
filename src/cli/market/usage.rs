use clap::Args;
use serde_json::{Value, json};

use super::{Form, form, period, table, user_id};
use crate::{
    app::{
        App,
        market::tables::{Names, USAGE_COLUMNS},
    },
    cli::out,
    domain::{Money, Result},
    store::usage::{UsageFilter, UsageRow},
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell market usage --month 2026-10 --csv > usage.csv
  notewell market usage --user ann --json
  notewell market usage --month 2026-10 --meter > events.jsonl")]
pub struct UsageCommand {
    /// Only calls of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only calls of this author's methods
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Only calls of this month
    #[arg(long, value_name = "YYYY-MM")]
    month: Option<String>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    /// Print them as CSV
    #[arg(long)]
    csv: bool,
    /// Print charged calls in the shape of Stripe's meter events, one JSON object a line
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    meter: bool,
}

impl UsageCommand {
    pub fn run(self, app: &App) -> Result<()> {
        let form = form(self.json, self.csv)?;
        let rows = self.rows(app)?;
        let mut names = Names::new(app);
        let currency = app.market().currency();
        if self.meter {
            for row in rows.iter().filter(|row| row.charged > Money::ZERO) {
                out::say(meter(row, &names.of(row.call.user)?));
            }
            return Ok(());
        }
        let lines = app.usage_table(&rows)?;
        match form {
            Form::Csv => table::csv(USAGE_COLUMNS, &lines),
            Form::Json => {
                let listed: Result<Vec<Value>> =
                    rows.iter().map(|row| as_json(row, &mut names, currency)).collect();
                out::json(&listed?)
            }
            Form::Text => {
                if lines.is_empty() {
                    out::note("No call fits.");
                }
                for line in &lines {
                    let [_, at, user, _, method, author, _, _, charged, _, outcome, ms, ..] = line;
                    let or_dash = |text: &'_ str| {
                        if text.is_empty() { "-".to_owned() } else { text.to_owned() }
                    };
                    out::say(format_args!(
                        "{at}\t{}\t{method}\t{}\t{outcome}\t{charged} {currency}\t{ms} ms",
                        or_dash(user),
                        or_dash(author)
                    ));
                }
                Ok(())
            }
        }
    }

    fn rows(&self, app: &App) -> Result<Vec<UsageRow>> {
        let (from, until) = period(self.month.as_deref())?;
        app.every_usage(UsageFilter {
            user: user_id(app, self.user.as_deref())?,
            author: user_id(app, self.author.as_deref())?,
            from,
            until,
            after: None,
        })
    }
}

fn as_json(row: &UsageRow, names: &mut Names<'_>, currency: &str) -> Result<Value> {
    let or_null = |name: String| if name.is_empty() { Value::Null } else { Value::String(name) };
    Ok(json!({
        "id": row.id, "at": row.at, "user": or_null(names.of(row.call.user)?),
        "token": row.call.token, "method": row.call.method,
        "author": or_null(names.of(row.call.author)?), "version": row.call.version,
        "price": row.call.price, "charged": row.charged, "currency": currency,
        "outcome": row.outcome, "ms": row.ms, "request": row.call.request, "entry": row.entry,
        "refund": row.refund,
    }))
}

/// A meter event: `customer` is what the meter's customer mapping has to name.
fn meter(row: &UsageRow, customer: &str) -> Value {
    json!({
        "event_name": "notewell_call",
        "identifier": format!("notewell-usage-{}", row.id),
        "timestamp": row.at.0.div_euclid(1_000),
        "payload": {
            "customer": customer,
            "value": row.charged.0.to_string(),
            "method": row.call.method,
        },
    })
}
