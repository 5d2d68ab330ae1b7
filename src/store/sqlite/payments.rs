use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    Sqlite,
    ledger::{post, unreadable},
    usage,
};
use crate::{
    domain::{Error, Money, Result, Timestamp, UserId},
    store::{
        ledger::{EntryId, NewEntry, Outside, Posted},
        payments::{Booked, NewPayment, Payment, PaymentState, Payments, of_another},
        usage::NewUsage,
    },
};

const COLUMNS: &str =
    "id, at, provider, reference, user, amount, currency, call, state, outside, entry";

impl Payments for Sqlite {
    fn begin(&self, payment: &NewPayment) -> Result<Payment> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO payments (at, provider, reference, user, amount, currency, call, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                params![
                    Timestamp::now().0,
                    payment.provider.as_str(),
                    payment.reference,
                    payment.user.map(|user| user.0),
                    payment.amount.0,
                    payment.currency,
                    payment.call,
                    PaymentState::Begun.as_str(),
                ],
            )?;
            find(tx, payment.provider, &payment.reference)
        })?
        .ok_or_else(|| Error::internal("a payment that was begun is not there"))
    }

    fn find(&self, provider: Outside, reference: &str) -> Result<Option<Payment>> {
        self.read(|db| find(db, provider, reference))
    }

    fn set_state(&self, id: i64, state: PaymentState, outside: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE payments SET state = ?2, outside = iif(?3 = '', outside, ?3)
                 WHERE id = ?1 AND state <> 'booked'",
                params![id, state.as_str(), outside],
            )
        })
        .map(drop)
    }

    fn advance(&self, id: i64, from: PaymentState, to: PaymentState) -> Result<bool> {
        let changed = self.write(|tx| {
            tx.execute(
                "UPDATE payments SET state = ?3 WHERE id = ?1 AND state = ?2",
                params![id, from.as_str(), to.as_str()],
            )
        })?;
        Ok(changed > 0)
    }

    fn book(
        &self,
        id: i64,
        entry: &NewEntry,
        outside: &str,
        call: Option<&NewUsage>,
    ) -> Result<Booked> {
        self.write(|tx| {
            let known: Option<i64> =
                tx.query_row("SELECT entry FROM payments WHERE id = ?1", [id], |row| row.get(0))?;
            if let Some(entry) = known {
                return Ok(Ok(Booked::Known(EntryId(entry))));
            }
            let at = Timestamp::now();
            let posted = match post(tx, entry, at)? {
                Ok(Posted::New(posted)) => posted,
                Ok(Posted::Known(known)) => return Ok(Err(of_another(id, known.id))),
                Err(error) => return Ok(Err(error)),
            };
            tx.execute(
                "UPDATE payments SET state = 'booked', entry = ?2,
                        outside = iif(?3 = '', outside, ?3) WHERE id = ?1",
                params![id, posted.id.0, outside],
            )?;
            if let Some(new) = call {
                let booking =
                    usage::Booking { at, charged: new.call.price, entry: Some(posted.id) };
                usage::insert(tx, new, &booking)?;
            }
            Ok(Ok(Booked::New(posted)))
        })?
    }

    fn knows_event(&self, provider: Outside, event: &str) -> Result<bool> {
        self.read(|db| {
            db.prepare_cached("SELECT 1 FROM payment_events WHERE provider = ?1 AND event = ?2")?
                .exists([provider.as_str(), event])
        })
    }

    fn add_event(&self, provider: Outside, event: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO payment_events (provider, event, at) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO NOTHING",
                params![provider.as_str(), event, Timestamp::now().0],
            )
        })
        .map(drop)
    }

    fn in_state(&self, state: PaymentState) -> Result<Vec<Payment>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM payments WHERE state = ?1 ORDER BY id"
            ))?
            .query_map([state.as_str()], payment)?
            .collect()
        })
    }

    fn of_user(&self, user: UserId, limit: usize) -> Result<Vec<Payment>> {
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM payments WHERE user = ?1 ORDER BY id DESC LIMIT ?2"
            ))?
            .query_map(params![user.0, i64::try_from(limit).unwrap_or(i64::MAX)], payment)?
            .collect()
        })
    }
}

fn find(db: &Connection, provider: Outside, reference: &str) -> rusqlite::Result<Option<Payment>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM payments WHERE provider = ?1 AND reference = ?2"
    ))?
    .query_row([provider.as_str(), reference], payment)
    .optional()
}

fn payment(row: &Row<'_>) -> rusqlite::Result<Payment> {
    let (provider, state): (String, String) = (row.get(2)?, row.get(8)?);
    Ok(Payment {
        id: row.get(0)?,
        at: Timestamp(row.get(1)?),
        provider: provider.parse().map_err(|error| unreadable(2, error))?,
        reference: row.get(3)?,
        user: row.get::<_, Option<i64>>(4)?.map(UserId),
        amount: Money(row.get(5)?),
        currency: row.get(6)?,
        call: row.get(7)?,
        state: state.parse().map_err(|error| unreadable(8, error))?,
        outside: row.get(9)?,
        entry: row.get::<_, Option<i64>>(10)?.map(EntryId),
    })
}
