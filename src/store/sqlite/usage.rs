use std::collections::HashMap;

use rusqlite::{Connection, Row, Transaction, params};

use super::{Sqlite, ledger::unreadable};
use crate::{
    domain::{Money, Pid, Result, Timestamp, UserId},
    store::{
        ledger::{Account, EntryId},
        usage::{Call, DayCalls, Earning, NewUsage, Popularity, Usage, UsageFilter, UsageRow},
    },
};

/// The rows of a filter, whose parameters are 1 to 4.
const ROWS: &str = "SELECT u.id, u.at, u.user, u.token, u.method, u.page, u.author, u.version,
        u.price, u.charged, u.outcome, u.ms, u.request, u.entry, r.id
    FROM usage u LEFT JOIN entries r ON r.ends = u.entry
    WHERE (?1 IS NULL OR u.user = ?1) AND (?2 IS NULL OR u.author = ?2)
      AND (?3 IS NULL OR u.at >= ?3) AND (?4 IS NULL OR u.at < ?4)";

impl Usage for Sqlite {
    fn record(&self, usage: &NewUsage) -> Result<i64> {
        let booking = Booking { at: Timestamp::now(), charged: Money::ZERO, entry: None };
        self.write(|tx| insert(tx, usage, &booking))
    }

    fn list(&self, filter: &UsageFilter, limit: usize) -> Result<Vec<UsageRow>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "{ROWS} AND (?5 IS NULL OR u.id > ?5) ORDER BY u.id LIMIT ?6"
            ))?
            .query_map(
                params![
                    filter.user.map(|user| user.0),
                    filter.author.map(|author| author.0),
                    filter.from.map(|at| at.0),
                    filter.until.map(|at| at.0),
                    filter.after,
                    i64::try_from(limit).unwrap_or(i64::MAX),
                ],
                usage_row,
            )?
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
            db.prepare_cached(&format!(
                "{ROWS} AND (?5 IS NULL OR u.id > ?5) AND (?6 IS NULL OR u.id < ?6)
                 ORDER BY u.id DESC LIMIT ?7"
            ))?
            .query_map(
                params![
                    filter.user.map(|user| user.0),
                    filter.author.map(|author| author.0),
                    filter.from.map(|at| at.0),
                    filter.until.map(|at| at.0),
                    filter.after,
                    before,
                    i64::try_from(limit).unwrap_or(i64::MAX),
                ],
                usage_row,
            )?
            .collect()
        })
    }

    fn daily(&self, author: UserId, from: Timestamp, until: Timestamp) -> Result<Vec<DayCalls>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT at / 86400000 * 86400000 AS day, method, count(*) FROM usage
                 WHERE author = ?1 AND at >= ?2 AND at < ?3
                   AND outcome NOT IN ('failed', 'abandoned')
                 GROUP BY day, method ORDER BY day, method",
            )?
            .query_map(params![author.0, from.0, until.0], |row| {
                Ok(DayCalls {
                    day: Timestamp(row.get(0)?),
                    method: row.get(1)?,
                    calls: count(row, 2)?,
                })
            })?
            .collect()
        })
    }

    fn earnings(&self, author: UserId, from: Timestamp, until: Timestamp) -> Result<Vec<Earning>> {
        let account = Account::Author(author).to_string();
        self.read(|db| {
            // Refunds count in the period in which they were booked, calls in that of the call.
            db.prepare_cached(
                "WITH own AS (SELECT id FROM accounts WHERE name = ?4)
                 SELECT method, sum(calls), sum(charged_calls), sum(gross), sum(earned),
                        sum(refunded)
                 FROM (
                     SELECT u.method AS method,
                            u.outcome NOT IN ('failed', 'abandoned') AS calls,
                            u.outcome = 'charged' AS charged_calls, u.charged AS gross,
                            coalesce((SELECT p.amount FROM postings p, own
                                      WHERE p.entry = u.entry AND p.account = own.id), 0) AS earned,
                            0 AS refunded
                     FROM usage u WHERE u.author = ?1 AND u.at >= ?2 AND u.at < ?3
                     UNION ALL
                     SELECT u.method, 0, 0, 0, 0,
                            -coalesce((SELECT p.amount FROM postings p, own
                                       WHERE p.entry = r.id AND p.account = own.id), 0)
                     FROM entries r JOIN usage u ON u.entry = r.ends
                     WHERE r.kind = 'refund' AND r.at >= ?2 AND r.at < ?3 AND u.author = ?1
                 ) GROUP BY method ORDER BY method",
            )?
            .query_map(params![author.0, from.0, until.0, account], |row| {
                Ok(Earning {
                    method: row.get(0)?,
                    calls: count(row, 1)?,
                    charged_calls: count(row, 2)?,
                    gross: Money(row.get(3)?),
                    earned: Money(row.get(4)?),
                    refunded: Money(row.get(5)?),
                })
            })?
            .collect()
        })
    }

    fn popularity(&self, pages: &[Pid], since: Timestamp) -> Result<HashMap<Pid, Popularity>> {
        let answered = "u.outcome NOT IN ('failed', 'abandoned')";
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT u.page, count(*), sum({answered}) FROM json_each(?1) wanted
                 JOIN usage u ON u.page = wanted.value AND u.at >= ?2
                 WHERE u.outcome NOT IN ('owner', 'author') GROUP BY u.page"
            ))?
            .query_map(params![numbers(pages), since.0], |row| {
                Ok((
                    Pid(row.get(0)?),
                    Popularity { calls: count(row, 1)?, answered: count(row, 2)? },
                ))
            })?
            .collect()
        })
    }

    fn trials(&self, user: UserId, pages: &[Pid]) -> Result<HashMap<Pid, u32>> {
        self.read(|db| pages.iter().map(|page| Ok((*page, trials(db, user, *page)?))).collect())
    }

    fn bought(&self, user: UserId, pages: &[Pid]) -> Result<Vec<Pid>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT wanted.value FROM json_each(?2) wanted WHERE EXISTS
                     (SELECT 1 FROM usage u WHERE u.user = ?1 AND u.page = wanted.value
                        AND u.outcome = 'charged')
                 ORDER BY wanted.key",
            )?
            .query_map(params![user.0, numbers(pages)], |row| Ok(Pid(row.get(0)?)))?
            .collect()
        })
    }
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

