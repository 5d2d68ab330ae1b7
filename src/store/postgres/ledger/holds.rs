//! Calls under way: what they hold, and how they end.

use super::{
    super::{
        connection::Connection,
        fault::Fault,
        usage::{self, Booking},
        value,
    },
    balance, post,
};
use crate::{
    domain::{Error, Money, Pid, Timestamp, UserId},
    store::{
        ledger::{
            Account, Admission, CallIdentity, Captured, EntryId, EntryKind, HoldId, NewEntry,
            NewHold, OpenHold,
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

pub(super) fn begin(tx: &mut Connection, process: i64, new: &NewHold) -> Result<Admission, Fault> {
    let call = &new.call;
    let Some(user) = call.user else {
        return Err(Fault::Refused(Error::internal(
            "a call without an account cannot hold credit",
        )));
    };
    if let Some(twin) = twin(tx, user, &new.identity.call, new.repeat_since)? {
        return Ok(match twin.arguments == new.identity.arguments {
            true => Admission::Repeat(twin.entry),
            false => Admission::KeyTaken,
        });
    }
    let row = tx.query_one(
        r#"SELECT EXISTS (SELECT 1 FROM holds
                          WHERE "user" = $1 AND call = $2 AND arguments <> $3)"#,
        &[&user.0, &new.identity.call.as_slice(), &new.identity.arguments.as_slice()],
    )?;
    if row.try_get(0)? {
        return Ok(Admission::KeyTaken);
    }
    if new.trial_calls > 0 {
        let used = usage::trials(tx, user, call.page)?;
        if used < new.trial_calls {
            let hold = insert(tx, process, user, new)?;
            return Ok(Admission::Trial(hold, new.trial_calls - used - 1));
        }
    }
    let fits = |spent: Money, cap: Money| spent.plus(call.price).is_ok_and(|sum| sum <= cap);
    let spent = spent_by_user(tx, user, new.day)?;
    if !fits(spent, new.user_cap) {
        return Ok(Admission::UserCap(spent));
    }
    if let Some(token) = call.token {
        let spent = spent_with_token(tx, token, new.day)?;
        if !fits(spent, new.token_cap) {
            return Ok(Admission::TokenCap(spent));
        }
    }
    let credit = balance(tx, Account::User(user))?;
    if credit < call.price {
        let row = tx.query_one(
            r#"SELECT EXISTS (SELECT 1 FROM holds WHERE "user" = $1 AND call = $2)"#,
            &[&user.0, &new.identity.call.as_slice()],
        )?;
        let is_running: bool = row.try_get(0)?;
        return Ok(if is_running { Admission::Running } else { Admission::Short(credit) });
    }
    let hold = insert(tx, process, user, new)?;
    let entry = NewEntry::new(EntryKind::Hold, format!("hold:{}", hold.0))
        .add(Account::User(user), -call.price)
        .add(Account::Held(user), call.price);
    let posted = post(tx, &entry, Timestamp::now())?;
    tx.execute("UPDATE holds SET entry = $1 WHERE id = $2", &[&posted.entry().id.0, &hold.0])?;
    Ok(Admission::Held(hold))
}

pub(super) fn capture(
    tx: &mut Connection,
    id: HoldId,
    author: Money,
    ms: u64,
) -> Result<Captured, Fault> {
    let Some(held) = held(tx, id)? else {
        return Err(Fault::Refused(Error::conflict(
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
    Ok(Captured { entry, charged, outcome, balance })
}

pub(super) fn release(
    tx: &mut Connection,
    id: HoldId,
    outcome: Outcome,
    ms: u64,
) -> Result<bool, Fault> {
    let Some(held) = held(tx, id)? else { return Ok(false) };
    let at = Timestamp::now();
    give_back(tx, &held, at)?;
    end(tx, &held, outcome, ms, &Booking { at, charged: Money::ZERO, entry: None })?;
    Ok(true)
}

pub(super) fn open(db: &mut Connection) -> Result<Vec<OpenHold>, Fault> {
    db.query(
        r#"SELECT id, process, at, "user", page, method, CASE WHEN entry IS NULL THEN 0 ELSE price END
           FROM holds ORDER BY id"#,
        &[],
    )?
    .iter()
    .map(|row| {
        Ok(OpenHold {
            id: HoldId(row.try_get(0)?),
            process: row.try_get(1)?,
            at: Timestamp(row.try_get(2)?),
            user: UserId(row.try_get(3)?),
            page: Pid(row.try_get(4)?),
            method: row.try_get(5)?,
            amount: Money(row.try_get(6)?),
        })
    })
    .collect()
}

/// Books the price to author and platform.
fn charge(
    tx: &mut Connection,
    held: &Held,
    hold: EntryId,
    author: Money,
    now: Timestamp,
) -> Result<EntryId, Fault> {
    let price = held.call.price;
    let author = if held.call.author.is_some() { author } else { Money::ZERO };
    let platform = price.minus(author)?;
    let mut entry = NewEntry::new(EntryKind::Capture, format!("capture:{}", held.id.0))
        .ending(hold)
        .with_memo(held.call.method.clone())
        .add(Account::Held(held.user), -price)
        .add(Account::Platform, platform);
    if let Some(user) = held.call.author {
        entry = entry.add(Account::Author(user), author);
    }
    Ok(post(tx, &entry, now)?.entry().id)
}

/// Books what is held back to the user.
fn give_back(tx: &mut Connection, held: &Held, now: Timestamp) -> Result<(), Fault> {
    let Some(hold) = held.entry else { return Ok(()) };
    let entry = NewEntry::new(EntryKind::Release, format!("release:{}", held.id.0))
        .ending(hold)
        .add(Account::Held(held.user), -held.call.price)
        .add(Account::User(held.user), held.call.price);
    post(tx, &entry, now).map(drop)
}

/// Removes the hold and records the call.
fn end(
    tx: &mut Connection,
    held: &Held,
    outcome: Outcome,
    ms: u64,
    booking: &Booking,
) -> Result<(), Fault> {
    tx.execute("DELETE FROM holds WHERE id = $1", &[&held.id.0])?;
    let new = NewUsage { call: held.call.clone(), outcome, ms };
    usage::insert(tx, &new, booking).map(drop)
}

/// Keeps the call for its repeats, and forgets those of earlier days.
fn remember(
    tx: &mut Connection,
    held: &Held,
    now: Timestamp,
    entry: Option<EntryId>,
) -> Result<(), Fault> {
    tx.execute("DELETE FROM recent_calls WHERE at < $1", &[&now.plus_days(-1).0])?;
    tx.execute(
        r#"INSERT INTO recent_calls ("user", call, arguments, at, entry)
           VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (lib, "user", call) DO UPDATE
           SET arguments = excluded.arguments, at = excluded.at, entry = excluded.entry"#,
        &[
            &held.user.0,
            &held.identity.call.as_slice(),
            &held.identity.arguments.as_slice(),
            &now.0,
            &entry.map(|entry| entry.0),
        ],
    )
    .map(drop)
}

/// The call of this identity that succeeded since a moment and was not refunded.
fn twin(
    db: &mut Connection,
    user: UserId,
    call: &[u8; 32],
    since: Timestamp,
) -> Result<Option<Twin>, Fault> {
    let row = db.query_opt(
        r#"SELECT arguments, entry FROM recent_calls r
           WHERE "user" = $1 AND call = $2 AND at >= $3
             AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.ends = r.entry)"#,
        &[&user.0, &call.as_slice(), &since.0],
    )?;
    let Some(row) = row else { return Ok(None) };
    let entry = row.try_get::<_, Option<i64>>(1)?.map(EntryId);
    Ok(Some(Twin { arguments: value::hash(&row, 0)?, entry }))
}

fn insert(tx: &mut Connection, process: i64, user: UserId, new: &NewHold) -> Result<HoldId, Fault> {
    let call = &new.call;
    let row = tx.query_one(
        r#"INSERT INTO holds (process, at, "user", token, method, page, author, version, price,
                              request, call, arguments)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id"#,
        &[
            &process,
            &Timestamp::now().0,
            &user.0,
            &call.token,
            &call.method,
            &call.page.0,
            &call.author.map(|author| author.0),
            &call.version,
            &call.price.0,
            &call.request,
            &new.identity.call.as_slice(),
            &new.identity.arguments.as_slice(),
        ],
    )?;
    Ok(HoldId(row.try_get(0)?))
}

fn held(db: &mut Connection, id: HoldId) -> Result<Option<Held>, Fault> {
    let row = db.query_opt(
        r#"SELECT entry, "user", token, method, page, author, version, price, request, call, arguments
           FROM holds WHERE id = $1"#,
        &[&id.0],
    )?;
    let Some(row) = row else { return Ok(None) };
    let user = UserId(row.try_get(1)?);
    Ok(Some(Held {
        id,
        entry: row.try_get::<_, Option<i64>>(0)?.map(EntryId),
        user,
        call: Call {
            user: Some(user),
            token: row.try_get(2)?,
            method: row.try_get(3)?,
            page: Pid(row.try_get(4)?),
            author: row.try_get::<_, Option<i64>>(5)?.map(UserId),
            version: row.try_get(6)?,
            price: Money(row.try_get(7)?),
            request: row.try_get(8)?,
        },
        identity: CallIdentity { call: value::hash(&row, 9)?, arguments: value::hash(&row, 10)? },
    }))
}

fn spent_by_user(db: &mut Connection, user: UserId, since: Timestamp) -> Result<Money, Fault> {
    let row = db.query_one(
        r#"SELECT ((SELECT coalesce(sum(charged), 0) FROM usage WHERE "user" = $1 AND at >= $2)
                 + (SELECT coalesce(sum(price), 0) FROM holds
                    WHERE "user" = $1 AND entry IS NOT NULL))::bigint"#,
        &[&user.0, &since.0],
    )?;
    Ok(Money(row.try_get(0)?))
}

fn spent_with_token(db: &mut Connection, token: i64, since: Timestamp) -> Result<Money, Fault> {
    let row = db.query_one(
        "SELECT ((SELECT coalesce(sum(charged), 0) FROM usage WHERE token = $1 AND at >= $2)
               + (SELECT coalesce(sum(price), 0) FROM holds
                  WHERE token = $1 AND entry IS NOT NULL))::bigint",
        &[&token, &since.0],
    )?;
    Ok(Money(row.try_get(0)?))
}
