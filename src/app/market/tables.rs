//! Usage and entries as tables, for CSV in the shell and in the browser.

use std::{borrow::Cow, collections::HashMap};

use crate::{
    app::App,
    domain::{Error, Result, UserId, error::Doing},
    store::{
        ledger::{Account, Entry},
        usage::{UsageFilter, UsageRow},
    },
};

/// Rows that are read at once.
const PAGE: usize = 1_000;

/// The names of the columns of [`App::usage_table`].
pub const USAGE_COLUMNS: [&str; 14] = [
    "id", "at", "user", "token", "method", "author", "version", "price", "charged", "currency",
    "outcome", "ms", "request", "entry",
];

/// The names of the columns of [`App::entry_table`].
pub const ENTRY_COLUMNS: [&str; 9] =
    ["entry", "at", "kind", "ends", "account", "user", "amount", "currency", "memo"];

/// Names of users, each looked up once.
pub struct Names<'a> {
    app: &'a App,
    known: HashMap<UserId, String>,
}

impl<'a> Names<'a> {
    /// No name is looked up yet.
    pub fn new(app: &'a App) -> Self {
        Self { app, known: HashMap::new() }
    }

    /// The name of a user, removed or not; empty for `None`.
    pub fn of(&mut self, user: Option<UserId>) -> Result<String> {
        let Some(user) = user else { return Ok(String::new()) };
        if let Some(name) = self.known.get(&user) {
            return Ok(name.clone());
        }
        let name = match self.app.user_name(user)? {
            name if name.is_empty() => format!("user {}", user.0),
            name => name,
        };
        self.known.insert(user, name.clone());
        Ok(name)
    }

    /// The name of the user whose account of the books it is; empty for other accounts.
    pub fn of_account(&mut self, account: Account) -> Result<String> {
        match account {
            Account::User(user) | Account::Held(user) | Account::Author(user) => {
                self.of(Some(user))
            }
            Account::Platform | Account::Outside(_) => Ok(String::new()),
        }
    }
}

impl App {
    /// Every call that a filter names, oldest first.
    pub fn every_usage(&self, mut filter: UsageFilter) -> Result<Vec<UsageRow>> {
        let mut rows = Vec::new();
        loop {
            let page = self.store.usage.list(&filter, PAGE)?;
            let Some(last) = page.last() else { return Ok(rows) };
            filter.after = Some(last.id);
            rows.extend(page);
        }
    }

    /// Calls as lines under [`USAGE_COLUMNS`].
    pub fn usage_table(&self, rows: &[UsageRow]) -> Result<Vec<[String; 14]>> {
        let mut names = Names::new(self);
        let currency = self.market().currency();
        let line = |row: &UsageRow| {
            Ok([
                row.id.to_string(),
                row.at.to_string(),
                names.of(row.call.user)?,
                row.call.token.map(|token| token.to_string()).unwrap_or_default(),
                row.call.method.clone(),
                names.of(row.call.author)?,
                row.call.version.clone(),
                row.call.price.to_string(),
                row.charged.to_string(),
                currency.to_owned(),
                row.outcome.to_string(),
                row.ms.to_string(),
                row.call.request.clone(),
                row.entry.map(|entry| entry.to_string()).unwrap_or_default(),
            ])
        };
        rows.iter().map(line).collect()
    }

    /// Entries as lines under [`ENTRY_COLUMNS`], one for each posting.
    pub fn entry_table(&self, entries: &[Entry]) -> Result<Vec<[String; 9]>> {
        let mut names = Names::new(self);
        let mut lines = Vec::new();
        for entry in entries {
            for posting in &entry.postings {
                lines.push([
                    entry.id.to_string(),
                    entry.at.to_string(),
                    entry.kind.to_string(),
                    entry.ends.map(|ends| ends.to_string()).unwrap_or_default(),
                    posting.account.to_string(),
                    names.of_account(posting.account)?,
                    posting.amount.to_string(),
                    self.market().currency().to_owned(),
                    entry.memo.clone(),
                ]);
            }
        }
        Ok(lines)
    }
}

/// Lines as CSV, with the names of the columns first.
pub fn csv<const N: usize>(columns: [&str; N], lines: &[[String; N]]) -> Result<String> {
    let what = "write the list as CSV";
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).doing(what)?;
    for line in lines {
        writer.write_record(line.iter().map(|cell| inert(cell).into_owned())).doing(what)?;
    }
    let bytes = writer.into_inner().map_err(|error| {
        Error::internal(format!("could not {what}")).with_source(error.into_error())
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A cell that no spreadsheet takes for a formula: callers choose ids, and people memos.
fn inert(cell: &str) -> Cow<'_, str> {
    let is_number =
        cell.starts_with('-') && cell.chars().skip(1).all(|c| c.is_ascii_digit() || c == '.');
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number;
    if is_formula { format!("'{cell}").into() } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        for formula in ["=1+1", "+1", "-x", "@sum", "\t=1", "-1+1"] {
            assert_eq!(inert(formula), format!("'{formula}"));
        }
        for plain in ["", "-0.01", "0.01", "code-review", "чай", "2026-10"] {
            assert_eq!(inert(plain), plain);
        }
    }

    #[test]
    fn a_list_has_its_columns_first() {
        let lines = [["1".to_owned(), "=чай, 茶".to_owned()]];
        assert_eq!(csv(["id", "memo"], &lines).unwrap(), "id,memo\n1,\"'=чай, 茶\"\n");
    }
}
