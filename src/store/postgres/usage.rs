use std::collections::HashMap;

use tokio_postgres::Row;

use super::{Postgres, connection::Connection, fault::Fault, value};
use crate::{
    domain::{Money, Pid, Result, Timestamp, UserId},
    store::{
        ledger::{Account, EntryId},
        usage::{Call, DayCalls, Earning, NewUsage, Popularity, Usage, UsageFilter, UsageRow},
    },
};

impl Usage for Postgres {
    fn record(&self, usage: &NewUsage) -> Result<i64> {
        let booking = Booking { at: Timestamp::now(), charged: Money::ZERO, entry: None };
        self.write(|tx| insert(tx, usage, &booking))
    }

    fn list(&self, filter: &UsageFilter, limit: usize) -> Result<Vec<UsageRow>> {
        self.read(|db| {
            db.query(
                r#"SELECT u.id, u.at, u."user", u.token, u.method, u.page, u.author, u.version,
                          u.price, u.charged, u.outcome, u.ms, u.request, u.entry, r.id
                   FROM usage u LEFT JOIN entries r ON r.ends = u.entry
                   WHERE ($1::bigint IS NULL OR u."user" = $1)
                     AND ($2::bigint IS NULL OR u.author = $2)
                     AND ($3::bigint IS NULL OR u.at >= $3)
                     AND ($4::bigint IS NULL OR u.at < $4)
                     AND ($5::bigint IS NULL OR u.id > $5)
                   ORDER BY u.id LIMIT $6"#,
                &[
                    &filter.user.map(|user| user.0),
                    &filter.author.map(|author| author.0),
                    &filter.from.map(|at| at.0),
                    &filter.until.map(|at| at.0),
                    &filter.after,
                    &value::limit(limit),
                ],
            )?
            .iter()
            .map(usage_row)
            .collect()
        })
    }

