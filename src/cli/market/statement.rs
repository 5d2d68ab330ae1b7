use clap::Args;

use super::{Form, form, table, user_name};
use crate::{
    app::{App, market::Statement},
    cli::out,
    domain::{Result, count},
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell market statement --month 2026-10
  notewell market statement mira --month 2026-10 --csv > mira-2026-10.csv")]
pub struct StatementCommand {
    /// The author [default: everybody who ever earned something]
    author: Option<String>,
    /// The month
    #[arg(long, value_name = "YYYY-MM")]
    month: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Print it as CSV
    #[arg(long)]
    csv: bool,
}

impl StatementCommand {
    pub fn run(self, app: &App) -> Result<()> {
        let form = form(self.json, self.csv)?;
        let market = app.market();
        let authors = match &self.author {
            Some(name) => vec![app.user(name)?.id],
            None => market.authors()?,
        };
        let mut statements: Vec<(String, Statement)> = Vec::new();
        for author in authors {
            statements.push((user_name(app, author)?, market.statement(author, &self.month)?));
        }
        match form {
            Form::Json => {
                let listed: Vec<_> =
                    statements.iter().map(|(name, statement)| statement.to_json(name)).collect();
                out::json(&listed)
            }
            Form::Csv => {
                let lines: Vec<_> =
                    statements.iter().flat_map(|(name, statement)| statement.lines(name)).collect();
                table::csv(Statement::COLUMNS, &lines)
            }
            Form::Text => {
                if statements.is_empty() {
                    out::note("No author has earned anything yet.");
                }
                for (name, statement) in &statements {
                    say(name, statement);
                }
                Ok(())
            }
        }
    }
}

fn say(name: &str, statement: &Statement) {
    let currency = &statement.currency;
    out::say(format_args!("{name}, {}", statement.month));
    out::say(format_args!("  at the start\t{} {currency}", statement.opening));
    for line in &statement.methods {
        let calls = count(line.calls, "call");
        out::say(format_args!(
            "  {}\t{calls}, {} charged\t{} {currency} earned, {} {currency} refunded",
            line.method, line.charged_calls, line.earned, line.refunded
        ));
    }
    out::say(format_args!("  paid out\t{} {currency}", statement.paid_out));
    out::say(format_args!("  at the end\t{} {currency}", statement.closing));
    match statement.payout {
        Some(entry) => out::say(format_args!("  paid with entry {entry}")),
        None => out::say(format_args!("  to be paid\t{} {currency}", statement.payable)),
    }
}
