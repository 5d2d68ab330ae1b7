//! The books in SQLite. Triggers of the schema refuse what would unbalance them; the checks here
//! come first, so that a refusal is a sentence.

mod holds;
mod payouts;
mod processes;
mod proof;
#[cfg(test)]
mod tests;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params, types::Type};

use super::Sqlite;
use crate::{
    domain::{Error, Money, Result, Timestamp},
    store::{
        ledger::{
            Account, Admission, Captured, Entry, EntryFilter, EntryId, HoldId, Ledger, NewEntry,
            NewHold, NewPayout, OpenHold, PaidOut, Posted, Posting, Process, check, is_same,
            unknown_entry,
        },
        usage::Outcome,
    },
};

/// The result of work in a transaction: `Ok(Err(_))` is a refusal before anything was written.
type Checked<T> = rusqlite::Result<Result<T>>;

impl Ledger for Sqlite {
    fn post(&self, entry: &NewEntry) -> Result<Posted> {
        self.write(|tx| post(tx, entry, Timestamp::now()))?
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>> {
        self.read(|db| entry(db, id))
    }

    fn of_key(&self, key: &str) -> Result<Option<Entry>> {
        self.read(|db| match id_of_key(db, key)? {
            Some(id) => entry(db, id),
            None => Ok(None),
        })
    }

    fn entries(&self, filter: &EntryFilter, limit: usize) -> Result<Vec<Entry>> {
        self.read(|db| {
            let account = match filter.account {
                None => None,
                // An account without postings has no entries.
                Some(account) => match account_id(db, account)? {
                    None => return Ok(Vec::new()),
                    id => id,
                },
            };
            let ids: Vec<EntryId> = db
                .prepare_cached(
                    "SELECT e.id FROM entries e
                     WHERE (?1 IS NULL OR EXISTS
                             (SELECT 1 FROM postings p WHERE p.entry = e.id AND p.account = ?1))
                       AND (?2 IS NULL OR e.kind = ?2)
                       AND (?3 IS NULL OR e.at >= ?3) AND (?4 IS NULL OR e.at < ?4)
                       AND (?5 IS NULL OR e.id < ?5)
                     ORDER BY e.id DESC LIMIT ?6",
                )?
                .query_map(
                    params![
                        account,
                        filter.kind.map(|kind| kind.as_str()),
                        filter.from.map(|at| at.0),
                        filter.until.map(|at| at.0),
                        filter.before.map(|id| id.0),
                        i64::try_from(limit).unwrap_or(i64::MAX),
                    ],
                    |row| Ok(EntryId(row.get(0)?)),
                )?
                .collect::<rusqlite::Result<_>>()?;
            ids.into_iter().filter_map(|id| entry(db, id).transpose()).collect()
        })
    }

    fn balance(&self, account: Account) -> Result<Money> {
        self.read(|db| balance(db, account))
    }

    fn balance_before(&self, account: Account, at: Timestamp) -> Result<Money> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT coalesce(sum(p.amount), 0) FROM accounts a
                 JOIN postings p ON p.account = a.id JOIN entries e ON e.id = p.entry
                 WHERE a.name = ?1 AND e.at < ?2",
            )?
            .query_row(params![account.to_string(), at.0], |row| row.get(0).map(Money))
        })
    }

    fn unpaid_before(&self, account: Account, at: Timestamp) -> Result<Money> {
        self.read(|db| payouts::unpaid_before(db, account, at))
    }

    fn pay_out(&self, payout: &NewPayout) -> Result<PaidOut> {
        self.write(|tx| payouts::pay_out(tx, payout))?
    }

    fn balances(&self) -> Result<Vec<(Account, Money)>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT a.name, coalesce(b.amount, 0) FROM accounts a
                 LEFT JOIN balances b ON b.account = a.id ORDER BY a.name",
            )?
            .query_map([], |row| Ok((account(row, 0)?, Money(row.get(1)?))))?
            .collect()
        })
    }

    fn enlist(&self) -> Result<Process> {
        self.enlist_process()
    }

    fn begin(&self, process: &Process, hold: &NewHold) -> Result<Admission> {
        // Without its capture a hold is worth nothing, and the capture is durable.
        self.write_lightly(|tx| holds::begin(tx, process.id, hold))?
    }

    fn capture(&self, hold: HoldId, author: Money, ms: u64) -> Result<Captured> {
        self.write(|tx| holds::capture(tx, hold, author, ms))?
    }

    fn release(&self, hold: HoldId, outcome: Outcome, ms: u64) -> Result<bool> {
        self.write(|tx| holds::release(tx, hold, outcome, ms))?
    }

    fn release_abandoned(&self) -> Result<usize> {
        self.release_holds_of_the_dead()
    }

    fn open_holds(&self) -> Result<Vec<OpenHold>> {
        self.read(holds::open)
    }

    fn damage(&self) -> Result<Vec<String>> {
        self.read(proof::damage)
    }

    fn recount(&self) -> Result<usize> {
        self.write(proof::recount)
    }
}