    fn latest(
        &self,
        filter: &UsageFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<UsageRow>> {
        self.read(|db| {
            db.query(
                r#"SELECT u.id, u.at, u."user", u.token, u.method, u.page, u.author, u.version,
                          u.price, u.charged, u.outcome, u.ms, u.request, u.entry, r.id
                   FROM usage u LEFT JOIN entries r ON r.ends = u.entry
                   WHERE ($1::bigint IS NULL OR u."user" = $1)
                     AND ($2::bigint IS NULL OR u.author = $2)
                     AND ($3::bigint IS NULL OR u.at >= $3)
                     AND ($4::bigint IS NULL OR u.at < $4)
                     AND ($5::bigint IS NULL OR u.id > $5)
                     AND ($6::bigint IS NULL OR u.id < $6)
                   ORDER BY u.id DESC LIMIT $7"#,
                &[
                    &filter.user.map(|user| user.0),
                    &filter.author.map(|author| author.0),
                    &filter.from.map(|at| at.0),
                    &filter.until.map(|at| at.0),
                    &filter.after,
                    &before,
                    &value::limit(limit),
                ],
            )?
            .iter()
            .map(usage_row)
            .collect()
        })
    }

    fn daily(&self, author: UserId, from: Timestamp, until: Timestamp) -> Result<Vec<DayCalls>> {
        self.read(|db| {
            db.query(
                "SELECT at / 86400000 * 86400000 AS day, method, count(*) FROM usage
                 WHERE author = $1 AND at >= $2 AND at < $3
                   AND outcome NOT IN ('failed', 'abandoned')
                 GROUP BY day, method ORDER BY day, method",
                &[&author.0, &from.0, &until.0],
            )?
            .iter()
            .map(|row| {
                Ok(DayCalls {
                    day: Timestamp(row.try_get(0)?),
                    method: row.try_get(1)?,
                    calls: count(row, 2)?,
                })
            })
            .collect()
        })
    }

    fn earnings(&self, author: UserId, from: Timestamp, until: Timestamp) -> Result<Vec<Earning>> {
        let account = Account::Author(author).to_string();
        self.read(|db| {
            // Refunds count in the period in which they were booked, calls in that of the call.
            db.query(
                "WITH own AS (SELECT id FROM accounts WHERE name = $4)
                 SELECT method, sum(calls)::bigint, sum(charged_calls)::bigint,
                        sum(gross)::bigint, sum(earned)::bigint, sum(refunded)::bigint
                 FROM (
                     SELECT u.method AS method,
                            (u.outcome NOT IN ('failed', 'abandoned'))::int AS calls,
                            (u.outcome = 'charged')::int AS charged_calls, u.charged AS gross,
                            coalesce((SELECT p.amount FROM postings p, own
                                      WHERE p.entry = u.entry AND p.account = own.id), 0) AS earned,
                            0::bigint AS refunded
                     FROM usage u WHERE u.author = $1 AND u.at >= $2 AND u.at < $3
                     UNION ALL
                     SELECT u.method, 0, 0, 0, 0,
                            -coalesce((SELECT p.amount FROM postings p, own
                                       WHERE p.entry = r.id AND p.account = own.id), 0)
                     FROM entries r JOIN usage u ON u.entry = r.ends
                     WHERE r.kind = 'refund' AND r.at >= $2 AND r.at < $3 AND u.author = $1
                 ) both_kinds GROUP BY method ORDER BY method",
                &[&author.0, &from.0, &until.0, &account],
            )?
            .iter()
            .map(|row| {
                Ok(Earning {
                    method: row.try_get(0)?,
                    calls: count(row, 1)?,
                    charged_calls: count(row, 2)?,
                    gross: Money(row.try_get(3)?),
                    earned: Money(row.try_get(4)?),
                    refunded: Money(row.try_get(5)?),
                })
            })
            .collect()
        })
    }

    fn popularity(&self, pages: &[Pid], since: Timestamp) -> Result<HashMap<Pid, Popularity>> {
        self.read(|db| {
            db.query(
                "SELECT page, count(*),
                        count(*) FILTER (WHERE outcome NOT IN ('failed', 'abandoned'))
                 FROM usage WHERE page = ANY ($1) AND at >= $2
                   AND outcome NOT IN ('owner', 'author') GROUP BY page",
                &[&numbers(pages), &since.0],
            )?
            .iter()
            .map(|row| {
                let popularity = Popularity { calls: count(row, 1)?, answered: count(row, 2)? };
                Ok((Pid(row.try_get(0)?), popularity))
            })
            .collect()
        })
    }

    fn trials(&self, user: UserId, pages: &[Pid]) -> Result<HashMap<Pid, u32>> {
        self.read(|db| trials_of(db, user, pages))
    }

    fn bought(&self, user: UserId, pages: &[Pid]) -> Result<Vec<Pid>> {
        self.read(|db| {
            db.query(
                r#"SELECT wanted.value
                   FROM unnest($2::bigint[]) WITH ORDINALITY AS wanted (value, place)
                   WHERE EXISTS (SELECT 1 FROM usage u WHERE u."user" = $1
                                   AND u.page = wanted.value AND u.outcome = 'charged')
                   ORDER BY wanted.place"#,
                &[&user.0, &numbers(pages)],
            )?
            .iter()
            .map(|row| Ok(Pid(row.try_get(0)?)))
            .collect()
        })
    }
}

fn count(row: &Row, column: usize) -> Result<u64, Fault> {
    Ok(row.try_get::<_, i64>(column)?.unsigned_abs())
}

fn numbers(pages: &[Pid]) -> Vec<i64> {
    pages.iter().map(|pid| pid.0).collect()
}

/// The trial calls of each page that a user made, those under way included.
fn trials_of(db: &mut Connection, user: UserId, pages: &[Pid]) -> Result<HashMap<Pid, u32>, Fault> {
    db.query(
        r#"SELECT wanted.page,
                  (SELECT count(*) FROM usage u
                   WHERE u."user" = $1 AND u.page = wanted.page AND u.outcome = 'trial')
                + (SELECT count(*) FROM holds h
                   WHERE h."user" = $1 AND h.page = wanted.page AND h.entry IS NULL)
           FROM unnest($2::bigint[]) AS wanted (page)"#,
        &[&user.0, &numbers(pages)],
    )?
    .iter()
    .map(|row| {
        let trials = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
        Ok((Pid(row.try_get(0)?), trials))
    })
    .collect()
}

/// The trial calls of a page that a user made, those under way included.
pub(super) fn trials(db: &mut Connection, user: UserId, page: Pid) -> Result<u32, Fault> {
    Ok(trials_of(db, user, &[page])?.get(&page).copied().unwrap_or(0))
}

/// What the books add to a call.
pub(super) struct Booking {
    /// When it ended: the moment of the entry that ended it.
    pub(super) at: Timestamp,
    pub(super) charged: Money,
    pub(super) entry: Option<EntryId>,
}

pub(super) fn insert(
    tx: &mut Connection,
    usage: &NewUsage,
    booking: &Booking,
) -> Result<i64, Fault> {
    let call = &usage.call;
    let row = tx.query_one(
        r#"INSERT INTO usage (at, "user", token, method, page, author, version, price, charged,
                              outcome, ms, request, entry)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id"#,
        &[
            &booking.at.0,
            &call.user.map(|user| user.0),
            &call.token,
            &call.method,
            &call.page.0,
            &call.author.map(|author| author.0),
            &call.version,
            &call.price.0,
            &booking.charged.0,
            &usage.outcome.as_str(),
            &i64::try_from(usage.ms).unwrap_or(i64::MAX),
            &call.request,
            &booking.entry.map(|entry| entry.0),
        ],
    )?;
    Ok(row.try_get(0)?)
}

fn usage_row(row: &Row) -> Result<UsageRow, Fault> {
    Ok(UsageRow {
        id: row.try_get(0)?,
        at: Timestamp(row.try_get(1)?),
        call: Call {
            user: row.try_get::<_, Option<i64>>(2)?.map(UserId),
            token: row.try_get(3)?,
            method: row.try_get(4)?,
            page: Pid(row.try_get(5)?),
            author: row.try_get::<_, Option<i64>>(6)?.map(UserId),
            version: row.try_get(7)?,
            price: Money(row.try_get(8)?),
            request: row.try_get(12)?,
        },
        charged: Money(row.try_get(9)?),
        outcome: value::parse(row, 10)?,
        ms: row.try_get::<_, i64>(11)?.unsigned_abs(),
        entry: row.try_get::<_, Option<i64>>(13)?.map(EntryId),
        refund: row.try_get::<_, Option<i64>>(14)?.map(EntryId),
    })
}
