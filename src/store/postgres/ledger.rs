//! The books in PostgreSQL. Triggers of the schema refuse what would unbalance them; the checks
//! here come first, so that a refusal is a sentence.

mod holds;
mod payouts;
mod processes;
mod proof;

use std::collections::HashMap;

use tokio_postgres::Row;

use super::{Postgres, connection::Connection, fault::Fault, value};
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

impl Ledger for Postgres {
    fn post(&self, entry: &NewEntry) -> Result<Posted> {
        self.write(|tx| post(tx, entry, Timestamp::now()))
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>> {
        self.read(|db| entry(db, id))
    }

    fn of_key(&self, key: &str) -> Result<Option<Entry>> {
        self.snapshot(|db| match id_of_key(db, key)? {
            Some(id) => entry(db, id),
            None => Ok(None),
        })
    }

    fn entries(&self, filter: &EntryFilter, limit: usize) -> Result<Vec<Entry>> {
        self.read(|db| {
            let sql = format!(
                "WITH chosen AS (
                     SELECT e.id FROM entries e
                     WHERE ($1::text IS NULL OR EXISTS (
                             SELECT 1 FROM postings p JOIN accounts a ON a.id = p.account
                             WHERE p.entry = e.id AND a.name = $1))
                       AND ($2::text IS NULL OR e.kind = $2)
                       AND ($3::bigint IS NULL OR e.at >= $3)
                       AND ($4::bigint IS NULL OR e.at < $4)
                       AND ($5::bigint IS NULL OR e.id < $5)
                     ORDER BY e.id DESC LIMIT $6)
                 {ENTRY} WHERE e.id IN (SELECT id FROM chosen) ORDER BY e.id DESC, p.account"
            );
            let rows = db.query(
                &sql,
                &[
                    &filter.account.map(|account| account.to_string()),
                    &filter.kind.map(|kind| kind.as_str()),
                    &filter.from.map(|at| at.0),
                    &filter.until.map(|at| at.0),
                    &filter.before.map(|id| id.0),
                    &value::limit(limit),
                ],
            )?;
            entries_of(&rows)
        })
    }

    fn balance(&self, account: Account) -> Result<Money> {
        self.read(|db| balance(db, account))
    }

    fn balance_before(&self, account: Account, at: Timestamp) -> Result<Money> {
        self.read(|db| {
            let row = db.query_one(
                "SELECT coalesce(sum(p.amount), 0)::bigint FROM accounts a
                 JOIN postings p ON p.account = a.id JOIN entries e ON e.id = p.entry
                 WHERE a.name = $1 AND e.at < $2",
                &[&account.to_string(), &at.0],
            )?;
            Ok(Money(row.try_get(0)?))
        })
    }

    fn unpaid_before(&self, account: Account, at: Timestamp) -> Result<Money> {
        self.read(|db| payouts::unpaid_before(db, account, at))
    }

    fn pay_out(&self, payout: &NewPayout) -> Result<PaidOut> {
        self.write(|tx| payouts::pay_out(tx, payout))
    }

    fn balances(&self) -> Result<Vec<(Account, Money)>> {
        self.read(|db| {
            db.query(
                "SELECT a.name, coalesce(b.amount, 0) FROM accounts a
                 LEFT JOIN balances b ON b.account = a.id ORDER BY a.name",
                &[],
            )?
            .iter()
            .map(|row| Ok((value::parse(row, 0)?, Money(row.try_get(1)?))))
            .collect()
        })
    }

    fn enlist(&self) -> Result<Process> {
        self.enlist_process()
    }

    fn begin(&self, process: &Process, hold: &NewHold) -> Result<Admission> {
        self.begin_hold(process, hold)
    }

    fn capture(&self, hold: HoldId, author: Money, ms: u64) -> Result<Captured> {
        self.write(|tx| holds::capture(tx, hold, author, ms))
    }

    fn release(&self, hold: HoldId, outcome: Outcome, ms: u64) -> Result<bool> {
        self.write(|tx| holds::release(tx, hold, outcome, ms))
    }

    fn release_abandoned(&self) -> Result<usize> {
        self.release_holds_of_the_dead()
    }

    fn open_holds(&self) -> Result<Vec<OpenHold>> {
        self.read(holds::open)
    }

    fn damage(&self) -> Result<Vec<String>> {
        self.snapshot(proof::damage)
    }

    fn recount(&self) -> Result<usize> {
        self.write(|tx| proof::recount(tx))
    }
}