fn numbers(pages: &[Pid]) -> String {
    let numbers: Vec<String> = pages.iter().map(|pid| pid.0.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// The trial calls of a page that a user made, those under way included.
pub(super) fn trials(db: &Connection, user: UserId, page: Pid) -> rusqlite::Result<u32> {
    db.prepare_cached(
        "SELECT (SELECT count(*) FROM usage
                 WHERE user = ?1 AND page = ?2 AND outcome = 'trial')
              + (SELECT count(*) FROM holds WHERE user = ?1 AND page = ?2 AND entry IS NULL)",
    )?
    .query_row([user.0, page.0], |row| row.get(0))
}

/// What the books add to a call.
pub(super) struct Booking {
    /// When it ended: the moment of the entry that ended it.
    pub(super) at: Timestamp,
    pub(super) charged: Money,
    pub(super) entry: Option<EntryId>,
}

pub(super) fn insert(
    tx: &Transaction<'_>,
    usage: &NewUsage,
    booking: &Booking,
) -> rusqlite::Result<i64> {
    let call = &usage.call;
    tx.prepare_cached(
        "INSERT INTO usage (at, user, token, method, page, author, version, price, charged,
                            outcome, ms, request, entry)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        booking.at.0,
        call.user.map(|user| user.0),
        call.token,
        call.method,
        call.page.0,
        call.author.map(|author| author.0),
        call.version,
        call.price.0,
        booking.charged.0,
        usage.outcome.as_str(),
        i64::try_from(usage.ms).unwrap_or(i64::MAX),
        call.request,
        booking.entry.map(|entry| entry.0),
    ])?;
    Ok(tx.last_insert_rowid())
}

fn usage_row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    let outcome: String = row.get(10)?;
    Ok(UsageRow {
        id: row.get(0)?,
        at: Timestamp(row.get(1)?),
        call: Call {
            user: row.get::<_, Option<i64>>(2)?.map(UserId),
            token: row.get(3)?,
            method: row.get(4)?,
            page: Pid(row.get(5)?),
            author: row.get::<_, Option<i64>>(6)?.map(UserId),
            version: row.get(7)?,
            price: Money(row.get(8)?),
            request: row.get(12)?,
        },
        charged: Money(row.get(9)?),
        outcome: outcome.parse().map_err(|error| unreadable(10, error))?,
        ms: row.get::<_, i64>(11)?.unsigned_abs(),
        entry: row.get::<_, Option<i64>>(13)?.map(EntryId),
        refund: row.get::<_, Option<i64>>(14)?.map(EntryId),
    })
}