/// Books an entry.
pub(super) fn post(tx: &Transaction<'_>, new: &NewEntry, at: Timestamp) -> Checked<Posted> {
    if let Err(error) = check(new) {
        return Ok(Err(error));
    }
    if let Some(id) = id_of_key(tx, &new.key)? {
        let Some(known) = entry(tx, id)? else { return Ok(Err(unknown_entry(id))) };
        return Ok(match is_same(&known, new) {
            true => Ok(Posted::Known(known)),
            false => Err(Error::conflict(format!(
                "entry {id} was booked under the key `{}` with other amounts; nothing was booked",
                new.key
            ))),
        });
    }
    if let Some(ended) = new.ends {
        let Some(ended) = entry(tx, ended)? else { return Ok(Err(unknown_entry(ended))) };
        if let Some(by) = ended.ended_by {
            return Ok(Err(Error::conflict(format!(
                "entry {} ended with entry {by} already; nothing was booked",
                ended.id
            ))));
        }
    }
    for posting in &new.postings {
        let before = balance(tx, posting.account)?;
        let after = match before.plus(posting.amount) {
            Ok(after) => after,
            Err(error) => return Ok(Err(error)),
        };
        if posting.account.floor().is_some_and(|floor| after < floor && after < before) {
            return Ok(Err(Error::conflict(format!(
                "`{}` has {before}, which does not cover {}; nothing was booked",
                posting.account, -posting.amount
            ))));
        }
    }
    let id: i64 = tx
        .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM entries")?
        .query_row([], |row| row.get(0))?;
    for posting in &new.postings {
        let account = make_account(tx, posting.account)?;
        tx.prepare_cached("INSERT INTO postings (entry, account, amount) VALUES (?1, ?2, ?3)")?
            .execute(params![id, account, posting.amount.0])?;
    }
    tx.prepare_cached(
        "INSERT INTO entries (id, at, kind, key, ends, memo) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        id,
        at.0,
        new.kind.as_str(),
        new.key,
        new.ends.map(|ends| ends.0),
        new.memo
    ])?;
    Ok(Ok(Posted::New(Entry {
        id: EntryId(id),
        at,
        kind: new.kind,
        key: new.key.clone(),
        ends: new.ends,
        ended_by: None,
        memo: new.memo.clone(),
        postings: new.postings.clone(),
    })))
}

pub(super) fn entry(db: &Connection, id: EntryId) -> rusqlite::Result<Option<Entry>> {
    let found = db
        .prepare_cached(
            "SELECT e.at, e.kind, e.key, e.ends, e.memo, o.id
             FROM entries e LEFT JOIN entries o ON o.ends = e.id WHERE e.id = ?1",
        )?
        .query_row([id.0], |row| {
            let kind: String = row.get(1)?;
            Ok(Entry {
                id,
                at: Timestamp(row.get(0)?),
                kind: kind.parse().map_err(|error| unreadable(1, error))?,
                key: row.get(2)?,
                ends: row.get::<_, Option<i64>>(3)?.map(EntryId),
                memo: row.get(4)?,
                ended_by: row.get::<_, Option<i64>>(5)?.map(EntryId),
                postings: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut found) = found else { return Ok(None) };
    found.postings = db
        .prepare_cached(
            "SELECT a.name, p.amount FROM postings p JOIN accounts a ON a.id = p.account
             WHERE p.entry = ?1 ORDER BY p.account",
        )?
        .query_map([id.0], |row| {
            Ok(Posting { account: account(row, 0)?, amount: Money(row.get(1)?) })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(found))
}

fn id_of_key(db: &Connection, key: &str) -> rusqlite::Result<Option<EntryId>> {
    db.prepare_cached("SELECT id FROM entries WHERE key = ?1")?
        .query_row([key], |row| Ok(EntryId(row.get(0)?)))
        .optional()
}

pub(super) fn balance(db: &Connection, account: Account) -> rusqlite::Result<Money> {
    let found = db
        .prepare_cached(
            "SELECT b.amount FROM accounts a JOIN balances b ON b.account = a.id WHERE a.name = ?1",
        )?
        .query_row([account.to_string()], |row| row.get(0).map(Money))
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn account_id(db: &Connection, account: Account) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT id FROM accounts WHERE name = ?1")?
        .query_row([account.to_string()], |row| row.get(0))
        .optional()
}

fn make_account(tx: &Transaction<'_>, account: Account) -> rusqlite::Result<i64> {
    if let Some(id) = account_id(tx, account)? {
        return Ok(id);
    }
    tx.prepare_cached("INSERT INTO accounts (name, floor) VALUES (?1, ?2)")?
        .execute(params![account.to_string(), account.floor().map(|floor| floor.0)])?;
    Ok(tx.last_insert_rowid())
}

fn account(row: &Row<'_>, column: usize) -> rusqlite::Result<Account> {
    let name: String = row.get(column)?;
    name.parse().map_err(|error| unreadable(column, error))
}

pub(super) fn unreadable(column: usize, error: Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