/// Books an entry.
pub(super) fn post(tx: &mut Connection, new: &NewEntry, at: Timestamp) -> Result<Posted, Fault> {
    check(new)?;
    if let Some(id) = id_of_key(tx, &new.key)? {
        let known = entry(tx, id)?.ok_or_else(|| unknown_entry(id))?;
        return match is_same(&known, new) {
            true => Ok(Posted::Known(known)),
            false => Err(Fault::Refused(Error::conflict(format!(
                "entry {id} was booked under the key `{}` with other amounts; nothing was booked",
                new.key
            )))),
        };
    }
    if let Some(ended) = new.ends {
        let ended = entry(tx, ended)?.ok_or_else(|| unknown_entry(ended))?;
        if let Some(by) = ended.ended_by {
            return Err(Fault::Refused(Error::conflict(format!(
                "entry {} ended with entry {by} already; nothing was booked",
                ended.id
            ))));
        }
    }
    let known = known_accounts(tx, new)?;
    for posting in &new.postings {
        let before = known.get(&posting.account).map_or(Money::ZERO, |(_, balance)| *balance);
        let after = before.plus(posting.amount)?;
        if posting.account.floor().is_some_and(|floor| after < floor && after < before) {
            return Err(Fault::Refused(Error::conflict(format!(
                "`{}` has {before}, which does not cover {}; nothing was booked",
                posting.account, -posting.amount
            ))));
        }
    }
    let row = tx.query_one("SELECT coalesce(max(id), 0) + 1 FROM entries", &[])?;
    let id: i64 = row.try_get(0)?;
    let (mut accounts, mut amounts) = (Vec::new(), Vec::new());
    for posting in &new.postings {
        accounts.push(match known.get(&posting.account) {
            Some((id, _)) => *id,
            None => make_account(tx, posting.account)?,
        });
        amounts.push(posting.amount.0);
    }
    tx.execute(
        "INSERT INTO postings (entry, account, amount)
         SELECT $1, p.account, p.amount FROM unnest($2::bigint[], $3::bigint[]) p (account, amount)",
        &[&id, &accounts, &amounts],
    )?;
    tx.execute(
        "INSERT INTO entries (id, at, kind, key, ends, memo) VALUES ($1, $2, $3, $4, $5, $6)",
        &[&id, &at.0, &new.kind.as_str(), &new.key, &new.ends.map(|ends| ends.0), &new.memo],
    )?;
    Ok(Posted::New(Entry {
        id: EntryId(id),
        at,
        kind: new.kind,
        key: new.key.clone(),
        ends: new.ends,
        ended_by: None,
        memo: new.memo.clone(),
        postings: new.postings.clone(),
    }))
}

/// Number and balance of those accounts of an entry that exist.
fn known_accounts(
    db: &mut Connection,
    new: &NewEntry,
) -> Result<HashMap<Account, (i64, Money)>, Fault> {
    let names: Vec<String> =
        new.postings.iter().map(|posting| posting.account.to_string()).collect();
    db.query(
        "SELECT a.name, a.id, coalesce(b.amount, 0) FROM accounts a
         LEFT JOIN balances b ON b.account = a.id WHERE a.name = ANY ($1)",
        &[&names],
    )?
    .iter()
    .map(|row| Ok((value::parse(row, 0)?, (row.try_get(1)?, Money(row.try_get(2)?)))))
    .collect()
}

fn make_account(tx: &mut Connection, account: Account) -> Result<i64, Fault> {
    let row = tx.query_one(
        "INSERT INTO accounts (name, floor) VALUES ($1, $2) RETURNING id",
        &[&account.to_string(), &account.floor().map(|floor| floor.0)],
    )?;
    Ok(row.try_get(0)?)
}

/// Entries with their postings, one row for each posting.
const ENTRY: &str = "SELECT e.id, e.at, e.kind, e.key, e.ends, e.memo, o.id, a.name, p.amount
     FROM entries e LEFT JOIN entries o ON o.ends = e.id
     LEFT JOIN postings p ON p.entry = e.id LEFT JOIN accounts a ON a.id = p.account";

fn entry(db: &mut Connection, id: EntryId) -> Result<Option<Entry>, Fault> {
    let rows = db.query(&format!("{ENTRY} WHERE e.id = $1 ORDER BY p.account"), &[&id.0])?;
    Ok(entries_of(&rows)?.pop())
}

/// The entries in rows of [`ENTRY`], of which those of one entry follow each other.
fn entries_of(rows: &[Row]) -> Result<Vec<Entry>, Fault> {
    let mut entries: Vec<Entry> = Vec::new();
    for row in rows {
        let id = EntryId(row.try_get(0)?);
        if entries.last().is_none_or(|last| last.id != id) {
            entries.push(Entry {
                id,
                at: Timestamp(row.try_get(1)?),
                kind: value::parse(row, 2)?,
                key: row.try_get(3)?,
                ends: row.try_get::<_, Option<i64>>(4)?.map(EntryId),
                memo: row.try_get(5)?,
                ended_by: row.try_get::<_, Option<i64>>(6)?.map(EntryId),
                postings: Vec::new(),
            });
        }
        if let (Some(entry), Some(amount)) = (entries.last_mut(), row.try_get::<_, Option<i64>>(8)?)
        {
            entry.postings.push(Posting { account: value::parse(row, 7)?, amount: Money(amount) });
        }
    }
    Ok(entries)
}

fn id_of_key(db: &mut Connection, key: &str) -> Result<Option<EntryId>, Fault> {
    match db.query_opt("SELECT id FROM entries WHERE key = $1", &[&key])? {
        Some(row) => Ok(Some(EntryId(row.try_get(0)?))),
        None => Ok(None),
    }
}

pub(super) fn balance(db: &mut Connection, account: Account) -> Result<Money, Fault> {
    let row = db.query_opt(
        "SELECT b.amount FROM accounts a JOIN balances b ON b.account = a.id WHERE a.name = $1",
        &[&account.to_string()],
    )?;
    Ok(match row {
        Some(row) => Money(row.try_get(0)?),
        None => Money::ZERO,
    })
}
