//! `notewell market`: the operator's view of the books.

mod entries;
mod resolve;
mod statement;
mod table;
mod usage;

use clap::{Args, Subcommand};
use serde_json::json;

use self::table::Form;
use super::{Common, out, word};
use crate::{
    app::{App, accounts::Actor, market},
    domain::{Error, Money, Result, UserId},
    store::{
        ledger::{Account, Entry, EntryId, EntryKind, Outside, Posted},
        users,
    },
};

#[derive(Args)]
#[command(after_help = "\
Amounts are decimal: 10, 0.01, 1.000001. Months are written 2026-10 and begin and end in UTC.")]
pub struct Market {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Book money that you received as a user's credit
    #[command(after_help = "\
Example:
  notewell market credit ann 10.00 --memo 'transfer of 3 May'")]
    Credit {
        /// The user
        user: String,
        /// How much
        amount: String,
        /// What it is, for the books
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        memo: String,
        /// A name for this booking: the same again books nothing [default: none]
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
    /// Book the reverse of an entry: a charge, a top-up, a sale or a payout
    Refund {
        /// The entry's number, as a receipt or `market entries` names it
        entry: i64,
        /// Why, for the books
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        memo: String,
    },
    /// Show the credit of a user, or the balance of every account
    Balance {
        /// The user [default: every account]
        user: Option<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the entries of the books, newest first
    Entries(entries::Entries),
    /// List calls of priced methods, oldest first
    Usage(usage::UsageCommand),
    /// Show what authors earned in a month
    Statement(statement::StatementCommand),
    /// Book that an author was paid for a month
    Payout {
        /// The author
        author: String,
        /// The month, which must be over
        #[arg(long, value_name = "YYYY-MM")]
        month: String,
        /// How it was paid: manual, stripe or x402
        #[arg(long, default_value = "manual", value_parser = word::<Outside>)]
        through: Outside,
        /// What it is, for the books
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        memo: String,
    },
    /// Print the address of a page where a user can pay for credit by card
    TopUp {
        /// The user
        user: String,
        /// How much
        amount: String,
    },
    /// Say how a payment ended that `doctor` names
    Resolve(resolve::Resolve),
    /// Sum every balance again from the entries, where `doctor` found one wrong
    Recount,
}

impl Market {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        let market = app.market();
        match self.command {
            Command::Credit { user, amount, memo, key } => {
                credit(&app, &user, &amount, &memo, key.as_deref())
            }
            Command::Refund { entry, memo } => refund(&app, EntryId(entry), &memo),
            Command::Balance { user, json } => balance(&app, user.as_deref(), json),
            Command::Entries(command) => command.run(&app),
            Command::Usage(command) => command.run(&app),
            Command::Statement(command) => command.run(&app),
            Command::Payout { author, month, through, memo } => {
                let account = app.user(&author)?;
                let paid = app.audited(&Actor::shell(), "market_payout", &account.name, || {
                    market.payout(account.id, &month, through, &memo, None)
                })?;
                out::say(format_args!(
                    "Entry {}: {} {} paid to `{}` for {month}.",
                    paid.entry,
                    paid.amount,
                    market.currency(),
                    account.name
                ));
                Ok(())
            }
            Command::TopUp { user, amount } => {
                let account = app.user(&user)?;
                let amount = Money::parse(&amount)?;
                let checkout = market.begin_top_up(account.id, amount, &app.config.public_url())?;
                out::say(checkout.url);
                Ok(())
            }
            Command::Resolve(command) => command.run(&app),
            Command::Recount => {
                let changed = app.store.ledger.recount()?;
                out::say(match changed {
                    0 => "Every balance is the sum of its entries.".to_owned(),
                    1 => "1 balance was wrong and is right now.".to_owned(),
                    many => format!("{many} balances were wrong and are right now."),
                });
                Ok(())
            }
        }
    }
}

fn credit(app: &App, user: &str, amount: &str, memo: &str, key: Option<&str>) -> Result<()> {
    let account = app.user(user)?;
    let amount = Money::parse(amount)?;
    let key = match key {
        Some(key) => format!("manual:{key}"),
        None => format!("manual:{}", market::unique()?),
    };
    let posted = app.audited(&Actor::shell(), "market_credit", &account.name, || {
        app.market().top_up(account.id, amount, Outside::Manual, &key, memo)
    })?;
    let entry = posted.entry().id;
    let balance = app.market().balance(account.id)?;
    let currency = app.market().currency();
    let name = &account.name;
    out::say(match posted {
        Posted::New(_) => format!(
            "Entry {entry}: {amount} {currency} credited to `{name}`, who has {balance} {currency} now."
        ),
        Posted::Known(_) => format!(
            "Entry {entry} has this key already; nothing was booked. `{name}` has {balance} {currency}."
        ),
    });
    Ok(())
}

fn refund(app: &App, entry: EntryId, memo: &str) -> Result<()> {
    let refund =
        app.audited(&Actor::shell(), "market_refund", entry, || app.market().refund(entry, memo))?;
    out::say(format_args!("Entry {} takes back entry {entry}:", refund.id));
    for posting in &refund.postings {
        let account = account_name(app, posting.account)?;
        out::say(format_args!("  {account}\t{}", posting.amount));
    }
    let returned = app.store.ledger.entry(entry)?;
    let paid_outside = returned.as_ref().is_some_and(|entry| !is_inside(entry));
    if paid_outside {
        out::note("The books are changed; return the money itself where it came from.");
    }
    Ok(())
}

/// Whether an entry moves money between accounts of this server only.
fn is_inside(entry: &Entry) -> bool {
    entry.kind == EntryKind::Capture
}

fn balance(app: &App, user: Option<&str>, json: bool) -> Result<()> {
    let market = app.market();
    let currency = market.currency();
    let Some(user) = user else {
        let balances = app.store.ledger.balances()?;
        if json {
            let rows: Result<Vec<_>> = balances
                .into_iter()
                .map(|(account, balance)| {
                    let name = user_of(app, account)?;
                    Ok(json!({ "account": account.to_string(), "user": name, "balance": balance, "currency": currency }))
                })
                .collect();
            return out::json(&rows?);
        }
        if balances.is_empty() {
            out::note(
                "The books are empty; `notewell market credit USER AMOUNT` makes the first entry.",
            );
        }
        for (account, balance) in balances {
            out::say(format_args!("{}\t{balance}\t{currency}", account_name(app, account)?));
        }
        return Ok(());
    };
    let account = app.user(user)?;
    let credit = market.balance(account.id)?;
    let held = app.store.ledger.balance(Account::Held(account.id))?;
    let earned = app.store.ledger.balance(Account::Author(account.id))?;
    if json {
        return out::json(&json!({
            "user": account.name.as_str(), "credit": credit, "held": held, "earned": earned,
            "currency": currency,
        }));
    }
    out::say(format_args!("{}\t{credit}\t{currency}", account.name));
    if held != Money::ZERO {
        out::say(format_args!("held by calls under way\t{held}\t{currency}"));
    }
    if earned != Money::ZERO {
        out::say(format_args!("earned and not paid out\t{earned}\t{currency}"));
    }
    Ok(())
}

/// The name of a user, removed or not.
fn user_name(app: &App, user: UserId) -> Result<String> {
    let found: Option<users::Account> = app.store.users.get(user)?;
    Ok(found.map_or_else(|| format!("user {}", user.0), |account| account.name.to_string()))
}

/// The name of the user whose account it is.
fn user_of(app: &App, account: Account) -> Result<Option<String>> {
    match account {
        Account::User(user) | Account::Held(user) | Account::Author(user) => {
            user_name(app, user).map(Some)
        }
        Account::Platform | Account::Outside(_) => Ok(None),
    }
}

/// The account with the name of its user.
fn account_name(app: &App, account: Account) -> Result<String> {
    Ok(match user_of(app, account)? {
        Some(name) => format!("{account} ({name})"),
        None => account.to_string(),
    })
}

/// The user of this name, for a filter.
fn user_id(app: &App, name: Option<&str>) -> Result<Option<UserId>> {
    name.map(|name| app.user(name).map(|account| account.id)).transpose()
}

/// The start and the end of a month, for a filter.
fn period(
    month: Option<&str>,
) -> Result<(Option<crate::domain::Timestamp>, Option<crate::domain::Timestamp>)> {
    Ok(match month.map(market::month).transpose()? {
        Some((from, until)) => (Some(from), Some(until)),
        None => (None, None),
    })
}

/// Only one of these forms may be chosen.
fn form(json: bool, csv: bool) -> Result<Form> {
    match (json, csv) {
        (true, true) => Err(Error::invalid_params("choose one of `--json` and `--csv`")),
        (true, false) => Ok(Form::Json),
        (false, true) => Ok(Form::Csv),
        (false, false) => Ok(Form::Text),
    }
}
