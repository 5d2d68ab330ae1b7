//! Calls under way: what they hold, and how they end.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{
    super::usage::{self, Booking},
    Checked, balance, post,
};
use crate::{
    domain::{Error, Money, Pid, Timestamp, UserId},
    store::{
        ledger::{
            Account, Admission, CallIdentity, Captured, EntryId, EntryKind, HoldId, NewEntry,
            NewHold, OpenHold, Posted,
        },
        usage::{Call, NewUsage, Outcome},
    },
};

/// A row of `holds`.
struct Held {
    id: HoldId,
    entry: Option<EntryId>,
    user: UserId,
    call: Call,
    identity: CallIdentity,
}

/// A call of the same identity that succeeded.
struct Twin {
    arguments: [u8; 32],
    entry: Option<EntryId>,
}

pub(super) fn begin(tx: &Transaction<'_>, process: i64, new: &NewHold) -> Checked<Admission> {
    let call = &new.call;
    let Some(user) = call.user else {
        return Ok(Err(Error::internal("a call without an account cannot hold credit")));
    };
    if let Some(twin) = twin(tx, user, &new.identity.call, new.repeat_since)? {
        return Ok(Ok(match twin.arguments == new.identity.arguments {
            true => Admission::Repeat(twin.entry),
            false => Admission::KeyTaken,
        }));
    }
    let is_taken = tx
        .prepare_cached("SELECT 1 FROM holds WHERE user = ?1 AND call = ?2 AND arguments <> ?3")?
        .exists(params![user.0, new.identity.call, new.identity.arguments])?;
    if is_taken {
        return Ok(Ok(Admission::KeyTaken));
    }
    if new.trial_calls > 0 {
        let used = usage::trials(tx, user, call.page)?;
        if used < new.trial_calls {
            let hold = insert(tx, process, user, new, None)?;
            return Ok(Ok(Admission::Trial(hold, new.trial_calls - used - 1)));
        }
    }
    let fits = |spent: Money, cap: Money| spent.plus(call.price).is_ok_and(|sum| sum <= cap);
    let spent = spent_by_user(tx, user, new.day)?;
    if !fits(spent, new.user_cap) {
        return Ok(Ok(Admission::UserCap(spent)));
    }
    if let Some(token) = call.token {
        let spent = spent_with_token(tx, token, new.day)?;
        if !fits(spent, new.token_cap) {
            return Ok(Ok(Admission::TokenCap(spent)));
        }
    }
    let credit = balance(tx, Account::User(user))?;
    if credit < call.price {
        let is_running = tx
            .prepare_cached("SELECT 1 FROM holds WHERE user = ?1 AND call = ?2")?
            .exists(params![user.0, new.identity.call])?;
        return Ok(Ok(if is_running { Admission::Running } else { Admission::Short(credit) }));
    }
    let hold = insert(tx, process, user, new, None)?;
    let entry = NewEntry::new(EntryKind::Hold, format!("hold:{}", hold.0))
        .add(Account::User(user), -call.price)
        .add(Account::Held(user), call.price);
    let posted = match post(tx, &entry, Timestamp::now())? {
        Ok(posted) => posted,
        // The checks above leave nothing to refuse; if the books do, the whole transaction goes.
        Err(error) => return Err(refused(error)),
    };
    tx.prepare_cached("UPDATE holds SET entry = ?1 WHERE id = ?2")?
        .execute([posted.entry().id.0, hold.0])?;
    Ok(Ok(Admission::Held(hold)))
}

pub(super) fn capture(
    tx: &Transaction<'_>,
    id: HoldId,
    author: Money,
    ms: u64,
) -> Checked<Captured> {
    let Some(held) = held(tx, id)? else {
        return Ok(Err(Error::conflict(
            "what the call held was released before it ended, so its answer is withheld and nothing is charged; call again",
        )));
    };
    let now = Timestamp::now();
    let charged_before = twin(tx, held.user, &held.identity.call, now.plus_days(-1))?;
    let (outcome, charged, entry) = match (charged_before, held.entry) {
        (Some(twin), _) => {
            give_back(tx, &held, now)?;
            (Outcome::Repeat, Money::ZERO, twin.entry)
        }
        (None, None) => (Outcome::Trial, Money::ZERO, None),
        (None, Some(hold)) => {
            let entry = charge(tx, &held, hold, author, now)?;
            (Outcome::Charged, held.call.price, Some(entry))
        }
    };
    if outcome != Outcome::Repeat {
        remember(tx, &held, now, entry)?;
    }
    let booking =
        Booking { at: now, charged, entry: entry.filter(|_| outcome == Outcome::Charged) };
    end(tx, &held, outcome, ms, &booking)?;
    let balance = balance(tx, Account::User(held.user))?;
    Ok(Ok(Captured { entry, charged, outcome, balance }))
}

pub(super) fn release(
    tx: &Transaction<'_>,
    id: HoldId,
    outcome: Outcome,
    ms: u64,
) -> Checked<bool> {
    let Some(held) = held(tx, id)? else { return Ok(Ok(false)) };
    let at = Timestamp::now();
    give_back(tx, &held, at)?;
    end(tx, &held, outcome, ms, &Booking { at, charged: Money::ZERO, entry: None })?;
    Ok(Ok(true))
}

pub(super) fn open(db: &Connection) -> rusqlite::Result<Vec<OpenHold>> {
    db.prepare_cached(
        "SELECT id, process, at, user, page, method, iif(entry IS NULL, 0, price)
         FROM holds ORDER BY id",
    )?
    .query_map([], |row| {
        Ok(OpenHold {
            id: HoldId(row.get(0)?),
            process: row.get(1)?,
            at: Timestamp(row.get(2)?),
            user: UserId(row.get(3)?),
            page: Pid(row.get(4)?),
            method: row.get(5)?,
            amount: Money(row.get(6)?),
        })
    })?
    .collect()
}

