use tokio_postgres::Row;

use super::{Postgres, connection::Connection, fault::Fault, ledger::post, usage, value};
use crate::{
    domain::{Error, Money, Result, Timestamp, UserId},
    store::{
        ledger::{EntryId, NewEntry, Outside, Posted},
        payments::{Booked, NewPayment, Payment, PaymentState, Payments, of_another},
        usage::NewUsage,
    },
};

const COLUMNS: &str =
    r#"id, at, provider, reference, "user", amount, currency, call, state, outside, entry"#;

impl Payments for Postgres {
    fn begin(&self, payment: &NewPayment) -> Result<Payment> {
        self.write(|tx| {
            // Looked up first: a number is not spent on a payment that is known.
            if let Some(known) = find(tx, payment.provider, &payment.reference)? {
                return Ok(known);
            }
            let sql = format!(
                r#"INSERT INTO payments (at, provider, reference, "user", amount, currency, call, state)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING {COLUMNS}"#
            );
            let row = tx.query_one(
                &sql,
                &[
                    &Timestamp::now().0,
                    &payment.provider.as_str(),
                    &payment.reference,
                    &payment.user.map(|user| user.0),
                    &payment.amount.0,
                    &payment.currency,
                    &payment.call.as_ref().map(<[u8; 32]>::as_slice),
                    &PaymentState::Begun.as_str(),
                ],
            )?;
            self::payment(&row)
        })
    }

    fn find(&self, provider: Outside, reference: &str) -> Result<Option<Payment>> {
        self.read(|db| find(db, provider, reference))
    }

    fn set_state(&self, id: i64, state: PaymentState, outside: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE payments SET state = $2,
                        outside = CASE WHEN $3 = '' THEN outside ELSE $3 END
                 WHERE id = $1 AND state <> 'booked'",
                &[&id, &state.as_str(), &outside],
            )
        })
        .map(drop)
    }

    fn advance(&self, id: i64, from: PaymentState, to: PaymentState) -> Result<bool> {
        self.write(|tx| {
            let changed = tx.execute(
                "UPDATE payments SET state = $3 WHERE id = $1 AND state = $2",
                &[&id, &from.as_str(), &to.as_str()],
            )?;
            Ok(changed > 0)
        })
    }

    fn book(
        &self,
        id: i64,
        entry: &NewEntry,
        outside: &str,
        call: Option<&NewUsage>,
    ) -> Result<Booked> {
        self.write(|tx| {
            let row = tx.query_opt("SELECT entry FROM payments WHERE id = $1", &[&id])?;
            let Some(row) = row else {
                return Err(Fault::Refused(Error::internal(format!("there is no payment {id}"))));
            };
            if let Some(entry) = row.try_get(0)? {
                return Ok(Booked::Known(EntryId(entry)));
            }
            let at = Timestamp::now();
            let posted = match post(tx, entry, at)? {
                Posted::New(posted) => posted,
                Posted::Known(known) => return Err(Fault::Refused(of_another(id, known.id))),
            };
            tx.execute(
                "UPDATE payments SET state = 'booked', entry = $2,
                        outside = CASE WHEN $3 = '' THEN outside ELSE $3 END WHERE id = $1",
                &[&id, &posted.id.0, &outside],
            )?;
            if let Some(new) = call {
                let booking =
                    usage::Booking { at, charged: new.call.price, entry: Some(posted.id) };
                usage::insert(tx, new, &booking)?;
            }
            Ok(Booked::New(posted))
        })
    }

    fn knows_event(&self, provider: Outside, event: &str) -> Result<bool> {
        self.read(|db| {
            let row = db.query_one(
                "SELECT EXISTS (SELECT 1 FROM payment_events WHERE provider = $1 AND event = $2)",
                &[&provider.as_str(), &event],
            )?;
            Ok(row.try_get(0)?)
        })
    }

    fn add_event(&self, provider: Outside, event: &str) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO payment_events (provider, event, at) VALUES ($1, $2, $3)
                 ON CONFLICT DO NOTHING",
                &[&provider.as_str(), &event, &Timestamp::now().0],
            )
        })
        .map(drop)
    }

    fn in_state(&self, state: PaymentState) -> Result<Vec<Payment>> {
        self.read(|db| {
            let sql = format!("SELECT {COLUMNS} FROM payments WHERE state = $1 ORDER BY id");
            db.query(&sql, &[&state.as_str()])?.iter().map(payment).collect()
        })
    }

    fn of_user(&self, user: UserId, limit: usize) -> Result<Vec<Payment>> {
        self.read(|db| {
            let sql = format!(
                r#"SELECT {COLUMNS} FROM payments WHERE "user" = $1 ORDER BY id DESC LIMIT $2"#
            );
            db.query(&sql, &[&user.0, &value::limit(limit)])?.iter().map(payment).collect()
        })
    }
}

fn find(db: &mut Connection, provider: Outside, reference: &str) -> Result<Option<Payment>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM payments WHERE provider = $1 AND reference = $2");
    db.query_opt(&sql, &[&provider.as_str(), &reference])?.as_ref().map(payment).transpose()
}

fn payment(row: &Row) -> Result<Payment, Fault> {
    Ok(Payment {
        id: row.try_get(0)?,
        at: Timestamp(row.try_get(1)?),
        provider: value::parse(row, 2)?,
        reference: row.try_get(3)?,
        user: row.try_get::<_, Option<i64>>(4)?.map(UserId),
        amount: Money(row.try_get(5)?),
        currency: row.try_get(6)?,
        call: value::optional_hash(row, 7)?,
        state: value::parse(row, 8)?,
        outside: row.try_get(9)?,
        entry: row.try_get::<_, Option<i64>>(10)?.map(EntryId),
    })
}