/// Books the price to author and platform.
fn charge(
    tx: &Transaction<'_>,
    held: &Held,
    hold: EntryId,
    author: Money,
    now: Timestamp,
) -> rusqlite::Result<EntryId> {
    let price = held.call.price;
    let author = if held.call.author.is_some() { author } else { Money::ZERO };
    let platform = price.minus(author).map_err(refused)?;
    let mut entry = NewEntry::new(EntryKind::Capture, format!("capture:{}", held.id.0))
        .ending(hold)
        .with_memo(held.call.method.clone())
        .add(Account::Held(held.user), -price)
        .add(Account::Platform, platform);
    if let Some(user) = held.call.author {
        entry = entry.add(Account::Author(user), author);
    }
    Ok(booked(post(tx, &entry, now)?)?.entry().id)
}

/// Books what is held back to the user.
fn give_back(tx: &Transaction<'_>, held: &Held, now: Timestamp) -> rusqlite::Result<()> {
    let Some(hold) = held.entry else { return Ok(()) };
    let entry = NewEntry::new(EntryKind::Release, format!("release:{}", held.id.0))
        .ending(hold)
        .add(Account::Held(held.user), -held.call.price)
        .add(Account::User(held.user), held.call.price);
    booked(post(tx, &entry, now)?).map(drop)
}

fn booked(posted: crate::domain::Result<Posted>) -> rusqlite::Result<Posted> {
    posted.map_err(refused)
}

/// Ends the transaction: something was written before the books refused.
fn refused(error: Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// Removes the hold and records the call.
fn end(
    tx: &Transaction<'_>,
    held: &Held,
    outcome: Outcome,
    ms: u64,
    booking: &Booking,
) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM holds WHERE id = ?1")?.execute([held.id.0])?;
    let new = NewUsage { call: held.call.clone(), outcome, ms };
    usage::insert(tx, &new, booking).map(drop)
}

/// Keeps the call for its repeats, and forgets those of earlier days.
fn remember(
    tx: &Transaction<'_>,
    held: &Held,
    now: Timestamp,
    entry: Option<EntryId>,
) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM recent_calls WHERE at < ?1")?.execute([now.plus_days(-1).0])?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO recent_calls (user, call, arguments, at, entry)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        held.user.0,
        held.identity.call,
        held.identity.arguments,
        now.0,
        entry.map(|entry| entry.0)
    ])
    .map(drop)
}

/// The call of this identity that succeeded since a moment and was not refunded.
fn twin(
    db: &Connection,
    user: UserId,
    call: &[u8; 32],
    since: Timestamp,
) -> rusqlite::Result<Option<Twin>> {
    db.prepare_cached(
        "SELECT arguments, entry FROM recent_calls r WHERE user = ?1 AND call = ?2 AND at >= ?3
           AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.ends = r.entry)",
    )?
    .query_row(params![user.0, call, since.0], |row| {
        Ok(Twin { arguments: row.get(0)?, entry: row.get::<_, Option<i64>>(1)?.map(EntryId) })
    })
    .optional()
}

fn insert(
    tx: &Transaction<'_>,
    process: i64,
    user: UserId,
    new: &NewHold,
    entry: Option<EntryId>,
) -> rusqlite::Result<HoldId> {
    let call = &new.call;
    tx.prepare_cached(
        "INSERT INTO holds (process, at, entry, user, token, method, page, author, version, price,
                            request, call, arguments)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        process,
        Timestamp::now().0,
        entry.map(|entry| entry.0),
        user.0,
        call.token,
        call.method,
        call.page.0,
        call.author.map(|author| author.0),
        call.version,
        call.price.0,
        call.request,
        new.identity.call,
        new.identity.arguments,
    ])?;
    Ok(HoldId(tx.last_insert_rowid()))
}

fn held(db: &Connection, id: HoldId) -> rusqlite::Result<Option<Held>> {
    db.prepare_cached(
        "SELECT entry, user, token, method, page, author, version, price, request, call, arguments
         FROM holds WHERE id = ?1",
    )?
    .query_row([id.0], |row| {
        let user = UserId(row.get(1)?);
        Ok(Held {
            id,
            entry: row.get::<_, Option<i64>>(0)?.map(EntryId),
            user,
            call: Call {
                user: Some(user),
                token: row.get(2)?,
                method: row.get(3)?,
                page: Pid(row.get(4)?),
                author: row.get::<_, Option<i64>>(5)?.map(UserId),
                version: row.get(6)?,
                price: Money(row.get(7)?),
                request: row.get(8)?,
            },
            identity: CallIdentity { call: row.get(9)?, arguments: row.get(10)? },
        })
    })
    .optional()
}

fn spent_by_user(db: &Connection, user: UserId, since: Timestamp) -> rusqlite::Result<Money> {
    db.prepare_cached(
        "SELECT (SELECT coalesce(sum(charged), 0) FROM usage WHERE user = ?1 AND at >= ?2)
              + (SELECT coalesce(sum(price), 0) FROM holds
                 WHERE user = ?1 AND entry IS NOT NULL)",
    )?
    .query_row([user.0, since.0], |row| row.get(0).map(Money))
}

fn spent_with_token(db: &Connection, token: i64, since: Timestamp) -> rusqlite::Result<Money> {
    db.prepare_cached(
        "SELECT (SELECT coalesce(sum(charged), 0) FROM usage WHERE token = ?1 AND at >= ?2)
              + (SELECT coalesce(sum(price), 0) FROM holds
                 WHERE token = ?1 AND entry IS NOT NULL)",
    )?
    .query_row([token, since.0], |row| row.get(0).map(Money))
}
